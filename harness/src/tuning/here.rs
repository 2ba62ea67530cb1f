//! Which boot, which network namespace and which process a journal belongs to.

use host::{Sysroot, process};
use sha2::{Digest as _, Sha256};

use super::{
    journal::{Header, Owner},
    site::Site,
};

/// Name of the namespace of a host that shows none: a tree.
const NO_NAMESPACE: &str = "tree";
/// Hexadecimal digits of the digest of the host's name.
const HOST_DIGITS: usize = 16;

/// The boot; empty where the host does not say.
pub(super) fn boot_id(site: &Site) -> String {
    site.sysroot.read("/proc/sys/kernel/random/boot_id").known().unwrap_or_default()
}

/// The network namespace we are in, by the inode of its file: `net:[4026531840]`.
pub(super) fn netns(site: &Site) -> String {
    let link = site.sysroot.link_name("/proc/self/ns/net").known().unwrap_or_default();
    let inode: String = link.chars().filter(char::is_ascii_digit).collect();
    if inode.is_empty() { NO_NAMESPACE.to_owned() } else { inode }
}

/// The header of a journal that this process begins.
pub(super) fn header(site: &Site, profile: Option<&str>) -> Header {
    let host = site.sysroot.read("/proc/sys/kernel/hostname").known().unwrap_or_default();
    let digest = Sha256::digest(host.as_bytes());
    Header {
        format: super::journal::FORMAT,
        boot_id: boot_id(site),
        netns: netns(site),
        host: digest.iter().take(HOST_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect(),
        kernel: site.sysroot.read("/proc/sys/kernel/osrelease").known().unwrap_or_default(),
        tool: env!("CARGO_PKG_VERSION").to_owned(),
        profile: profile.map(str::to_owned),
        owner: owner(),
    }
}

/// This process; also for a tree, which has none of ours.
fn owner() -> Owner {
    let pid = std::process::id();
    let started_ticks =
        process::read(&Sysroot::new("/"), pid).known().map_or(0, |process| process.started_ticks);
    Owner { pid, started_ticks }
}

/// Whether a process that wrote a journal still runs.
pub(super) fn runs(owner: Owner) -> bool {
    process::read(&Sysroot::new("/"), owner.pid)
        .known()
        .is_some_and(|process| process.started_ticks == owner.started_ticks)
}
