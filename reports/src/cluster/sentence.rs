//! A finding in a sentence, and what to do next.

use schema::{Cluster, Metric};

use super::model::{Effect, FindingKind, RetestReport, Subject};

/// Nodes that a sentence names before it counts them.
const NAMED: usize = 4;

/// The names of some nodes.
pub(super) fn names(cluster: &Cluster, nodes: &[u32]) -> String {
    let name = |rank: &u32| cluster.nodes[*rank as usize].name.as_str();
    let mut told: Vec<String> = nodes.iter().take(NAMED).map(|rank| name(rank).to_owned()).collect();
    if nodes.len() > NAMED {
        told.truncate(NAMED - 1);
        told.push(format!("{} more", nodes.len() + 1 - NAMED));
    }
    match told.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => "no node".to_owned(),
    }
}

/// Of a finding about speed.
pub(super) fn of_speed(
    cluster: &Cluster,
    kind: FindingKind,
    subject: &Subject,
    effect: &Effect,
    confirmed: bool,
    retest: Option<RetestReport>,
) -> String {
    let less = less(effect);
    let name = |place: usize| cluster.nodes[subject.nodes[place] as usize].name.as_str();
    let pairs = format!("in {} of {} pairs", effect.bad_pairs, effect.pairs);
    let leaf = subject.leaf.as_deref().unwrap_or_default();
    let said = match kind {
        FindingKind::Leaf => format!(
            "what crosses {leaf} {} than what crosses other leaves {pairs}: the switch or its uplinks, not its nodes",
            less.carries
        ),
        FindingKind::NodeSends => {
            format!("{} {} than its peers {pairs}: the host, not a link", name(0), less.sends)
        }
        FindingKind::NodeReceives => {
            format!("{} {} than its peers {pairs}: the host, not a link", name(0), less.receives)
        }
        FindingKind::Link => format!(
            "{} to {} {} than both nodes let expect, and both are well with others: the way between them",
            name(0),
            name(1),
            less.carries
        ),
        _ => format!("{} {} than its peers {pairs}: the host, not a link", name(0), less.both),
    };
    match (confirmed, retest) {
        (true, _) => said,
        (false, None) => format!("{said}; suspected, as it could not be measured again"),
        (false, Some(RetestReport { rounds, bad })) => {
            let plural = if rounds == 1 { "" } else { "s" };
            format!(
                "{said}; suspected, as it was bad in {bad} of {rounds} round{plural} when it was measured again"
            )
        }
    }
}

/// An effect in words, for each that it can be about.
struct Less {
    carries: String,
    sends: String,
    receives: String,
    both: String,
}

fn less(effect: &Effect) -> Less {
    let percent = 100.0 * effect.change.abs();
    let percent = if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") };
    let of = |what: &str, carries: &str| Less {
        carries: format!("{carries} {percent} {what}"),
        sends: format!("sends {percent} {what}"),
        receives: format!("receives {percent} {what}"),
        both: format!("sends and receives {percent} {what}"),
    };
    match effect.measure.metric {
        Metric::Bandwidth => of("less", "carries"),
        Metric::MessageRate => of("fewer messages", "carries"),
        metric => of(&format!("later ({metric})"), "arrives"),
    }
}

/// What to do next about a finding of a kind.
pub(super) fn advice(kind: FindingKind, confirmed: bool) -> String {
    let advice = match kind {
        FindingKind::Leaf => {
            "look at the uplinks of the switch: links that are down or came up slower, error counters, and how flows are spread over them"
        }
        FindingKind::Node | FindingKind::NodeSends | FindingKind::NodeReceives => {
            "run `rdma-harness doctor` on the node, and compare its PCIe width and speed, firmware and cable with those of a peer; until then `rdma-harness cluster drain` shows how to take jobs off it"
        }
        FindingKind::Link => {
            "look at the switch ports and cables between the two, and at which of several ways their flows take; both nodes are fine with others"
        }
        FindingKind::OddConfiguration => {
            "make the node as its peers are, or note why it is otherwise; it need not be slow"
        }
        FindingKind::Divided => {
            "compare within each group, or bring all to one configuration; which of them is right can't be told from here"
        }
        FindingKind::Fault => "do as the check says: `rdma-harness doctor` on the node tells the remedy",
    };
    if confirmed { advice.to_owned() } else { format!("measure again to be sure; then {advice}") }
}
