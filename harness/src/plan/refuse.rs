//! What is refused although each spec by itself could run: treatments that can't be told apart, and tuning that can't work.

use schema::{CpuChoice, Knob, SideSpec, Tuning, Workload};

use super::factorial::Treatment;
use crate::scenario::{Fault, Scenario, ScenarioError, Span};

/// A scenario that gives fewer than two ways to run its workloads.
pub(super) fn refuse_nothing_to_compare(scenario: &Scenario) -> Result<(), ScenarioError> {
    if scenario.variants.len() >= 2 || !scenario.factors.is_empty() {
        return Ok(());
    }
    let what = format!("{} given; a comparison needs at least two", scenario.variants.len());
    let place = scenario.variants.first().map_or(0..0, |variant| variant.name.span.clone());
    let fault = Fault::new("variants", place, what).advice(
        "add [[variants]], one of them with baseline = true, or [[factors]] to combine; without, it is measured night after night by `rdma-harness nightly` with a suite that names it",
    );
    Err(scenario.error(vec![fault]))
}

/// Adds a fault unless the same text at the same place is there already: one line may feed many specs.
pub(super) fn push_once(faults: &mut Vec<Fault>, fault: Fault) {
    if !faults.iter().any(|known| known.span == fault.span && known.what == fault.what) {
        faults.push(fault);
    }
}

/// Two treatments that resolve to the same specs on hosts that are tuned alike: any difference between them would be noise.
pub(super) fn refuse_twins(treatments: &[Treatment<'_>], workloads: &[Workload], faults: &mut Vec<Fault>) {
    let mut told: Vec<Span> = Vec::new();
    for (n, late) in treatments.iter().enumerate() {
        let same = |early: &Treatment<'_>| {
            let same =
                |workload: &Workload| workload.specs.get(&late.name) == workload.specs.get(&early.name);
            early.tune == late.tune && workloads.iter().all(same)
        };
        let Some(early) = treatments[..n].iter().find(|early| same(early)) else { continue };
        // Of a combination, the factor that one of the two lacks is what makes no difference.
        let lacks =
            |other: &Treatment<'_>, name: &str| other.parts.iter().all(|part| part.name.value != name);
        let own = late.parts.iter().find(|part| lacks(early, &part.name.value));
        let part = own.or_else(|| early.parts.iter().find(|part| lacks(late, &part.name.value)));
        let Some(part) = part.filter(|part| !told.contains(&part.name.span)) else { continue };
        told.push(part.name.span.clone());
        let what = format!("`{}` is the same as `{}`; there is nothing to compare", late.name, early.name);
        let mut fault = Fault::new(part.field(), part.name.span.clone(), what)
            .advice("let it set what the question is about; noise is measured by the control runs anyway");
        if let Some(span) = early.span().filter(|span| *span != part.name.span) {
            fault = fault.beside(span, "the same settings");
        }
        faults.push(fault);
    }
}

/// A tuning that is only checked turns nothing, so its variant would be the baseline under another name.
pub(super) fn refuse_mere_checks(treatments: &[Treatment<'_>], faults: &mut Vec<Fault>) {
    for part in treatments.iter().flat_map(|treatment| &treatment.parts) {
        if part.tune.requester.check_only || part.tune.responder.check_only {
            let what = "is only checked, never turned";
            let fault = Fault::new(format!("{}.tune", part.field()), part.name.span.clone(), what)
                .advice("check it with `rdma-harness tune verify`, and name another profile here");
            push_once(faults, fault);
        }
    }
}

/// Interrupts that are to stay off the polling CPUs, where nobody says which CPUs poll: verbs-bench chooses only when the
/// interrupts are where they are.
pub(super) fn refuse_unnamed_pollers(
    treatments: &[Treatment<'_>],
    workloads: &[Workload],
    faults: &mut Vec<Fault>,
) {
    for treatment in treatments {
        let specs = || workloads.iter().filter_map(|workload| workload.specs.get(&treatment.name));
        let requesters: Vec<&SideSpec> = specs().map(|spec| &spec.requester).collect();
        let responders: Vec<&SideSpec> = specs().map(|spec| &spec.responder).collect();
        for part in &treatment.parts {
            let sides: [(&str, &Tuning, &[&SideSpec]); 2] = [
                ("requester", &part.tune.requester, &requesters),
                ("responder", &part.tune.responder, &responders),
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
                    let advice = format!(
                        "add for example `{side}.cpu = \"4\"` to [design], or place the vectors by list"
                    );
                    let field = format!("{}.tune", part.field());
                    push_once(faults, Fault::new(field, part.name.span.clone(), what).advice(advice));
                }
            }
        }
    }
}
