//! The FFI surface beside rdma-sys 0.3.0: what it lacks, and what it gets wrong on 64 bit.
//!
//! Its `verbs_get_ctx` compares `abi_compat` with `u32::MAX` where C has `UINTPTR_MAX`, so every extended verb of it is
//! dead; `ibv_query_gid_table` is missing. Async events are not read at all: `ibv_event_type` is a Rust enum, and a newer
//! libibverbs may deliver a value it does not know.

use std::{
    ffi::c_int,
    io,
    mem::{offset_of, size_of},
};

use rdma_sys::{
    ibv_context, ibv_gid_entry, ibv_port_attr, ibv_query_port, ibv_send_wr, ibv_wc, verbs_context,
};

// The hand-written unions of rdma-sys must have C's layout, or every call below corrupts memory.
const _: () = assert!(size_of::<ibv_wc>() == 48);
const _: () = assert!(size_of::<ibv_send_wr>() == 128);
const _: () = assert!(size_of::<ibv_gid_entry>() == 32);
const _: () = assert!(size_of::<verbs_context>() == 648);

/// `IBV_QPF_GRH_REQUIRED` in `ibv_port_attr.flags`; an anonymous enum in C, so bindgen leaves it out.
pub(super) const IBV_QPF_GRH_REQUIRED: u8 = 1;

#[link(name = "ibverbs")]
unsafe extern "C" {
    /// All valid GID entries of all ports; a count, or a negative errno. Since libibverbs 1.11 (rdma-core 32).
    fn _ibv_query_gid_table(
        context: *mut ibv_context,
        entries: *mut ibv_gid_entry,
        max_entries: usize,
        flags: u32,
        entry_size: usize,
    ) -> isize;
}

/// The extended context around `context`, where its provider has one.
///
/// # Safety
/// `context` must come from `ibv_open_device` and be open.
unsafe fn verbs_context_of(context: *mut ibv_context) -> Option<*const verbs_context> {
    // SAFETY: the caller vouches for `context`; `abi_compat` is part of the public struct.
    let extended = unsafe { (*context).abi_compat } as usize == usize::MAX;
    extended.then(|| {
        // SAFETY: with that marker libibverbs guarantees the ibv_context lies inside a verbs_context.
        unsafe { context.cast::<u8>().sub(offset_of!(verbs_context, context)).cast_const().cast() }
    })
}

/// `ibv_query_port` as the C header spells it: the extended verb if there is one, else the compat symbol on a zeroed struct.
///
/// # Safety
/// `context` must come from `ibv_open_device` and be open.
pub(super) unsafe fn query_port(context: *mut ibv_context, port_num: u8) -> io::Result<ibv_port_attr> {
    // SAFETY: ibv_port_attr is plain integers; zero is what the C header sets before the compat call.
    let mut attr: ibv_port_attr = unsafe { std::mem::zeroed() };
    // SAFETY: `context` is open (caller).
    let extended = unsafe { verbs_context_of(context) }.and_then(|vctx| {
        // SAFETY: `sz` is always there; the op is read only if the running library's struct reaches down to it.
        unsafe {
            let reach = size_of::<verbs_context>() - offset_of!(verbs_context, query_port);
            if (*vctx).sz >= reach { (*vctx).query_port } else { None }
        }
    });
    let rc = match extended {
        // SAFETY: open context; the size tells libibverbs how much of `attr` it may fill.
        Some(op) => unsafe { op(context, port_num, &mut attr, size_of::<ibv_port_attr>()) },
        // SAFETY: open context; the compat call fills a prefix of ibv_port_attr.
        None => unsafe { ibv_query_port(context, port_num, (&raw mut attr).cast()) },
    };
    check(rc).map(|()| attr)
}

/// `ibv_query_gid_table`: every valid entry of every port.
///
/// # Safety
/// `context` must come from `ibv_open_device` and be open.
pub(super) unsafe fn query_gid_table(
    context: *mut ibv_context,
    max_entries: usize,
) -> io::Result<Vec<ibv_gid_entry>> {
    let mut entries = Vec::with_capacity(max_entries);
    // SAFETY: open context (caller); the vector has room for max_entries of the size told.
    let count = unsafe {
        _ibv_query_gid_table(context, entries.as_mut_ptr(), max_entries, 0, size_of::<ibv_gid_entry>())
    };
    let count = usize::try_from(count).map_err(|_| io::Error::from_raw_os_error(-count as c_int))?;
    // SAFETY: libibverbs filled `count` entries, which is at most max_entries.
    unsafe { entries.set_len(count.min(max_entries)) };
    Ok(entries)
}

/// The verbs convention for calls that return an int: 0, an errno, or -1 with errno set.
pub(super) fn check(rc: c_int) -> io::Result<()> {
    match rc {
        0 => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        errno => Err(io::Error::from_raw_os_error(errno.abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_code_becomes_its_errno() {
        assert!(check(0).is_ok());
        assert_eq!(check(libc::EINVAL).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        assert_eq!(check(-libc::ENOMEM).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
    }
}
