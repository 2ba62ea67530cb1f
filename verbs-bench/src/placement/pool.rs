//! The host's pools of huge pages: whether a buffer can be had from them, asked before it is made.
//!
//! A pool that runs dry while pages are touched kills the process with SIGBUS on older kernels, so the free pages are
//! counted first; another process may still be faster.

use host::Sysroot;
use schema::Pages;

use super::error::PlacementError;

/// A pool: the pages of one size, of the host or of one node.
struct Pool {
    /// Its folder in sysfs.
    folder: String,
    /// Pages nobody has or has reserved, those the kernel may add on demand included.
    free: u64,
}

impl Pool {
    /// The pool of these pages, on `node` if one is given; none where the kernel has no such pages.
    fn read(sysroot: &Sysroot, page_bytes: u64, node: Option<u32>) -> Option<Pool> {
        let size = format!("hugepages-{}kB", page_bytes >> 10);
        let folder = match node {
            Some(node) => format!("/sys/devices/system/node/node{node}/hugepages/{size}"),
            None => format!("/sys/kernel/mm/hugepages/{size}"),
        };
        let count = |name| sysroot.read(format!("{folder}/{name}")).known()?.parse::<u64>().ok();
        let free = count("free_hugepages")?;
        // A node has no counts of its own for what is reserved and what may be added.
        let reserved = count("resv_hugepages").unwrap_or(0);
        let addable = count("nr_overcommit_hugepages")
            .unwrap_or(0)
            .saturating_sub(count("surplus_hugepages").unwrap_or(0));
        Some(Pool { folder, free: free.saturating_sub(reserved) + addable })
    }
}

/// Refuses what the pools can't give: `buffers` buffers of `len` bytes each on these pages, on `node` if one is given.
pub fn check(
    sysroot: &Sysroot,
    pages: Pages,
    len: u64,
    buffers: u64,
    node: Option<u32>,
) -> Result<(), PlacementError> {
    let Some(page_bytes) = pages.bytes() else { return Ok(()) };
    let needed = len.div_ceil(page_bytes) * buffers;
    let host_pool = Pool::read(sysroot, page_bytes, None).ok_or(PlacementError::NoHugePages { pages })?;
    // A node's pool is part of the host's, and is empty where the node has none.
    let node_pool = node.and_then(|node| Pool::read(sysroot, page_bytes, Some(node)));
    for pool in [Some(host_pool), node_pool].into_iter().flatten() {
        if pool.free < needed {
            return Err(PlacementError::HugePages { pages, needed, free: pool.free, folder: pool.folder });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    const HOST: &str = "sys/kernel/mm/hugepages/hugepages-2048kB";

    fn write(root: &Path, folder: &str, counts: &[(&str, u64)]) {
        fs::create_dir_all(root.join(folder)).expect("mkdir");
        for (name, count) in counts {
            fs::write(root.join(folder).join(name), format!("{count}\n")).expect("write");
        }
    }

    fn host(free: u64, reserved: u64, overcommit: u64) -> (tempfile::TempDir, Sysroot) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let counts = [
            ("free_hugepages", free),
            ("resv_hugepages", reserved),
            ("nr_overcommit_hugepages", overcommit),
            ("surplus_hugepages", 0),
        ];
        write(dir.path(), HOST, &counts);
        let root = Sysroot::new(dir.path());
        (dir, root)
    }

    fn refusal(root: &Sysroot, len: u64, node: Option<u32>) -> String {
        check(root, Pages::Huge2Mi, len, 1, node).expect_err("refused").to_string()
    }

    #[test]
    fn a_pool_gives_what_is_free_and_not_reserved_and_what_may_be_added() {
        let (_dir, root) = host(8, 3, 0);
        assert!(check(&root, Pages::Huge2Mi, 5 << 21, 1, None).is_ok());
        assert!(
            check(&root, Pages::Huge2Mi, 3 << 21, 2, None).is_err(),
            "two buffers need two times as much"
        );
        assert_eq!(
            refusal(&root, (5 << 21) + 1, None),
            "pages: 2Mi: the message buffers need 6 of them and /sys/kernel/mm/hugepages/hugepages-2048kB has 5 free; \
             reserve more (`echo N > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages`), ask for a smaller buffer, \
             or use base pages"
        );
        let (_dir, root) = host(0, 0, 6);
        assert!(check(&root, Pages::Huge2Mi, 6 << 21, 1, None).is_ok());
    }

    #[test]
    fn the_pool_of_the_node_counts_too() {
        let (dir, root) = host(8, 0, 0);
        let node = "sys/devices/system/node/node1/hugepages/hugepages-2048kB";
        write(dir.path(), node, &[("free_hugepages", 2)]);
        assert!(check(&root, Pages::Huge2Mi, 2 << 21, 1, Some(1)).is_ok());
        assert!(refusal(&root, 3 << 21, Some(1)).contains("/sys/devices/system/node/node1/"));
    }

    #[test]
    fn pages_the_kernel_has_not_are_refused_and_base_pages_need_no_pool() {
        let (_dir, root) = host(8, 0, 0);
        let text = check(&root, Pages::Huge1Gi, 1, 1, None).expect_err("refused").to_string();
        assert!(text.starts_with("pages: 1Gi: this kernel has no huge pages of that size"), "{text}");
        assert!(check(&Sysroot::new("/nonexistent"), Pages::Base, 1 << 40, 2, None).is_ok());
    }
}
