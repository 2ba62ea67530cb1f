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
    ibv_context, ibv_cq, ibv_cq_init_attr_ex, ibv_device_attr_ex, ibv_gid_entry, ibv_parent_domain_init_attr,
    ibv_pd, ibv_port_attr, ibv_qp, ibv_qp_init_attr_ex, ibv_query_port, ibv_send_wr, ibv_td,
    ibv_td_init_attr, ibv_values_ex, ibv_values_mask, ibv_wc, verbs_context,
};

// The hand-written unions of rdma-sys must have C's layout, or every call below corrupts memory.
const _: () = assert!(size_of::<ibv_wc>() == 48);
const _: () = assert!(size_of::<ibv_send_wr>() == 128);
const _: () = assert!(size_of::<ibv_gid_entry>() == 32);
const _: () = assert!(size_of::<verbs_context>() == 648);
const _: () = assert!(size_of::<ibv_qp_init_attr_ex>() == 136);
const _: () = assert!(size_of::<ibv_cq_init_attr_ex>() == 56);
const _: () = assert!(size_of::<ibv_device_attr_ex>() == 400);
const _: () = assert!(size_of::<ibv_values_ex>() == 24);

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

/// An op of the extended context, if the running library's struct reaches down to it and the provider fills it in.
macro_rules! extended_op {
    ($context:expr, $op:ident) => {
        verbs_context_of($context).and_then(|vctx| {
            let reach = size_of::<verbs_context>() - offset_of!(verbs_context, $op);
            if (*vctx).sz >= reach { (*vctx).$op } else { None }
        })
    };
}

/// What a device without the verb answers.
fn unsupported() -> io::Error {
    io::Error::from_raw_os_error(libc::EOPNOTSUPP)
}

/// The verbs convention for calls that return a pointer: NULL with errno set.
pub(super) fn non_null<T>(ptr: *mut T) -> io::Result<*mut T> {
    if ptr.is_null() { Err(io::Error::last_os_error()) } else { Ok(ptr) }
}

/// `ibv_create_cq_ex`.
///
/// # Safety
/// `context` must come from `ibv_open_device` and be open; `attr` is filled as its `comp_mask` says.
pub(super) unsafe fn create_cq_ex(
    context: *mut ibv_context,
    attr: &mut ibv_cq_init_attr_ex,
) -> io::Result<*mut ibv_cq> {
    // SAFETY: open context (caller).
    let op = unsafe { extended_op!(context, create_cq_ex) }.ok_or_else(unsupported)?;
    // SAFETY: open context and filled attributes (caller). Every field of ibv_cq comes first in ibv_cq_ex.
    non_null(unsafe { op(context, attr) }.cast())
}

/// `ibv_create_qp_ex` with more than a PD asked for.
///
/// # Safety
/// `context` must come from `ibv_open_device` and be open; `attr` is filled as its `comp_mask` says.
pub(super) unsafe fn create_qp_ex(
    context: *mut ibv_context,
    attr: &mut ibv_qp_init_attr_ex,
) -> io::Result<*mut ibv_qp> {
    // SAFETY: open context (caller).
    let op = unsafe { extended_op!(context, create_qp_ex) }.ok_or_else(unsupported)?;
    // SAFETY: open context and filled attributes (caller).
    non_null(unsafe { op(context, attr) })
}

/// `ibv_query_device_ex`.
///
/// # Safety
/// `context` must come from `ibv_open_device` and be open.
pub(super) unsafe fn query_device_ex(context: *mut ibv_context) -> io::Result<ibv_device_attr_ex> {
    // SAFETY: open context (caller).
    let op = unsafe { extended_op!(context, query_device_ex) }.ok_or_else(unsupported)?;
    // SAFETY: plain integers and arrays of them; all zero is a valid value.
    let mut attr: ibv_device_attr_ex = unsafe { std::mem::zeroed() };
    // SAFETY: open context; no input, and the size tells libibverbs how much of `attr` it may fill.
    check(unsafe { op(context, std::ptr::null(), &mut attr, size_of::<ibv_device_attr_ex>()) })?;
    Ok(attr)
}

/// The raw clock of `ibv_query_rt_values_ex`, in the device's ticks, which providers leave in its nanoseconds.
///
/// # Safety
/// `context` must come from `ibv_open_device` and be open.
pub(super) unsafe fn query_raw_clock(context: *mut ibv_context) -> io::Result<u64> {
    // SAFETY: open context (caller).
    let op = unsafe { extended_op!(context, query_rt_values) }.ok_or_else(unsupported)?;
    // SAFETY: plain integers; all zero is a valid value.
    let mut values: ibv_values_ex = unsafe { std::mem::zeroed() };
    values.comp_mask = ibv_values_mask::IBV_VALUES_MASK_RAW_CLOCK.0;
    // SAFETY: open context, and a mask that says what is wanted.
    check(unsafe { op(context, &mut values) })?;
    if values.comp_mask & ibv_values_mask::IBV_VALUES_MASK_RAW_CLOCK.0 == 0 {
        return Err(unsupported());
    }
    Ok(values.raw_clock.tv_nsec as u64)
}

/// `ibv_alloc_td` and `ibv_alloc_parent_domain`; `None` where the provider has either not.
///
/// # Safety
/// `pd` is live.
pub(super) unsafe fn alloc_thread_domain(pd: *mut ibv_pd) -> io::Result<Option<(*mut ibv_pd, *mut ibv_td)>> {
    // SAFETY: live PD (caller), so its context is open.
    let context = unsafe { (*pd).context };
    // SAFETY: open context.
    let ops = unsafe {
        (
            extended_op!(context, alloc_td),
            extended_op!(context, dealloc_td),
            extended_op!(context, alloc_parent_domain),
        )
    };
    let (Some(alloc_td), Some(dealloc_td), Some(alloc_parent_domain)) = ops else { return Ok(None) };
    // SAFETY: open context, and no optional attribute.
    let td = match non_null(unsafe { alloc_td(context, &mut ibv_td_init_attr { comp_mask: 0 }) }) {
        Ok(td) => td,
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(None),
        Err(error) => return Err(error),
    };
    // SAFETY: pointers and integers; all zero is a valid value.
    let mut attr: ibv_parent_domain_init_attr = unsafe { std::mem::zeroed() };
    (attr.pd, attr.td) = (pd, td);
    // SAFETY: live PD and thread domain; the default allocators.
    match non_null(unsafe { alloc_parent_domain(context, &mut attr) }) {
        Ok(domain) => Ok(Some((domain, td))),
        Err(error) => {
            // SAFETY: nothing stands on the thread domain.
            check(unsafe { dealloc_td(td) })?;
            if error.raw_os_error() == Some(libc::EOPNOTSUPP) { Ok(None) } else { Err(error) }
        }
    }
}

/// `ibv_dealloc_td`.
///
/// # Safety
/// `context` is open and `td`, of that context, is live; nothing stands on it any more.
pub(super) unsafe fn dealloc_td(context: *mut ibv_context, td: *mut ibv_td) -> io::Result<()> {
    // SAFETY: open context (caller).
    let op = unsafe { extended_op!(context, dealloc_td) }.ok_or_else(unsupported)?;
    // SAFETY: live and unused (caller).
    check(unsafe { op(td) })
}

/// `ibv_query_port` as the C header spells it: the extended verb if there is one, else the compat symbol on a zeroed struct.
///
/// # Safety
/// `context` must come from `ibv_open_device` and be open.
pub(super) unsafe fn query_port(context: *mut ibv_context, port_num: u8) -> io::Result<ibv_port_attr> {
    // SAFETY: ibv_port_attr is plain integers; zero is what the C header sets before the compat call.
    let mut attr: ibv_port_attr = unsafe { std::mem::zeroed() };
    // SAFETY: `context` is open (caller).
    let rc = match unsafe { extended_op!(context, query_port) } {
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
