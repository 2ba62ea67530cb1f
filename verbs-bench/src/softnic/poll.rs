//! Taking completions, classic and extended, compiled for how the NIC makes progress.

use std::{ffi::c_int, ptr};

use rdma_sys::{ibv_cq, ibv_cq_ex, ibv_poll_cq_attr, ibv_wc};

use super::{
    cq::{Cqe, SoftCq},
    path::DataPath,
};

/// How a NIC carries out what has become due.
pub(super) trait Pace: 'static {
    /// Carries it out on all QPs of the queue.
    ///
    /// # Safety
    /// `cq` is one of ours and live; no other thread uses it, its QPs or their other queues, and no reference to any of
    /// them is alive.
    unsafe fn progress(cq: *mut SoftCq);
}

/// `ibv_poll_cq`.
///
/// # Safety
/// As in C: `cq` is one of ours, `wc` has room for `num_entries`. No other thread uses the CQ or its QPs.
pub(super) unsafe extern "C" fn poll_cq<P: Pace>(
    cq: *mut ibv_cq,
    num_entries: c_int,
    wc: *mut ibv_wc,
) -> c_int {
    let cq = cq.cast::<SoftCq>();
    // SAFETY: one of ours, used by this thread alone, and room in `wc` (caller).
    unsafe {
        P::progress(cq);
        (*cq).pop(num_entries, wc)
    }
}

/// `ibv_start_poll`: progress, then the first completion; `ENOENT` if there is none.
///
/// # Safety
/// As in C: `cq` is one of ours, made extended. No other thread uses the CQ or its QPs.
pub(super) unsafe extern "C" fn start_poll<P: Pace>(
    cq: *mut ibv_cq_ex,
    attr: *mut ibv_poll_cq_attr,
) -> c_int {
    // SAFETY: NULL or readable, as in C.
    if unsafe { attr.as_ref() }.is_some_and(|attr| attr.comp_mask != 0) {
        return libc::EINVAL;
    }
    // SAFETY: as the caller's.
    unsafe {
        P::progress(cq.cast::<SoftCq>());
        next_poll(cq)
    }
}

/// `ibv_next_poll`.
///
/// # Safety
/// As in C: between `ibv_start_poll` and `ibv_end_poll`.
unsafe extern "C" fn next_poll(cq: *mut ibv_cq_ex) -> c_int {
    // SAFETY: one of ours, used by this thread alone (caller); its QPs are live as long as their completions are queued.
    unsafe { (*cq.cast::<SoftCq>()).next() }
}

/// `ibv_end_poll`. A completion is taken as it is shown, so nothing is left to do.
unsafe extern "C" fn end_poll(_cq: *mut ibv_cq_ex) {}

/// Functions of `ibv_wc_read_*` that return what the present completion holds.
macro_rules! readers {
    ($($name:ident: $type:ty = $read:expr;)*) => {$(
        unsafe extern "C" fn $name(cq: *mut ibv_cq_ex) -> $type {
            let read: fn(&Cqe) -> $type = $read;
            // SAFETY: one of ours, used by this thread alone, as in C.
            read(unsafe { (*cq.cast::<SoftCq>()).current() })
        }
    )*};
}

readers! {
    read_opcode: u32 = |cqe| cqe.opcode;
    read_vendor_err: u32 = |_| 0;
    read_byte_len: u32 = |cqe| cqe.byte_len;
    read_imm_data: u32 = |cqe| cqe.imm;
    read_qp_num: u32 = |cqe| cqe.qp_num();
    read_src_qp: u32 = |cqe| cqe.src_qp;
    read_wc_flags: u32 = |cqe| cqe.wc_flags;
    read_slid: u32 = |_| 0;
    read_sl: u8 = |_| 0;
    read_dlid_path_bits: u8 = |_| 0;
    read_completion_ts: u64 = |cqe| cqe.at;
}

/// Makes a queue extended.
pub(super) fn extend(cq: &mut SoftCq, path: &DataPath, timestamps: bool) {
    let ex = &mut cq.ex;
    ex.start_poll = Some(path.start_poll);
    ex.next_poll = Some(next_poll);
    ex.end_poll = Some(end_poll);
    ex.read_opcode = Some(read_opcode);
    ex.read_vendor_err = Some(read_vendor_err);
    ex.read_byte_len = Some(read_byte_len);
    ex.read_imm_data = Some(read_imm_data);
    ex.read_qp_num = Some(read_qp_num);
    ex.read_src_qp = Some(read_src_qp);
    ex.read_wc_flags = Some(read_wc_flags);
    ex.read_slid = Some(read_slid);
    ex.read_sl = Some(read_sl);
    ex.read_dlid_path_bits = Some(read_dlid_path_bits);
    ex.read_completion_ts = timestamps.then_some(read_completion_ts);
}

/// Makes progress on a queue of a NIC of any kind and takes nothing from it.
///
/// # Safety
/// As `poll_cq`.
pub(super) unsafe fn make_progress(cq: *mut ibv_cq) {
    // SAFETY: as the caller's; no entry is asked for, so none is written. Every context of ours has the function.
    unsafe { rdma_sys::ibv_poll_cq(cq, 0, ptr::null_mut()) };
}
