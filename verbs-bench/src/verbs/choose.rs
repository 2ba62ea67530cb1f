//! Chooses the GID a QP sends from, and says of every entry why it was or was not taken.
//!
//! Index 0 is a guess that fails on the next host: it may be RoCE v1, link-local, or of another container. The entry is
//! chosen by the route the kernel would take to the peer. Scoring is pure; the route is asked through a function.

use std::{
    cmp::Reverse,
    io,
    net::{IpAddr, Ipv6Addr},
};

use schema::record::GidRecord;

use super::{GidEntry, GidType, VerbsError, route::source_address};

/// The entry to use towards `peer`, and the whole table with a note on each entry.
///
/// `local` is our address on the control connection, `asked` an index the user insists on, `want_family_of` the GID the
/// peer already chose: both ends of a connection must speak the same IP version.
pub fn choose_gid(
    entries: &[GidEntry],
    peer: IpAddr,
    local: IpAddr,
    asked: Option<u32>,
    want_family_of: Option<[u8; 16]>,
) -> Result<(GidEntry, Vec<GidRecord>), VerbsError> {
    let route = |entry: &GidEntry, netdev: &str| source_address(netdev, entry.ifindex, peer);
    match asked {
        Some(index) => take_asked(entries, index),
        None => take_best(entries, &Wish { peer, local, want_family_of }, &route),
    }
}

struct Wish {
    peer: IpAddr,
    local: IpAddr,
    want_family_of: Option<[u8; 16]>,
}

/// Asks for the source address towards the peer through the entry's network device.
type Route<'r> = dyn Fn(&GidEntry, &str) -> io::Result<IpAddr> + 'r;

/// How good an entry is; compared field by field, larger is better, a lower index last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    routed: bool,
    is_local: bool,
    scope: Scope,
    index: Reverse<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Scope {
    LinkLocal,
    Global,
    Ipv4Mapped,
}

fn scope(gid: &[u8; 16]) -> Scope {
    let address = Ipv6Addr::from(*gid);
    match address {
        _ if address.to_ipv4_mapped().is_some() => Scope::Ipv4Mapped,
        _ if address.is_unicast_link_local() => Scope::LinkLocal,
        _ => Scope::Global,
    }
}

/// The entry's rank and what speaks for it, or what rules it out.
fn rank(entry: &GidEntry, wish: &Wish, route: &Route<'_>) -> Result<(Rank, String), String> {
    if entry.is_zero() {
        return Err("not chosen: zero".into());
    }
    let scope = scope(&entry.gid);
    match entry.gid_type {
        GidType::RoceV2 => {}
        GidType::Ib => return Ok((plain(entry, scope), "InfiniBand: reached by the subnet manager".into())),
        other => return Err(format!("not chosen: {other}, not RoCE v2")),
    }
    if let Some(theirs) = wish.want_family_of
        && (scope == Scope::Ipv4Mapped) != (self::scope(&theirs) == Scope::Ipv4Mapped)
    {
        return Err(format!("not chosen: the peer uses {}, another IP version", Ipv6Addr::from(theirs)));
    }
    let Some(netdev) = &entry.netdev else {
        return Err("not chosen: its network device is not in our network namespace".into());
    };
    let (routed, route_text) = match route(entry, netdev) {
        Ok(source) if source == entry.ip() => (true, format!("the route to {} leaves from it", wish.peer)),
        Ok(source) => (false, format!("the route to {} by {netdev} leaves from {source}", wish.peer)),
        Err(error) => (false, format!("no route to {} by {netdev} ({error})", wish.peer)),
    };
    let is_local = entry.ip() == wish.local.to_canonical();
    let local_text = if is_local { "; it is our address on the control connection" } else { "" };
    let scope_text = match scope {
        Scope::Ipv4Mapped => "IPv4",
        Scope::Global => "global IPv6",
        Scope::LinkLocal => "link-local IPv6",
    };
    Ok((Rank { routed, is_local, ..plain(entry, scope) }, format!("{route_text}{local_text}; {scope_text}")))
}

fn plain(entry: &GidEntry, scope: Scope) -> Rank {
    Rank { routed: false, is_local: false, scope, index: Reverse(entry.index) }
}

fn take_best(
    entries: &[GidEntry],
    wish: &Wish,
    route: &Route<'_>,
) -> Result<(GidEntry, Vec<GidRecord>), VerbsError> {
    let ranked: Vec<_> = entries.iter().map(|entry| (entry, rank(entry, wish, route))).collect();
    let best =
        ranked.iter().filter_map(|(entry, rank)| Some((rank.as_ref().ok()?.0, *entry))).max_by_key(|b| b.0);
    let records = ranked
        .iter()
        .map(|(entry, rank)| match rank {
            Ok((rank, why)) if best.is_some_and(|(top, _)| top == *rank) => {
                entry.record(format!("chosen: {why}"))
            }
            Ok((_, why)) => entry.record(format!("usable, not the best: {why}")),
            Err(why) => entry.record(why.clone()),
        })
        .collect();
    match best {
        Some((_, entry)) => Ok((entry.clone(), records)),
        None => Err(VerbsError::NoUsableGid { peer: wish.peer, table: table(&records) }),
    }
}

fn take_asked(entries: &[GidEntry], index: u32) -> Result<(GidEntry, Vec<GidRecord>), VerbsError> {
    let note = |entry: &GidEntry| match entry.index == index {
        true => entry.record("chosen: asked for by index"),
        false => entry.record("not chosen: another index was asked for"),
    };
    let records: Vec<GidRecord> = entries.iter().map(note).collect();
    let refuse = |why: &str| Err(VerbsError::GidIndex { index, why: why.to_owned(), table: table(&records) });
    match entries.iter().find(|entry| entry.index == index) {
        _ if index > u32::from(u8::MAX) => refuse("is above 255, the largest an address handle can carry"),
        None => refuse("is empty or beyond the end of the table; leave gid_index out to have it chosen"),
        Some(entry) if entry.is_zero() => refuse("holds a zero GID, which reaches no one"),
        Some(entry) => Ok((entry.clone(), records)),
    }
}

/// The table as an error shows it.
fn table(records: &[GidRecord]) -> String {
    if records.is_empty() {
        return "  (empty: the port's network device has no address, or is down)".into();
    }
    let line = |r: &GidRecord| {
        let netdev = r.netdev.as_deref().unwrap_or("-");
        format!("  {:>4}  {:<40} {:<8} {netdev:<12} {}", r.index, r.gid, r.gid_type, r.note)
    };
    records.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u32, gid: &str, gid_type: GidType, netdev: Option<&str>) -> GidEntry {
        let gid = gid.parse::<Ipv6Addr>().unwrap().octets();
        GidEntry { index, gid, gid_type, ifindex: 2, netdev: netdev.map(str::to_owned) }
    }

    /// The usual table of one port: each address once as v1, once as v2.
    fn pairs() -> Vec<GidEntry> {
        let addresses = ["fe80::a288:c2ff:fe33:1", "fd00::60", "::ffff:172.19.0.60"];
        let types = [GidType::RoceV1, GidType::RoceV2];
        let entries = addresses.iter().flat_map(|gid| types.map(|kind| (gid, kind)));
        (0..).zip(entries).map(|(index, (gid, kind))| entry(index, gid, kind, Some("ens1"))).collect()
    }

    fn wish(peer: &str) -> Wish {
        let local = "10.99.0.1".parse().unwrap();
        Wish { peer: peer.parse().unwrap(), local, want_family_of: None }
    }

    fn from_address(source: &str) -> impl Fn(&GidEntry, &str) -> io::Result<IpAddr> {
        let source: IpAddr = source.parse().unwrap();
        move |_, _| Ok(source)
    }

    fn no_route(_: &GidEntry, _: &str) -> io::Result<IpAddr> {
        Err(io::Error::from_raw_os_error(libc::ENETUNREACH))
    }

    #[test]
    fn the_route_decides_before_the_kind_of_address() {
        let (best, notes) = take_best(&pairs(), &wish("172.19.0.61"), &from_address("172.19.0.60")).unwrap();
        assert_eq!((best.index, best.gid_type), (5, GidType::RoceV2));
        assert!(
            notes[5].note.starts_with("chosen: the route to 172.19.0.61 leaves from it"),
            "{}",
            notes[5].note
        );
        assert!(notes[4].note.contains("RoCE v1"));
        assert!(notes[1].note.starts_with("usable, not the best"));
        let (best, _) = take_best(&pairs(), &wish("fd00::61"), &from_address("fd00::60")).unwrap();
        assert_eq!(best.index, 3);
        let (best, _) =
            take_best(&pairs(), &wish("fe80::2"), &from_address("fe80::a288:c2ff:fe33:1")).unwrap();
        assert_eq!(best.index, 1);
    }

    #[test]
    fn without_a_route_our_own_address_then_ipv4_then_global() {
        let local = Wish { local: "fd00::60".parse().unwrap(), ..wish("127.0.0.1") };
        assert_eq!(take_best(&pairs(), &local, &no_route).unwrap().0.index, 3);
        assert_eq!(take_best(&pairs(), &wish("127.0.0.1"), &no_route).unwrap().0.index, 5);
        assert_eq!(take_best(&pairs()[..4], &wish("127.0.0.1"), &no_route).unwrap().0.index, 3);
        assert_eq!(take_best(&pairs()[..2], &wish("127.0.0.1"), &no_route).unwrap().0.index, 1);
    }

    #[test]
    fn the_peers_ip_version_binds() {
        let v6 = Wish {
            want_family_of: Some("fd00::61".parse::<Ipv6Addr>().unwrap().octets()),
            ..wish("172.19.0.61")
        };
        let (best, notes) = take_best(&pairs(), &v6, &from_address("172.19.0.60")).unwrap();
        assert_eq!(best.index, 3);
        assert!(notes[5].note.contains("another IP version"));
    }

    #[test]
    fn an_entry_of_another_container_is_passed_over() {
        let mut entries = pairs();
        entries.push(entry(6, "::ffff:172.19.0.60", GidType::RoceV2, None));
        entries[5].netdev = None;
        let (best, notes) = take_best(&entries, &wish("172.19.0.61"), &from_address("172.19.0.60")).unwrap();
        assert_eq!(best.index, 3);
        assert!(notes[6].note.contains("not in our network namespace"));
    }

    #[test]
    fn a_table_of_zeros_is_refused_and_shown() {
        let zeros: Vec<_> = (0..2).map(|at| entry(at, "::", GidType::RoceV2, Some("net1"))).collect();
        let text = take_best(&zeros, &wish("10.0.0.2"), &no_route).unwrap_err().to_string();
        assert!(text.contains("not chosen: zero") && text.contains("--gid-index"), "{text}");
        let text = take_asked(&zeros, 0).unwrap_err().to_string();
        assert!(text.contains("gid_index 0 holds a zero GID") && text.contains("net1"), "{text}");
        assert!(take_best(&[], &wish("10.0.0.2"), &no_route).unwrap_err().to_string().contains("(empty"));
    }

    #[test]
    fn an_asked_index_is_taken_even_if_v1_but_must_exist() {
        let (best, notes) = take_asked(&pairs(), 0).unwrap();
        assert_eq!(best.gid_type, GidType::RoceV1);
        assert!(notes[0].note.contains("asked") && notes[5].note.contains("another index"));
        let text = take_asked(&pairs(), 9).unwrap_err().to_string();
        assert!(text.contains("gid_index 9 is empty or beyond") && text.contains("172.19.0.60"), "{text}");
        assert!(take_asked(&pairs(), 257).unwrap_err().to_string().contains("above 255"));
    }

    #[test]
    fn infiniband_needs_no_network_device() {
        let entries = [entry(0, "fe80::e41d:2d03:0:1", GidType::Ib, None)];
        assert_eq!(take_best(&entries, &wish("10.0.0.2"), &no_route).unwrap().0.index, 0);
    }
}
