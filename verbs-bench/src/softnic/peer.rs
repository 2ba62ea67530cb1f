//! Where a peer's registered memory is, and mapping it into this process.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    path::PathBuf,
};

use memmap2::MmapRaw;
use serde::{Deserialize, Serialize};

use super::{arena, reach::PeerReceives, ring::Ring};
use crate::{placement::Buffer, verbs::VerbsError};

/// A registered memory region of a software NIC, as a peer on the same host finds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftPeer {
    /// Boot id of the kernel the owner runs on.
    pub boot_id: String,
    /// Owner's process id.
    pub pid: u32,
    /// Owner's start time in clock ticks since boot, so that a reused pid is not taken for it.
    pub start_time: u64,
    /// Its memfd.
    pub fd: i32,
    /// Length in bytes.
    pub len: u64,
    /// Address of the first byte, as the owner and the work requests count.
    pub base_addr: u64,
    /// Remote key.
    pub rkey: u32,
    /// The receive queue of the QP; absent for one that receives nothing.
    pub receives: Option<SharedRing>,
}

/// A receive queue of a software NIC, in another memfd of the same process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedRing {
    /// The memfd.
    pub fd: i32,
    /// Where it begins there, in bytes.
    pub offset: u64,
    /// Receives it was made for.
    pub entries: u32,
    /// QP it belongs to.
    pub qp_num: u32,
}

impl SoftPeer {
    /// Describes our own memory; `None` for memory that can't be shared, or where /proc does not say who we are.
    pub(super) fn describe(buffer: &Buffer, rkey: u32, receives: Option<SharedRing>) -> Option<SoftPeer> {
        let pid = std::process::id();
        Some(SoftPeer {
            boot_id: boot_id().ok()?,
            pid,
            start_time: start_time(pid).ok()?,
            fd: buffer.memfd_fd()?.as_raw_fd(),
            len: buffer.len() as u64,
            base_addr: buffer.as_ptr() as u64,
            rkey,
            receives,
        })
    }

    /// Maps the peer's memory, every page present.
    pub(super) fn map(&self) -> Result<MmapRaw, VerbsError> {
        self.map_part(self.fd, 0, self.len)
    }

    /// Maps the receive queue of the peer's QP, if it has one.
    pub(super) fn map_receives(&self) -> Result<Option<PeerReceives>, VerbsError> {
        let Some(SharedRing { fd, offset, entries, qp_num }) = self.receives else { return Ok(None) };
        let bytes = Ring::bytes(entries).unwrap_or(0);
        let ring = Ring::new(self.map_part(fd, offset, bytes)?, entries);
        Ok(ring.map(|ring| PeerReceives::new(ring, qp_num)))
    }

    fn map_part(&self, fd: i32, offset: u64, len: u64) -> Result<MmapRaw, VerbsError> {
        self.check_same_host()?;
        self.check_same_process()?;
        let memfd = self.open(fd, offset, len)?;
        memfd
            .metadata()
            // A mapping of huge pages can't be unmapped in part; their file has whole pages only.
            .map(|file| len.next_multiple_of(file.blksize().max(1)).min(file.len() - offset))
            .and_then(|whole| arena::map(&memfd, offset, whole))
            .map_err(|source| self.error(fd, "mmap", "free memory, or use smaller buffers", source))
    }

    fn check_same_host(&self) -> Result<(), VerbsError> {
        const ADVICE: &str =
            "the software NIC joins two processes of one host; between hosts use an RDMA device";
        let ours = boot_id().map_err(|source| self.error(self.fd, "reading boot_id", ADVICE, source))?;
        match ours == self.boot_id {
            true => Ok(()),
            false => Err(self.error(
                self.fd,
                "comparing boot ids",
                ADVICE,
                io::Error::other("the peer is on another host"),
            )),
        }
    }

    fn check_same_process(&self) -> Result<(), VerbsError> {
        const ADVICE: &str = "both processes must share a PID namespace, and the peer must still run";
        let started =
            start_time(self.pid).map_err(|source| self.error(self.fd, "reading its stat", ADVICE, source))?;
        match started == self.start_time {
            true => Ok(()),
            false => Err(self.error(
                self.fd,
                "comparing start times",
                ADVICE,
                io::Error::other("this pid is another process here"),
            )),
        }
    }

    /// Opens the memfd, and nothing that is no memfd or is shorter than promised.
    fn open(&self, fd: i32, offset: u64, len: u64) -> Result<File, VerbsError> {
        const ADVICE: &str = "both processes must run as the same user, or this one as root";
        let path = PathBuf::from(format!("/proc/{}/fd/{fd}", self.pid));
        let fail = |source| self.error(fd, "opening its memfd", ADVICE, source);
        let target = fs::read_link(&path).map_err(fail)?;
        if !target.to_string_lossy().starts_with("/memfd:") {
            return Err(fail(io::Error::other(format!("{} is no memfd", target.display()))));
        }
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(fail)?;
        let have = file.metadata().map_err(fail)?.len();
        if len == 0 || offset.checked_add(len).is_none_or(|end| have < end) {
            let text = format!("it has {have} bytes, {len} from {offset} on were announced");
            return Err(fail(io::Error::other(text)));
        }
        Ok(file)
    }

    fn error(&self, fd: i32, step: &str, advice: &'static str, source: io::Error) -> VerbsError {
        VerbsError::SoftPeer { what: format!("{step}, process {}, fd {fd}", self.pid), advice, source }
    }
}

fn boot_id() -> io::Result<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned())
}

/// Field 22 of /proc/PID/stat; the command name before it may hold spaces and parentheses.
fn start_time(pid: u32) -> io::Result<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = after_name.split_whitespace().nth(19).and_then(|text| text.parse().ok());
    field.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat has no start time"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described() -> (Buffer, SoftPeer) {
        let buffer = Buffer::memfd(8192, None).unwrap();
        let peer = SoftPeer::describe(&buffer, 7, None).unwrap();
        (buffer, peer)
    }

    fn refusal(peer: &SoftPeer) -> String {
        peer.map().expect_err("refused").to_string()
    }

    #[test]
    fn a_store_through_the_mapping_is_seen_by_the_owner() {
        let (buffer, peer) = described();
        let map = peer.map().unwrap();
        // SAFETY: both mappings are 8192 bytes and no one else writes to them.
        unsafe {
            map.as_mut_ptr().add(8191).write(42);
            assert_eq!(buffer.as_ptr().add(8191).read(), 42);
        }
    }

    #[test]
    fn anonymous_memory_has_no_description() {
        assert_eq!(SoftPeer::describe(&Buffer::anonymous(4096, None).unwrap(), 7, None), None);
    }

    #[test]
    fn another_host_another_process_another_file_are_told_apart() {
        let (_buffer, peer) = described();
        let text = refusal(&SoftPeer { boot_id: "other".into(), ..peer.clone() });
        assert!(text.contains("another host") && text.contains("use an RDMA device"), "{text}");
        let text = refusal(&SoftPeer { start_time: peer.start_time + 1, ..peer.clone() });
        assert!(text.contains("another process"), "{text}");
        let text = refusal(&SoftPeer { fd: 99_999, ..peer.clone() });
        assert!(text.contains("fd 99999") && text.contains("same user"), "{text}");
        let text = refusal(&SoftPeer { len: 1 << 20, ..peer.clone() });
        assert!(text.contains("8192 bytes"), "{text}");
        let file = tempfile::tempfile().unwrap();
        let text = refusal(&SoftPeer { fd: file.as_raw_fd(), ..peer });
        assert!(text.contains("no memfd"), "{text}");
    }
}
