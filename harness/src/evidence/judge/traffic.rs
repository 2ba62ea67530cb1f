//! What both sides together say: whether the packets are those of the messages, and whether what one side sent the other got.

use schema::{
    Op, RunRecord, Transport,
    evidence::{Judgement, Level},
    outcome::Side,
};

use super::{Ruling, SideOfRun, Thresholds, placement::grade};

/// Packets of connecting and of the end that no message explains.
const OVERHEAD_PACKETS: u64 = 1_000;

pub(super) fn rule(record: &RunRecord, by: &Thresholds) -> Vec<Ruling> {
    let requester = SideOfRun::of(record, Side::Requester);
    let responder = SideOfRun::of(record, Side::Responder);
    let mut rulings = Vec::new();
    rulings.extend(path_mtu(record));
    if is_one_port(&requester, &responder) {
        return rulings;
    }
    rulings.extend(on_the_way(&requester, &responder, by));
    rulings.extend(on_the_way(&responder, &requester, by));
    if let Some((there, back)) = data_packets(record) {
        let checked = checked_packets(record);
        let all = there.saturating_add(back).saturating_add(checked);
        rulings.extend(packets(&requester, there, all, by));
        // What the responder must send beside answers can't be told for every operation; what it can't send can.
        rulings.extend(packets(&responder, back, all, by));
    }
    rulings
}

/// Both sides on one port of one host: its counters hold both directions, and say nothing of either.
fn is_one_port(requester: &SideOfRun<'_>, responder: &SideOfRun<'_>) -> bool {
    match (requester.record, responder.record) {
        (Some(a), Some(b)) => {
            a.host.boot_id == b.host.boot_id
                && (&a.device.name, a.device.port_num) == (&b.device.name, b.device.port_num)
                && requester.evidence.map(|evidence| &evidence.place)
                    == responder.evidence.map(|evidence| &evidence.place)
        }
        _ => true,
    }
}

/// The path MTU the QPs were given, and what the ports would bear.
fn path_mtu(record: &RunRecord) -> Option<Ruling> {
    let granted = record.granted.as_ref()?.path_mtu;
    let (here, there) =
        (record.requester.as_ref()?.device.active_mtu, record.responder.as_ref()?.device.active_mtu);
    let least = here.min(there);
    let (level, meaning) = match () {
        () if here != there => (Level::Note, "the ports differ: the smaller one decides"),
        () if granted < least => (Level::Note, "less than the ports bear, as was asked"),
        () => (Level::Pass, ""),
    };
    let found = format!("{granted} bytes granted; active MTU {here} (requester), {there} (responder)");
    Some(
        Ruling::new(None, "path-mtu", level, found)
            .threshold(format!("{least} bytes, the smaller port's"))
            .meaning(meaning),
    )
}

/// Whether what `from` sent arrived at `to`. Names the loss even where no counter of the protocol does.
fn on_the_way(from: &SideOfRun<'_>, to: &SideOfRun<'_>, by: &Thresholds) -> Option<Ruling> {
    let (sent, received) = (from.packets_sent()?, to.packets_received()?);
    let check = |level, found| Ruling::new(Some(from.side), "packets-on-the-way", level, found);
    let threshold = format!("all arrive, but for {} under way at the end", by.loss_slack_packets);
    if received > sent.saturating_add(by.loss_slack_packets) {
        let found = format!("{sent} sent, {received} received by the {}", to.side);
        let meaning = "the receiving port had other traffic too: its counters are not of this run alone";
        return Some(check(Level::Note, found).threshold(threshold).meaning(meaning));
    }
    let lost = sent.saturating_sub(received);
    let share = if sent == 0 { 0.0 } else { lost as f64 / sent as f64 };
    let level = match lost {
        lost if lost <= by.loss_slack_packets => Level::Pass,
        _ => grade(share, 0.0, by.loss_warn_share),
    };
    let found = format!(
        "{lost} of {sent} packets from the {} to the {} did not arrive ({:.4} %)",
        from.side,
        to.side,
        100.0 * share
    );
    let meaning = if level == Level::Pass {
        ""
    } else {
        "packets were lost between the two ports: in the network, or in the kernel's queues before it"
    };
    Some(check(level, found).threshold(threshold).meaning(meaning))
}

/// Packets of payload the requester and the responder must have sent at least: what one message needs at the path MTU, as
/// often as it was posted. None where the counts are missing, and for datagrams, whose packets are others.
fn data_packets(record: &RunRecord) -> Option<(u64, u64)> {
    let mtu = u64::from(record.granted.as_ref()?.path_mtu).max(1);
    if record.points.is_empty() || record.spec.transport == Transport::Ud {
        return None;
    }
    let (mut there, mut back) = (0u64, 0u64);
    for point in &record.points {
        let counts = point.counts?;
        let data = point.msg_bytes.get().div_ceil(mtu).max(1);
        // A read and an atomic are asked for in one packet, and their data comes back.
        let (ask, answer) = match point.op {
            Op::Read | Op::FetchAdd | Op::CompareSwap => (1, data),
            Op::Write | Op::WriteImm | Op::Send => (data, 0),
        };
        let times = |messages: u64, packets: u64| messages.saturating_mul(packets);
        let (ours, theirs) = (counts.requester_sent, counts.responder_sent);
        there = there.saturating_add(times(ours, ask).saturating_add(times(theirs, answer)));
        back = back.saturating_add(times(theirs, ask).saturating_add(times(ours, answer)));
    }
    Some((there, back))
}

/// Packets of the check of the data, which writes every slot before and after the measurement.
fn checked_packets(record: &RunRecord) -> u64 {
    let mtu = record.granted.as_ref().map_or(1, |granted| u64::from(granted.path_mtu).max(1));
    record
        .points
        .iter()
        .filter_map(|point| {
            let messages = point.data_check?.checked_bytes.get().div_ceil(point.msg_bytes.get().max(1));
            Some(messages.saturating_mul(point.msg_bytes.get().div_ceil(mtu).max(1)))
        })
        .fold(0, u64::saturating_add)
}

/// Whether a side's packets are those of the messages: not fewer than they need, and few more than they and their
/// acknowledgements explain.
fn packets(side: &SideOfRun<'_>, least: u64, most: u64, by: &Thresholds) -> Option<Ruling> {
    let sent = side.packets_sent()?;
    let most = most.saturating_add(OVERHEAD_PACKETS);
    let excess = sent.saturating_sub(most) as f64 / most as f64;
    let (level, meaning) = if sent < least {
        (
            Level::Warn,
            "the port's counter shows fewer packets than the messages need: it does not count this traffic",
        )
    } else {
        let level = grade(excess, by.excess_pass_share, by.excess_fail_share);
        let meaning = if level == Level::Pass {
            ""
        } else {
            "more packets than the messages and their acknowledgements explain: retransmission, or other traffic of the port"
        };
        (level, meaning)
    };
    let threshold = format!(
        "at least {least}, the messages; at most {most} with acknowledgements and checks; {:.0} % above fails",
        100.0 * by.excess_fail_share
    );
    Some(Ruling {
        judgement: Judgement {
            side: Some(side.side),
            check: "packets".to_owned(),
            level,
            found: format!("{sent} packets sent"),
            threshold,
            meaning: meaning.to_owned(),
        },
        invalidates: false,
    })
}

#[cfg(test)]
mod tests {
    use schema::{
        Bytes,
        record::{Counts, Granted},
    };

    use super::*;
    use crate::evidence::judge::testing::{count, judged, record};

    /// One point of `messages` writes of 4,000 bytes at a path MTU of 1,024: four packets each.
    fn writes(messages: u64) -> RunRecord {
        let mut record = record();
        record.granted = record.granted.map(|granted| Granted { path_mtu: 1024, ..granted });
        record.points.truncate(1);
        let point = &mut record.points[0];
        (point.op, point.msg_bytes, point.data_check) = (Op::Write, Bytes(4_000), None);
        point.counts = Some(Counts { requester_sent: messages, ..Counts::default() });
        record
    }

    fn with(mut record: RunRecord, sent: u64, received: u64) -> RunRecord {
        count(&mut record, Side::Requester, "hw_counters a/1", "sent_pkts", sent);
        count(&mut record, Side::Responder, "hw_counters b/1", "rcvd_pkts", received);
        record
    }

    #[test]
    fn packets_are_those_of_the_messages_and_not_many_more() {
        for (sent, level) in [
            (399_999, Level::Warn),
            (400_000, Level::Pass),
            (401_000, Level::Pass),
            (420_000, Level::Warn),
            (500_000, Level::Fail),
        ] {
            let mut record = with(writes(100_000), sent, sent);
            assert_eq!(judged(&mut record, Some(Side::Requester), "packets").level, level, "{sent}");
        }
    }

    #[test]
    fn reads_come_back() {
        let mut record = writes(100);
        record.points[0].op = Op::Read;
        assert_eq!(data_packets(&record), Some((100, 400)));
        record.spec.transport = Transport::Ud;
        assert_eq!(data_packets(&record), None);
        record.spec.transport = Transport::Rc;
        record.points[0].counts = None;
        assert_eq!(data_packets(&record), None, "records of earlier releases do not count");
    }

    #[test]
    fn what_does_not_arrive_is_lost_on_the_way() {
        let check = "packets-on-the-way";
        for (received, level) in
            [(400_000, Level::Pass), (399_990, Level::Pass), (399_000, Level::Fail), (450_000, Level::Note)]
        {
            let mut record = with(writes(100_000), 400_000, received);
            assert_eq!(judged(&mut record, Some(Side::Requester), check).level, level, "{received}");
        }
        let mut lost = with(writes(100_000), 400_000, 399_000);
        let found = judged(&mut lost, Some(Side::Requester), check).found;
        assert!(found.starts_with("1000 of 400000 packets from the requester"), "{found}");
    }

    #[test]
    fn one_port_with_both_ends_says_nothing_of_either() {
        let mut record = with(writes(100_000), 1, 9);
        let name = record.requester.as_ref().expect("a side").device.name.clone();
        record.responder.as_mut().expect("a side").device.name = name;
        super::super::judge(&mut record);
        let checks: Vec<&str> = record.judgements.iter().map(|judgement| judgement.check.as_str()).collect();
        assert!(!checks.contains(&"packets") && !checks.contains(&"packets-on-the-way"), "{checks:?}");
    }

    #[test]
    fn the_path_mtu_stands_beside_what_the_ports_bear() {
        let mut record = writes(1);
        for (side, mtu) in [(&mut record.requester, 1024), (&mut record.responder, 4096)] {
            side.as_mut().expect("a side").device.active_mtu = mtu;
        }
        let found = judged(&mut record, None, "path-mtu");
        assert_eq!(found.level, Level::Note);
        assert_eq!(found.found, "1024 bytes granted; active MTU 1024 (requester), 4096 (responder)");
    }
}
