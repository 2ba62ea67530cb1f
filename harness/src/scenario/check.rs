//! Checks what the tables of a scenario say about each other: names that are given twice, or that no one bears.

use schema::{Metric, Test};

use super::{
    Scenario, WrittenGate, WrittenWorkload, factors,
    fault::{Fault, did_you_mean},
    section::{At, Faults},
};

/// Checks names and references; what is wrong is added to the faults.
pub(super) fn names_and_references(scenario: &Scenario, faults: &Faults) {
    let add = |fault: Fault| faults.borrow_mut().push(fault);
    let variants: Vec<&At<String>> = scenario.variants.iter().map(|variant| &variant.name).collect();
    let factors: Vec<&At<String>> = scenario.factors.iter().map(|factor| &factor.name).collect();
    let workloads: Vec<&At<String>> = scenario.workloads.iter().map(|workload| &workload.name).collect();
    if workloads.is_empty() {
        add(Fault::new("workloads", 0..0, "there is none, so nothing is measured")
            .advice("add [[workloads]] with name, test, op and size"));
    }
    refuse_duplicates("workloads", &workloads, &add);
    refuse_duplicates("variants", &variants, &add);
    check_baseline(scenario, &add);
    factors::check(scenario, &add);
    if factors.is_empty() {
        check_overrides(scenario, "variant", &variants, &add);
    } else {
        check_overrides(scenario, "factor", &factors, &add);
    }
    for gate in &scenario.gates {
        check_gate(scenario, gate, &workloads, &add);
    }
}

pub(super) fn refuse_duplicates(table: &str, names: &[&At<String>], add: &impl Fn(Fault)) {
    for (n, name) in names.iter().enumerate() {
        if let Some(first) = names[..n].iter().find(|earlier| earlier.value == name.value) {
            let what = format!("`{}` is given twice", name.value);
            add(Fault::new(format!("{table}[{n}].name"), name.span.clone(), what)
                .beside(first.span.clone(), "first given here"));
        }
    }
}

fn check_baseline(scenario: &Scenario, add: &impl Fn(Fault)) {
    let marked: Vec<_> =
        scenario.variants.iter().enumerate().filter(|(_, variant)| variant.is_baseline()).collect();
    match marked[..] {
        [] if scenario.variants.len() >= 2 => {
            let first = &scenario.variants[0].name;
            add(Fault::new("variants", first.span.clone(), "none is the baseline")
                .advice("add baseline = true to the one the others are compared with"));
        }
        [(_, first), (n, second), ..] => {
            let place =
                |of: &super::WrittenVariant| of.baseline.as_ref().map_or(0..0, |flag| flag.span.clone());
            add(Fault::new(format!("variants[{n}].baseline"), place(second), "is a second baseline")
                .beside(place(first), "the first"));
        }
        _ => {}
    }
}

fn check_overrides(scenario: &Scenario, noun: &str, known: &[&At<String>], add: &impl Fn(Fault)) {
    for (n, workload) in scenario.workloads.iter().enumerate() {
        for (name, _) in &workload.with {
            if !known.iter().any(|known| known.value == name.value) {
                let field = format!("workloads[{n}].with.{}", name.value);
                add(unknown(field, noun, name, known));
            }
        }
    }
}

fn unknown(field: String, noun: &str, name: &At<String>, known: &[&At<String>]) -> Fault {
    let names = || known.iter().map(|name| name.value.as_str());
    let advice = match did_you_mean(&name.value, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known are {}", names().collect::<Vec<_>>().join(", ")),
    };
    Fault::new(field, name.span.clone(), format!("there is no {noun} `{}`", name.value)).advice(advice)
}

fn check_gate(scenario: &Scenario, gate: &WrittenGate, workloads: &[&At<String>], add: &impl Fn(Fault)) {
    let field = |key: &str| format!("{}.{key}", gate.table.value);
    if gate.metric.value == Metric::P99_99 {
        let what = "p99.99 is reported, never gated: a run of ordinary length has too few samples beyond it";
        add(Fault::new(field("metric"), gate.metric.span.clone(), what).advice("gate p99.9 or p99"));
    }
    let Some(name) = &gate.workload else {
        if !scenario.workloads.iter().any(|workload| has(workload, gate.metric.value)) {
            let what = format!("no workload has {}", gate.metric.value);
            add(Fault::new(field("metric"), gate.metric.span.clone(), what));
        }
        return;
    };
    match scenario.workloads.iter().find(|workload| workload.name.value == name.value) {
        None => add(unknown(field("workload"), "workload", name, workloads)),
        Some(workload) if !has(workload, gate.metric.value) => {
            let what = format!("`{}` is a latency test, which has no {}", name.value, gate.metric.value);
            add(Fault::new(field("metric"), gate.metric.span.clone(), what)
                .beside(workload.name.span.clone(), "the workload"));
        }
        Some(_) => {}
    }
}

fn has(workload: &WrittenWorkload, metric: Metric) -> bool {
    workload.test == Test::Bandwidth || metric.quantile().is_some()
}
