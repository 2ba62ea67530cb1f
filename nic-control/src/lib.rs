//! What Linux says of a network device to no file: ethtool's requests by ioctl, and data centre bridging (PFC, DSCP, ETS)
//! by netlink.
//!
//! It is a room of its own because one system call in it, [`ethtool`]'s, is unsafe. It knows the kernel's layouts
//! (`linux/ethtool.h`, `linux/dcbnl.h`) and nothing of hosts, trees or runs. Errors are the kernel's, with their errno:
//! ENODEV is no such device, EOPNOTSUPP a driver without the request, EPERM a caller without the right. Both ask in the
//! network namespace of the calling thread.

mod aspect;
mod dcb;
pub mod ethtool;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod statistics;

pub use aspect::{Aspect, Fields};
pub use dcb::{App, Dcb, Dcbx, Ets, Pfc, read_dcb, set_pfc};
pub use statistics::Statistic;

/// Longest name of a network device, its closing 0 included (IFNAMSIZ).
const NAME_BYTES: usize = 16;

/// Why `name` can't be a network device's: empty, too long, or with bytes the kernel refuses.
fn check_name(name: &str) -> std::io::Result<()> {
    let refused = |byte: u8| byte == 0 || byte == b'/' || byte.is_ascii_whitespace();
    if name.is_empty() || name.len() >= NAME_BYTES || name.bytes().any(refused) {
        return Err(std::io::Error::from_raw_os_error(libc::ENODEV));
    }
    Ok(())
}
