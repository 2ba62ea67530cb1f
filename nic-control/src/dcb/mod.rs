//! Data centre bridging of a network device over rtnetlink: which priorities are paused one by one (PFC), how traffic is
//! sorted into them (DSCP), how they share the link (ETS), and who decides (DCBX).

mod message;
mod model;
mod socket;

use std::io;

pub use model::{App, Dcb, Dcbx, Ets, Pfc};

use crate::check_name;

/// All that `netdev`'s driver says.
///
/// # Errors
/// The kernel's: EOPNOTSUPP for a driver without DCB, ENODEV for no such device.
pub fn read_dcb(netdev: &str) -> io::Result<Dcb> {
    check_name(netdev)?;
    let mut dcb = message::parse_ieee(&socket::exchange(&message::get_ieee(netdev))?)?;
    dcb.dcbx = match socket::exchange(&message::get_dcbx(netdev)) {
        Ok(reply) => message::parse_dcbx(&reply)?,
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => None,
        Err(error) => return Err(error),
    };
    Ok(dcb)
}

/// Turns priority flow control on for `priorities` (0 to 7) and off for the others; what else PFC has stays as it is. The
/// link may flap.
///
/// # Errors
/// The kernel's; EPERM without CAP_NET_ADMIN, EINVAL for a priority above 7 or a driver that refuses the set, EOPNOTSUPP
/// for a driver without PFC.
pub fn set_pfc(netdev: &str, priorities: &[u8]) -> io::Result<()> {
    check_name(netdev)?;
    if priorities.iter().any(|priority| *priority > 7) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    let reply = socket::exchange(&message::get_ieee(netdev))?;
    let current = message::parse_ieee(&reply)?;
    let Some(pfc) = current.pfc else { return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)) };
    let asked = Pfc { enabled: priorities.to_vec(), ..pfc };
    message::parse_set(&socket::exchange(&message::set_pfc(netdev, &asked))?)
}

/// All that one answer could say, for the fuzzer.
#[cfg(feature = "fuzzing")]
pub(crate) fn parse_reply(bytes: &[u8]) -> io::Result<Option<Dcb>> {
    let Some(payload) = message::payload(bytes)? else { return Ok(None) };
    let mut dcb = message::parse_ieee(payload)?;
    dcb.dcbx = message::parse_dcbx(payload)?;
    // An answer to a question need not be one to a change.
    let _ = message::parse_set(payload);
    Ok(Some(dcb))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loopback device has no DCB in any kernel.
    #[test]
    fn the_kernels_refusals_keep_their_errnos() {
        let refused = read_dcb("lo").expect_err("lo has no DCB").raw_os_error();
        assert_eq!(refused, Some(libc::EOPNOTSUPP));
        assert_eq!(read_dcb("no-such-netdev").expect_err("none").raw_os_error(), Some(libc::ENODEV));
        assert_eq!(read_dcb("").expect_err("no name").raw_os_error(), Some(libc::ENODEV));
        assert_eq!(set_pfc("lo", &[8]).expect_err("no such priority").raw_os_error(), Some(libc::EINVAL));
    }
}
