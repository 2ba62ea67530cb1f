//! One side of a run as the checks see it: what its host did, and what the engine says of it.

use schema::{
    RunRecord, SideRecord,
    evidence::{CounterDelta, HostEvidence},
    outcome::Side,
};

use crate::evidence::catalogue::{self, Group, Kind, Known};

/// One side.
pub(super) struct SideOfRun<'r> {
    pub(super) side: Side,
    /// What its host did; none where no agent watched.
    pub(super) evidence: Option<&'r HostEvidence>,
    /// What the engine says of it; none if it did not come that far.
    pub(super) record: Option<&'r SideRecord>,
}

/// A counter with what is known of it.
pub(super) struct Counted<'r> {
    pub(super) counter: &'r CounterDelta,
    pub(super) known: Known,
}

impl<'r> SideOfRun<'r> {
    pub(super) fn of(record: &'r RunRecord, side: Side) -> SideOfRun<'r> {
        SideOfRun {
            side,
            evidence: record.evidence.iter().find(|evidence| evidence.side == side),
            record: match side {
                Side::Requester => record.requester.as_ref(),
                Side::Responder => record.responder.as_ref(),
            },
        }
    }

    /// Its counters of a group, moved or not.
    pub(super) fn counted(&self, group: Group) -> Vec<Counted<'r>> {
        self.all_known().filter(|counted| counted.known.group == group).collect()
    }

    /// Every counter something is known of.
    pub(super) fn all_known(&self) -> impl Iterator<Item = Counted<'r>> {
        let counters = self.evidence.map(|evidence| evidence.counters.as_slice()).unwrap_or_default();
        counters.iter().filter_map(|counter| {
            let known = catalogue::look_up(Kind::of(&counter.source), &counter.name)?;
            Some(Counted { counter, known })
        })
    }

    /// Growth of an RDMA port's counter, summed over the ports that have it; none where none has, or one can't be told.
    pub(super) fn of_port(&self, name: &str) -> Option<u64> {
        let counters = self.evidence?.counters.iter();
        let mut named = counters
            .filter(|counter| counter.name == name && Kind::of(&counter.source) == Kind::Rdma)
            .peekable();
        named.peek()?;
        named.try_fold(0u64, |sum, counter| Some(sum.saturating_add(counter.delta?)))
    }

    /// Packets its port sent, by whatever counter it has.
    pub(super) fn packets_sent(&self) -> Option<u64> {
        SENT.iter().find_map(|name| self.of_port(name))
    }

    /// Packets its port received.
    pub(super) fn packets_received(&self) -> Option<u64> {
        RECEIVED.iter().find_map(|name| self.of_port(name))
    }

    /// Whether its RDMA device goes through the kernel's own network stack, so that what the stack drops is RDMA traffic.
    pub(super) fn is_software(&self) -> bool {
        self.of_port("out_of_seq_request").is_some() || self.of_port("completer_retry_err").is_some()
    }
}

/// RDMA alone: rxe's counter, the standard one, which mlx5 takes from its RDMA port counters, and bnxt_re's and efa's.
const SENT: [&str; 3] = ["sent_pkts", "port_xmit_packets", "tx_pkts"];
const RECEIVED: [&str; 3] = ["rcvd_pkts", "port_rcv_packets", "rx_pkts"];
