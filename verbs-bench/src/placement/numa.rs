//! Binding memory to NUMA nodes and asking where it lies: the only user of libnuma.

use std::{
    collections::BTreeMap,
    ffi::{c_int, c_ulong, c_void},
    io,
    ptr::{self, NonNull},
};

use libnuma_sys as libnuma;

use super::error::PlacementError;

/// Bits of a node mask: the largest number of nodes a kernel can be built for.
const MAX_NODES: usize = 1024;
const WORD_BITS: usize = c_ulong::BITS as usize;
/// Pages asked about in one call.
const QUERY_PAGES: usize = 4096;

/// The nodes this process may have memory on (its cpuset), or why nothing can be bound here.
pub fn allowed_nodes() -> Result<Vec<u32>, String> {
    // SAFETY: numa_available takes no argument and may always be called.
    if unsafe { libnuma::numa_available() } < 0 {
        return Err("the kernel has no NUMA memory policy, or a seccomp profile forbids it".into());
    }
    let mut mask = [0 as c_ulong; MAX_NODES / WORD_BITS];
    // SAFETY: mask holds MAX_NODES bits; a null mode and address are what MPOL_F_MEMS_ALLOWED wants.
    let rc = unsafe {
        libnuma::get_mempolicy(
            ptr::null_mut(),
            mask.as_mut_ptr(),
            MAX_NODES as c_ulong,
            ptr::null_mut(),
            libnuma::MPOL_F_MEMS_ALLOWED,
        )
    };
    if rc != 0 {
        return Err(format!("get_mempolicy(MPOL_F_MEMS_ALLOWED): {}", io::Error::last_os_error()));
    }
    Ok((0..MAX_NODES)
        .filter(|bit| mask[bit / WORD_BITS] >> (bit % WORD_BITS) & 1 == 1)
        .map(|bit| bit as u32)
        .collect())
}

/// Bytes of memory a node has, free or not; none where there is no such node. Valid where [`allowed_nodes`] is.
pub(super) fn node_bytes(node: u32) -> Option<u64> {
    let node = c_int::try_from(node).ok()?;
    // SAFETY: callers have seen allowed_nodes succeed, so libnuma is initialised; a null freep is allowed.
    let bytes = unsafe { libnuma::numa_node_size64(node, ptr::null_mut()) };
    u64::try_from(bytes).ok()
}

/// Binds untouched pages to `node`: they will come from there or not at all.
pub(super) fn bind(addr: NonNull<c_void>, len: usize, node: u32) -> Result<(), PlacementError> {
    let mut mask = [0 as c_ulong; MAX_NODES / WORD_BITS];
    let Some(word) = mask.get_mut(node as usize / WORD_BITS) else {
        let allowed = host::cpulist::format(&allowed_nodes().unwrap_or_default());
        return Err(PlacementError::Node { node, why: "is beyond what any kernel has".into(), allowed });
    };
    *word |= 1 << (node as usize % WORD_BITS);
    // SAFETY: the caller owns the mapping at addr; the kernel reads maxnode - 1 bits, which the mask holds.
    let rc = unsafe {
        libnuma::mbind(
            addr.as_ptr(),
            len as c_ulong,
            libnuma::MPOL_BIND,
            mask.as_ptr(),
            MAX_NODES as c_ulong + 1,
            libnuma::MPOL_MF_STRICT,
        )
    };
    if rc == 0 { Ok(()) } else { Err(PlacementError::Bind { len, node, source: io::Error::last_os_error() }) }
}

/// Counts the pages of a touched mapping by the node they lie on, as the kernel reports them.
pub(super) fn pages_by_node(
    addr: NonNull<c_void>,
    len: usize,
    page: usize,
) -> Result<Vec<(u32, u64)>, PlacementError> {
    let mut counts = BTreeMap::new();
    let mut pages = Vec::with_capacity(QUERY_PAGES);
    let mut status = vec![0 as c_int; QUERY_PAGES];
    for first in (0..len).step_by(page * QUERY_PAGES) {
        pages.clear();
        pages.extend(
            (first..len).step_by(page).take(QUERY_PAGES).map(|at| addr.as_ptr().wrapping_byte_add(at)),
        );
        // SAFETY: pages and status hold at least pages.len() elements; with null nodes nothing is moved.
        let rc = unsafe {
            libnuma::move_pages(
                0,
                pages.len() as c_ulong,
                pages.as_mut_ptr(),
                ptr::null(),
                status.as_mut_ptr(),
                0,
            )
        };
        if rc != 0 {
            return Err(PlacementError::Residency { why: io::Error::last_os_error().to_string() });
        }
        for &answer in &status[..pages.len()] {
            let node = u32::try_from(answer).map_err(|_| PlacementError::Residency {
                why: format!("a page has no node: {}", io::Error::from_raw_os_error(-answer)),
            })?;
            *counts.entry(node).or_insert(0) += 1;
        }
    }
    Ok(counts.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowed_node_has_memory_and_an_impossible_one_has_none() {
        let Ok(nodes) = allowed_nodes() else { return };
        assert!(nodes.iter().any(|&node| node_bytes(node).is_some_and(|bytes| bytes > 0)), "{nodes:?}");
        assert_eq!(node_bytes(1 << 20), None);
        assert_eq!(node_bytes(u32::MAX), None);
    }

    #[test]
    fn a_node_beyond_the_mask_is_refused_before_the_kernel_sees_it() {
        let error = bind(NonNull::dangling(), 4096, MAX_NODES as u32).expect_err("refused");
        assert!(error.to_string().contains("memory_node: node 1024"), "{error}");
    }
}
