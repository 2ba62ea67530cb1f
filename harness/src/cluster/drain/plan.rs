//! What would be done: which nodes are drained, renamed or given back, and which are left alone and why. Pure.

use std::collections::BTreeMap;

use reports::cluster::{ClusterFinding, ClusterReport, FindingKind, NodeReport};
use schema::{Certainty, NodeState};
use serde::Serialize;

use super::{
    DrainError, SlurmNode,
    reason::{cluster_of, is_ours, reason},
};

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wishes {
    /// Whether nodes that we drained and that are well are given back.
    pub release: bool,
    /// Nodes that may be drained by us at the same time.
    pub at_most: u32,
}

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrainPlan {
    /// In the order of the nodes' ranks.
    pub changes: Vec<Change>,
    /// Nodes that something was found of, or that we drained, and that stay as they are.
    pub left_alone: Vec<LeftAlone>,
}

/// A change of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The node.
    pub node: String,
    /// What is done.
    pub kind: ChangeKind,
    /// The node as it was when this was settled.
    pub seen: SlurmNode,
}

/// What is done with a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// No job is put on it from now on.
    Drain {
        /// Why.
        reason: String,
    },
    /// It stays drained, by us, for what was found now.
    Renew {
        /// Why.
        reason: String,
    },
    /// Jobs are put on it again.
    Resume,
}

/// A node that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftAlone {
    /// The node.
    pub node: String,
    /// Why.
    pub why: String,
}

impl Change {
    /// What scontrol is given.
    pub fn arguments(&self) -> Vec<String> {
        let node = format!("NodeName={}", self.node);
        let rest = match &self.kind {
            ChangeKind::Drain { reason } => vec!["State=DRAIN".to_owned(), format!("Reason={reason}")],
            ChangeKind::Renew { reason } => vec![format!("Reason={reason}")],
            ChangeKind::Resume => vec!["State=RESUME".to_owned()],
        };
        ["update".to_owned(), node].into_iter().chain(rest).collect()
    }

    /// The command as it can be given to a shell.
    pub fn command(&self) -> String {
        let quoted = |word: &String| match word.split_once('=') {
            // Reasons have no quotes, see `reason.rs`.
            Some(("Reason", text)) => format!("Reason=\"{}\"", text.replace('$', "\\$")),
            _ => word.clone(),
        };
        format!("scontrol {}", self.arguments().iter().map(quoted).collect::<Vec<_>>().join(" "))
    }
}

/// Settles what would be done by a cluster's report and by Slurm's word on all of its nodes.
///
/// # Errors
/// When more nodes would be out than may be: then nothing is to be done at all.
pub fn plan(report: &ClusterReport, slurm: &[SlurmNode], wishes: Wishes) -> Result<DrainPlan, DrainError> {
    let known: BTreeMap<&str, &SlurmNode> = slurm.iter().map(|node| (node.name.as_str(), node)).collect();
    let mut plan = DrainPlan { changes: Vec::new(), left_alone: Vec::new() };
    for node in &report.nodes {
        let bad = bad(report, node.rank);
        let settled = match (known.get(node.name.as_str()), bad) {
            (Some(seen), Some(finding)) => drain(report.head.id, finding, seen),
            (Some(seen), None) if wishes.release && is_ours(&seen.reason) => resume(report, node, seen),
            (None, Some(_)) => Err("Slurm knows no node of this name".to_owned()),
            _ => continue,
        };
        match settled {
            Ok(kind) => {
                let seen = known[node.name.as_str()].clone();
                plan.changes.push(Change { node: node.name.clone(), kind, seen });
            }
            Err(why) => plan.left_alone.push(LeftAlone { node: node.name.clone(), why }),
        }
    }
    let ours = slurm.iter().filter(|node| is_ours(&node.reason) && node.is_drained()).count();
    let count =
        |wanted: fn(&ChangeKind) -> bool| plan.changes.iter().filter(|change| wanted(&change.kind)).count();
    let new = count(|kind| matches!(kind, ChangeKind::Drain { .. }));
    let would = (ours + new - count(|kind| *kind == ChangeKind::Resume)) as u32;
    if new > 0 && would > wishes.at_most {
        return Err(DrainError::TooMany { would, most: wishes.at_most });
    }
    Ok(plan)
}

/// What was confirmed of a node itself, not of a link or a switch.
fn bad(report: &ClusterReport, rank: u32) -> Option<&ClusterFinding> {
    report.findings.iter().find(|finding| {
        is_of_nodes(finding.kind)
            && finding.certainty == Certainty::Confirmed
            && finding.subject.nodes.contains(&rank)
    })
}

fn is_of_nodes(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::Node | FindingKind::NodeSends | FindingKind::NodeReceives)
}

fn drain(cluster: i64, finding: &ClusterFinding, seen: &SlurmNode) -> Result<ChangeKind, String> {
    let ours = is_ours(&seen.reason);
    if !ours && !seen.reason.is_empty() {
        return Err(format!("somebody else's note is on it: {}", seen.reason));
    }
    if !ours && seen.is_drained() {
        return Err("somebody else drained it".to_owned());
    }
    let reason = reason(cluster, &finding.sentence);
    match (ours && seen.is_drained(), seen.reason == reason) {
        (true, true) => Err("we drained it for this already".to_owned()),
        (true, false) => Ok(ChangeKind::Renew { reason }),
        (false, _) => Ok(ChangeKind::Drain { reason }),
    }
}

/// A node that we drained is given back when it was measured and nothing at all was said of it.
fn resume(report: &ClusterReport, node: &NodeReport, seen: &SlurmNode) -> Result<ChangeKind, String> {
    let pairs: u32 = node.measures.iter().map(|measure| measure.pairs).sum();
    if !seen.is_drained() {
        return Err("we drained it, and somebody gave it back".to_owned());
    }
    if let Some(by) = cluster_of(&seen.reason).filter(|by| *by >= report.head.id) {
        return Err(format!("we drained it by cluster {by}, which is not older than this one"));
    }
    match &node.state {
        NodeState::Absent { why } => return Err(format!("we drained it, and it was not measured: {why}")),
        NodeState::Lost { why, .. } => return Err(format!("we drained it, and it was lost: {why}")),
        NodeState::Present if pairs == 0 => {
            return Err("we drained it, and no pair of it was measured".to_owned());
        }
        NodeState::Present => {}
    }
    let said = report.findings.iter().find(|finding| finding.subject.nodes.contains(&node.rank));
    match said {
        Some(finding) => Err(format!("we drained it, and it is still spoken of: {}", finding.sentence)),
        None => Ok(ChangeKind::Resume),
    }
}
