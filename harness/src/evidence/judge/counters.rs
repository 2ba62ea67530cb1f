//! What the counters of one side say, group by group.

use schema::{
    Op, RunRecord,
    evidence::{Level, Unit},
};

use super::{Ruling, SideOfRun, Thresholds, placement::grade, side::Counted};
use crate::evidence::{
    catalogue::{Group, Kind},
    delta::BACKWARDS,
};

pub(super) fn rule(record: &RunRecord, side: &SideOfRun<'_>, by: &Thresholds) -> Vec<Ruling> {
    let plain = matches!(record.spec.op, Op::Write | Op::Read | Op::FetchAdd | Op::CompareSwap);
    let mut rulings = Vec::new();
    rulings.extend(retries_exceeded(side));
    rulings.extend(share_of_packets(side, Group::Loss, "loss", by));
    rulings.extend(share_of_packets(side, Group::Resent, "retransmission", by));
    rulings.extend(any(side, Group::NotReady, "receiver-not-ready", |moved| {
        // The network device's own queues count into these.
        let of_netdev = |counted: &&Counted<'_>| counted.counter.name.ends_with("out_of_buffer");
        match (moved.iter().all(|counted| of_netdev(&counted)), plain) {
            (true, _) => Level::Note,
            (false, true) => Level::Fail,
            (false, false) => Level::Warn,
        }
    }));
    rulings.extend(any(side, Group::Refused, "refused", |_| Level::Warn));
    rulings.extend(share_of_packets(side, Group::Congestion, "congestion", by));
    rulings.extend(share_of_packets(side, Group::PortDiscard, "port-discards", by));
    rulings.extend(any(side, Group::Cable, "cable", |_| Level::Warn));
    rulings.extend(any(side, Group::LinkDown, "link-down", |_| Level::Fail));
    rulings.extend(pause(side, by));
    rulings.extend(any(side, Group::PauseStorm, "pause-storm", |_| Level::Fail));
    rulings.extend(any(side, Group::Pcie, "pcie", |moved| {
        // The gauges speak of one second; the counters of the run.
        if moved.iter().all(|counted| counted.counter.unit == Unit::Percent) {
            Level::Note
        } else {
            Level::Fail
        }
    }));
    let stack = if side.is_software() { Level::Warn } else { Level::Note };
    rulings.extend(any(side, Group::Stack, "kernel-stack", |_| stack));
    rulings.extend(untold(side));
    rulings
}

/// A queue pair that gave up: what was measured is the way to an error.
fn retries_exceeded(side: &SideOfRun<'_>) -> Option<Ruling> {
    let ruling = any(side, Group::GaveUp, "retries-exceeded", |_| Level::Fail)?;
    let gave_up = ruling.judgement.level == Level::Fail;
    Some(ruling.invalidates_if(gave_up))
}

/// A check that passes where nothing of a group moved; none where the side counts nothing of it.
fn any(
    side: &SideOfRun<'_>,
    group: Group,
    check: &str,
    level: impl FnOnce(&[Counted<'_>]) -> Level,
) -> Option<Ruling> {
    let counted = side.counted(group);
    if counted.is_empty() {
        return None;
    }
    let moved = moved(counted);
    let level = if moved.is_empty() { Level::Pass } else { level(&moved) };
    let ruling = Ruling::new(Some(side.side), check, level, describe(&moved));
    Some(ruling.threshold("none").meaning(implied(&moved)))
}

/// The same, held against the packets of the run.
fn share_of_packets(side: &SideOfRun<'_>, group: Group, check: &str, by: &Thresholds) -> Option<Ruling> {
    let counted = side.counted(group);
    if counted.is_empty() {
        return None;
    }
    let moved = moved(counted);
    let worst = moved.iter().filter_map(|counted| counted.counter.delta).max().unwrap_or(0);
    let packets = side.packets_sent().into_iter().chain(side.packets_received()).max();
    let level = match (worst, packets) {
        (0, _) => Level::Pass,
        (_, Some(packets)) if worst as f64 <= by.loss_warn_share * packets as f64 => Level::Warn,
        _ => Level::Fail,
    };
    let of =
        packets.filter(|_| worst > 0).map(|packets| format!(" of {packets} packets")).unwrap_or_default();
    let ruling = Ruling::new(Some(side.side), check, level, describe(&moved) + &of);
    let threshold = format!("none; above {} of the packets fails", by.loss_warn_share);
    Some(ruling.threshold(threshold).meaning(implied(&moved)))
}

/// The share of the time for which sending was paused, by the counter that shows most.
fn pause(side: &SideOfRun<'_>, by: &Thresholds) -> Option<Ruling> {
    let watched_us = side.evidence?.watched_ns.get() as f64 / 1e3;
    let counted = side.counted(Group::PauseTime);
    let most = counted
        .iter()
        .filter(|counted| counted.counter.delta.is_some())
        .max_by_key(|counted| counted.counter.delta)?;
    if watched_us <= 0.0 {
        return None;
    }
    let share = most.counter.delta.unwrap_or(0) as f64 / watched_us;
    let level = grade(share, by.pause_pass_share, by.pause_fail_share);
    let found = format!(
        "{} {} us, {:.2} % of the time",
        most.counter.name,
        most.counter.delta.unwrap_or(0),
        100.0 * share
    );
    let meaning = if level == Level::Pass { "" } else { most.known.implies };
    let threshold = format!(
        "{} % of the time; above {} % fails",
        100.0 * by.pause_pass_share,
        100.0 * by.pause_fail_share
    );
    Some(Ruling::new(Some(side.side), "pause", level, found).threshold(threshold).meaning(meaning))
}

/// Counters whose growth a check needs and that can't be told.
fn untold(side: &SideOfRun<'_>) -> Option<Ruling> {
    let needed = side.all_known().filter(|counted| {
        counted.counter.invalid.is_some()
            && matches!(Kind::of(&counted.counter.source), Kind::Rdma | Kind::Ethtool)
            && !matches!(counted.known.group, Group::Noise | Group::Memory)
    });
    let needed: Vec<Counted<'_>> = needed.collect();
    let why = |counted: &Counted<'_>| counted.counter.invalid.clone().unwrap_or_default();
    let backwards = needed.iter().any(|counted| why(counted).starts_with(BACKWARDS));
    (!needed.is_empty()).then(|| {
        let words = needed
            .iter()
            .map(|counted| format!("{} {}: {}", counted.counter.source, counted.counter.name, why(counted)));
        Ruling::new(
            Some(side.side),
            "counters",
            if backwards { Level::Fail } else { Level::Warn },
            words.collect::<Vec<_>>().join("; "),
        )
        .threshold("every counter that a check needs can be told")
        .meaning("what these counters would have shown is not known")
        .invalidates_if(backwards)
    })
}

fn moved(counted: Vec<Counted<'_>>) -> Vec<Counted<'_>> {
    counted.into_iter().filter(|counted| counted.counter.delta > Some(0)).collect()
}

fn describe(moved: &[Counted<'_>]) -> String {
    if moved.is_empty() {
        return "none".to_owned();
    }
    let words = moved.iter().map(|Counted { counter, .. }| {
        let delta = counter.delta.unwrap_or(0);
        match counter.unit {
            Unit::Percent => format!("{} {delta} % of the last second", counter.name),
            _ => format!("{} +{delta}", counter.name),
        }
    });
    words.collect::<Vec<_>>().join(", ")
}

/// What each says, once each.
fn implied(moved: &[Counted<'_>]) -> String {
    let mut sentences: Vec<&str> = Vec::new();
    for counted in moved {
        if !counted.known.implies.is_empty() && !sentences.contains(&counted.known.implies) {
            sentences.push(counted.known.implies);
        }
    }
    sentences.join("; ")
}

#[cfg(test)]
mod tests {
    use schema::outcome::Side;

    use super::*;
    use crate::evidence::judge::testing::{count, judged, of, record};

    const RXE: &str = "hw_counters a/1";
    const SIDE: Option<Side> = Some(Side::Requester);

    fn with(counters: &[(&str, &str, u64)]) -> RunRecord {
        let mut record = record();
        for (source, name, delta) in counters {
            count(&mut record, Side::Requester, source, name, *delta);
        }
        record
    }

    #[test]
    fn loss_is_named_by_counter_and_held_against_the_packets() {
        for (lost, packets, level) in [
            (0, 10_000_000, Level::Pass),
            (10, 10_000_000, Level::Warn),
            (11, 10_000_000, Level::Fail),
            (1, 10, Level::Fail),
        ] {
            let mut record = with(&[(RXE, "rcvd_seq_err", lost), (RXE, "sent_pkts", packets)]);
            let found = judged(&mut record, SIDE, "loss");
            assert_eq!(found.level, level, "{lost} of {packets}");
            assert_eq!(found.found.contains("rcvd_seq_err"), lost > 0);
            assert!(record.is_valid(), "loss is a finding, not a fault of the measurement");
        }
        let mut mlx5 = with(&[("hw_counters mlx5_0/1", "packet_seq_err", 7)]);
        let found = judged(&mut mlx5, SIDE, "loss");
        assert_eq!((found.level, found.found.as_str()), (Level::Fail, "packet_seq_err +7"));
        assert!(found.meaning.contains("lost in our direction"));
    }

    /// A slow host sends again although nothing was lost.
    #[test]
    fn what_is_sent_again_for_its_lateness_is_no_loss() {
        let mut late = with(&[(RXE, "completer_retry_err", 3), (RXE, "rcvd_seq_err", 0)]);
        assert_eq!(judged(&mut late, SIDE, "retransmission").level, Level::Fail);
        assert_eq!(judged(&mut late, SIDE, "loss").level, Level::Pass);
    }

    #[test]
    fn retries_exceeded_make_the_run_invalid() {
        let mut record = with(&[(RXE, "retry_exceeded_err", 1)]);
        assert_eq!(judged(&mut record, SIDE, "retries-exceeded").level, Level::Fail);
        assert_eq!(record.invalid, ["retries-exceeded (requester): retry_exceeded_err +1"]);
        assert!(
            judged(&mut with(&[(RXE, "retry_exceeded_err", 0)]), SIDE, "retries-exceeded").level
                == Level::Pass
        );
    }

    #[test]
    fn a_missing_receive_is_a_fault_of_a_write_alone_and_the_rings_of_the_kernel_are_a_note() {
        let mut write = with(&[(RXE, "rcvd_rnr_err", 2)]);
        assert_eq!(judged(&mut write, SIDE, "receiver-not-ready").level, Level::Fail);
        let mut send = with(&[(RXE, "rcvd_rnr_err", 2)]);
        send.spec.op = Op::Send;
        assert_eq!(judged(&mut send, SIDE, "receiver-not-ready").level, Level::Warn);
        let mut rings = with(&[("ethtool e", "rx_out_of_buffer", 2)]);
        assert_eq!(judged(&mut rings, SIDE, "receiver-not-ready").level, Level::Note);
    }

    #[test]
    fn pause_is_a_share_of_the_time() {
        for (us, level) in
            [(0, Level::Pass), (999, Level::Pass), (5_000, Level::Warn), (217_000, Level::Fail)]
        {
            let mut record = with(&[
                ("ethtool e", "rx_prio3_pause_duration", us),
                ("ethtool e", "tx_prio3_pause_duration", 0),
            ]);
            assert_eq!(judged(&mut record, SIDE, "pause").level, level, "{us} us of a second");
        }
    }

    #[test]
    fn a_gauge_of_one_second_is_no_event_of_the_run() {
        let mut record = with(&[("ethtool e", "outbound_pci_stalled_rd", 80)]);
        of(&mut record, Side::Requester).counters[0].unit = Unit::Percent;
        assert_eq!(judged(&mut record.clone(), SIDE, "pcie").level, Level::Note);
        count(&mut record, Side::Requester, "ethtool e", "outbound_pci_stalled_rd_events", 1);
        assert_eq!(judged(&mut record, SIDE, "pcie").level, Level::Fail);
    }

    #[test]
    fn a_needed_counter_that_ran_backwards_makes_the_run_invalid_and_another_does_not() {
        let untold = |source: &str, name: &str, why: &str| {
            let mut record = with(&[(source, name, 0)]);
            let counter = &mut of(&mut record, Side::Requester).counters[0];
            (counter.delta, counter.invalid) = (None, Some(why.to_owned()));
            super::super::judge(&mut record);
            record
        };
        assert!(!untold(RXE, "rcvd_seq_err", &format!("{BACKWARDS}, from 9 to 1")).is_valid());
        assert!(untold(RXE, "rcvd_seq_err", "it vanished while the run lasted").is_valid());
        assert!(untold("ethtool e", "rx_novel_thing", &format!("{BACKWARDS}, from 9 to 1")).is_valid());
        assert!(untold("softnet", "dropped", &format!("{BACKWARDS}, from 9 to 1")).is_valid());
    }

    #[test]
    fn what_the_kernel_drops_matters_more_where_it_carries_the_traffic() {
        let mut hardware = with(&[("softnet", "dropped", 3)]);
        assert_eq!(judged(&mut hardware, SIDE, "kernel-stack").level, Level::Note);
        let mut rxe = with(&[("softnet", "dropped", 3), (RXE, "completer_retry_err", 0)]);
        assert_eq!(judged(&mut rxe, SIDE, "kernel-stack").level, Level::Warn);
    }
}
