//! The GID table of a port: which entries are RoCE v2, of which network device, and with which address.

use std::net::{IpAddr, Ipv6Addr};

use crate::{sysroot::Sysroot, value::Value};

/// An entry that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gid {
    /// Its index.
    pub index: u32,
    /// The address it holds; an IPv4-mapped one is shown as IPv4.
    pub address: IpAddr,
    /// Its type as the kernel words it: `RoCE v2` or `IB/RoCE v1`.
    pub kind: Value<String>,
    /// Its network device.
    pub netdev: Value<String>,
}

impl Gid {
    /// Whether it is of RoCE v2.
    pub fn is_v2(&self) -> bool {
        matches!(&self.kind, Value::Known(kind) if kind == "RoCE v2")
    }
}

/// Where the table of a port lies.
pub fn folder(device: &str, port_num: u8) -> String {
    format!("/sys/class/infiniband/{device}/ports/{port_num}/gids")
}

/// The entries in use of a port, by index. Empty ones are all zero, and the files of their attributes cannot be read.
pub fn table(sysroot: &Sysroot, device: &str, port_num: u8) -> Value<Vec<Gid>> {
    let folder = folder(device, port_num);
    let attributes = format!("/sys/class/infiniband/{device}/ports/{port_num}/gid_attrs");
    sysroot.list(&folder).map(|names| {
        let indexes = names.iter().filter_map(|name| name.parse::<u32>().ok());
        let entry = |index: u32| {
            let address: Ipv6Addr = sysroot.read(format!("{folder}/{index}")).known()?.trim().parse().ok()?;
            // A link-local prefix with nothing behind it is how some drivers show an empty entry.
            let is_empty = address.is_unspecified() || u128::from(address) == 0xfe80 << 112;
            (!is_empty).then(|| Gid {
                index,
                address: address.to_ipv4_mapped().map_or(IpAddr::V6(address), IpAddr::V4),
                kind: sysroot.read(format!("{attributes}/types/{index}")),
                netdev: sysroot.read(format!("{attributes}/ndevs/{index}")),
            })
        };
        indexes.filter_map(entry).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_tree::tree;

    #[test]
    fn entries_have_a_type_an_address_and_a_netdev_and_empty_ones_are_left_out() {
        let port = "/sys/class/infiniband/mlx5_0/ports/1";
        let (_dir, host) = tree(&[
            (&format!("{port}/gids/0"), "fe80:0000:0000:0000:0a00:00ff:fe00:0001\n"),
            (&format!("{port}/gids/1"), "0000:0000:0000:0000:0000:ffff:0a00:0001\n"),
            (&format!("{port}/gids/2"), "0000:0000:0000:0000:0000:0000:0000:0000\n"),
            (&format!("{port}/gids/3"), "garbage\n"),
            (&format!("{port}/gid_attrs/types/0"), "IB/RoCE v1\n"),
            (&format!("{port}/gid_attrs/types/1"), "RoCE v2\n"),
            (&format!("{port}/gid_attrs/ndevs/1"), "ens1np0\n"),
        ]);
        let gids = table(&host, "mlx5_0", 1).known().expect("a table");
        assert_eq!(gids.len(), 2);
        assert_eq!((gids[0].is_v2(), gids[0].netdev.clone()), (false, Value::Absent));
        assert_eq!((gids[1].index, gids[1].is_v2()), (1, true));
        assert_eq!(gids[1].address, "10.0.0.1".parse::<IpAddr>().expect("an address"));
        assert_eq!(table(&host, "mlx5_1", 1), Value::Absent);
    }
}
