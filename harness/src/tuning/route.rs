//! Which interface leads to an address, from the kernel's own tables. Addresses of the host itself have no entry there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::site::Site;

/// A route: destination, length of its prefix, interface.
type Route = (IpAddr, u32, String);

/// Interfaces of the default routes.
pub(super) fn of_default(site: &Site) -> Vec<String> {
    let defaults = routes(site)
        .into_iter()
        .filter(|(to, prefix, name)| *prefix == 0 && to.is_unspecified() && name != "lo");
    let mut names: Vec<String> = defaults.map(|(_, _, name)| name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The interface that leads to an address; none for loopback, and where there is no route.
pub(super) fn to(site: &Site, address: IpAddr) -> Option<String> {
    let address = address.to_canonical();
    routes(site)
        .into_iter()
        .filter(|(to, prefix, _)| covers(*to, *prefix, address))
        .max_by_key(|(_, prefix, _)| *prefix)
        .map(|(_, _, name)| name)
        .filter(|name| name != "lo")
}

fn covers(to: IpAddr, prefix: u32, address: IpAddr) -> bool {
    match (to, address) {
        (IpAddr::V4(to), IpAddr::V4(address)) => {
            let kept = u32::MAX.checked_shl(32_u32.saturating_sub(prefix)).unwrap_or(0);
            u32::from(to) & kept == u32::from(address) & kept
        }
        (IpAddr::V6(to), IpAddr::V6(address)) => {
            let kept = u128::MAX.checked_shl(128_u32.saturating_sub(prefix)).unwrap_or(0);
            u128::from(to) & kept == u128::from(address) & kept
        }
        _ => false,
    }
}

fn routes(site: &Site) -> Vec<Route> {
    let read = |path| site.sysroot.read(path).known().unwrap_or_default();
    let four = read("/proc/net/route");
    let six = read("/proc/net/ipv6_route");
    four.lines().filter_map(parse_four).chain(six.lines().filter_map(parse_six)).collect()
}

/// `eth0 0001A8C0 00000000 0001 0 0 0 00FFFFFF ...`: numbers in the host's order of bytes, which is the network's reversed on
/// the little-endian hosts that RDMA runs on.
fn parse_four(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| u32::from_str_radix(fields.get(at)?, 16).ok();
    let to = Ipv4Addr::from(number(1)?.swap_bytes());
    Some((to.into(), number(7)?.count_ones(), (*fields.first()?).to_owned()))
}

/// `<to> <prefix> <from> <prefix> <via> <metric> <references> <uses> <flags> <interface>`.
fn parse_six(line: &str) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let to = u128::from_str_radix(fields.first().filter(|text| text.len() == 32)?, 16).ok()?;
    let prefix = u32::from_str_radix(fields.get(1)?, 16).ok().filter(|prefix| *prefix <= 128)?;
    Some((Ipv6Addr::from(to).into(), prefix, (*fields.get(9)?).to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use host::Sysroot;
    use proptest::prelude::*;

    use super::*;

    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eno1\t00000000\t0101A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
        eno1\t0001A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\t0\t0\t0\n\
        ens1np0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n";
    const SIX: &str = "\
fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001  ens1np0\n\
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n";

    #[test]
    fn the_longest_prefix_leads_to_an_address() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/net")).unwrap();
        fs::write(dir.path().join("proc/net/route"), ROUTES).unwrap();
        fs::write(dir.path().join("proc/net/ipv6_route"), SIX).unwrap();
        let site = Site::new(Sysroot::new(dir.path()));
        let to = |address: &str| super::to(&site, address.parse().unwrap());
        assert_eq!(of_default(&site), ["eno1"], "a reject route over lo is none");
        assert_eq!(to("10.1.2.3").as_deref(), Some("ens1np0"));
        assert_eq!(to("192.168.1.9").as_deref(), Some("eno1"));
        assert_eq!(to("203.0.113.5").as_deref(), Some("eno1"), "by the default route");
        assert_eq!(to("::ffff:10.1.2.3").as_deref(), Some("ens1np0"));
        assert_eq!(to("fd00::1").as_deref(), Some("ens1np0"));
        assert_eq!(to("2001:db8::1"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-fA-F \t\n]{0,120}") {
            let _ = text.lines().filter_map(parse_four).count();
            let _ = text.lines().filter_map(parse_six).count();
        }
    }
}
