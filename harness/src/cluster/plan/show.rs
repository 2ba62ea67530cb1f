//! A plan of a cluster as text: what it comes to, and how its rounds begin.

use std::time::Duration;

use super::ClusterPlan;
use crate::{cluster::suite::Step, words};

/// Rounds that are shown, and pairs of each.
const SHOWN: usize = 4;

/// The plan as people read it.
pub fn show(plan: &ClusterPlan) -> String {
    let counts = &plan.counts;
    let mut lines = vec![plan.question.clone(), String::new()];
    let mut row = |name: &str, text: String| lines.push(format!("{name:<10}{text}"));
    row("pattern", pattern(plan));
    row("nodes", nodes(plan));
    let all = plan.nodes.len() as u64 * (plan.nodes.len() as u64).saturating_sub(1) / 2;
    row("pairs", format!("{} of {all}, at most {} at the same time", counts.pairs, counts.most_at_once));
    row("rounds", format!("{}, {}", plan.rounds.len(), runs(plan)));
    row("time", time(plan));
    row("history", history(plan));
    if !plan.left_out.is_empty() {
        let names: Vec<&str> = plan.left_out.iter().map(|rank| name(plan, *rank)).collect();
        row("left out", format!("{}: in no pair of this pattern", names.join(", ")));
    }
    lines.push(String::new());
    lines.extend(plan.workloads.iter().map(|workload| {
        let sizes: Vec<String> = workload.spec.msg_bytes.iter().map(ToString::to_string).collect();
        let metrics: Vec<String> = workload.metrics.iter().map(ToString::to_string).collect();
        let (scenario, variant) = (&workload.scenario, &workload.variant);
        format!("{scenario}/{variant}/{}: {} at {}", workload.workload, metrics.join(", "), sizes.join(", "))
    }));
    lines.push(String::new());
    lines.extend(plan.rounds.iter().take(SHOWN).map(|round| shown(plan, round)));
    if let more @ 1.. = plan.rounds.len().saturating_sub(SHOWN) {
        lines.push(format!("and {more} more; --json lists all"));
    }
    lines.join("\n")
}

fn pattern(plan: &ClusterPlan) -> String {
    let way = match plan.directions {
        schema::Directions::Forward => "one way",
        schema::Directions::Both => "both ways",
    };
    let passes = if plan.repeat > 1 { format!(", {} passes", plan.repeat) } else { String::new() };
    let drawn = if plan.seed_was_drawn { " (drawn now; a run draws and records another)" } else { "" };
    format!("{}, {way}{passes}, seed {}{drawn}", plan.pattern, plan.seed)
}

fn nodes(plan: &ClusterPlan) -> String {
    let names = match &plan.nodes[..] {
        [] => return "none".into(),
        [first, .., last] if plan.nodes.len() > SHOWN => format!("{} to {}", first.name, last.name),
        few => few.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", "),
    };
    let mut devices: Vec<&str> = plan.nodes.iter().map(|node| node.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    let device = if let [one] = devices[..] { one.to_owned() } else { format!("{} devices", devices.len()) };
    let unknown = plan.nodes.iter().filter(|node| node.switches.is_empty()).count();
    let topology = match unknown {
        0 => {
            let leaves = plan.nodes.iter().filter_map(|node| node.switches.last());
            format!("below {} leaf switches", leaves.collect::<std::collections::BTreeSet<_>>().len())
        }
        _ if unknown == plan.nodes.len() => "switches not known".into(),
        _ => format!("switches of {unknown} not known"),
    };
    format!("{} ({names}), device {device}, {topology}", plan.nodes.len())
}

fn runs(plan: &ClusterPlan) -> String {
    match plan.counts.congestors {
        0 => format!("{} runs", plan.counts.runs),
        congestors => format!("{} runs, {congestors} of them only load the fabric", plan.counts.runs),
    }
}

fn time(plan: &ClusterPlan) -> String {
    let Some(time) = plan.takes_ns else { return "as long as its messages take".into() };
    let time = words::time(Duration::from_nanos(time.get()));
    format!("about {time}, and pairs that stand out are measured again")
}

fn history(plan: &ClusterPlan) -> String {
    match &plan.history {
        None => "none is kept".into(),
        Some(levels) => {
            let levels: Vec<&str> = levels.iter().map(|level| level.word()).collect();
            format!("{} series, by {}", plan.counts.series, levels.join(" and "))
        }
    }
}

fn name(plan: &ClusterPlan, rank: u32) -> &str {
    &plan.nodes[rank as usize].name
}

fn shown(plan: &ClusterPlan, round: &Step) -> String {
    let pair = |pair: &super::super::pattern::PlannedPair| {
        format!("{} > {}", name(plan, pair.requester), name(plan, pair.responder))
    };
    let pairs: Vec<String> = round.pairs.iter().take(SHOWN).map(pair).collect();
    let more = match round.pairs.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let workload = &plan.workloads[round.workload as usize].workload;
    format!("{} ({workload}): {}{more}", round.label, pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use pretty_assertions::assert_eq;

    use crate::cluster::{WantedNode, plan::plan, suite};

    fn wanted(count: usize, below: usize) -> Vec<WantedNode> {
        let node = |n: usize| WantedNode {
            name: format!("node{n}"),
            host: None,
            device: None,
            soft: None,
            address: None,
            switches: vec!["core".into(), format!("leaf{}", n / below)],
        };
        (0..count).map(node).collect()
    }

    fn shipped(name: &str) -> suite::Suite {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/cluster");
        suite::load(&folder.join(format!("{name}.toml"))).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_plan_says_what_it_comes_to() {
        let text = super::show(&plan(&shipped("roce"), &wanted(8, 4), 7).unwrap());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2..8],
            [
                "pattern   pairs, both ways, seed 7 (drawn now; a run draws and records another)",
                "nodes     8 (node0 to node7), device auto, below 2 leaf switches",
                "pairs     28 of 28, at most 4 at the same time",
                "rounds    28, 112 runs",
                // 28 rounds of 1.2 s and 250 ms for the processes.
                "time      about 40 s, and pairs that stand out are measured again",
                // 8 nodes and 2 leaves, each sending and receiving: bandwidth, p50 and p99.
                "history   60 series, by node and leaf",
            ]
        );
        assert_eq!(lines[9], "roce-pair/default/write-64Ki: bandwidth at 64Ki");
        assert!(
            lines[12].starts_with("step 1 of 7 (write-64Ki): node") && lines[12].matches(" > ").count() == 4
        );
        assert!(lines[13].starts_with("step 1 of 7, the other way (write-64Ki): node"));
        assert_eq!(lines.last(), Some(&"and 24 more; --json lists all"));
    }

    #[test]
    fn load_beside_a_victim_is_told_apart_and_nodes_in_no_pair_are_named() {
        let text = super::show(&plan(&shipped("victim"), &wanted(12, 6), 7).unwrap());
        // 6 pairs of 12 nodes, each way, alone and loaded by 8: with 2 workloads.
        assert!(text.contains("rounds    48, 240 runs, 192 of them only load the fabric"), "{text}");
        assert!(
            text.contains("pairs     6 of 66, at most 9 at the same time")
                && text.contains("history   none is kept")
        );
        let mut leaf = shipped("hops");
        leaf.pattern = crate::cluster::pattern::Pattern::Leaf;
        let text = super::show(&plan(&leaf, &wanted(5, 4), 7).unwrap());
        assert!(text.contains("left out  node4: in no pair of this pattern"), "{text}");
    }
}
