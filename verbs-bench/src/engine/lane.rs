//! The one work request of a latency test.

use rdma_sys::{ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode};

const INLINE: u32 = ibv_send_flags::IBV_SEND_INLINE.0;

/// Memory of both ends, as the work requests name it.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// First byte of the region, here.
    pub source: u64,
    /// Local key.
    pub lkey: u32,
    /// First byte of the peer's region, as the peer sees it.
    pub target: u64,
    /// Remote key.
    pub rkey: u32,
}

/// What is posted.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Message size in bytes.
    pub msg_bytes: u32,
    /// Whether messages are posted inline.
    pub inline: bool,
}

/// A plain RDMA WRITE of one message, unsignaled.
pub fn write_request(sge: &mut ibv_sge, target: u64, rkey: u32, wr_id: u64, inline: bool) -> ibv_send_wr {
    // SAFETY: ibv_send_wr is a C struct of integers, pointers and unions of them; all zeros is a valid value.
    let mut wr: ibv_send_wr = unsafe { std::mem::zeroed() };
    wr.wr_id = wr_id;
    wr.sg_list = sge;
    wr.num_sge = 1;
    wr.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE;
    wr.send_flags = if inline { INLINE } else { 0 };
    wr.wr.rdma.remote_addr = target;
    wr.wr.rdma.rkey = rkey;
    wr
}
