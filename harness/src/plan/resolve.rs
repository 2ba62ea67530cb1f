//! Resolves what a scenario says into one complete spec per workload and variant, and refuses what could not run.
//!
//! Layers, each over the one before: the test's defaults; `[hosts]`, `[design]` and `[soft]`; the workload and the variant,
//! which must not set the same thing; and what the workload sets under that variant.

use std::collections::BTreeMap;

use schema::{CpuChoice, Gate, Knob, Role, RunSpec, SideSpec, Tuning, Variant, Workload, spec::SpecFault};

use crate::scenario::{
    Assignment, Fault, Scenario, ScenarioError, Span, WrittenGate, WrittenVariant, WrittenWorkload,
};

/// Variants, workloads and gates with nothing left to a default.
pub(super) struct Resolved {
    pub(super) variants: Vec<Variant>,
    pub(super) workloads: Vec<Workload>,
    pub(super) gates: Vec<Gate>,
}

/// Resolves a scenario, or shows every fault of it.
pub(super) fn resolve(scenario: &Scenario) -> Result<Resolved, ScenarioError> {
    let mut faults = Vec::new();
    let workloads: Vec<Workload> =
        scenario.workloads.iter().map(|workload| resolve_workload(scenario, workload, &mut faults)).collect();
    if faults.is_empty() {
        refuse_twins(scenario, &workloads, &mut faults);
    }
    refuse_mere_checks(scenario, &mut faults);
    refuse_unnamed_pollers(scenario, &workloads, &mut faults);
    let gates = scenario.gates.iter().map(|gate| resolve_gate(gate, &workloads, &mut faults)).collect();
    if faults.is_empty() {
        Ok(Resolved { variants: resolve_variants(scenario), workloads, gates })
    } else {
        Err(scenario.error(faults))
    }
}

fn resolve_variants(scenario: &Scenario) -> Vec<Variant> {
    let mut variants: Vec<Variant> = scenario
        .variants
        .iter()
        .map(|variant| Variant {
            name: variant.name.value.clone(),
            role: if variant.is_baseline() { Role::Baseline } else { Role::Candidate },
            settings: variant.sets.iter().map(|set| (set.key.clone(), set.value.value.to_string())).collect(),
            tuning: variant.tune.clone(),
            factors_on: Vec::new(),
        })
        .collect();
    variants.sort_by_key(|variant| variant.role != Role::Baseline);
    variants
}

fn resolve_workload(scenario: &Scenario, workload: &WrittenWorkload, faults: &mut Vec<Fault>) -> Workload {
    let specs = scenario
        .variants
        .iter()
        .map(|variant| (variant.name.value.clone(), resolve_spec(scenario, workload, variant, faults)))
        .collect();
    Workload { name: workload.name.value.clone(), specs }
}

fn resolve_spec(
    scenario: &Scenario,
    workload: &WrittenWorkload,
    variant: &WrittenVariant,
    faults: &mut Vec<Fault>,
) -> RunSpec {
    let overrides = workload.with.iter().find(|(name, _)| name.value == variant.name.value);
    let overrides = overrides.map_or(&[][..], |(_, sets)| sets);
    refuse_conflicts(workload, variant, overrides, faults);
    let layers = [scenario.ground.as_slice(), &workload.sets, &variant.sets, overrides];
    let mut spec = RunSpec::with_op(workload.test, workload.op);
    for set in layers.into_iter().flatten() {
        if let Err(what) = set.apply(&mut spec) {
            faults.push(Fault::new(set.field.clone(), set.value.span.clone(), what));
        }
    }
    if spec.requester.device == "soft" && spec.responder.device == "auto" {
        spec.responder.device = "soft".into(); // the only device a software NIC can talk to
    }
    let origins: Vec<&Assignment> = layers.into_iter().flatten().collect();
    place_faults(&spec.faults(), &origins, workload, variant, faults);
    spec
}

/// A workload and a variant that set the same thing: neither is the more special one, so neither wins.
fn refuse_conflicts(
    workload: &WrittenWorkload,
    variant: &WrittenVariant,
    overrides: &[Assignment],
    faults: &mut Vec<Fault>,
) {
    for ours in &workload.sets {
        let settled = overrides.iter().any(|set| set.conflicts(ours));
        for theirs in variant.sets.iter().filter(|theirs| !settled && theirs.conflicts(ours)) {
            let (workload, variant) = (&workload.name.value, &variant.name.value);
            push_once(
                faults,
                Fault::new(
                    theirs.field.clone(),
                    theirs.key_span.clone(),
                    format!("is set by variant `{variant}` and by workload `{workload}`"),
                )
                .beside(ours.key_span.clone(), "set here too")
                .advice(format!("remove one, or settle it under [workloads.with.{variant}]")),
            );
        }
    }
}

/// Turns the faults of a spec into faults of the file, each at the assignment that brought it in.
fn place_faults(
    found: &[SpecFault],
    origins: &[&Assignment],
    workload: &WrittenWorkload,
    variant: &WrittenVariant,
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
            Some(set) => push_once(faults, at(&set.field, &set.value.span, fault, workload, variant)),
            // A default that no longer fits what was set: only worth saying when nothing else is.
            None if !some_placed => {
                push_once(faults, at(fault.field, &variant.name.span, fault, workload, variant));
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
    variant: &WrittenVariant,
) -> Fault {
    Fault::new(field, span.clone(), &*fault.what).beside(
        workload.name.span.clone(),
        format!("for this workload under variant `{}`", variant.name.value),
    )
}

/// Adds a fault unless the same text at the same place is there already: one line may feed many specs.
fn push_once(faults: &mut Vec<Fault>, fault: Fault) {
    if !faults.iter().any(|known| known.span == fault.span && known.what == fault.what) {
        faults.push(fault);
    }
}

/// Two variants that resolve to the same specs on hosts that are tuned alike: any difference between them would be noise.
fn refuse_twins(scenario: &Scenario, workloads: &[Workload], faults: &mut Vec<Fault>) {
    for (n, late) in scenario.variants.iter().enumerate() {
        let same = |workload: &Workload, early: &WrittenVariant| {
            workload.specs.get(&late.name.value) == workload.specs.get(&early.name.value)
        };
        let twin = scenario.variants[..n]
            .iter()
            .find(|early| early.tune == late.tune && workloads.iter().all(|workload| same(workload, early)));
        if let Some(early) = twin {
            let what = format!(
                "`{}` is the same as `{}`; there is nothing to compare",
                late.name.value, early.name.value
            );
            faults.push(
                Fault::new(format!("variants[{n}]"), late.name.span.clone(), what)
                    .beside(early.name.span.clone(), "the same settings")
                    .advice(
                        "let it set what the question is about; noise is measured by the control runs anyway",
                    ),
            );
        }
    }
}

/// A tuning that is only checked turns nothing, so its variant would be the baseline under another name.
fn refuse_mere_checks(scenario: &Scenario, faults: &mut Vec<Fault>) {
    for (n, variant) in scenario.variants.iter().enumerate() {
        if variant.tune.requester.check_only || variant.tune.responder.check_only {
            let what = "is only checked, never turned";
            faults.push(
                Fault::new(format!("variants[{n}].tune"), variant.name.span.clone(), what)
                    .advice("check it with `rdma-harness tune verify`, and name another profile here"),
            );
        }
    }
}

/// Interrupts that are to stay off the polling CPUs, where nobody says which CPUs poll: verbs-bench chooses only when the
/// interrupts are where they are.
fn refuse_unnamed_pollers(scenario: &Scenario, workloads: &[Workload], faults: &mut Vec<Fault>) {
    for (n, variant) in scenario.variants.iter().enumerate() {
        let specs = || workloads.iter().filter_map(|workload| workload.specs.get(&variant.name.value));
        let sides: [(&str, &Tuning, Vec<&SideSpec>); 2] = [
            ("requester", &variant.tune.requester, specs().map(|spec| &spec.requester).collect()),
            ("responder", &variant.tune.responder, specs().map(|spec| &spec.responder).collect()),
        ];
        for (side, tuning, specs) in sides {
            let by_policy = tuning
                .knobs
                .iter()
                .find(|setting| setting.knob == Knob::IrqAffinity && !setting.value.starts_with("list:"));
            let unnamed = specs.iter().any(|spec| spec.cpu == CpuChoice::Auto && spec.device != "soft");
            if let Some(setting) = by_policy.filter(|_| unnamed) {
                let what = format!(
                    "irq_affinity = \"{}\" keeps interrupts off the polling CPUs, and `{side}.cpu` does not name them",
                    setting.value
                );
                faults.push(
                    Fault::new(format!("variants[{n}].tune"), variant.name.span.clone(), what).advice(
                        format!(
                            "add for example `{side}.cpu = \"4\"` to [design], or place the vectors by list"
                        ),
                    ),
                );
            }
        }
    }
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

    use crate::{plan::plan, scenario::parse};

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
        let text = crate::plan::show(&plan);
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
        let shown = crate::plan::show(&tuned);
        for word in ["turned before each run", "deep", "both", "governor", "performance", "instant"] {
            assert!(shown.contains(word), "no {word} in:\n{shown}");
        }
        let slow =
            plan(&text.replace("tune.governor = \"performance\"", "tune.huge_pages = { \"0:2Mi\" = 8 }"))
                .unwrap();
        assert_eq!(slow.design.grouping, schema::Grouping::PerBlock);
        assert!(crate::plan::show(&slow).contains("once a block"), "{}", crate::plan::show(&slow));
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
