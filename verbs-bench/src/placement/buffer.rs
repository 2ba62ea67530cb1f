//! A message buffer: page-aligned, zeroed, on the node it was asked for, and every page there before a device sees it.

use std::{
    ffi::c_void,
    fs::File,
    io,
    os::fd::{AsFd, BorrowedFd},
    ptr::NonNull,
};

use host::Sysroot;
use memmap2::{MmapMut, MmapOptions, MmapRaw};
use rustix::{
    fs::{MemfdFlags, memfd_create},
    mm::{Advice, madvise},
};
use schema::Pages;

use super::{error::PlacementError, numa, pool};

/// What a buffer's memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// Private anonymous memory.
    Anonymous,
    /// A memfd, which a peer on this host can map too.
    Memfd,
}

/// A mapping of its own, unmapped when dropped. Its bytes are shared with devices and peers, so it hands out a raw
/// pointer and never a slice.
#[derive(Debug)]
pub struct Buffer {
    /// Whole pages: a mapping of huge pages can't be unmapped in part.
    map: MmapRaw,
    len: usize,
    pages: Pages,
    memfd: Option<File>,
}

impl Buffer {
    /// Anonymous memory of base pages, bound to `node` if one is given.
    pub fn anonymous(len: usize, node: Option<u32>) -> Result<Buffer, PlacementError> {
        Buffer::map(len, Backing::Anonymous, Pages::Base, node)
    }

    /// A memfd of base pages, bound to `node` if one is given.
    pub fn memfd(len: usize, node: Option<u32>) -> Result<Buffer, PlacementError> {
        Buffer::map(len, Backing::Memfd, Pages::Base, node)
    }

    /// Memory on these pages, bound to `node` if one is given.
    pub fn map(
        len: usize,
        backing: Backing,
        pages: Pages,
        node: Option<u32>,
    ) -> Result<Buffer, PlacementError> {
        check(len, node)?;
        pool::check(&Sysroot::new("/"), pages, len as u64, 1, node)?;
        let (map, memfd) = match backing {
            Backing::Anonymous => (map_anonymous(len, pages)?, None),
            Backing::Memfd => map_memfd(len, pages).map(|(map, memfd)| (map, Some(memfd)))?,
        };
        Buffer { map, len, pages, memfd }.settle(node)
    }

    /// Binds first, then touches: a page that was touched before stays where it is.
    fn settle(self, node: Option<u32>) -> Result<Buffer, PlacementError> {
        if let Some(node) = node {
            numa::bind(self.address(), self.map.len(), node)?;
        }
        self.touch_every_page().map_err(|source| PlacementError::Touch {
            len: self.len(),
            place: node.map_or_else(|| "on any node".into(), |node| format!("on node {node}")),
            source,
        })?;
        Ok(self)
    }

    /// Faults every page in for writing. Kernels before 5.14 lack the call that reports a failure, and get a store.
    fn touch_every_page(&self) -> io::Result<()> {
        // SAFETY: the range is our own mapping; populating changes no byte of it.
        let populated =
            unsafe { madvise(self.address().as_ptr(), self.map.len(), Advice::LinuxPopulateWrite) };
        match populated {
            Err(rustix::io::Errno::INVAL) => self.store_to_every_page(),
            other => return other.map_err(io::Error::from),
        }
        Ok(())
    }

    fn store_to_every_page(&self) {
        for at in (0..self.len()).step_by(self.page_bytes()) {
            // SAFETY: at < len, inside our own writable mapping, which is still zero; volatile so that it happens.
            unsafe { self.as_ptr().add(at).write_volatile(0) };
        }
    }

    fn address(&self) -> NonNull<c_void> {
        // mmap never maps the zero page, so the dangling stand-in is never taken.
        NonNull::new(self.map.as_mut_ptr().cast()).unwrap_or(NonNull::dangling())
    }

    /// Its first byte. Valid while the buffer lives; whoever dereferences it knows who else writes there.
    #[inline]
    pub fn as_ptr(&self) -> *mut u8 {
        self.map.as_mut_ptr()
    }

    /// Its length in bytes, as asked; the mapping goes on to the end of the page.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "an empty buffer cannot be made")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The memfd it lies in; none for anonymous memory.
    pub fn memfd_fd(&self) -> Option<BorrowedFd<'_>> {
        self.memfd.as_ref().map(File::as_fd)
    }

    /// Size of its pages in bytes.
    pub fn page_bytes(&self) -> usize {
        page_bytes(self.pages)
    }

    /// Its pages by NUMA node, as the kernel reports them: `(node, pages)`, by node.
    pub fn pages_by_node(&self) -> Result<Vec<(u32, u64)>, PlacementError> {
        numa::pages_by_node(self.address(), self.len(), self.page_bytes())
    }
}

fn page_bytes(pages: Pages) -> usize {
    pages.bytes().map_or_else(rustix::param::page_size, |bytes| bytes as usize)
}

/// `len` bytes rounded up to whole pages, or the refusal of a length no address space has.
fn whole_pages(len: usize, pages: Pages) -> Result<usize, PlacementError> {
    len.checked_next_multiple_of(page_bytes(pages)).ok_or(PlacementError::Length { len })
}

fn map_anonymous(len: usize, pages: Pages) -> Result<MmapRaw, PlacementError> {
    let failed = |source| PlacementError::Map { call: "mmap", len, source };
    let mut options = MmapOptions::new();
    options.len(whole_pages(len, pages)?);
    if let Some(bytes) = pages.bytes() {
        options.huge(Some(bytes.trailing_zeros() as u8));
    }
    let map: MmapMut = options.map_anon().map_err(failed)?;
    if pages == Pages::Base {
        // Base is base also where transparent huge pages are on for all; a kernel built without them answers EINVAL.
        // SAFETY: the range is our own mapping, and the advice changes no byte of it.
        match unsafe { madvise(map.as_ptr().cast_mut().cast(), map.len(), Advice::LinuxNoHugepage) } {
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(errno) => return Err(failed(io::Error::from(errno))),
        }
    }
    Ok(map.into())
}

fn map_memfd(len: usize, pages: Pages) -> Result<(MmapRaw, File), PlacementError> {
    let failed = |call| move |source| PlacementError::Map { call, len, source };
    let flags = match pages {
        Pages::Base => MemfdFlags::CLOEXEC,
        Pages::Huge2Mi => MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_2MB,
        Pages::Huge1Gi => MemfdFlags::CLOEXEC | MemfdFlags::HUGETLB | MemfdFlags::HUGE_1GB,
    };
    let memfd =
        memfd_create("verbs-bench", flags).map_err(|errno| failed("memfd_create")(io::Error::from(errno)))?;
    let memfd = File::from(memfd);
    let mapped = whole_pages(len, pages)?;
    // A file of huge pages has whole pages only; one of base pages is as long as asked, which a peer can check.
    memfd.set_len(if pages == Pages::Base { len } else { mapped } as u64).map_err(failed("ftruncate"))?;
    let map = MmapOptions::new().len(mapped).map_raw(&memfd).map_err(failed("mmap"))?;
    Ok((map, memfd))
}

/// Refuses what can never be, before anything is made.
fn check(len: usize, node: Option<u32>) -> Result<(), PlacementError> {
    if len == 0 || isize::try_from(len).is_err() {
        return Err(PlacementError::Length { len });
    }
    node.map_or(Ok(()), |node| refuse_more_than_the_node_has(len, node))
}

/// Touching more than a node can ever hold would end in the kernel's OOM killer, not in an error.
fn refuse_more_than_the_node_has(len: usize, node: u32) -> Result<(), PlacementError> {
    let allowed = numa::allowed_nodes().map_err(|why| PlacementError::NoNuma { node, why })?;
    let refused = |why| PlacementError::Node { node, why, allowed: host::cpulist::format(&allowed) };
    if !allowed.contains(&node) {
        return Err(refused("does not exist, or is outside this process's cpuset".into()));
    }
    match numa::node_bytes(node) {
        None | Some(0) => Err(refused("has no memory".into())),
        Some(bytes) if bytes < len as u64 => {
            Err(refused(format!("has {bytes} bytes of memory, and the buffer needs {len}")))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn bytes(buffer: &Buffer) -> &[u8] {
        // SAFETY: no one else knows this mapping, and nothing writes to it while the slice is in use.
        unsafe { std::slice::from_raw_parts(buffer.as_ptr(), buffer.len()) }
    }

    /// The nodes some memory can be bound to here; none where nothing can be bound.
    fn nodes() -> Vec<u32> {
        let mut nodes = numa::allowed_nodes().unwrap_or_default();
        nodes.retain(|&node| numa::node_bytes(node).is_some_and(|bytes| bytes > 1 << 26));
        nodes
    }

    fn untouched(len: usize) -> Buffer {
        let map = map_anonymous(len, Pages::Base).expect("mmap");
        Buffer { map, len, pages: Pages::Base, memfd: None }
    }

    /// Where the host has none to give, the refusal is what is tested.
    #[test]
    fn huge_pages_are_what_the_kernel_shows_or_are_refused_by_name() {
        for backing in [Backing::Anonymous, Backing::Memfd] {
            match Buffer::map((2 << 20) + 1, backing, Pages::Huge2Mi, None) {
                Err(error) => assert!(error.to_string().starts_with("pages: 2Mi: "), "{error}"),
                Ok(buffer) => {
                    let smaps = std::fs::read_to_string("/proc/self/smaps").expect("procfs");
                    let start = format!("{:x}-", buffer.as_ptr() as usize);
                    let ours = smaps.lines().skip_while(|line| !line.starts_with(&start));
                    let size =
                        ours.take(30).find(|line| line.starts_with("KernelPageSize:")).expect("a size");
                    assert!(size.contains("2048 kB"), "{size}");
                    assert_eq!((buffer.len(), buffer.page_bytes()), ((2 << 20) + 1, 2 << 20));
                }
            }
        }
    }

    #[test]
    fn both_kinds_are_zeroed_page_aligned_and_as_long_as_asked() {
        for make in [Buffer::anonymous, Buffer::memfd] {
            let buffer = make(3 * 4096 + 17, None).expect("a small buffer");
            assert_eq!(buffer.as_ptr() as usize % buffer.page_bytes(), 0);
            assert_eq!(buffer.len(), 3 * 4096 + 17);
            assert!(bytes(&buffer).iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn every_page_is_resident_on_the_node_it_was_bound_to() {
        let pages = 5000;
        for node in nodes() {
            for make in [Buffer::anonymous, Buffer::memfd] {
                let buffer =
                    make(pages * rustix::param::page_size() - 1, Some(node)).expect("a bound buffer");
                assert_eq!(buffer.pages_by_node().expect("residency"), [(node, pages as u64)]);
            }
        }
    }

    #[test]
    fn a_store_is_seen_through_the_memfd() {
        let buffer = Buffer::memfd(8192, None).expect("a small buffer");
        // SAFETY: 5000 < 8192, and the mapping is ours alone.
        unsafe { buffer.as_ptr().add(5000).write_volatile(0x5a) };
        let fd = buffer.memfd_fd().expect("a memfd").try_clone_to_owned().expect("dup");
        let mut byte = [0];
        File::from(fd).read_exact_at(&mut byte, 5000).expect("read");
        assert_eq!(byte, [0x5a]);
        assert!(Buffer::anonymous(1, None).expect("a small buffer").memfd_fd().is_none());
    }

    #[test]
    fn the_old_way_of_touching_makes_pages_resident_too() {
        let buffer = untouched(64 * 4096);
        buffer.store_to_every_page();
        if numa::allowed_nodes().is_ok() {
            let pages: u64 = buffer.pages_by_node().expect("residency").iter().map(|(_, pages)| pages).sum();
            assert_eq!(pages as usize, buffer.len().div_ceil(buffer.page_bytes()));
        }
    }

    #[test]
    fn a_page_that_was_never_touched_is_no_residency() {
        if numa::allowed_nodes().is_err() {
            return;
        }
        assert!(matches!(untouched(4096).pages_by_node(), Err(PlacementError::Residency { .. })));
    }

    #[test]
    fn lengths_and_nodes_that_cannot_be_are_refused_with_a_reason() {
        for len in [0, usize::MAX, isize::MAX as usize] {
            assert!(Buffer::anonymous(len, None).is_err(), "{len}");
            assert!(Buffer::memfd(len, None).is_err(), "{len}");
        }
        let error = Buffer::anonymous(4096, Some(977)).expect_err("no such node").to_string();
        assert!(error.contains("memory_node") && error.contains("977"), "{error}");
        for node in nodes() {
            let error = Buffer::anonymous(1 << 46, Some(node)).expect_err("too much").to_string();
            assert!(error.contains("bytes of memory"), "{error}");
        }
    }

    #[test]
    fn it_may_go_to_another_thread() {
        fn sendable<T: Send + Sync>() {}
        sendable::<Buffer>();
    }
}
