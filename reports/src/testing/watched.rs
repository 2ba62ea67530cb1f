//! A campaign whose hosts were watched: the candidate is tuned and loses packets, and one of its runs is invalid.

use schema::{
    Campaign, CampaignRun, Class, CounterDelta, HostEvidence, Judgement, Knob, KnobRecord, KnobSetting,
    KnobState, Level, Nanos, Side, SidesTuning, Tuning, Unit, VectorEvidence,
};

/// The block whose candidate run is invalid.
const INVALID_BLOCK: u32 = 2;

/// Adds evidence and judgements to every run.
pub(super) fn watch(campaign: &mut Campaign) {
    let setting =
        |knob, value: &str| KnobSetting { knob, item: String::new(), value: value.into(), optional: false };
    let knobs = vec![setting(Knob::Mtu, "4200"), setting(Knob::IrqAffinity, "one-to-one")];
    let tuning = Tuning { knobs, allow_disruptive: true, ..Tuning::default() };
    for variant in campaign.variants.iter_mut().filter(|variant| variant.name == "deep") {
        variant.tuning = SidesTuning { requester: tuning.clone(), ..SidesTuning::default() };
    }
    campaign.runs.iter_mut().for_each(watch_run);
}

fn watch_run(run: &mut CampaignRun) {
    let candidate = run.variant == "deep";
    let lost = if candidate { 10 + u64::from(run.block) % 5 } else { 0 };
    let untold = candidate && run.block == 0;
    for side in [Side::Requester, Side::Responder] {
        run.record.evidence.push(evidence(side, candidate, lost, untold));
    }
    let level = if lost > 0 { Level::Fail } else { Level::Pass };
    let found = if lost > 0 { format!("rcvd_seq_err +{lost} of 1000000 packets") } else { "none".into() };
    let meaning =
        if lost > 0 { "the peer asked for packets again: they were lost in our direction" } else { "" };
    run.record.judgements = vec![
        judgement(
            Some(Side::Requester),
            "irq-stability",
            Level::Pass,
            ("2 vectors, none moved", "the same CPUs throughout", ""),
        ),
        judgement(
            Some(Side::Requester),
            "loss",
            level,
            (&found, "none; above 0.000001 of the packets fails", meaning),
        ),
        judgement(
            None,
            "path-mtu",
            Level::Pass,
            ("4096 bytes granted", "4096 bytes, the smaller port's", ""),
        ),
    ];
    if candidate && run.block == INVALID_BLOCK {
        run.record.judgements.push(judgement(
            Some(Side::Requester),
            "thread-cpu",
            Level::Fail,
            (
                "pinned to CPU 2, seen on CPU 5",
                "CPU 2 alone",
                "a polling thread left its CPU: the run was not measured where it was put",
            ),
        ));
        run.record.invalid = vec!["thread-cpu (requester): pinned to CPU 2, seen on CPU 5".into()];
    }
}

fn judgement(
    side: Option<Side>,
    check: &str,
    level: Level,
    (found, threshold, meaning): (&str, &str, &str),
) -> Judgement {
    Judgement {
        side,
        check: check.into(),
        level,
        found: found.into(),
        threshold: threshold.into(),
        meaning: meaning.into(),
    }
}

fn evidence(side: Side, candidate: bool, lost: u64, untold: bool) -> HostEvidence {
    let counter = |name: &str, unit, delta| CounterDelta {
        source: "hw_counters soft/1".into(),
        name: name.into(),
        unit,
        delta,
        invalid: None,
    };
    let mut counters = vec![
        counter("rcvd_seq_err", Unit::Packets, Some(if side == Side::Requester { lost } else { 0 })),
        counter("retry_exceeded_err", Unit::Events, Some(0)),
        counter("sent_pkts", Unit::Packets, Some(1_000_000 + lost)),
    ];
    if untold {
        counters.push(CounterDelta {
            invalid: Some("it ran backwards, from 9 to 1: wrapped, or reset by its driver".into()),
            ..counter("ack_deferred", Unit::Unknown, None)
        });
    }
    let vector = |irq, cpu: u32| VectorEvidence {
        irq,
        action: format!("example_comp{cpu}"),
        allowed: Some(cpu.to_string()),
        allowed_later: Vec::new(),
        effective_seen: vec![cpu.to_string()],
        fired: vec![(cpu, 12)],
        moved: false,
    };
    HostEvidence {
        side,
        place: "local".into(),
        tuning: if candidate && side == Side::Requester { tuned() } else { Vec::new() },
        watched_ns: Nanos(3_400_000_000),
        counters,
        vectors: vec![vector(40, 4), vector(41, 5)],
        movers: if side == Side::Responder { vec!["irqbalance (running)".into()] } else { Vec::new() },
        frequencies: Vec::new(),
        cpus_online: (Some("0-7".into()), Some("0-7".into())),
        notes: Vec::new(),
    }
}

fn tuned() -> Vec<KnobRecord> {
    let knob = |knob, target: &str, old: &str, asked: &str| KnobRecord {
        knob,
        item: String::new(),
        target: target.into(),
        class: Class::Disruptive,
        old: Some(old.into()),
        asked: asked.into(),
        effective: Some(asked.into()),
        state: KnobState::Restored,
        note: String::new(),
    };
    let affinity = |irq: u32| {
        let path = format!("/proc/irq/{irq}/smp_affinity_list");
        KnobRecord { class: Class::Instant, ..knob(Knob::IrqAffinity, &path, "0-7", "4-5") }
    };
    vec![knob(Knob::Mtu, "/sys/class/net/ens1np0/mtu", "1500", "4200"), affinity(40), affinity(41)]
}
