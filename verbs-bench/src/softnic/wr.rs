//! `ibv_wr_*`: work requests collected between `wr_start` and `wr_complete`, then posted as a classic list.
//!
//! There is one data path; these functions only build what `ibv_post_send` takes. For each of them, as in C: the QP is one of
//! ours, extended and live, no other thread uses it, and what the arguments point to is valid.

use std::{
    ffi::{c_int, c_void},
    ptr,
};

use rdma_sys::{
    atomic_t, ibv_ah, ibv_qp_ex, ibv_send_wr, ibv_wr_opcode::*, imm_data_invalidated_rkey_union_t, rdma_t,
    ud_t, wr_t,
};
use schema::Op;

use super::{batch::Batch, qp::SoftQp};

/// The QP and its batch; the functions below are set on QPs that have one.
///
/// # Safety
/// `qp` is one of ours and live, no other thread uses it, and no other reference to it is alive.
#[inline(always)]
unsafe fn parts<'qp>(qp: *mut ibv_qp_ex) -> Option<(u64, u32, &'qp mut Batch)> {
    // SAFETY: as the caller's.
    let qp = unsafe { &mut *qp.cast::<SoftQp>() };
    Some((qp.ex.wr_id, qp.ex.wr_flags, qp.batch.as_deref_mut()?))
}

/// # Safety
/// As `parts`.
#[inline(always)]
unsafe fn begin(qp: *mut ibv_qp_ex, opcode: u32, rkey: u32, remote_addr: u64) {
    // SAFETY: as the caller's.
    if let Some((wr_id, send_flags, batch)) = unsafe { parts(qp) } {
        batch.begin(wr_id, send_flags, opcode, rdma_t { remote_addr, rkey });
    }
}

/// Changes the request that was begun last.
///
/// # Safety
/// As `parts`.
#[inline(always)]
unsafe fn change(qp: *mut ibv_qp_ex, change: impl FnOnce(&mut ibv_send_wr)) {
    // SAFETY: as the caller's.
    if let Some(request) = unsafe { parts(qp) }.and_then(|(.., batch)| batch.last()) {
        change(&mut request.wr);
    }
}

unsafe extern "C" fn wr_start(qp: *mut ibv_qp_ex) {
    // SAFETY: as C demands, see the top of this file.
    if let Some((.., batch)) = unsafe { parts(qp) } {
        batch.clear();
    }
}

unsafe extern "C" fn wr_rdma_write(qp: *mut ibv_qp_ex, rkey: u32, remote_addr: u64) {
    // SAFETY: as C demands, see the top of this file.
    unsafe { begin(qp, IBV_WR_RDMA_WRITE, rkey, remote_addr) };
}

unsafe extern "C" fn wr_rdma_write_imm(qp: *mut ibv_qp_ex, rkey: u32, remote_addr: u64, imm_data: u32) {
    // SAFETY: as C demands, see the top of this file.
    unsafe {
        begin(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr);
        change(qp, |wr| wr.imm_data_invalidated_rkey_union = imm_data_invalidated_rkey_union_t { imm_data });
    }
}

unsafe extern "C" fn wr_rdma_read(qp: *mut ibv_qp_ex, rkey: u32, remote_addr: u64) {
    // SAFETY: as C demands, see the top of this file.
    unsafe { begin(qp, IBV_WR_RDMA_READ, rkey, remote_addr) };
}

unsafe extern "C" fn wr_send(qp: *mut ibv_qp_ex) {
    // SAFETY: as C demands, see the top of this file.
    unsafe {
        begin(qp, IBV_WR_SEND, 0, 0);
        change(qp, |wr| wr.wr = wr_t { ud: ud_t { ah: ptr::null_mut(), remote_qpn: 0, remote_qkey: 0 } });
    }
}

unsafe extern "C" fn wr_atomic_fetch_add(qp: *mut ibv_qp_ex, rkey: u32, remote_addr: u64, add: u64) {
    // SAFETY: as C demands, see the top of this file.
    unsafe {
        begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr);
        let atomic = atomic_t { remote_addr, compare_add: add, swap: 0, rkey };
        change(qp, |wr| wr.wr = wr_t { atomic });
    }
}

unsafe extern "C" fn wr_atomic_cmp_swp(
    qp: *mut ibv_qp_ex,
    rkey: u32,
    remote_addr: u64,
    compare: u64,
    swap: u64,
) {
    // SAFETY: as C demands, see the top of this file.
    unsafe {
        begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);
        let atomic = atomic_t { remote_addr, compare_add: compare, swap, rkey };
        change(qp, |wr| wr.wr = wr_t { atomic });
    }
}

unsafe extern "C" fn wr_set_sge(qp: *mut ibv_qp_ex, lkey: u32, addr: u64, length: u32) {
    // SAFETY: as C demands, see the top of this file.
    if let Some((.., batch)) = unsafe { parts(qp) } {
        batch.set_sge(addr, length, lkey);
    }
}

unsafe extern "C" fn wr_set_inline_data(qp: *mut ibv_qp_ex, addr: *mut c_void, length: usize) {
    // SAFETY: as C demands, see the top of this file.
    unsafe {
        if let Some((.., batch)) = parts(qp) {
            batch.set_inline_data(addr.cast::<u8>().cast_const(), length);
        }
    }
}

unsafe extern "C" fn wr_set_ud_addr(qp: *mut ibv_qp_ex, ah: *mut ibv_ah, remote_qpn: u32, remote_qkey: u32) {
    // SAFETY: as C demands, see the top of this file.
    unsafe { change(qp, |wr| wr.wr = wr_t { ud: ud_t { ah, remote_qpn, remote_qkey } }) };
}

unsafe extern "C" fn wr_complete(qp: *mut ibv_qp_ex) -> c_int {
    // SAFETY: as C demands, see the top of this file; no reference is alive as the list is posted, which only the batch knows.
    unsafe {
        let soft = qp.cast::<SoftQp>();
        let (transport, room) = ((*soft).reach.transport, (*soft).room());
        let Some((.., batch)) = parts(qp) else { return libc::EINVAL };
        match batch.close(transport, room) {
            Ok(list) if list.is_null() => 0,
            Ok(list) => rdma_sys::ibv_post_send(qp.cast(), list, &mut ptr::null_mut()),
            Err(errno) => errno,
        }
    }
}

unsafe extern "C" fn wr_abort(qp: *mut ibv_qp_ex) {
    // SAFETY: as C demands, see the top of this file.
    unsafe { wr_start(qp) };
}

/// Sets the functions that post `op`, as `ibv_create_qp_ex` sets those it was asked for and no other.
pub(super) fn extend(qp: &mut SoftQp, op: Op) {
    qp.collect_batches();
    let ex = &mut qp.ex;
    ex.wr_start = Some(wr_start);
    ex.wr_complete = Some(wr_complete);
    ex.wr_abort = Some(wr_abort);
    ex.wr_set_sge = Some(wr_set_sge);
    ex.wr_set_inline_data = Some(wr_set_inline_data);
    ex.wr_set_ud_addr = Some(wr_set_ud_addr);
    match op {
        Op::Write => ex.wr_rdma_write = Some(wr_rdma_write),
        Op::WriteImm => ex.wr_rdma_write_imm = Some(wr_rdma_write_imm),
        Op::Read => ex.wr_rdma_read = Some(wr_rdma_read),
        Op::Send => ex.wr_send = Some(wr_send),
        Op::FetchAdd => ex.wr_atomic_fetch_add = Some(wr_atomic_fetch_add),
        Op::CompareSwap => ex.wr_atomic_cmp_swp = Some(wr_atomic_cmp_swp),
    }
}
