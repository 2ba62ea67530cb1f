//! What the device says of itself: what it can do, and its one port.

use std::io;

use super::{cq::MAX_CQE, qp::MAX_QP_WR};
use crate::{
    clock::Scale,
    verbs::{DeviceAttr, LinkLayer, PortAttr, PortState},
};

/// MTU of the port in bytes. The link has no packets; a path MTU is accepted and changes nothing.
const MTU_BYTES: u32 = 4096;
/// No interrupt hangs on it.
pub(super) const COMP_VECTORS: u32 = 1;

/// Attributes of the device; completions of a modelled NIC carry the time of its clock.
pub(super) fn attributes(clock: Option<Scale>) -> DeviceAttr {
    DeviceAttr {
        fw_ver: None,
        vendor_id: None,
        vendor_part_id: None,
        max_qp: 1 << 17,
        max_qp_wr: MAX_QP_WR,
        max_cqe: MAX_CQE,
        max_mr_size: 1 << 40,
        phys_port_cnt: 1,
        max_qp_rd_atom: 16,
        max_qp_init_rd_atom: 16,
        atomics: true,
        num_comp_vectors: COMP_VECTORS,
        extended: true,
        timestamp_ticks_per_sec: clock.map(|scale| scale.ticks_per_sec().round() as u64),
    }
}

/// Attributes of a port.
pub(super) fn port(port_num: u8) -> io::Result<PortAttr> {
    if port_num != 1 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(PortAttr {
        state: PortState::Active,
        phys_state: "LINK_UP".into(),
        link_layer: LinkLayer::Soft,
        active_mtu: MTU_BYTES,
        max_msg_bytes: u32::MAX,
        lid: 0,
        gid_tbl_len: 0,
        rate_bits_per_sec: None,
        grh_required: false,
    })
}
