//! Prints a plan: what will run, in which order, for how long, and what it can and can't see.

use std::fmt::Write as _;

use comfy_table::{Table, presets::NOTHING};
use schema::{Grouping, Purpose, Role, RunSpec, SidesTuning, StopRule, Tuning, Workload};

use super::{Outlook, Plan, factorial};
use crate::scenario::{PARAMETERS, Place};

mod outlook;

/// The plan in text.
pub fn show(plan: &Plan, outlook: &Outlook) -> String {
    let mut text = format!("{}\n\n", plan.question);
    let _ = writeln!(text, "scenario   {}", plan.scenario);
    let _ = writeln!(text, "requester  {}", place(&plan.hosts.requester.at));
    let _ =
        writeln!(text, "responder  {}, reached at {}", place(&plan.hosts.responder.at), plan.hosts.address);
    let _ = writeln!(text, "design     {}", design(plan));
    text.push_str(&outlook::show(plan, outlook));
    let _ = writeln!(text, "decides    {}", gates(plan));
    text.push_str(&factorial::show(plan));
    let _ = write!(text, "\nvariants\n{}\n", variants(plan));
    if plan.variants.iter().any(|variant| !variant.tuning.is_empty()) {
        let _ = write!(text, "\ntuning, {}\n{}\n", grouping(plan), tuning(plan));
    }
    let _ = write!(text, "\nworkloads\n{}\n", workloads(plan));
    let _ = write!(text, "\norder\n{}", order(plan));
    text
}

fn place(place: &Place) -> String {
    match place {
        Place::Local => "on this host".into(),
        Place::Netns(name) => format!("on this host, in network namespace {name}"),
        Place::Ssh(destination) => format!("on {destination}, through ssh"),
        Place::Joined(by) => by.clone(),
    }
}

fn design(plan: &Plan) -> String {
    let per_workload = plan.variants.len() + 1;
    let most = if plan.design.stop == StopRule::AllBlocks { "" } else { "at most " };
    format!(
        "{most}{} blocks x {} workloads x {per_workload} runs (each variant, and the baseline again as the control) = {most}{} runs; seed {}",
        plan.design.blocks,
        plan.workloads.len(),
        plan.runs.len(),
        plan.design.seed
    )
}

fn gates(plan: &Plan) -> String {
    if plan.gates.is_empty() {
        return "the primary metric of every workload and size (no gates are declared)".into();
    }
    let gate = |gate: &schema::Gate| {
        let workload = gate.workload.as_deref().unwrap_or("every workload");
        let size = gate.msg_bytes.map_or(String::new(), |size| format!(" at {size}"));
        format!("{} of {workload}{size} (margin {}%)", gate.metric, percent(gate.margin))
    };
    plan.gates.iter().map(gate).collect::<Vec<_>>().join("; ")
}

fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header);
    table
}

fn variants(plan: &Plan) -> String {
    let factorial = !plan.factors.is_empty();
    let mut table = table(&["name", "role", if factorial { "on" } else { "sets" }]);
    for variant in &plan.variants {
        let role = match variant.role {
            Role::Baseline => "baseline",
            Role::Candidate if factorial => "combination",
            Role::Candidate => "candidate",
        };
        let sets = variant.settings.iter().map(|(key, value)| format!("{key} = {value}"));
        let about = if factorial { variant.factors_on.clone() } else { sets.collect() };
        table.add_row([variant.name.as_str(), role, &about.join(", ")]);
    }
    table.trim_fmt()
}

/// When hosts are tuned.
fn grouping(plan: &Plan) -> &'static str {
    match plan.design.grouping {
        Grouping::PerRun => "turned before each run and back after it",
        Grouping::PerBlock => {
            "turned once a block and variant, since a knob disturbs the link or takes long: the runs of a variant stand together"
        }
    }
}

/// What the variants, or the factors, turn, knob by knob.
fn tuning(plan: &Plan) -> String {
    let of_factors = plan.factors.iter().map(|factor| (&factor.name, &factor.tuning));
    let of_variants = plan.variants.iter().map(|variant| (&variant.name, &variant.tuning));
    let who = if plan.factors.is_empty() { "variant" } else { "factor" };
    let tuned: Vec<(&String, &SidesTuning)> =
        if plan.factors.is_empty() { of_variants.collect() } else { of_factors.collect() };
    let mut table = table(&[who, "side", "knob", "value", "class", ""]);
    for (name, SidesTuning { requester, responder }) in tuned {
        let sides: &[(&str, &Tuning)] = if requester == responder {
            &[("both", requester)]
        } else {
            &[("requester", requester), ("responder", responder)]
        };
        for (side, setting) in
            sides.iter().flat_map(|(side, tuning)| tuning.knobs.iter().map(move |knob| (side, knob)))
        {
            let knob = format!("{} {}", setting.knob, setting.item);
            let optional = if setting.optional { "optional" } else { "" };
            let class = setting.knob.class().to_string().replace('_', "-");
            table.add_row([name.as_str(), side, knob.trim(), &setting.value, &class, optional]);
        }
    }
    table.trim_fmt()
}

fn workloads(plan: &Plan) -> String {
    let mut table = table(&["name", "test", "op", "sizes", "not as by default, under every variant"]);
    for workload in &plan.workloads {
        let Some(spec) = workload.specs.values().next() else { continue };
        let sizes = spec.msg_bytes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let load = load(workload);
        table.add_row([workload.name.clone(), spec.test.to_string(), spec.op.to_string(), sizes, load]);
    }
    table.trim_fmt()
}

/// Parameters that all variants share and that are not the default of the test.
fn load(workload: &Workload) -> String {
    let specs: Vec<&RunSpec> = workload.specs.values().collect();
    let Some(first) = specs.first() else { return String::new() };
    let default = RunSpec::with_op(first.test, first.op);
    let value = |spec: &RunSpec, slot: &str| match slot {
        "pace" => Some(spec.pace.to_string()),
        "msg_bytes" | "soft_model" | "soft_fault" => None,
        slot => serde_json::to_value(spec).ok()?.get(slot).map(|value| value.to_string().replace('"', "")),
    };
    let shared = PARAMETERS.iter().filter_map(|parameter| {
        let ours = value(first, parameter.slot)?;
        let same = specs.iter().all(|spec| value(spec, parameter.slot).as_ref() == Some(&ours));
        let differs = value(&default, parameter.slot).as_ref() != Some(&ours);
        (same && differs).then(|| format!("{} = {ours}", parameter.name))
    });
    shared.collect::<Vec<_>>().join(", ")
}

fn order(plan: &Plan) -> String {
    let mut table = table(&["block", "workload", "runs in order"]);
    let same =
        |a: &super::PlannedRun, b: &super::PlannedRun| (a.block, &a.workload) == (b.block, &b.workload);
    for runs in plan.runs.chunk_by(same) {
        let name = |run: &super::PlannedRun| match run.purpose {
            Purpose::Measure => run.variant.clone(),
            Purpose::Control => format!("{} (control)", run.variant),
        };
        let names = runs.iter().map(name).collect::<Vec<_>>().join(", ");
        table.add_row([(runs[0].block + 1).to_string(), runs[0].workload.clone(), names]);
    }
    table.trim_fmt()
}
