//! Where a peer's registered memory is, and mapping it into this process.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::fd::AsRawFd,
    path::PathBuf,
};

use memmap2::{MmapOptions, MmapRaw};
use serde::{Deserialize, Serialize};

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
}

impl SoftPeer {
    /// Describes our own memory; `None` for memory that can't be shared, or where /proc does not say who we are.
    pub(super) fn describe(buffer: &Buffer, rkey: u32) -> Option<SoftPeer> {
        let pid = std::process::id();
        Some(SoftPeer {
            boot_id: boot_id().ok()?,
            pid,
            start_time: start_time(pid).ok()?,
            fd: buffer.memfd_fd()?.as_raw_fd(),
            len: buffer.len() as u64,
            base_addr: buffer.as_ptr() as u64,
            rkey,
        })
    }

    /// Maps the peer's memory, every page present.
    pub(super) fn map(&self) -> Result<MmapRaw, VerbsError> {
        self.check_same_host()?;
        self.check_same_process()?;
        let memfd = self.open()?;
        let len = usize::try_from(self.len).unwrap_or(usize::MAX);
        MmapOptions::new()
            .len(len)
            .populate()
            .map_raw(&memfd)
            .map_err(|source| self.error("mmap", "free memory, or use smaller buffers", source))
    }

    fn check_same_host(&self) -> Result<(), VerbsError> {
        const ADVICE: &str =
            "the software NIC joins two processes of one host; between hosts use an RDMA device";
        let ours = boot_id().map_err(|source| self.error("reading boot_id", ADVICE, source))?;
        match ours == self.boot_id {
            true => Ok(()),
            false => {
                Err(self.error("comparing boot ids", ADVICE, io::Error::other("the peer is on another host")))
            }
        }
    }

    fn check_same_process(&self) -> Result<(), VerbsError> {
        const ADVICE: &str = "both processes must share a PID namespace, and the peer must still run";
        let started =
            start_time(self.pid).map_err(|source| self.error("reading its stat", ADVICE, source))?;
        match started == self.start_time {
            true => Ok(()),
            false => Err(self.error(
                "comparing start times",
                ADVICE,
                io::Error::other("this pid is another process here"),
            )),
        }
    }

    /// Opens the memfd, and nothing that is no memfd or is shorter than promised.
    fn open(&self) -> Result<File, VerbsError> {
        const ADVICE: &str = "both processes must run as the same user, or this one as root";
        let path = PathBuf::from(format!("/proc/{}/fd/{}", self.pid, self.fd));
        let fail = |source| self.error("opening its memfd", ADVICE, source);
        let target = fs::read_link(&path).map_err(fail)?;
        if !target.to_string_lossy().starts_with("/memfd:") {
            return Err(fail(io::Error::other(format!("{} is no memfd", target.display()))));
        }
        let file = OpenOptions::new().read(true).write(true).open(&path).map_err(fail)?;
        let have = file.metadata().map_err(fail)?.len();
        if self.len == 0 || have < self.len {
            return Err(fail(io::Error::other(format!("it has {have} bytes, {} were announced", self.len))));
        }
        Ok(file)
    }

    fn error(&self, step: &str, advice: &'static str, source: io::Error) -> VerbsError {
        VerbsError::SoftPeer { what: format!("{step}, process {}, fd {}", self.pid, self.fd), advice, source }
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
        let peer = SoftPeer::describe(&buffer, 7).unwrap();
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
        assert_eq!(SoftPeer::describe(&Buffer::anonymous(4096, None).unwrap(), 7), None);
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
