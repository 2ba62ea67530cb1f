//! Memory that a context shares with its peers beside registered buffers: the receive queues of its QPs.
//!
//! One memfd for all of them, so that a thousand QPs need one descriptor. Nothing is used twice: a queue that goes gives its
//! pages back and leaves a hole, so a late store of an old peer never lands in a younger queue.

use std::{
    fs::File,
    io,
    os::fd::AsRawFd,
    sync::{Arc, Mutex, PoisonError},
};

use memmap2::{MmapOptions, MmapRaw};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};

/// The shared file of a context.
pub(super) struct Arena {
    memfd: File,
    end: Mutex<u64>,
}

/// A part of an arena; its pages are freed when it is dropped.
pub(super) struct Lease {
    arena: Arc<Arena>,
    offset: u64,
    bytes: u64,
}

impl Arena {
    pub(super) fn new() -> io::Result<Arc<Arena>> {
        let memfd = memfd_create("verbs-bench receives", MemfdFlags::CLOEXEC)?;
        Ok(Arc::new(Arena { memfd: memfd.into(), end: Mutex::new(0) }))
    }

    /// A zeroed part of at least this many bytes, from a page boundary on, mapped with every page present.
    pub(super) fn lease(self: &Arc<Arena>, bytes: u64) -> io::Result<(Lease, MmapRaw)> {
        let bytes = bytes.next_multiple_of(rustix::param::page_size() as u64);
        let offset = {
            let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
            self.memfd.set_len(*end + bytes)?;
            *end += bytes;
            *end - bytes
        };
        let lease = Lease { arena: Arc::clone(self), offset, bytes };
        let map = map(&self.memfd, offset, bytes)?;
        Ok((lease, map))
    }
}

impl Lease {
    /// The descriptor of its file.
    pub(super) fn fd(&self) -> i32 {
        self.arena.memfd.as_raw_fd()
    }

    /// Where it begins in its file.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // Without it the pages live until the context is closed, which is no error.
        let _ = fallocate(&self.arena.memfd, hole, self.offset, self.bytes);
    }
}

/// Maps part of a shared file, every page present.
pub(super) fn map(file: &File, offset: u64, bytes: u64) -> io::Result<MmapRaw> {
    let len = usize::try_from(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EOVERFLOW))?;
    MmapOptions::new().offset(offset).len(len).populate().map_raw(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn parts_are_zeroed_apart_and_give_their_pages_back() {
        let arena = Arena::new().unwrap();
        let (first, first_map) = arena.lease(5_000).unwrap();
        let (second, second_map) = arena.lease(100).unwrap();
        assert!(second.offset() >= first.offset() + 5_000);
        for (map, byte) in [(&first_map, 1), (&second_map, 2)] {
            // SAFETY: both are mapped for their length and this thread alone uses them.
            unsafe {
                assert!(
                    std::slice::from_raw_parts(map.as_mut_ptr(), map.len()).iter().all(|byte| *byte == 0)
                );
                std::ptr::write_bytes(map.as_mut_ptr(), byte, map.len());
            }
        }
        // SAFETY: as above.
        assert_eq!(unsafe { first_map.as_mut_ptr().add(4_999).read() }, 1);
        let blocks = || arena.memfd.metadata().unwrap().blocks();
        let both = blocks();
        drop((first_map, first));
        assert!(blocks() < both);
        // SAFETY: as above.
        assert_eq!(unsafe { second_map.as_mut_ptr().read() }, 2);
        assert!(arena.lease(100).unwrap().0.offset() > second.offset());
    }
}
