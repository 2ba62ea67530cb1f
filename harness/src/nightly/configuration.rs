//! The configuration of a night: what could have changed a result and was not the thing that is watched. Two nights that differ
//! in it are not compared in silence.
//!
//! Left out is what differs from boot to boot or run to run without meaning (boot ids, queue pair numbers, addresses, the index
//! of a GID), and what a night is there to notice: the rate a link came up with is a finding when it is lower, not another
//! configuration, and so is what the software NIC's model plays out.

use std::collections::BTreeMap;

use schema::{
    Configuration, HostEvidence, KnobState, RunRecord, RunSpec, SideRecord, history::side_fact,
    record::GidRecord,
};
use serde_json::Value;

use crate::words;

/// Digits of the digest of verbs-bench that stand for it.
const DIGITS: usize = 12;
/// Fields of a spec that are not configuration: part of the series, told as granted or as placed, without a share in the
/// result, or of the software NIC, whose model is its hardware.
const NOT_OF_THE_SPEC: &[&str] = &[
    "schema_version",
    "msg_bytes",
    "path_mtu",
    "interval_ns",
    "deadline_ns",
    "requester",
    "responder",
    "soft_model",
    "soft_fault",
];

/// What the runs have in common; where they differ among themselves, both values are named. None where no run came so far that
/// both sides are known.
pub fn configuration<'r>(runs: impl Iterator<Item = &'r RunRecord>) -> Option<Configuration> {
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in runs {
        for (name, value) in facts(record).unwrap_or_default() {
            let values = seen.entry(name).or_default();
            if !values.contains(&value) {
                values.push(value);
            }
        }
    }
    let one = |mut values: Vec<String>| {
        values.sort();
        if values.len() == 1 { values.remove(0) } else { format!("mixed: {}", values.join(", ")) }
    };
    (!seen.is_empty())
        .then(|| Configuration(seen.into_iter().map(|(name, values)| (name, one(values))).collect()))
}

/// The facts of one run.
fn facts(record: &RunRecord) -> Option<BTreeMap<String, String>> {
    let (requester, responder) = (record.requester.as_ref()?, record.responder.as_ref()?);
    let mut facts = of_spec(&record.spec);
    if let Some(granted) = &record.granted {
        facts.insert("path_mtu".into(), granted.path_mtu.to_string());
        facts.insert("granted_inline_bytes".into(), granted.max_inline_bytes.to_string());
        facts.insert("thread_domains".into(), granted.thread_domains.to_string());
        facts.insert("granted_working_set".into(), granted.working_set_bytes.to_string());
    }
    for side in [requester, responder] {
        let evidence = record.evidence.iter().find(|evidence| evidence.side == side.side);
        let mut of_side = of_side(side);
        of_side.extend(evidence.map(tuning).unwrap_or_default());
        facts.extend(of_side.into_iter().map(|(name, value)| (side_fact(side.side, &name), value)));
    }
    Some(facts)
}

fn of_spec(spec: &RunSpec) -> BTreeMap<String, String> {
    let Ok(Value::Object(fields)) = serde_json::to_value(spec) else { return BTreeMap::new() };
    let fields = fields.into_iter().filter(|(name, _)| !NOT_OF_THE_SPEC.contains(&name.as_str()));
    fields
        .map(|(name, value)| match value {
            Value::String(text) => (name, text),
            Value::Null => (name, "default".to_owned()),
            // One of several with a number: {"duration_ns": 2000000000}.
            Value::Object(one) if one.len() == 1 => {
                let (key, value) = one.into_iter().next().expect("it has one");
                (key, value.to_string())
            }
            other => (name, other.to_string()),
        })
        .collect()
}

fn of_side(side: &SideRecord) -> BTreeMap<String, String> {
    let SideRecord { host, device, gid, placement, clock, versions, .. } = side;
    let list = |numbers: &[u32]| match numbers {
        [] => "not pinned".to_owned(),
        numbers => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    };
    let known = [
        ("firmware", device.firmware.clone()),
        ("driver", device.driver.clone()),
        ("device_part", device.vendor_part_id.map(|part| part.to_string())),
        ("device_node", device.numa_node.map(|node| node.to_string())),
        ("link_layer", Some(device.link_layer.clone())),
        ("active_mtu", Some(device.active_mtu.to_string())),
        ("gid_type", gid.as_ref().map(gid_type)),
        ("kernel", Some(host.kernel.clone())),
        ("boot_command_line", host.kernel_cmdline.as_deref().map(words::boot_words)),
        ("cpu", host.cpu_model.clone()),
        ("cpus_online", host.cpus_online.clone()),
        ("cpus_isolated", host.cpus_isolated.clone()),
        ("numa_nodes", host.numa_nodes.clone()),
        ("governor", host.governor.clone()),
        ("polling_cpus", Some(list(&placement.cpus_pinned))),
        ("memory_node", placement.memory_node_bound.map(|node| node.to_string())),
        ("page_bytes", Some(placement.page_bytes.to_string())),
        ("clock", Some(clock.source.clone())),
        ("verbs_bench", Some(binary(&versions.verbs_bench, versions.binary_sha256.as_deref()))),
        ("libibverbs", versions.libibverbs.clone()),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// `RoCE v2, IPv4`: what the packets look like. Which index and address it has is not asked.
fn gid_type(gid: &GidRecord) -> String {
    let address = gid.gid.parse::<std::net::Ipv6Addr>().ok();
    match address {
        Some(address) if gid.gid_type == "RoCE v2" => {
            let family = if address.to_ipv4_mapped().is_some() { "IPv4" } else { "IPv6" };
            format!("RoCE v2, {family}")
        }
        _ => gid.gid_type.clone(),
    }
}

fn binary(version: &str, sha256: Option<&str>) -> String {
    match sha256 {
        Some(sha256) => format!("{version} (sha256 {})", &sha256[..DIGITS.min(sha256.len())]),
        None => version.to_owned(),
    }
}

/// What was turned on a host, one fact a knob: its targets, such as interrupts, have other names after a boot.
fn tuning(evidence: &HostEvidence) -> BTreeMap<String, String> {
    let mut facts: BTreeMap<String, String> = BTreeMap::new();
    for record in &evidence.tuning {
        let name = format!("tuning.{} {}", record.knob, record.item).trim_end().to_owned();
        let skipped = if record.state == KnobState::Skipped { " (skipped)" } else { "" };
        facts.insert(name, format!("{}{skipped}", record.asked));
    }
    facts
}

#[cfg(test)]
mod tests {
    use reports::testing::{point_of_bandwidth, record_of, side};
    use schema::{Bytes, KnobRecord, Nanos, Side};

    use super::*;

    fn record() -> RunRecord {
        let mut record = record_of(vec![point_of_bandwidth(Bytes(65_536), 1e9)]);
        record.requester = Some(side(Side::Requester));
        record.responder = Some(side(Side::Responder));
        record
    }

    fn of(records: &[RunRecord]) -> Configuration {
        configuration(records.iter()).expect("both sides are known")
    }

    fn changes(change: impl FnOnce(&mut RunRecord)) -> Vec<String> {
        let mut changed = record();
        change(&mut changed);
        let changes = of(&[changed]).changes_from(&of(&[record()]));
        changes
            .into_iter()
            .map(|change| {
                let value = |value: Option<String>| value.unwrap_or_else(|| "-".into());
                format!("{}: {} -> {}", change.what, value(change.from), value(change.to))
            })
            .collect()
    }

    #[test]
    fn what_could_change_a_result_is_named_by_side() {
        let requester =
            |change: fn(&mut SideRecord)| changes(|record| change(record.requester.as_mut().unwrap()));
        assert_eq!(
            requester(|side| side.device.firmware = Some("20.32".into())),
            ["requester.firmware: - -> 20.32"]
        );
        assert_eq!(
            requester(|side| side.host.kernel = "6.13.1".into()),
            ["requester.kernel: 6.12.48 -> 6.13.1"]
        );
        assert_eq!(
            requester(|side| side.placement.cpus_pinned = vec![4, 5]),
            ["requester.polling_cpus: not pinned -> 4,5"]
        );
        assert_eq!(changes(|record| record.spec.tx_depth = 64), ["tx_depth: 128 -> 64"]);
        let stop = |record: &mut RunRecord| record.spec.stop = schema::spec::Stop::DurationNs(Nanos(5));
        assert_eq!(changes(stop), ["duration_ns: 2000000000 -> 5"]);
    }

    #[test]
    fn what_differs_without_meaning_or_is_to_be_noticed_is_not_in_it() {
        let nothing: [fn(&mut RunRecord); 6] = [
            |record| record.requester.as_mut().unwrap().host.boot_id = Some("other".into()),
            |record| record.requester.as_mut().unwrap().device.rate_bits_per_sec = None,
            |record| record.responder.as_mut().unwrap().placement.cpus_seen = vec![7],
            |record| record.spec.soft_model = Some("rate=1Gbps".parse().unwrap()),
            |record| record.spec.msg_bytes = vec![Bytes(1)],
            |record| record.started_at_unix_ms = 9,
        ];
        for change in nothing {
            assert_eq!(changes(change), [""; 0]);
        }
    }

    #[test]
    fn the_command_line_counts_but_not_the_name_of_the_kernel_in_it() {
        let boot = |line: &str| words::boot_words(line);
        assert_eq!(boot("BOOT_IMAGE=/vmlinuz-6.12 ro isolcpus=2-3"), "ro isolcpus=2-3");
        assert_eq!(boot("BOOT_IMAGE=/vmlinuz-6.13 ro isolcpus=2-3"), boot("initrd=x ro isolcpus=2-3"));
    }

    #[test]
    fn the_index_of_a_gid_does_not_count_but_its_kind_does() {
        let gid = |index, gid: &str, gid_type: &str| {
            let (gid, gid_type) = (gid.to_owned(), gid_type.to_owned());
            super::gid_type(&GidRecord { index, gid, gid_type, netdev: None, note: String::new() })
        };
        assert_eq!(gid(3, "::ffff:10.0.0.1", "RoCE v2"), gid(5, "::ffff:10.0.0.2", "RoCE v2"));
        assert_eq!(gid(3, "::ffff:10.0.0.1", "RoCE v2"), "RoCE v2, IPv4");
        assert_eq!(gid(3, "fe80::1", "RoCE v2"), "RoCE v2, IPv6");
        assert_eq!(gid(0, "fe80::1", "IB"), "IB");
    }

    #[test]
    fn runs_that_differ_among_themselves_say_so() {
        let mut other = record();
        other.responder.as_mut().unwrap().placement.cpus_pinned = vec![3];
        let mixed = of(&[record(), other.clone(), record()]);
        assert_eq!(mixed.0["responder.polling_cpus"], "mixed: 3, not pinned");
        assert_eq!(mixed, of(&[other, record()]), "in whatever order they come");
    }

    #[test]
    fn a_knob_is_one_fact_however_many_targets_it_has() {
        let knob = |target: &str| KnobRecord {
            knob: schema::Knob::IrqAffinity,
            item: String::new(),
            target: target.into(),
            class: schema::Knob::IrqAffinity.class(),
            old: None,
            asked: "one-to-one".into(),
            effective: Some(target.into()),
            state: KnobState::Restored,
            note: String::new(),
        };
        let tuned = |irqs: [&str; 2]| {
            let evidence = HostEvidence {
                side: Side::Requester,
                place: "local".into(),
                tuning: irqs.map(knob).to_vec(),
                watched_ns: Nanos(0),
                counters: Vec::new(),
                vectors: Vec::new(),
                movers: Vec::new(),
                frequencies: Vec::new(),
                cpus_online: (None, None),
                notes: Vec::new(),
            };
            RunRecord { evidence: vec![evidence], ..record() }
        };
        assert_eq!(of(&[tuned(["irq 33", "irq 34"])]), of(&[tuned(["irq 70", "irq 71"])]));
        assert_eq!(of(&[tuned(["a", "b"])]).0["requester.tuning.irq_affinity"], "one-to-one");
    }

    #[test]
    fn runs_that_did_not_come_so_far_say_nothing() {
        let mut lost = record();
        lost.responder = None;
        assert_eq!(configuration([lost].iter()), None);
    }
}
