//! ethtool's requests: one ioctl (SIOCETHTOOL) on any socket, the device by name, the request in a buffer whose first word
//! says which.

use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use serde::{Deserialize, Serialize};

use crate::{
    NAME_BYTES,
    aspect::{Aspect, Fields},
    check_name,
    statistics::{self, Statistic},
};

const GET_DRIVER: u32 = 0x03;
const GET_STRINGS: u32 = 0x1b;
const GET_STATISTICS: u32 = 0x1d;
const GET_SET_SIZES: u32 = 0x37;
const GET_LINK: u32 = 0x4c;

/// The set of strings that names the statistics (ETH_SS_STATS).
const STATISTICS_SET: u32 = 1;

/// struct ethtool_drvinfo: a word, five texts, twelve bytes, five words.
const DRIVER_BYTES: usize = 196;

/// struct ethtool_link_settings without its masks.
const LINK_BYTES: usize = 48;
/// Most words a mask of link modes may have: the kernel's field is signed, of 8 bits.
const MOST_MASK_WORDS: usize = 127;

/// Statistics beyond the announced count that a buffer has room for: old kernels write as many as the driver has by then,
/// not as many as were asked for.
const SLACK: usize = 4_096;
/// More statistics than any driver has; above it the answer is not believed.
const MOST_STATISTICS: usize = 1 << 20;

/// Who drives a network device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Driver {
    /// For example `mlx5_core`.
    pub driver: String,
    /// The driver's version; that of the kernel for drivers in the tree.
    pub version: String,
    /// Firmware, in the driver's words.
    pub firmware: String,
    /// Address on its bus; empty for a virtual device.
    pub bus: String,
}

/// What a link runs at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Mb/s; null while the link is down or the device knows no speed.
    pub speed_mbit: Option<u32>,
    /// Whether both directions run at once; null where the device does not say.
    pub full_duplex: Option<bool>,
    /// Whether the speed is negotiated.
    pub autoneg: bool,
}

/// A network device that can be asked.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
    name: [u8; NAME_BYTES],
}

impl Ethtool {
    /// Prepares to ask `netdev`; whether there is one shows at the first question.
    ///
    /// # Errors
    /// ENODEV for what can't be a name, and what `socket` fails with.
    pub fn new(netdev: &str) -> io::Result<Ethtool> {
        check_name(netdev)?;
        let mut name = [0; NAME_BYTES];
        name[..netdev.len()].copy_from_slice(netdev.as_bytes());
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
        Ok(Ethtool { socket, name })
    }

    /// Its driver.
    ///
    /// # Errors
    /// The kernel's.
    pub fn driver(&self) -> io::Result<Driver> {
        let mut buffer = request(GET_DRIVER, DRIVER_BYTES);
        self.ask(&mut buffer)?;
        let text = |from: usize| statistics::text(&buffer[from..from + 32]).trim().to_owned();
        Ok(Driver { driver: text(4), version: text(36), firmware: text(68), bus: text(100) })
    }

    /// What its driver counts, in the driver's order; empty where it counts nothing.
    ///
    /// # Errors
    /// The kernel's.
    pub fn statistics(&self) -> io::Result<Vec<Statistic>> {
        let count = self.statistics_count()?;
        if count == 0 {
            return Ok(Vec::new());
        }
        let room = count + SLACK;
        let mut strings = request(GET_STRINGS, 12 + room * statistics::NAME_BYTES);
        put_word(&mut strings, 1, STATISTICS_SET);
        put_word(&mut strings, 2, count as u32);
        self.ask(&mut strings)?;
        let names = word(&strings, 2) as usize;
        let mut numbers = request(GET_STATISTICS, 8 + room * 8);
        put_word(&mut numbers, 1, count as u32);
        self.ask(&mut numbers)?;
        let values = word(&numbers, 1) as usize;
        Ok(statistics::names(&strings[12..])
            .zip(statistics::values(&numbers[8..]))
            .take(names.min(values).min(room))
            .map(|(name, value)| Statistic(name, value))
            .collect())
    }

    /// The numbers of an aspect.
    ///
    /// # Errors
    /// The kernel's; EOPNOTSUPP where the driver has no such request.
    pub fn fields(&self, aspect: Aspect) -> io::Result<Fields> {
        let row = self.row(aspect)?;
        let named = aspect.fields().iter().enumerate();
        Ok(named.map(|(n, name)| ((*name).to_owned(), word(&row, n + 1))).collect())
    }

    /// Sets one number of an aspect and leaves the others as they are.
    ///
    /// # Errors
    /// The kernel's; EINVAL for a number that has no such name or can't be set.
    pub fn set_field(&self, aspect: Aspect, field: &str, value: u32) -> io::Result<()> {
        let at = aspect.fields().iter().position(|name| *name == field);
        let (Some(at), Some(command), true) = (at, aspect.set_command(), aspect.is_settable(field)) else {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        };
        let mut row = self.row(aspect)?;
        put_word(&mut row, 0, command);
        put_word(&mut row, at + 1, value);
        self.ask(&mut row)
    }

    /// What its link runs at.
    ///
    /// # Errors
    /// The kernel's.
    pub fn link(&self) -> io::Result<Link> {
        let mut buffer = request(GET_LINK, LINK_BYTES);
        self.ask(&mut buffer)?;
        // The first answer is how many words a mask has, as a negative number; the second request repeats it.
        let words = usize::from((buffer[18] as i8).unsigned_abs()).min(MOST_MASK_WORDS);
        buffer = request(GET_LINK, LINK_BYTES + 3 * 4 * words);
        buffer[18] = words as u8;
        self.ask(&mut buffer)?;
        let speed = word(&buffer, 1);
        Ok(Link {
            speed_mbit: (speed != 0 && speed != u32::MAX).then_some(speed),
            full_duplex: match buffer[8] {
                0 => Some(false),
                1 => Some(true),
                _ => None,
            },
            autoneg: buffer[11] != 0,
        })
    }

    fn row(&self, aspect: Aspect) -> io::Result<Vec<u8>> {
        let mut row = request(aspect.get_command(), 4 * (1 + aspect.fields().len()));
        self.ask(&mut row)?;
        Ok(row)
    }

    fn statistics_count(&self) -> io::Result<usize> {
        let mut sizes = request(GET_SET_SIZES, 20);
        sizes[8..16].copy_from_slice(&(1u64 << STATISTICS_SET).to_ne_bytes());
        self.ask(&mut sizes)?;
        let answered = u64::from_ne_bytes(sizes[8..16].try_into().unwrap_or_default()) != 0;
        let count = word(&sizes, 4) as usize;
        match (answered, count) {
            (false, _) => Ok(0),
            (true, count) if count <= MOST_STATISTICS => Ok(count),
            _ => Err(io::Error::from_raw_os_error(libc::E2BIG)),
        }
    }

    /// Hands the request over and takes the answer in its place.
    fn ask(&self, buffer: &mut [u8]) -> io::Result<()> {
        let mut name = [0; NAME_BYTES];
        for (to, from) in name.iter_mut().zip(self.name) {
            *to = from as libc::c_char;
        }
        let mut request = libc::ifreq {
            ifr_name: name,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: buffer.as_mut_ptr().cast() },
        };
        // SAFETY: `request` is a whole ifreq that outlives the call and whose data points into `buffer`, which is borrowed
        // for it. The kernel reads the command in its first word and writes no more than that command's answer, for which
        // every caller has made the buffer large enough: by the size of its struct, for the link modes by the number of
        // words the kernel asked for, and for the statistics by the count it announced and SLACK more.
        let answer =
            unsafe { libc::ioctl(self.socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A request of `bytes` whose first word is its command.
fn request(command: u32, bytes: usize) -> Vec<u8> {
    let mut buffer = vec![0; bytes];
    put_word(&mut buffer, 0, command);
    buffer
}

fn put_word(buffer: &mut [u8], at: usize, value: u32) {
    buffer[4 * at..4 * at + 4].copy_from_slice(&value.to_ne_bytes());
}

fn word(buffer: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(buffer[4 * at..4 * at + 4].try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loopback device is on every Linux, and its driver knows a few requests and refuses the rest.
    #[test]
    fn a_request_no_driver_knows_and_a_device_that_is_not_there_keep_their_errnos() {
        let lo = Ethtool::new("lo").expect("a socket");
        let refused = lo.fields(Aspect::Rings).expect_err("lo has no rings");
        assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
        let none = Ethtool::new("no-such-netdev").expect("a socket").driver().expect_err("no device");
        assert_eq!(none.raw_os_error(), Some(libc::ENODEV));
        for name in ["", "sixteen-bytes-it", "a/b", "a b", "a\0b"] {
            assert_eq!(Ethtool::new(name).expect_err(name).raw_os_error(), Some(libc::ENODEV));
        }
    }

    #[test]
    fn loopback_answers_what_it_can() {
        let lo = Ethtool::new("lo").expect("a socket");
        assert_eq!(lo.statistics().expect("counted"), []);
        let bad = lo.set_field(Aspect::Pause, "rx_max", 1).expect_err("no such number");
        assert_eq!(bad.raw_os_error(), Some(libc::EINVAL));
    }
}
