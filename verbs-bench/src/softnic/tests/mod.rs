//! The software NIC as a caller of verbs sees it: every post and poll goes through rdma-sys' own inline functions.
//!
//! One process is both ends here: a QP is attached to a region of its own. The clock of the modelled tests stands still
//! unless told, so their times are exact.

mod atomics;
mod events;
mod extended;
mod modelled;
mod operations;
mod processes;
mod raw;
mod receives;
mod stall;

use std::{cell::Cell, ffi::c_int, ptr, sync::Arc};

use rdma_sys::{
    ibv_poll_cq, ibv_post_recv, ibv_post_send, ibv_recv_wr, ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wc,
    ibv_wr_opcode::*,
};

use schema::Transport;

use super::*;
use crate::{
    placement::Buffer,
    verbs::{
        Access, CompletionQueue, Connection, Context, CqKind, MemoryRegion, ProtectionDomain, QpCaps, QpKind,
        QueuePair, RemoteQp, WcStatus,
    },
};

const SIGNALED: u32 = ibv_send_flags::IBV_SEND_SIGNALED.0;
const INLINE: u32 = ibv_send_flags::IBV_SEND_INLINE.0;
const BUFFER_BYTES: usize = 1 << 16;

thread_local! {
    static TIME: Cell<u64> = const { Cell::new(1_000_000) };
}

/// A clock in nanoseconds that a test sets; each test has its own.
struct Manual;

impl Now for Manual {
    fn now() -> u64 {
        TIME.get()
    }
}

fn wait(ns: u64) {
    TIME.set(TIME.get() + ns);
}

fn raw_nic() -> Arc<dyn Provider> {
    SoftNic::new(None, None)
}

fn modelled_nic(model: &str, fault: &str) -> Arc<dyn Provider> {
    let fault = (!fault.is_empty()).then(|| fault.parse().unwrap());
    SoftNic::with_clock(Some(model.parse().unwrap()), fault, || ModelClock::of::<Manual>(Scale::NANOSECONDS))
}

/// A work request with the SGE it points to.
struct Request {
    wr: ibv_send_wr,
    sge: ibv_sge,
}

/// Both ends of one connection. Field order is drop order.
struct Rig {
    qp: QueuePair,
    cq: Arc<CompletionQueue>,
    /// Where receives complete; the same queue for a rig that receives nothing.
    recv_cq: Arc<CompletionQueue>,
    source: MemoryRegion,
    target: MemoryRegion,
    pd: Arc<ProtectionDomain>,
}

fn region(pd: &Arc<ProtectionDomain>) -> MemoryRegion {
    let buffer = Buffer::memfd(BUFFER_BYTES, None).unwrap();
    MemoryRegion::register(pd, buffer, Access::default()).unwrap()
}

fn connection(target: &MemoryRegion, qp: &QueuePair, transport: Transport) -> Connection {
    Connection {
        port_num: 1,
        path_mtu: 4096,
        local_psn: 0,
        gid_index: None,
        traffic_class: 0,
        service_level: 0,
        timeout: 14,
        retry_count: 7,
        transport,
        outstanding_reads: 1,
        flow_label: 0,
        pkey_index: 0,
        remote: RemoteQp { qp_num: qp.qp_num(), psn: 0, lid: 0, gid: [0; 16], soft: target.soft_peer(qp) },
    }
}

impl Rig {
    /// An RC QP that receives nothing.
    fn new(nic: Arc<dyn Provider>, max_send_wr: u32, cq_entries: u32) -> Rig {
        let (pd, cq) = Rig::parts(nic, cq_entries);
        let (source, target) = (region(&pd), region(&pd));
        let qp = Rig::connected_qp(&pd, &cq, &target, max_send_wr);
        Rig { qp, recv_cq: Arc::clone(&cq), cq, source, target, pd }
    }

    /// A QP with room for eight sends and eight receives, which complete to a queue of their own.
    fn receiving(nic: Arc<dyn Provider>, transport: Transport) -> Rig {
        let (pd, cq) = Rig::parts(nic, 16);
        let recv_cq = CompletionQueue::create(pd.context(), 16, CqKind::default()).unwrap();
        let (source, target) = (region(&pd), region(&pd));
        let kind = QpKind { transport, extended: None };
        let caps = QpCaps { max_send_wr: 8, max_recv_wr: 8, max_inline_bytes: 64 };
        let mut qp = QueuePair::create(&pd, &cq, &recv_cq, kind, caps).unwrap();
        Rig::connect(&mut qp, &target, transport);
        Rig { qp, cq, recv_cq, source, target, pd }
    }

    fn parts(nic: Arc<dyn Provider>, cq_entries: u32) -> (Arc<ProtectionDomain>, Arc<CompletionQueue>) {
        let context = Context::open(nic).unwrap();
        let cq = CompletionQueue::create(&context, cq_entries, CqKind::default()).unwrap();
        (ProtectionDomain::alloc(&context).unwrap(), cq)
    }

    fn connected_qp(
        pd: &Arc<ProtectionDomain>,
        cq: &Arc<CompletionQueue>,
        target: &MemoryRegion,
        max_send_wr: u32,
    ) -> QueuePair {
        let mut qp = QueuePair::create(pd, cq, cq, QpKind::RC, QpCaps::sending(max_send_wr, 64)).unwrap();
        Rig::connect(&mut qp, target, Transport::Rc);
        qp
    }

    /// Attaches a QP to itself and to the target.
    fn connect(qp: &mut QueuePair, target: &MemoryRegion, transport: Transport) {
        let path = connection(target, qp, transport);
        qp.to_init(1, 0, schema::Op::Write).unwrap();
        qp.to_rtr(&path).unwrap();
        qp.to_rts(&path).unwrap();
    }

    /// A write of `len` bytes from and to the same offset.
    fn write(&self, wr_id: u64, offset: u64, len: u32, send_flags: u32) -> Request {
        let sge = ibv_sge { addr: self.source.addr() + offset, length: len, lkey: self.source.lkey() };
        // SAFETY: ibv_send_wr is integers, pointers and unions of them; all zero is a valid value.
        let mut wr: ibv_send_wr = unsafe { std::mem::zeroed() };
        (wr.wr_id, wr.num_sge, wr.opcode, wr.send_flags) = (wr_id, 1, IBV_WR_RDMA_WRITE, send_flags);
        wr.wr.rdma.remote_addr = self.target.addr() + offset;
        wr.wr.rdma.rkey = self.target.rkey();
        Request { wr, sge }
    }

    /// A send of `len` bytes from this offset.
    fn send(&self, wr_id: u64, offset: u64, len: u32, send_flags: u32) -> Request {
        let mut request = self.write(wr_id, offset, len, send_flags);
        request.wr.opcode = IBV_WR_SEND;
        request
    }

    /// A receive of `len` bytes at this offset of the target.
    fn post_recv(&self, wr_id: u64, offset: u64, len: u32) -> c_int {
        let mut sge = ibv_sge { addr: self.target.addr() + offset, length: len, lkey: self.target.lkey() };
        let mut wr = ibv_recv_wr { wr_id, next: ptr::null_mut(), sg_list: &mut sge, num_sge: 1 };
        let mut bad = ptr::null_mut();
        // SAFETY: the QP is live and of this thread, and the request outlives the call.
        unsafe { ibv_post_recv(self.qp.as_ptr(), &mut wr, &mut bad) }
    }

    /// What has been received.
    fn received(&self) -> Vec<ibv_wc> {
        poll_on(&self.recv_cq).unwrap()
    }

    fn post(&self, request: &mut Request) -> c_int {
        self.post_list(std::slice::from_mut(request)).map_or_else(|(errno, _)| errno, |()| 0)
    }

    /// Posts a chain; a refusal comes with the position of the request that was refused.
    fn post_list(&self, requests: &mut [Request]) -> Result<(), (c_int, usize)> {
        post_on(&self.qp, requests)
    }

    fn poll(&self) -> Vec<(u64, WcStatus)> {
        self.poll_raw().unwrap().iter().map(|wc| (wc.wr_id, WcStatus::from(wc.status))).collect()
    }

    fn poll_raw(&self) -> Result<Vec<ibv_wc>, c_int> {
        poll_on(&self.cq)
    }

    fn fill_source(&self, byte: u8) {
        // SAFETY: the source is BUFFER_BYTES long and this thread alone uses it.
        unsafe { ptr::write_bytes(self.source.buffer().as_ptr(), byte, BUFFER_BYTES) };
    }

    fn target_bytes(&self) -> Vec<u8> {
        // SAFETY: the target is BUFFER_BYTES long and this thread alone uses it.
        unsafe { std::slice::from_raw_parts(self.target.buffer().as_ptr(), BUFFER_BYTES) }.to_vec()
    }
}

fn poll_on(cq: &CompletionQueue) -> Result<Vec<ibv_wc>, c_int> {
    let mut wcs: Vec<ibv_wc> = Vec::with_capacity(64);
    // SAFETY: a live CQ of this thread, and room for 64; as many as are returned have been written.
    unsafe {
        let count = ibv_poll_cq(cq.as_ptr(), 64, wcs.as_mut_ptr());
        wcs.set_len(usize::try_from(count).map_err(|_| count)?);
    }
    Ok(wcs)
}

fn post_on(qp: &QueuePair, requests: &mut [Request]) -> Result<(), (c_int, usize)> {
    let base = requests.as_mut_ptr();
    let mut bad: *mut ibv_send_wr = ptr::null_mut();
    // SAFETY: the chain is built inside the slice, which outlives the call; the QP is live and of this thread.
    let errno = unsafe {
        for at in 0..requests.len() {
            let request = base.add(at);
            (*request).wr.sg_list = &raw mut (*request).sge;
            (*request).wr.next =
                if at + 1 < requests.len() { &raw mut (*base.add(at + 1)).wr } else { ptr::null_mut() };
        }
        ibv_post_send(qp.as_ptr(), &raw mut (*base).wr, &mut bad)
    };
    match errno {
        0 => Ok(()),
        errno => {
            Err((errno, requests.iter().position(|r| ptr::eq(&r.wr, bad)).expect("bad_wr is in the list")))
        }
    }
}
