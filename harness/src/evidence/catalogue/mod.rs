//! What is known of a counter by its name: its unit, which side of a run it rises on, and what that implies.
//!
//! mlx5: `Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst` of the kernel. Standard counters:
//! `Documentation/ABI/stable/sysfs-class-infiniband`. rxe: `drivers/infiniband/sw/rxe/rxe_hw_counters.c` and where each is
//! counted. A name that is not here is kept where it moved, with no meaning given.

mod table;

use schema::evidence::Unit;

use Group::*;
use Rises::Either;
use Unit::{Bytes, Events, Microseconds, Packets};
use table::{ETHTOOL, HOST, RDMA, STACK, known};

/// What a counter speaks of; checks ask for a group, not for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Messages and packets of the RDMA traffic itself.
    Traffic,
    /// Packets were lost or reordered on the way: a later one arrived before them.
    Loss,
    /// Packets were sent again, whatever for: loss, or an acknowledgement that was late.
    Resent,
    /// A queue pair gave up: the run is invalid.
    GaveUp,
    /// The peer had no receive posted.
    NotReady,
    /// A work request ended in an error that is no loss.
    Refused,
    /// Congestion was signalled or obeyed.
    Congestion,
    /// The NIC had no room or no receive buffer for what arrived.
    PortDiscard,
    /// The cable, the optics or the peer's framing.
    Cable,
    /// The link went down.
    LinkDown,
    /// Time for which sending was paused; microseconds.
    PauseTime,
    /// A stuck receiver was seen.
    PauseStorm,
    /// PCIe could not keep up, or made errors.
    Pcie,
    /// The kernel's own stack dropped something: TCP, rxe and siw go through it.
    Stack,
    /// An interrupt's affinity moved under its queue.
    AffinityMoved,
    /// A CPU was slowed down.
    Throttled,
    /// Interrupts, switches and deferred work of the host.
    Noise,
    /// Where memory was taken from.
    Memory,
}

/// Which side of a run, as seen by the traffic of the requester, a counter rises on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rises {
    Requester,
    Responder,
    Either,
}

/// What is known of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// What it speaks of.
    pub(super) group: Group,
    /// What it counts.
    pub(super) unit: Unit,
    /// What one step of it is worth in `unit`.
    pub(super) factor: u64,
    /// Where it rises.
    pub(super) rises: Rises,
    /// What its rising implies; empty where it is what is meant to happen.
    pub(super) implies: &'static str,
}

/// Where a counter was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Rdma,
    Ethtool,
    Stack,
    Host,
}

impl Kind {
    /// By the first word of a source (`hw_counters mlx5_0/1`).
    pub(super) fn of(source: &str) -> Kind {
        match source.split(' ').next().unwrap_or_default() {
            "counters" | "hw_counters" => Kind::Rdma,
            "ethtool" => Kind::Ethtool,
            "netdev" | "softnet" | "snmp" => Kind::Stack,
            _ => Kind::Host,
        }
    }
}

/// What is known of a counter.
pub(super) fn look_up(kind: Kind, name: &str) -> Option<Known> {
    let table = match kind {
        Kind::Rdma => RDMA,
        Kind::Ethtool => ETHTOOL,
        Kind::Stack => STACK,
        Kind::Host => HOST,
    };
    // In switchdev mode mlx5 puts this before the names of the port's counters.
    let plain = name.strip_prefix("vport_").unwrap_or(name);
    let listed = table.iter().find(|(listed, _)| *listed == plain).map(|(_, known)| *known);
    listed.or_else(|| if kind == Kind::Ethtool { by_shape(name) } else { None })
}

/// Counters of a priority and of a channel, whose names hold its number.
fn by_shape(name: &str) -> Option<Known> {
    if let Some(rest) = name.strip_prefix("ch") {
        let moved = rest.trim_start_matches(|c: char| c.is_ascii_digit()) == "_aff_change"
            && rest.len() > "_aff_change".len();
        return moved
            .then(|| known(AffinityMoved, Events, Either, "a queue's interrupt was moved to another CPU"));
    }
    let (direction, rest) = name.split_once("_prio")?;
    let what = rest.strip_prefix(|c: char| c.is_ascii_digit())?;
    match (direction, what) {
        ("rx" | "tx", "_bytes") => Some(known(Traffic, Bytes, Either, "")),
        ("rx" | "tx", "_packets") => Some(known(Traffic, Packets, Either, "")),
        ("rx", "_pause_duration") => {
            Some(known(PauseTime, Microseconds, Either, "this side was told to stop sending this priority"))
        }
        ("tx", "_pause_duration") => Some(known(
            PauseTime,
            Microseconds,
            Either,
            "this side told the other to stop sending this priority",
        )),
        ("rx", "_discards" | "_buf_discard" | "_cong_discard") => {
            Some(known(PortDiscard, Packets, Either, "the port dropped packets of this priority"))
        }
        ("rx", "_marked") => {
            Some(known(Congestion, Packets, Either, "this NIC marked packets of this priority: congestion"))
        }
        _ => None,
    }
}

/// Whether standing still is evidence: shown even where it did not move.
pub(super) fn is_key(known: &Known) -> bool {
    !matches!(known.group, Traffic | Noise | Memory | AffinityMoved)
}

/// The unit of a counter nobody listed, by the end of its name.
pub(super) fn unit_by_name(name: &str) -> Unit {
    let name = name.strip_suffix("_phy").unwrap_or(name);
    // rx_65_to_127_bytes counts frames of these sizes.
    let is_size = name.split('_').nth(1).is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    if name.ends_with("packets") || name.ends_with("pkts") || is_size {
        Unit::Packets
    } else if name.ends_with("bytes") {
        Unit::Bytes
    } else {
        Unit::Unknown
    }
}

/// Whether it says how many objects there are now, which goes up and down: bnxt_re keeps these among its counters.
pub(super) fn is_a_stock(kind: Kind, name: &str) -> bool {
    kind == Kind::Rdma && ["active_", "watermark_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a counter of ethtool is of one queue or channel: there are hundreds, and they say nothing of RDMA.
pub(super) fn is_of_a_queue(name: &str) -> bool {
    name.starts_with('[')
        || ["rx", "tx", "ch"].iter().any(|prefix| {
            name.strip_prefix(prefix).is_some_and(|rest| {
                let rest = rest.strip_prefix("_queue_").or_else(|| rest.strip_prefix('-')).unwrap_or(rest);
                rest.starts_with(|c: char| c.is_ascii_digit())
            })
        })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_name_is_listed_twice() {
        for table in [RDMA, ETHTOOL, STACK, HOST] {
            let names: BTreeSet<&str> = table.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.len(), table.len());
        }
    }

    #[test]
    fn words_of_four_bytes_and_priorities_are_known() {
        let data = look_up(Kind::Rdma, "port_xmit_data").expect("listed");
        assert_eq!((data.unit, data.factor), (Bytes, 4));
        let pause = look_up(Kind::Ethtool, "rx_prio3_pause_duration").expect("by its shape");
        assert_eq!((pause.group, pause.unit), (PauseTime, Microseconds));
        assert_eq!(look_up(Kind::Ethtool, "rx_prio3_pause"), None);
        assert_eq!(look_up(Kind::Ethtool, "ch12_aff_change").map(|known| known.group), Some(AffinityMoved));
        assert_eq!(look_up(Kind::Ethtool, "ch_aff_change"), None);
        assert_eq!(look_up(Kind::Rdma, "vport_rx_write_requests").map(|known| known.group), Some(Traffic));
        assert_eq!(look_up(Kind::Host, "numa_hit").map(|known| known.unit), Some(Unit::Pages));
        assert_eq!(look_up(Kind::Ethtool, "out_of_sequence"), None, "it is no counter of the network device");
    }

    #[test]
    fn what_is_known_of_a_stranger_is_in_its_name() {
        assert_eq!(unit_by_name("tx_bytes_phy"), Unit::Bytes);
        assert_eq!(unit_by_name("rx_65_to_127_bytes_phy"), Unit::Packets);
        assert_eq!(unit_by_name("rx_vport_rdma_unicast_packets"), Unit::Packets);
        assert_eq!(unit_by_name("tx_queue_stopped"), Unit::Unknown);
        for of_queue in ["rx0_packets", "tx12_bytes", "ch3_poll", "rx_queue_0_drops", "[0]: rx_ucast_packets"]
        {
            assert!(is_of_a_queue(of_queue), "{of_queue}");
        }
        assert!(!is_of_a_queue("rx_64_bytes_phy") && !is_of_a_queue("rx_prio3_bytes"));
    }
}
