//! Checks of factors: each must be able to be on together with any other, so no two of them may set or turn the same thing.

use schema::Tuning;

use super::{
    Assignment, Scenario, WrittenFactor, WrittenWorkload,
    check::refuse_duplicates,
    fault::{Fault, Span},
    section::At,
};

/// The name of the combination without any factor.
pub(crate) const NONE: &str = "none";
/// What joins names of factors to that of a combination.
pub(crate) const JOINT: char = '+';

/// Checks the factors of a scenario against each other and against what else it says.
pub(super) fn check(scenario: &Scenario, add: &impl Fn(Fault)) {
    let factors = &scenario.factors;
    if factors.is_empty() {
        return refuse_design_without(scenario, add);
    }
    if let Some(variant) = scenario.variants.first() {
        let what = "are given beside [[factors]]; a campaign compares listed variants or combines factors";
        add(Fault::new("variants", variant.name.span.clone(), what)
            .beside(factors[0].name.span.clone(), "the first factor")
            .advice("what all runs share belongs in [design]; make two scenarios for two questions"));
    }
    if let [only] = &factors[..] {
        add(Fault::new("factors", only.name.span.clone(), "one factor has nothing to be combined with")
            .advice("add a second one, or write it as [[variants]] beside a baseline"));
    }
    refuse_duplicates("factors", &factors.iter().map(|factor| &factor.name).collect::<Vec<_>>(), add);
    for (n, factor) in factors.iter().enumerate() {
        check_one(n, factor, add);
        for early in &factors[..n] {
            refuse_shared_settings(scenario, early, factor, add);
            refuse_shared_knobs(n, early, factor, add);
        }
    }
}

fn refuse_design_without(scenario: &Scenario, add: &impl Fn(Fault)) {
    let design = &scenario.design;
    let keys = [
        ("design.factorial", design.factorial.as_ref().map(|at| &at.span)),
        ("design.combinations", design.combinations.as_ref().map(|at| &at.span)),
    ];
    for (key, span) in keys {
        if let Some(span) = span {
            add(Fault::new(key, span.clone(), "is given, and there are no factors to combine")
                .advice("add [[factors]], each with a name and what it sets or turns where it is on"));
        }
    }
}

fn check_one(n: usize, factor: &WrittenFactor, add: &impl Fn(Fault)) {
    let field = format!("factors[{n}].name");
    if factor.name.value.contains(JOINT) {
        let what = format!("`{JOINT}` joins the names of factors that are on together; use another letter");
        add(Fault::new(&field, factor.name.span.clone(), what));
    }
    if factor.name.value == NONE {
        let what = format!("`{NONE}` is the name of the baseline, where every factor is off");
        add(Fault::new(&field, factor.name.span.clone(), what));
    }
    if factor.sets.is_empty() && factor.tune.is_empty() {
        add(Fault::new(format!("factors[{n}]"), factor.name.span.clone(), "sets and turns nothing")
            .advice("give it an engine parameter or a [factors.tune] table"));
    }
}

/// Everything that a factor sets for one workload.
fn sets<'s>(
    workload: &'s WrittenWorkload,
    factor: &'s WrittenFactor,
) -> impl Iterator<Item = &'s Assignment> + Clone {
    let with = workload.with.iter().filter(|(name, _)| name.value == factor.name.value);
    factor.sets.iter().chain(with.flat_map(|(_, sets)| sets))
}

fn refuse_shared_settings(
    scenario: &Scenario,
    early: &WrittenFactor,
    late: &WrittenFactor,
    add: &impl Fn(Fault),
) {
    let mut told: Vec<Span> = Vec::new();
    for workload in &scenario.workloads {
        for ours in sets(workload, late) {
            let Some(theirs) = sets(workload, early).find(|theirs| theirs.conflicts(ours)) else { continue };
            if told.contains(&ours.key_span) {
                continue;
            }
            told.push(ours.key_span.clone());
            add(Fault::new(ours.field.clone(), ours.key_span.clone(), shared(&early.name))
                .beside(theirs.key_span.clone(), "set here too")
                .advice(SHARED_ADVICE));
        }
    }
}

fn refuse_shared_knobs(n: usize, early: &WrittenFactor, late: &WrittenFactor, add: &impl Fn(Fault)) {
    let shared_by = |ours: &Tuning, theirs: &Tuning| {
        let twin = |setting: &&schema::KnobSetting| {
            theirs.knobs.iter().any(|other| (other.knob, &other.item) == (setting.knob, &setting.item))
        };
        ours.knobs.iter().find(twin).cloned()
    };
    let on_requester = shared_by(&late.tune.requester, &early.tune.requester);
    let shared_knob = on_requester.or_else(|| shared_by(&late.tune.responder, &early.tune.responder));
    if let Some(setting) = shared_knob {
        let knob = format!("{} {}", setting.knob, setting.item);
        let what = format!("turns {}, which factor `{}` turns already", knob.trim(), early.name.value);
        add(Fault::new(format!("factors[{n}].tune"), late.name.span.clone(), what)
            .beside(early.name.span.clone(), "turned here too")
            .advice(SHARED_ADVICE));
    }
}

fn shared(other: &At<String>) -> String {
    format!("is what factor `{}` sets already; any two factors are on together in some runs", other.value)
}

const SHARED_ADVICE: &str = "let one factor do both, or compare the values as [[variants]]: a factor is on or off, never one of three";
