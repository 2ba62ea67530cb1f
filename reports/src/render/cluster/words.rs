//! The words for verdicts, findings and nodes of a cluster: the same in the terminal, on the page and in exports.

use schema::{Certainty, Fabric, Metric, NodeState};

use crate::{
    cluster::{
        ClusterFinding, ClusterReport, ClusterRules, ClusterVerdict, Effect, FindingKind, Measure,
        NodeReport, NotRun, RetestReport,
    },
    render::{change, number, view::Badge, words},
};

/// The verdict on a cluster.
pub(super) fn verdict(verdict: ClusterVerdict) -> Badge {
    let (word, sign, class) = match verdict {
        ClusterVerdict::Fine => ("Fine", "✓", "good"),
        ClusterVerdict::Slow => ("Slow", "▼", "bad"),
        ClusterVerdict::CouldNotRun => ("Could not run", "✕", "bad"),
        ClusterVerdict::Inconclusive => ("Inconclusive", "?", "open"),
    };
    Badge { word, sign, class }
}

/// How sure a finding is, and whether it is about speed.
pub(in crate::render) fn finding(finding: &ClusterFinding) -> Badge {
    let (word, sign, class) = match (finding.kind, finding.certainty) {
        (FindingKind::OddConfiguration, _) => ("Odd", "≠", "open"),
        (FindingKind::Divided, _) => ("Divided", "≠", "open"),
        (_, Certainty::Suspected) => ("Suspected", "?", "open"),
        (FindingKind::Fault, Certainty::Confirmed) => ("Fault", "▼", "bad"),
        (_, Certainty::Confirmed) => ("Confirmed", "▼", "bad"),
    };
    Badge { word, sign, class }
}

/// The word of a finding alone.
pub(crate) fn finding_word(of: &ClusterFinding) -> &'static str {
    finding(of).word
}

/// What a finding is about, in a word.
pub(super) fn kind(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Leaf => "leaf switch",
        FindingKind::Node => "node",
        FindingKind::NodeSends => "node, sending",
        FindingKind::NodeReceives => "node, receiving",
        FindingKind::Link => "link",
        FindingKind::OddConfiguration | FindingKind::Divided => "configuration",
        FindingKind::Fault => "fault",
    }
}

/// How far a node came, and why not further.
pub(super) fn state(state: &NodeState) -> (Badge, &str) {
    let badge = |word, sign, class| Badge { word, sign, class };
    match state {
        NodeState::Present => (badge("Present", "✓", "none"), ""),
        NodeState::Absent { why } => (badge("Absent", "✕", "bad"), why),
        NodeState::Lost { why, .. } => (badge("Lost", "✕", "bad"), why),
    }
}

/// `rack-pairs, cluster 12 (2026-11-30)`.
pub(super) fn head(report: &ClusterReport) -> String {
    let head = &report.head;
    format!("{}, cluster {} ({})", head.suite, head.id, number::date(head.started_at_unix_ms))
}

/// What a cluster comes to, without the verdict's name: `slow: 1 node, 1 link; 2 of 8 nodes not there to the end`.
pub(super) fn claim(report: &ClusterReport) -> String {
    let counts = report.counts;
    let mut said = Vec::new();
    let slow = subjects(report, |finding| finding.alarms() && finding.kind != FindingKind::Fault);
    if !slow.is_empty() {
        said.push(format!("slow: {slow}"));
    }
    let faults = subjects(report, |finding| finding.alarms() && finding.kind == FindingKind::Fault);
    if !faults.is_empty() {
        said.push(faults);
    }
    let suspected = subjects(report, |finding| !finding.alarms() && !of_configuration(finding));
    if !suspected.is_empty() {
        said.push(format!("suspected: {suspected}"));
    }
    let odd = report.findings.iter().filter(|finding| of_configuration(finding)).count() as u32;
    if odd > 0 {
        said.push(number::counted(odd, "difference") + " of configuration");
    }
    if counts.present < counts.nodes {
        said.push(format!(
            "{} of {} not there to the end",
            counts.nodes - counts.present,
            number::counted(counts.nodes, "node")
        ));
    }
    if counts.could_not_run > 0 {
        said.push(format!(
            "{} of {} could not run",
            counts.could_not_run,
            number::counted(counts.runs, "run")
        ));
    }
    if said.is_empty() {
        said.push(format!(
            "nothing stands out among {} in {}",
            number::counted(counts.nodes, "node"),
            number::counted(counts.runs, "run")
        ));
    }
    said.join("; ")
}

fn of_configuration(finding: &ClusterFinding) -> bool {
    matches!(finding.kind, FindingKind::OddConfiguration | FindingKind::Divided)
}

/// `2 nodes, 1 link`.
fn subjects(report: &ClusterReport, is: impl Fn(&ClusterFinding) -> bool) -> String {
    let count = |kinds: &[FindingKind]| {
        let mine = report.findings.iter().filter(|one| kinds.contains(&one.kind) && is(one));
        mine.count() as u32
    };
    use FindingKind::{Fault, Leaf, Link, Node, NodeReceives, NodeSends};
    let leaves = count(&[Leaf]);
    let counted = [
        (leaves, number::counted_as(leaves, "leaf switch", "leaf switches")),
        (
            count(&[Node, NodeSends, NodeReceives]),
            number::counted(count(&[Node, NodeSends, NodeReceives]), "node"),
        ),
        (count(&[Link]), number::counted(count(&[Link]), "link")),
        (count(&[Fault]), number::counted(count(&[Fault]), "fault")),
    ];
    let some: Vec<String> =
        counted.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    some.join(", ")
}

/// The verdict on a cluster in one line.
pub(crate) fn sentence(report: &ClusterReport) -> String {
    let Badge { word, .. } = verdict(report.verdict);
    format!("{word}: {}: {}.", head(report), claim(report))
}

/// What is simulated, where something is.
pub(crate) fn simulated(report: &ClusterReport) -> Option<String> {
    let soft = report.head.fabric == Some(Fabric::Soft);
    let label = report.head.fabric_label.as_deref().unwrap_or("the software NIC");
    soft.then(|| format!("SIMULATED: {label}. No network was measured."))
}

/// A finding in one line without its badge: what, how it was confirmed, what speaks for it.
pub(crate) fn finding_line(finding: &ClusterFinding) -> String {
    let retest = finding.retest.map(retest);
    let parts =
        std::iter::once(finding.sentence.clone()).chain(retest).chain(finding.evidence.iter().cloned());
    parts.collect::<Vec<_>>().join("; ")
}

/// `measured again: bad in 2 of 3 rounds`.
pub(super) fn retest(retest: RetestReport) -> String {
    format!("measured again: bad in {} of {}", retest.bad, number::counted(retest.rounds, "round"))
}

/// `64 KiB bandwidth of pairs/write`.
pub(crate) fn measure(measure: &Measure) -> String {
    format!("{} of {}", short_measure(measure), measure.name)
}

/// `64 KiB bandwidth`.
pub(super) fn short_measure(measure: &Measure) -> String {
    let metric = match measure.metric.quantile() {
        Some(_) => format!("{} latency", measure.metric),
        None => words::short_metric(measure.metric),
    };
    format!("{} {metric}", number::size(measure.msg_bytes))
}

/// The deviation below which a measure is never a finding.
pub(super) fn margin(rules: &ClusterRules, metric: Metric) -> f64 {
    match metric.quantile() {
        Some(_) => rules.smallest_latency_change,
        None => rules.smallest_change,
    }
}

/// A deviation from peers as it is written beside its margin.
pub(super) fn deviation(rules: &ClusterRules, metric: Metric, share: f64) -> String {
    change::alone(share, margin(rules, metric))
}

/// `64 KiB bandwidth of pairs/write: −22.0%, 74.8 Gb/s where its peers have 95.9 Gb/s, bad in 11 of 11 pairs`.
pub(super) fn effect(rules: &ClusterRules, effect: &Effect) -> String {
    let metric = effect.measure.metric;
    format!(
        "{}: {}, {} where its peers have {}, bad in {} of {}",
        measure(&effect.measure),
        deviation(rules, metric, effect.change),
        number::value(metric, effect.value),
        number::value(metric, effect.peers),
        effect.bad_pairs,
        number::counted(effect.pairs, "pair")
    )
}

/// Why something could not run, and how many runs that kept from happening.
pub(crate) fn not_run(not_run: &NotRun) -> String {
    format!("{}; {}", not_run.why, number::counted(not_run.runs, "run"))
}

/// The name of a node.
pub(crate) fn node_name(report: &ClusterReport, rank: u32) -> String {
    let node: Option<&NodeReport> = report.nodes.get(rank as usize);
    node.map_or_else(|| format!("node of rank {rank}"), |node| node.name.clone())
}

/// What the pairs can't tell, as sentences.
pub(super) fn limits(report: &ClusterReport) -> Vec<String> {
    report.limits.iter().map(|limit| format!("{}.", capitalised(limit.trim_end_matches('.')))).collect()
}

/// With a capital first letter.
pub(super) fn capitalised(text: &str) -> String {
    words::capitalised(text)
}
