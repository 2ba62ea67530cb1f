//! How libibverbs is asked for a CQ and a QP: the attributes of the classic and of the extended calls.

use std::{ffi::c_int, io, ptr};

use rdma_sys::*;
use schema::{Op, Transport};

use super::{
    CqInit, QpCaps, QpInit,
    ext::{self, non_null},
};

/// `ibv_create_cq`, or `ibv_create_cq_ex` as an `ibv_cq`.
///
/// # Safety
/// As [`Provider::create_cq`](super::Provider::create_cq).
pub(super) unsafe fn cq(context: *mut ibv_context, init: &CqInit) -> io::Result<*mut ibv_cq> {
    if init.extended {
        // SAFETY: as the caller's.
        return unsafe { cq_ex(context, init) };
    }
    let cqe = c_int::try_from(init.entries).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    // SAFETY: open context, live channel or none (caller).
    non_null(unsafe { ibv_create_cq(context, cqe, ptr::null_mut(), init.channel, init.comp_vector as c_int) })
}

/// `ibv_create_qp`, or `ibv_create_qp_ex` as an `ibv_qp`, with the caps the device granted.
///
/// # Safety
/// As [`Provider::create_qp`](super::Provider::create_qp).
pub(super) unsafe fn qp(pd: *mut ibv_pd, init: &QpInit) -> io::Result<(*mut ibv_qp, QpCaps)> {
    if let Some(op) = init.extended {
        // SAFETY: as the caller's.
        return unsafe { qp_ex(pd, init, op) };
    }
    // SAFETY: plain integers and pointers; all zero is a valid value.
    let mut attr: ibv_qp_init_attr = unsafe { std::mem::zeroed() };
    attr.send_cq = init.send_cq;
    attr.recv_cq = init.recv_cq;
    attr.qp_type = qp_type(init.transport);
    attr.cap = cap(init.caps);
    // SAFETY: live PD and CQ (caller), attributes filled above; libibverbs writes the granted caps back.
    let qp = non_null(unsafe { ibv_create_qp(pd, &mut attr) })?;
    Ok((qp, granted(&attr.cap)))
}

fn qp_type(transport: Transport) -> ibv_qp_type::Type {
    match transport {
        Transport::Rc => ibv_qp_type::IBV_QPT_RC,
        Transport::Uc => ibv_qp_type::IBV_QPT_UC,
        Transport::Ud => ibv_qp_type::IBV_QPT_UD,
    }
}

/// One SGE a work request, both ways.
fn cap(caps: QpCaps) -> ibv_qp_cap {
    ibv_qp_cap {
        max_send_wr: caps.max_send_wr,
        max_recv_wr: caps.max_recv_wr,
        max_send_sge: 1,
        max_recv_sge: 1,
        max_inline_data: caps.max_inline_bytes,
    }
}

fn granted(cap: &ibv_qp_cap) -> QpCaps {
    QpCaps {
        max_send_wr: cap.max_send_wr,
        max_recv_wr: cap.max_recv_wr,
        max_inline_bytes: cap.max_inline_data,
    }
}

/// The `send_ops_flags` of one operation.
fn send_ops_flags(op: Op) -> u64 {
    use ibv_qp_create_send_ops_flags as flags;
    let flag = match op {
        Op::Write => flags::IBV_QP_EX_WITH_RDMA_WRITE,
        Op::WriteImm => flags::IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM,
        Op::Read => flags::IBV_QP_EX_WITH_RDMA_READ,
        Op::Send => flags::IBV_QP_EX_WITH_SEND,
        Op::FetchAdd => flags::IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
        Op::CompareSwap => flags::IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP,
    };
    flag.0.into()
}

/// An extended CQ with what the loops read from it, and nothing else: each field more costs its poll something.
///
/// # Safety
/// As [`cq`].
unsafe fn cq_ex(context: *mut ibv_context, init: &CqInit) -> io::Result<*mut ibv_cq> {
    use ibv_create_cq_wc_flags as flags;
    let mut fields =
        flags::IBV_WC_EX_WITH_BYTE_LEN | flags::IBV_WC_EX_WITH_IMM | flags::IBV_WC_EX_WITH_QP_NUM;
    if init.timestamps {
        fields |= flags::IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    }
    // SAFETY: plain integers and pointers; all zero is a valid value.
    let mut attr: ibv_cq_init_attr_ex = unsafe { std::mem::zeroed() };
    attr.cqe = init.entries;
    attr.channel = init.channel;
    attr.comp_vector = init.comp_vector;
    attr.wc_flags = fields.0.into();
    // SAFETY: open context, live channel or none (caller), attributes filled above.
    unsafe { ext::create_cq_ex(context, &mut attr) }
}

/// An extended QP that can post `op`.
///
/// # Safety
/// As [`qp`].
unsafe fn qp_ex(pd: *mut ibv_pd, init: &QpInit, op: Op) -> io::Result<(*mut ibv_qp, QpCaps)> {
    use ibv_qp_init_attr_mask as mask;
    // SAFETY: plain integers and pointers; all zero is a valid value.
    let mut attr: ibv_qp_init_attr_ex = unsafe { std::mem::zeroed() };
    attr.send_cq = init.send_cq;
    attr.recv_cq = init.recv_cq;
    attr.qp_type = qp_type(init.transport);
    attr.cap = cap(init.caps);
    attr.pd = pd;
    attr.send_ops_flags = send_ops_flags(op);
    attr.comp_mask = (mask::IBV_QP_INIT_ATTR_PD | mask::IBV_QP_INIT_ATTR_SEND_OPS_FLAGS).0;
    // SAFETY: live PD and CQs (caller), attributes filled above; libibverbs writes the granted caps back.
    let qp = unsafe { ext::create_qp_ex((*pd).context, &mut attr) }?;
    Ok((qp, granted(&attr.cap)))
}
