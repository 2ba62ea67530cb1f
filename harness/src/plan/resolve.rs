//! Resolves what a scenario says into one complete spec per workload and variant, and refuses what could not run.
//!
//! Layers, each over the one before: the test's defaults; `[hosts]`, `[design]` and `[soft]`; the workload and the variant,
//! which must not set the same thing; and what the workload sets under that variant.

use std::collections::BTreeMap;

use schema::{Factor, Gate, Role, RunSpec, Variant, Workload, spec::SpecFault};

use super::{
    factorial::{Treatment, treatments},
    refuse::{push_once, refuse_mere_checks, refuse_twins, refuse_unnamed_pollers},
};
use crate::scenario::{Assignment, Fault, Scenario, ScenarioError, Span, WrittenGate, WrittenWorkload};

/// Variants, factors, workloads and gates with nothing left to a default.
pub(super) struct Resolved {
    pub(super) variants: Vec<Variant>,
    pub(super) factors: Vec<Factor>,
    pub(super) workloads: Vec<Workload>,
    pub(super) gates: Vec<Gate>,
}

/// Resolves a scenario, or shows every fault of it.
pub(super) fn resolve(scenario: &Scenario) -> Result<Resolved, ScenarioError> {
    let treatments = treatments(scenario).map_err(|fault| scenario.error(vec![*fault]))?;
    let mut faults = Vec::new();
    let workload = |workload| resolve_workload(scenario, workload, &treatments, &mut faults);
    let workloads: Vec<Workload> = scenario.workloads.iter().map(workload).collect();
    if faults.is_empty() {
        refuse_twins(&treatments, &workloads, &mut faults);
    }
    refuse_mere_checks(&treatments, &mut faults);
    refuse_unnamed_pollers(&treatments, &workloads, &mut faults);
    let gates = scenario.gates.iter().map(|gate| resolve_gate(gate, &workloads, &mut faults)).collect();
    if faults.is_empty() {
        let (variants, factors) = (resolve_variants(&treatments), resolve_factors(scenario));
        Ok(Resolved { variants, factors, workloads, gates })
    } else {
        Err(scenario.error(faults))
    }
}

fn as_written<'s>(sets: impl Iterator<Item = &'s Assignment>) -> BTreeMap<String, String> {
    sets.map(|set| (set.key.clone(), set.value.value.to_string())).collect()
}

fn resolve_variants(treatments: &[Treatment<'_>]) -> Vec<Variant> {
    let mut variants: Vec<Variant> = treatments
        .iter()
        .map(|treatment| Variant {
            name: treatment.name.clone(),
            role: if treatment.baseline { Role::Baseline } else { Role::Candidate },
            settings: as_written(treatment.sets()),
            tuning: treatment.tune.clone(),
            factors_on: treatment.factors_on(),
        })
        .collect();
    variants.sort_by_key(|variant| variant.role != Role::Baseline);
    variants
}

fn resolve_factors(scenario: &Scenario) -> Vec<Factor> {
    let factor = |factor: &crate::scenario::WrittenFactor| Factor {
        name: factor.name.value.clone(),
        settings: as_written(factor.sets.iter()),
        tuning: factor.tune.clone(),
    };
    scenario.factors.iter().map(factor).collect()
}

fn resolve_workload(
    scenario: &Scenario,
    workload: &WrittenWorkload,
    treatments: &[Treatment<'_>],
    faults: &mut Vec<Fault>,
) -> Workload {
    let spec = |treatment: &Treatment<'_>| {
        (treatment.name.clone(), resolve_spec(scenario, workload, treatment, faults))
    };
    let specs = treatments.iter().map(spec).collect();
    Workload { name: workload.name.value.clone(), specs }
}

fn resolve_spec(
    scenario: &Scenario,
    workload: &WrittenWorkload,
    treatment: &Treatment<'_>,
    faults: &mut Vec<Fault>,
) -> RunSpec {
    let overrides: Vec<&Assignment> = treatment.overrides(workload).collect();
    refuse_conflicts(workload, treatment, &overrides, faults);
    let layers = scenario.ground.iter().chain(&workload.sets).chain(treatment.sets()).chain(overrides);
    let origins: Vec<&Assignment> = layers.collect();
    let mut spec = RunSpec::with_op(workload.test, workload.op);
    for set in &origins {
        if let Err(what) = set.apply(&mut spec) {
            faults.push(Fault::new(set.field.clone(), set.value.span.clone(), what));
        }
    }
    if spec.requester.device == "soft" && spec.responder.device == "auto" {
        spec.responder.device = "soft".into(); // the only device a software NIC can talk to
    }
    place_faults(&spec.faults(), &origins, workload, treatment, faults);
    spec
}

/// A workload and a variant or factor that set the same thing: neither is the more special one, so neither wins.
fn refuse_conflicts(
    workload: &WrittenWorkload,
    treatment: &Treatment<'_>,
    overrides: &[&Assignment],
    faults: &mut Vec<Fault>,
) {
    for ours in &workload.sets {
        let settled = overrides.iter().any(|set| set.conflicts(ours));
        for part in treatment.parts.iter().filter(|_| !settled) {
            for theirs in part.sets.iter().filter(|theirs| theirs.conflicts(ours)) {
                let (workload, name, noun) = (&workload.name.value, &part.name.value, part.noun);
                push_once(
                    faults,
                    Fault::new(
                        theirs.field.clone(),
                        theirs.key_span.clone(),
                        format!("is set by {noun} `{name}` and by workload `{workload}`"),
                    )
                    .beside(ours.key_span.clone(), "set here too")
                    .advice(format!("remove one, or settle it under [workloads.with.{name}]")),
                );
            }
        }
    }
}

/// Turns the faults of a spec into faults of the file, each at the assignment that brought it in.
fn place_faults(
    found: &[SpecFault],
    origins: &[&Assignment],
    workload: &WrittenWorkload,
    treatment: &Treatment<'_>,
    faults: &mut Vec<Fault>,
) {
    let origin = |fault: &SpecFault| {
        origins.iter().rev().find(|set| {
            let slot = set.slot();
            let (side, name) = slot.split_once('.').unwrap_or(("", &slot));
            name == fault.field || side == fault.field
        })
    };
    let some_placed = found.iter().any(|fault| origin(fault).is_some());
    for fault in found {
        match origin(fault) {
            Some(set) => push_once(faults, at(&set.field, &set.value.span, fault, workload, treatment)),
            // A default that no longer fits what was set: only worth saying when nothing else is.
            None if !some_placed => {
                let span = treatment.span().unwrap_or_else(|| workload.name.span.clone());
                push_once(faults, at(fault.field, &span, fault, workload, treatment));
            }
            None => {}
        }
    }
}

fn at(
    field: &str,
    span: &Span,
    fault: &SpecFault,
    workload: &WrittenWorkload,
    treatment: &Treatment<'_>,
) -> Fault {
    Fault::new(field, span.clone(), &*fault.what)
        .beside(workload.name.span.clone(), format!("for this workload under variant `{}`", treatment.name))
}

fn resolve_gate(gate: &WrittenGate, workloads: &[Workload], faults: &mut Vec<Fault>) -> Gate {
    if let Some(size) = &gate.size {
        let asked =
            |workload: &&Workload| gate.workload.as_ref().is_none_or(|name| name.value == workload.name);
        let sizes = sizes(workloads.iter().filter(asked));
        if !sizes.contains_key(&size.value) {
            let known = sizes.into_values().collect::<Vec<_>>().join(", ");
            faults.push(
                Fault::new(
                    format!("{}.size", gate.table.value),
                    size.span.clone(),
                    format!("{} is not measured", size.value),
                )
                .advice(format!("measured are {known}")),
            );
        }
    }
    Gate {
        metric: gate.metric.value,
        workload: gate.workload.as_ref().map(|name| name.value.clone()),
        msg_bytes: gate.size.as_ref().map(|size| size.value),
        margin: gate.margin.unwrap_or_else(|| gate.metric.value.default_margin()),
    }
}

fn sizes<'w>(workloads: impl Iterator<Item = &'w Workload>) -> BTreeMap<schema::Bytes, String> {
    let specs = workloads.flat_map(|workload| workload.specs.values());
    specs.flat_map(|spec| &spec.msg_bytes).map(|size| (*size, size.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schema::Bytes;

    use crate::{
        plan::{Outlook, Plan, plan, show},
        scenario::parse,
    };

    fn shown(plan: &Plan) -> String {
        show(plan, &Outlook::of(plan, None))
    }

    const GOOD: &str = r#"
question = "Deeper?"
[hosts.requester]
device = "soft"
[soft]
model = "latency=5us"
[design]
duration = "100ms"
[[workloads]]
name = "w"
test = "bandwidth"
op = "write"
size = ["64", "4Ki"]
post_list = 2
[workloads.with.deep]
post_list = 4
[[variants]]
name = "deep"
tx_depth = 128
[[variants]]
name = "shallow"
baseline = true
tx_depth = 16
cpu = "none"
[[gates]]
metric = "bandwidth"
"#;

    fn planned(from: &str, to: &str) -> Result<crate::plan::Plan, String> {
        assert!(GOOD.contains(from), "{from}");
        let scenario =
            parse(Path::new("x.toml"), GOOD.replacen(from, to, 1)).map_err(|error| error.to_string())?;
        plan(&scenario, 77).map_err(|error| error.to_string())
    }

    #[test]
    fn layers_lie_over_each_other_in_order() {
        let plan = planned("", "").unwrap();
        let spec = |variant: &str| &plan.workloads[0].specs[variant];
        assert_eq!(spec("deep").msg_bytes, [Bytes(64), Bytes(4096)]);
        assert_eq!((spec("deep").post_list, spec("shallow").post_list), (4, 2));
        assert_eq!((spec("deep").tx_depth, spec("shallow").tx_depth), (128, 16));
        assert_eq!(spec("shallow").responder.cpu, schema::CpuChoice::None);
        assert_eq!(spec("deep").responder.device, "soft");
        assert_eq!(spec("deep").soft_model.as_ref().unwrap().latency_ns.get(), 5_000);
        assert_eq!(plan.gates[0].margin, 0.02);
    }

    #[test]
    fn the_load_of_a_workload_reaches_the_spec_and_the_plan() {
        let plan = planned(
            "op = \"write\"\nsize = [\"64\", \"4Ki\"]\npost_list = 2",
            "op = \"send\"\nsize = 64\nthreads = 2\nqp_count = 4\nbidirectional = true\nrx_depth = 64",
        )
        .unwrap();
        let spec = &plan.workloads[0].specs["shallow"];
        assert_eq!((spec.op, spec.threads, spec.qp_count), (schema::Op::Send, 2, 4));
        assert_eq!((spec.bidirectional, spec.rx_depth), (true, 64));
        let text = shown(&plan);
        for word in ["bidirectional = true", "threads = 2", "qp_count = 4", "rx_depth = 64"] {
            assert!(text.contains(word), "no {word} in:\n{text}");
        }
        assert!(!text.contains("transport ="), "what is the default goes without saying:\n{text}");
    }

    #[test]
    fn the_baseline_comes_first_and_settings_stay_as_written() {
        let plan = planned("", "").unwrap();
        let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, ["shallow", "deep"]);
        let settings: Vec<String> =
            plan.variants[0].settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(settings, ["cpu=none", "tx_depth=16"]);
    }

    #[test]
    fn a_seed_that_is_not_written_is_the_drawn_one() {
        assert_eq!(planned("", "").unwrap().design.seed, 77);
        assert_eq!(planned("[design]", "[design]\nseed = 3").unwrap().design.seed, 3);
    }

    #[test]
    fn what_the_engine_would_refuse_is_refused_at_its_line() {
        for (from, to, wanted) in [
            ("tx_depth = 128", "tx_depth = 0", "variants[0].tx_depth: 0 is outside 1..=32768"),
            (
                "post_list = 4",
                "post_list = 512",
                "workloads[0].with.deep.post_list: 512 is more than tx_depth 128",
            ),
            (
                "tx_depth = 16",
                "tx_depth = 16\nsignal_interval = 17",
                "variants[1].signal_interval: 17 is more than",
            ),
            ("size = [\"64\", \"4Ki\"]", "size = 0", "workloads[0].size: 0 is not a message size"),
            ("size = [\"64\", \"4Ki\"]", "size = [64, \"64\"]", "workloads[0].size: 64 is given twice"),
            (
                "tx_depth = 128",
                "transport = \"ud\"",
                "variants[0].transport: ud does not carry write; it carries send",
            ),
            (
                "tx_depth = 128",
                "pace = \"1k/s\"\nsignal_interval = 2",
                "variants[0].signal_interval: 2 leaves messages of an open load without a latency",
            ),
            (
                "tx_depth = 128",
                "outstanding_reads = 4",
                "variants[0].outstanding_reads: has no meaning for op write",
            ),
            ("tx_depth = 128", "gid_index = 257", "variants[0].gid_index: 257 is outside 0..=255"),
            ("tx_depth = 128", "path_mtu = 1500", "variants[0].path_mtu: 1500 is not an RDMA path MTU"),
            ("device = \"soft\"", "device = \"auto\"", "soft.model: is given, but the device is not `soft`"),
            (
                "metric = \"bandwidth\"",
                "metric = \"p50\"\nsize = \"1Mi\"",
                "gates[0].size: 1Mi is not measured",
            ),
        ] {
            let text = planned(from, to).expect_err(to);
            assert!(text.contains(wanted), "{to}: wanted {wanted}, got:\n{text}");
            assert!(text.contains("x.toml:") && text.contains('^'), "{text}");
        }
    }

    #[test]
    fn what_a_workload_and_a_variant_both_set_is_refused_unless_settled() {
        planned("tx_depth = 128", "tx_depth = 128\npost_list = 8").unwrap();
        let text = planned("tx_depth = 16", "tx_depth = 16\npost_list = 8").unwrap_err();
        assert!(
            text.contains("variants[1].post_list: is set by variant `shallow` and by workload `w`"),
            "{text}"
        );
        assert!(text.contains("[workloads.with.shallow]"), "{text}");
    }

    #[test]
    fn one_wrong_line_is_one_fault_however_many_specs_it_feeds() {
        let text = planned("size = [\"64\", \"4Ki\"]", "size = 0").unwrap_err();
        assert_eq!(text.matches("error: ").count(), 1, "{text}");
        let text = planned("tx_depth = 128", "tx_depth = 0").unwrap_err();
        assert!(
            !text.contains("signal_interval"),
            "defaults that no longer fit are not worth a word:\n{text}"
        );
    }

    #[test]
    fn variants_that_do_not_differ_are_refused() {
        let text = planned("tx_depth = 16\ncpu = \"none\"", "post_list = 4\ntx_depth = 128");
        assert!(text.is_err());
        let same =
            GOOD.replace("tx_depth = 16\ncpu = \"none\"", "tx_depth = 128").replace("post_list = 4", "");
        let text = plan(&parse(Path::new("x.toml"), same).unwrap(), 1).unwrap_err().to_string();
        assert!(text.contains("variants[1]: `shallow` is the same as `deep`"), "{text}");
    }

    #[test]
    fn a_depth_for_a_latency_test_is_refused_and_can_be_settled() {
        let latency = "name = \"ping\"\ntest = \"latency\"\nop = \"write\"\n[[workloads]]\nname = \"w\"";
        let text = planned("name = \"w\"", latency).unwrap_err();
        assert!(text.contains("no meaning for a latency test"), "{text}");
        let settled = "name = \"ping\"\ntest = \"latency\"\nop = \"write\"\n[workloads.with.deep]\ntx_depth = 1\n[workloads.with.shallow]\ntx_depth = 1\n[[workloads]]\nname = \"w\"";
        planned("name = \"w\"", settled).unwrap();
    }

    const ALIKE: (&str, &str) = (
        "name = \"deep\"\ntx_depth = 128\n[[variants]]\nname = \"shallow\"\nbaseline = true\ntx_depth = 16\ncpu = \"none\"",
        "name = \"deep\"\ntune.governor = \"performance\"\n[[variants]]\nname = \"shallow\"\nbaseline = true",
    );

    #[test]
    fn tuning_alone_makes_a_variant_and_is_shown() {
        let text = GOOD.replace("post_list = 4", "post_list = 2");
        let text = text.replacen(ALIKE.0, ALIKE.1, 1);
        let plan = |text: &str| plan(&parse(Path::new("x.toml"), text.to_owned()).unwrap(), 7);
        let tuned = plan(&text).unwrap();
        assert_eq!(tuned.design.grouping, schema::Grouping::PerRun);
        let text_of_tuned = shown(&tuned);
        for word in ["turned before each run", "deep", "both", "governor", "performance", "instant"] {
            assert!(text_of_tuned.contains(word), "no {word} in:\n{text_of_tuned}");
        }
        let slow =
            plan(&text.replace("tune.governor = \"performance\"", "tune.huge_pages = { \"0:2Mi\" = 8 }"))
                .unwrap();
        assert_eq!(slow.design.grouping, schema::Grouping::PerBlock);
        assert!(shown(&slow).contains("once a block"), "{}", shown(&slow));
        let same = plan(&text.replace("tune.governor = \"performance\"", "")).unwrap_err().to_string();
        assert!(same.contains("there is nothing to compare"), "{same}");
        let checked =
            plan(&text.replace("tune.governor = \"performance\"", "tune.profile = \"roce-lossless-check\""));
        assert!(checked.unwrap_err().to_string().contains("only checked, never turned"));
    }

    #[test]
    fn interrupts_can_be_kept_off_polling_cpus_only_if_those_are_named() {
        let near = |policy: &str, cpu: &str| {
            let text =
                GOOD.replace("device = \"soft\"\n[soft]\nmodel = \"latency=5us\"", "device = \"mlx5_0\"");
            let text = text.replace("duration = \"100ms\"", &format!("duration = \"100ms\"\n{cpu}"));
            let tune = format!("tx_depth = 128\ntune.irq_affinity = \"{policy}\"");
            let scenario = parse(Path::new("x.toml"), text.replacen("tx_depth = 128", &tune, 1)).unwrap();
            plan(&scenario, 7).map_err(|error| error.to_string())
        };
        let refused = near("one-to-one", "requester.cpu = \"4\"").unwrap_err();
        assert!(refused.contains("`responder.cpu` does not name them"), "{refused}");
        assert!(!refused.contains("`requester.cpu`"), "{refused}");
        near("one-to-one", "requester.cpu = \"4\"\nresponder.cpu = \"5\"").unwrap();
        near("list:2", "").unwrap();
    }
}
