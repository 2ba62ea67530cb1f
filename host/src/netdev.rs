//! A network device as sysfs shows it: MTU, carrier, speed, and what it is part of.

use crate::{sysroot::Sysroot, value::Value};

/// One network device by name. All answers are absent for one the host does not have.
#[derive(Debug, Clone)]
pub struct Netdev<'h> {
    sysroot: &'h Sysroot,
    folder: String,
}

impl<'h> Netdev<'h> {
    /// The device of this name, whether or not the host has it.
    pub fn new(sysroot: &'h Sysroot, name: &str) -> Netdev<'h> {
        Netdev { sysroot, folder: format!("/sys/class/net/{name}") }
    }

    /// Where an attribute of it lies.
    pub fn path(&self, attribute: &str) -> String {
        format!("{}/{attribute}", self.folder)
    }

    /// MTU in bytes, without the Ethernet header.
    pub fn mtu(&self) -> Value<u32> {
        self.number("mtu")
    }

    /// State as the kernel words it: `up`, `down`, `lowerlayerdown`, `unknown`.
    pub fn operstate(&self) -> Value<String> {
        self.sysroot.read(self.path("operstate"))
    }

    /// Whether the link has carrier. A device that is administratively down has no answer.
    pub fn carrier(&self) -> Value<bool> {
        self.number::<u32>("carrier").map(|carrier| carrier != 0)
    }

    /// How often carrier came or went since the device was made.
    pub fn carrier_changes(&self) -> Value<u64> {
        self.number("carrier_changes")
    }

    /// Whether it is administratively up: bit 0 of its flags.
    pub fn is_up(&self) -> Value<bool> {
        let path = self.path("flags");
        self.sysroot.read(&path).parse(|text| {
            let flags = u32::from_str_radix(text.trim_start_matches("0x"), 16);
            flags.map(|flags| flags & 1 != 0).map_err(|error| format!("{path}: `{text}`: {error}"))
        })
    }

    /// The bond, bridge or other device it is part of.
    pub fn master(&self) -> Value<String> {
        self.sysroot.link_name(self.path("master"))
    }

    /// The devices on top of it (VLANs, macvlans, its bond), by the links the kernel keeps.
    pub fn uppers(&self) -> Vec<String> {
        let names = self.sysroot.list(&self.folder).known().unwrap_or_default();
        names.iter().filter_map(|name| name.strip_prefix("upper_")).map(str::to_owned).collect()
    }

    /// Policy of the bond it is itself, for example `802.3ad`; absent for any other device.
    pub fn bond_mode(&self) -> Value<String> {
        self.sysroot
            .read(self.path("bonding/mode"))
            .map(|text| text.split_whitespace().next().unwrap_or_default().to_owned())
    }

    /// Devices of the bond it is itself.
    pub fn bond_slaves(&self) -> Value<Vec<String>> {
        self.sysroot
            .read(self.path("bonding/slaves"))
            .map(|text| text.split_whitespace().map(str::to_owned).collect())
    }

    fn number<T: std::str::FromStr<Err = std::num::ParseIntError>>(&self, attribute: &str) -> Value<T> {
        let path = self.path(attribute);
        self.sysroot
            .read(&path)
            .parse(|text| text.parse().map_err(|error| format!("{path}: `{text}`: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_tree::tree;

    #[test]
    fn a_bond_has_slaves_and_a_slave_has_a_master() {
        let (dir, host) = tree(&[
            ("/sys/class/net/bond0/bonding/mode", "802.3ad 4\n"),
            ("/sys/class/net/bond0/bonding/slaves", "ens1f0 ens1f1\n"),
            ("/sys/class/net/ens1f0/mtu", "9000\n"),
            ("/sys/class/net/ens1f0/flags", "0x1103\n"),
            ("/sys/class/net/ens1f0/carrier", "1\n"),
            ("/sys/class/net/ens1f0/upper_bond0/mtu", "9000\n"),
        ]);
        std::os::unix::fs::symlink("../bond0", dir.path().join("sys/class/net/ens1f0/master")).expect("ln");
        let slave = Netdev::new(&host, "ens1f0");
        assert_eq!((slave.mtu(), slave.is_up()), (Value::Known(9000), Value::Known(true)));
        assert_eq!((slave.carrier(), slave.master()), (Value::Known(true), Value::Known("bond0".into())));
        assert_eq!(slave.uppers(), ["bond0"]);
        assert_eq!(slave.bond_mode(), Value::Absent);
        let bond = Netdev::new(&host, "bond0");
        assert_eq!(bond.bond_mode(), Value::Known("802.3ad".into()));
        assert_eq!(bond.bond_slaves(), Value::Known(vec!["ens1f0".into(), "ens1f1".into()]));
        assert_eq!(bond.mtu(), Value::Absent);
    }

    #[test]
    fn loopback_of_this_host_is_up_or_at_least_has_an_mtu() {
        let host = Sysroot::new("/");
        assert!(Netdev::new(&host, "lo").mtu().known() > Some(0));
        assert_eq!(Netdev::new(&host, "no-such-netdev").mtu(), Value::Absent);
    }
}
