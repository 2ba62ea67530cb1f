//! libnuma's C interface, as far as this workspace calls it: declarations only, written from numa(3), mbind(2),
//! get_mempolicy(2) and move_pages(2).
//!
//! The crate on crates.io under this name was last published in 2018 and builds on no current toolchain;
//! `docs/adr/0003-libnuma-sys-by-name.md` says why this one takes its name and version. Safe wrappers live with their
//! user, in `verbs-bench/src/placement/numa.rs`.

use std::ffi::{c_int, c_long, c_longlong, c_uint, c_ulong, c_void};

/// Back to the default policy: allocate on the node of the CPU that touches the page first.
pub const MPOL_DEFAULT: c_int = 0;
/// Allocate on the nodes of the mask and nowhere else.
pub const MPOL_BIND: c_int = 2;
/// `mbind`: fail with EIO if pages already lie elsewhere.
pub const MPOL_MF_STRICT: c_uint = 1;
/// `get_mempolicy`: return the nodes the calling thread may use (its cpuset) instead of a policy.
pub const MPOL_F_MEMS_ALLOWED: c_ulong = 1 << 2;

unsafe extern "C" {
    /// -1 when the kernel has no NUMA policy calls, or a seccomp filter forbids them; no other call is valid then.
    pub fn numa_available() -> c_int;

    /// Size of a node's memory in bytes, with what is free of it in `freep` (may be null); -1 if there is no such node.
    ///
    /// # Safety
    /// `freep` is null or valid for one write; [`numa_available`] has returned 0 or more.
    pub fn numa_node_size64(node: c_int, freep: *mut c_longlong) -> c_longlong;

    /// Sets the memory policy of a mapping; -1 and errno on failure.
    ///
    /// # Safety
    /// `addr..addr + len` is page-aligned memory mapped by the caller; `nodemask` holds at least `maxnode - 1` bits.
    pub fn mbind(
        addr: *mut c_void,
        len: c_ulong,
        mode: c_int,
        nodemask: *const c_ulong,
        maxnode: c_ulong,
        flags: c_uint,
    ) -> c_long;

    /// Reads a memory policy, or with [`MPOL_F_MEMS_ALLOWED`] the allowed nodes; -1 and errno on failure.
    ///
    /// # Safety
    /// `mode` is null or valid for one write; `nodemask` is null or holds at least `maxnode` bits; `addr` is null
    /// unless the flags ask about an address.
    pub fn get_mempolicy(
        mode: *mut c_int,
        nodemask: *mut c_ulong,
        maxnode: c_ulong,
        addr: *mut c_void,
        flags: c_ulong,
    ) -> c_long;

    /// With `nodes` null: writes the node of each page, or a negative errno, into `status`; -1 and errno on failure.
    ///
    /// # Safety
    /// `pages` and `status` hold `count` elements; `nodes` is null or holds as many.
    pub fn move_pages(
        pid: c_int,
        count: c_ulong,
        pages: *mut *mut c_void,
        nodes: *const c_int,
        status: *mut c_int,
        flags: c_int,
    ) -> c_long;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_answers() {
        // SAFETY: numa_available takes no argument and may always be called.
        let available = unsafe { numa_available() };
        if available < 0 {
            return;
        }
        // SAFETY: numa_available said yes; a null freep is allowed.
        assert_eq!(unsafe { numa_node_size64(1 << 20, std::ptr::null_mut()) }, -1, "there is no such node");
    }
}
