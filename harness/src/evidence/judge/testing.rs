//! Records with evidence, for the tests of the checks.

use std::sync::LazyLock;

use reports::testing::Sample;
use schema::{
    Nanos, RunRecord,
    evidence::{CounterDelta, HostEvidence, Judgement, Unit, VectorEvidence},
    outcome::Side,
};

/// A completed run, on two hosts, with evidence of both that shows nothing.
pub(super) fn record() -> RunRecord {
    RECORD.clone()
}

/// Made once: property tests ask for hundreds.
static RECORD: LazyLock<RunRecord> = LazyLock::new(|| {
    let mut record = Sample { latencies: 0, blocks: 6, ..Sample::default() }.campaign().runs.remove(0).record;
    record.evidence = vec![evidence(Side::Requester), evidence(Side::Responder)];
    for (side, name) in [(&mut record.requester, "a"), (&mut record.responder, "b")] {
        let side = side.as_mut().expect("a completed run has both sides");
        side.device.name = name.to_owned();
        side.placement.involuntary_switches = Some(0);
    }
    record
});

fn evidence(side: Side) -> HostEvidence {
    HostEvidence {
        side,
        place: "local".into(),
        tuning: Vec::new(),
        watched_ns: Nanos(1_000_000_000),
        counters: Vec::new(),
        vectors: Vec::new(),
        movers: Vec::new(),
        frequencies: Vec::new(),
        cpus_online: (Some("0-3".into()), Some("0-3".into())),
        notes: Vec::new(),
    }
}

/// Adds a counter of a side's RDMA port, or of where `source` says.
pub(super) fn count(record: &mut RunRecord, side: Side, source: &str, name: &str, delta: u64) {
    let counter = CounterDelta {
        source: source.to_owned(),
        name: name.to_owned(),
        unit: Unit::Packets,
        delta: Some(delta),
        invalid: None,
    };
    of(record, side).counters.push(counter);
}

/// Evidence of a side.
pub(super) fn of(record: &mut RunRecord, side: Side) -> &mut HostEvidence {
    record.evidence.iter_mut().find(|evidence| evidence.side == side).expect("both sides have evidence")
}

/// A vector that is allowed on, and delivered to, these.
pub(super) fn vector(allowed: &[&str], effective: &[&str], fired: &[(u32, u64)]) -> VectorEvidence {
    VectorEvidence {
        irq: 99,
        action: "mlx5_comp0".into(),
        allowed: allowed.first().map(|list| (*list).to_owned()),
        allowed_later: allowed.iter().skip(1).map(|list| (*list).to_owned()).collect(),
        effective_seen: effective.iter().map(|list| (*list).to_owned()).collect(),
        fired: fired.to_vec(),
        moved: allowed.len() > 1 || effective.len() > 1,
    }
}

/// The judgement of a check, after judging.
pub(super) fn judged(record: &mut RunRecord, side: Option<Side>, check: &str) -> Judgement {
    super::judge(record);
    let found = record.judgements.iter().find(|judgement| judgement.side == side && judgement.check == check);
    found.unwrap_or_else(|| panic!("no {check} in {:#?}", record.judgements)).clone()
}
