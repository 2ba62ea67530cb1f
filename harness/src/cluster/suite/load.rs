//! Reads a suite file and what it names, and collects what is wrong with it.

use std::path::Path;

use reports::cluster::ClusterRules;
use schema::{ClusterWorkload, HistoryLevel, Metric, PairPoint, SidesTuning};

use super::{Suite, nodes, pattern};
use crate::{
    scenario::{Fault, Section, read_question},
    suite::{self, Named, SuiteError, Wrong},
};

/// Rounds in which a suspect is measured again, at most.
const MOST_RETESTS: u64 = 20;

/// Reads and checks a suite file.
///
/// # Errors
/// When it can't be read, or says something that can't be run.
pub fn load(file: &Path) -> Result<Suite, SuiteError> {
    parse(file, suite::text_of(file, "scenarios/cluster/soft.toml")?)
}

/// Reads and checks the text of a suite file; what it names is looked for from its folder on.
///
/// # Errors
/// When it says something that can't be run.
pub fn parse(file: &Path, source: String) -> Result<Suite, SuiteError> {
    suite::parse(file, &source, |root, wrong| read(root, file, source.clone(), wrong))
}

/// By what a cluster is judged, from the text that its suite had; what it names need not be there any more.
///
/// # Errors
/// When the text says something else than a suite does.
pub fn rules(file: &Path, source: &str) -> Result<ClusterRules, SuiteError> {
    suite::parse(file, source, |root, _| Some(read_rules(root)))
}

fn read(root: &Section<'_>, file: &Path, source: String, wrong: &Wrong) -> Option<Suite> {
    let question =
        read_question(root, "suite", "Which node or link of this cluster is slower than its peers?");
    let folder = file.parent().unwrap_or(Path::new(""));
    let tables = root.sections("scenarios");
    let named = |table: &Section<'_>| suite::read_named(table, folder, 1, not_of_pairs, wrong);
    let named: Vec<Named> = tables.iter().filter_map(named).collect();
    let pattern = pattern::read(root, folder, wrong);
    let agents = nodes::read(root, &named);
    let (rules, history) = (read_rules(root), read_history(root));
    root.finish();
    if tables.is_empty() {
        suite::no_scenario(root);
    }
    suite::refuse_twins(root, &named);
    nodes::refuse_hosts(root, &named);
    let tuning = one_tuning(root, &named);
    let (pattern, agents) = (pattern?, agents?);
    Some(Suite {
        name: file.file_stem()?.to_string_lossy().into_owned(),
        file: file.to_owned(),
        source,
        question: question?,
        workloads: named.iter().flat_map(workloads).collect(),
        tuning,
        device: agents.device,
        pattern: pattern.pattern,
        directions: pattern.directions,
        at_once: pattern.at_once,
        repeat: pattern.repeat,
        seed: pattern.seed,
        rules,
        history,
        launch_wait: agents.wait,
        audit: agents.audit,
    })
}

/// Why a metric is not one that pairs are compared by.
fn not_of_pairs(metric: Metric) -> Option<&'static str> {
    let why = "is none that pairs are compared by; those are bandwidth, message_rate, p50 and p99";
    (!PairPoint::METRICS.contains(&metric)).then_some(why)
}

fn workloads(named: &Named) -> Vec<ClusterWorkload> {
    let workload = |(name, spec): (&str, &schema::RunSpec)| ClusterWorkload {
        scenario: named.scenario.name.clone(),
        variant: named.variant().to_owned(),
        workload: name.to_owned(),
        spec: spec.clone(),
        metrics: named.metrics_of(spec.test),
    };
    let workloads = named.specs().map(workload);
    // One of which nothing is kept would be measured for nobody.
    workloads.filter(|workload| !workload.metrics.is_empty()).collect()
}

/// What is turned: every node is on both sides and is tuned once, so that both, and every scenario, must mean the same.
fn one_tuning(root: &Section<'_>, named: &[Named]) -> SidesTuning {
    let of = |named: &Named| named.plan.variants[0].tuning.clone();
    let Some(first) = named.first() else { return SidesTuning::default() };
    for (n, one_sided) in named.iter().enumerate() {
        let SidesTuning { requester, responder } = of(one_sided);
        if requester != responder {
            let what = format!(
                "variant `{}` turns the requester and the responder differently; every node of a cluster is both",
                one_sided.variant()
            );
            root.push(Fault::new(format!("scenarios[{n}].variant"), one_sided.file.span.clone(), what));
        }
    }
    for (n, other) in named.iter().enumerate().filter(|(_, other)| of(other) != of(first)) {
        let (variant, before) = (other.variant(), first.variant());
        let what = format!(
            "variant `{variant}` turns other knobs than `{before}`; the nodes of a cluster are tuned once, for all scenarios of a suite"
        );
        let fault = Fault::new(format!("scenarios[{n}].variant"), other.file.span.clone(), what);
        root.push(fault.beside(first.file.span.clone(), "the first").advice("make two suites of them"));
    }
    of(first)
}

fn read_rules(root: &Section<'_>) -> ClusterRules {
    let mut rules = ClusterRules::default();
    let Some(section) = root.section("rules") else { return rules };
    let share = |key, default| section.share(key).unwrap_or(default);
    rules.smallest_change = share("smallest_change", rules.smallest_change);
    rules.smallest_latency_change = share("smallest_latency_change", rules.smallest_latency_change);
    rules.node_share = share("node_share", rules.node_share);
    if let Some(z) = section.decimal("outlier_z", 1.0, 100.0) {
        rules.outlier_z = z.value;
    }
    let rounds = section.whole("retest_rounds", 1, MOST_RETESTS);
    let bad = section.whole("retest_bad", 1, MOST_RETESTS);
    rules.retest_rounds = rounds.as_ref().map_or(rules.retest_rounds, |rounds| rounds.value as u32);
    rules.retest_bad = bad.as_ref().map_or(rules.retest_bad, |bad| bad.value as u32);
    if rules.retest_bad > rules.retest_rounds {
        let what = format!(
            "{} rounds that must be bad are more than the {} that are made",
            rules.retest_bad, rules.retest_rounds
        );
        let place = bad.or(rounds).map_or(section.span(), |at| at.span);
        section.fault("retest_bad", place, what);
    }
    section.finish();
    rules
}

fn read_history(root: &Section<'_>) -> Option<Vec<HistoryLevel>> {
    let section = root.section("history")?;
    let texts = section.texts("levels");
    let mut levels = Vec::new();
    for text in texts.iter().flatten() {
        match text.value.parse::<HistoryLevel>() {
            Ok(level) if levels.contains(&level) => {
                section.fault("levels", text.span.clone(), format!("`{level}` is given twice"));
            }
            Ok(level) => levels.push(level),
            Err(error) => section.fault("levels", text.span.clone(), error.to_string()),
        }
    }
    if levels.is_empty() && (texts.is_some() || section.raw("levels").is_none()) {
        let what =
            "names nothing that has a series; write for example [\"node\", \"leaf\"], or leave [history] out";
        section.fault("levels", section.span(), what);
    }
    section.finish();
    Some(levels)
}
