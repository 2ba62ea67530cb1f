//! What a network device's driver says and lets one set: asked of the kernel on a live host, of a recording in a tree.

use std::io;

pub use nic_control::ethtool::{Driver, Link};
use nic_control::{Aspect, Fields, Statistic, ethtool::Ethtool};

use crate::{recorded, sysroot::Sysroot, value::Value};

/// EINVAL and EOPNOTSUPP, as the kernel would answer.
const INVALID: i32 = 22;
const NOT_SUPPORTED: i32 = 95;

/// Where a tree keeps an answer.
pub(crate) fn path(netdev: &str, aspect: &str) -> String {
    format!("/.recorded/ethtool/{netdev}/{aspect}.json")
}

/// Driver, its version, firmware and bus address.
pub fn driver(sysroot: &Sysroot, netdev: &str) -> Value<Driver> {
    ask(sysroot, netdev, "driver", Ethtool::driver)
}

/// Speed and duplex of the link.
pub fn link(sysroot: &Sysroot, netdev: &str) -> Value<Link> {
    ask(sysroot, netdev, "link", Ethtool::link)
}

/// What the driver counts, in its order.
pub fn statistics(sysroot: &Sysroot, netdev: &str) -> Value<Vec<Statistic>> {
    ask(sysroot, netdev, "statistics", Ethtool::statistics)
}

/// The numbers of an aspect by name; switches are 0 and 1.
pub fn fields(sysroot: &Sysroot, netdev: &str, aspect: Aspect) -> Value<Fields> {
    ask(sysroot, netdev, aspect.name(), |device| device.fields(aspect))
}

/// One number of an aspect.
pub fn field(sysroot: &Sysroot, netdev: &str, aspect: Aspect, name: &str) -> Value<u32> {
    fields(sysroot, netdev, aspect).and_then(|fields| match fields.get(name) {
        Some(number) => Value::Known(*number),
        None => Value::NotApplicable(format!("{} of {netdev} has no `{name}`", aspect.name())),
    })
}

/// Sets one number of an aspect and leaves the others as they are. Rings are reopened by it, and pause may flap the link.
///
/// # Errors
/// With the kernel's errno: ENODEV for no such device, EOPNOTSUPP for a driver without the request, EINVAL for a number
/// that can't be set or a value above what the device bears, EPERM without CAP_NET_ADMIN. A tree answers as a live host.
pub fn set_field(sysroot: &Sysroot, netdev: &str, aspect: Aspect, name: &str, value: u32) -> io::Result<()> {
    if sysroot.is_live() {
        return Ethtool::new(netdev)?.set_field(aspect, name, value);
    }
    if !aspect.is_settable(name) {
        return Err(io::Error::from_raw_os_error(INVALID));
    }
    recorded::change(sysroot, &path(netdev, aspect.name()), |fields: &mut Fields| {
        if fields.get(&format!("{name}_max")).is_some_and(|most| value > *most) {
            return Err(io::Error::from_raw_os_error(INVALID));
        }
        let number = fields.get_mut(name).ok_or_else(|| io::Error::from_raw_os_error(NOT_SUPPORTED))?;
        *number = value;
        Ok(())
    })
}

fn ask<T: serde::de::DeserializeOwned>(
    sysroot: &Sysroot,
    netdev: &str,
    what: &str,
    question: impl FnOnce(&Ethtool) -> io::Result<T>,
) -> Value<T> {
    if sysroot.is_live() {
        let answer = Ethtool::new(netdev).and_then(|device| question(&device));
        recorded::from_kernel(&format!("ethtool {netdev} {what}"), answer)
    } else {
        recorded::read(sysroot, &path(netdev, what))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const RINGS: &str = "{\n  \"rx\": 1024,\n  \"rx_max\": 8192,\n  \"tx\": 1024,\n  \"tx_max\": 8192\n}\n";

    fn tree() -> (tempfile::TempDir, Sysroot) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Sysroot::new(dir.path());
        let file = root.path(path("ens1np0", "rings"));
        fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        fs::write(file, RINGS).expect("written");
        (dir, root)
    }

    #[test]
    fn a_tree_is_set_and_turned_back_byte_for_byte() {
        let (_dir, host) = tree();
        set_field(&host, "ens1np0", Aspect::Rings, "rx", 4096).expect("set");
        assert_eq!(field(&host, "ens1np0", Aspect::Rings, "rx"), Value::Known(4096));
        assert_eq!(field(&host, "ens1np0", Aspect::Rings, "tx"), Value::Known(1024));
        set_field(&host, "ens1np0", Aspect::Rings, "rx", 1024).expect("turned back");
        let text = fs::read_to_string(host.path(path("ens1np0", "rings"))).expect("the file");
        assert_eq!(text, RINGS);
    }

    #[test]
    fn a_tree_refuses_as_the_kernel_does() {
        let (_dir, host) = tree();
        let errno = |name: &str, value| {
            set_field(&host, "ens1np0", Aspect::Rings, name, value).expect_err(name).raw_os_error()
        };
        assert_eq!(errno("rx", 8193), Some(INVALID), "above what the device bears");
        assert_eq!(errno("rx_max", 1), Some(INVALID));
        assert_eq!(errno("rx_mini", 1), Some(NOT_SUPPORTED), "the recording has none");
        assert!(matches!(field(&host, "ens1np0", Aspect::Rings, "rx_mini"), Value::NotApplicable(_)));
    }

    #[test]
    fn every_device_of_a_live_host_answers_or_says_why_not() {
        let live = Sysroot::new("/");
        for netdev in live.list("/sys/class/net").known().unwrap_or_default() {
            for aspect in Aspect::ALL {
                let fields = fields(&live, &netdev, aspect);
                if let Value::Known(fields) = &fields {
                    assert_eq!(fields.len(), aspect.fields().len(), "{netdev}");
                }
            }
            if let Value::Known(statistics) = statistics(&live, &netdev) {
                assert!(statistics.iter().all(|Statistic(name, _)| name.len() <= 96), "{netdev}");
            }
            assert!(
                !matches!(driver(&live, &netdev), Value::Known(driver) if driver.driver.is_empty()),
                "{netdev}"
            );
        }
        assert_eq!(driver(&live, "no-such-netdev"), Value::Absent);
        assert!(matches!(fields(&live, "lo", Aspect::Rings), Value::NotApplicable(_)));
    }
}
