//! Clusters for the tests of views and exports.

use schema::{Cluster, Finding, Matters, Metric, NodeState, PairOutcome, Reading, Severity};

use super::{Plant, Rig, Simulated, Slow};
use crate::cluster::ClusterRules;

/// Which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    /// Eight nodes, and nothing to say.
    Fine8,
    /// Sixteen nodes, the seventh of which receives less, with a narrow PCIe slot, a finding of its audit and remarks of its runs.
    SlowNode16,
    /// Sixty-four nodes below eight leaves, the third of which is slow.
    SlowLeaf64,
    /// 512 nodes below 32 leaves: two slow nodes and a slow link.
    Large512,
    /// Twelve nodes: one never came, one was lost on the way, and one pair could not run.
    Broken,
}

/// Makes it.
pub fn sample(which: Sample) -> Cluster {
    let all = vec![Metric::Bandwidth, Metric::MessageRate, Metric::P50, Metric::P99];
    let simulated = |nodes, leaves, plants: &[(Slow, f64)]| Simulated {
        nodes,
        leaves,
        metrics: all.clone(),
        plants: plants.iter().map(|(what, by)| Plant { what: *what, by: *by }).collect(),
        ..Simulated::default()
    };
    let rules = ClusterRules::default();
    match which {
        Sample::Fine8 => simulated(8, 2, &[]).carried_out(&rules),
        Sample::SlowNode16 => {
            let plain = simulated(16, 4, &[(Slow::Receives(6), 0.22)]);
            let narrow = Simulated { facts: vec![(6, "pcie_width", "8")], ..plain };
            with_evidence(narrow.carried_out(&rules))
        }
        Sample::SlowLeaf64 => simulated(64, 8, &[(Slow::Leaf(2), 0.3)]).carried_out(&rules),
        Sample::Large512 => {
            let plants = [(Slow::Node(100), 0.25), (Slow::Sends(300), 0.15), (Slow::Link(17, 444), 0.4)];
            let large = simulated(512, 32, &plants);
            Simulated { metrics: vec![Metric::Bandwidth], ..large }.carried_out(&rules)
        }
        Sample::Broken => broken(&simulated(12, 3, &[]), &rules),
    }
}

fn with_evidence(mut cluster: Cluster) -> Cluster {
    const NODE: u32 = 6;
    if let Some(audit) = &mut cluster.nodes[NODE as usize].audit {
        audit.findings.push(Finding {
            check: "pcie-link".into(),
            subject: "mlx5_0".into(),
            severity: Severity::Wrong,
            summary: "PCIe x8 where the device and the slot could have x16".into(),
            readings: vec![Reading {
                at: "/sys/class/infiniband/mlx5_0/device/current_link_width".into(),
                value: Some("8".into()),
                unknown: None,
            }],
            expected: "16".into(),
            authority: "max_link_width of the device".into(),
            matters: vec![Matters::DataPath],
            remedy: "reseat the card; if it comes up with x8 again, try another slot".into(),
        });
    }
    for run in cluster.runs.iter_mut().filter(|run| run.responder == NODE) {
        run.remarks.push(format!("responder: {} local_ack_timeout_err", 200 + run.requester));
    }
    cluster
}

fn broken(simulated: &Simulated, rules: &ClusterRules) -> Cluster {
    let (absent, lost, failed) = (3u32, 8u32, (1u32, 5u32));
    let mut rig = Rig::of(simulated);
    rig.pattern();
    let cluster = &mut rig.cluster;
    let half = cluster.rounds.len() as u32 / 2;
    let at = cluster.rounds[half as usize].started_at_unix_ms;
    let node = &mut cluster.nodes[absent as usize];
    node.state = NodeState::Absent { why: "no agent of it came within 60 s; slurm says: node4 DOWN*".into() };
    (node.host, node.audit) = (None, None);
    cluster.nodes[lost as usize].state =
        NodeState::Lost { why: "its agent did not answer for 15 s".into(), at_unix_ms: at };
    let touches = |run: &schema::PairRun, rank| run.requester == rank || run.responder == rank;
    cluster.runs.retain(|run| !touches(run, absent));
    for (sequence, run) in (0u32..).zip(&mut cluster.runs) {
        run.sequence = sequence;
        let why = if touches(run, lost) && run.round >= half {
            "node9 was lost: its agent did not answer for 15 s"
        } else if (run.requester, run.responder) == failed {
            "requester: connect: the responder did not answer within 5 s"
        } else {
            continue;
        };
        run.outcome = PairOutcome::CouldNotRun { why: why.into() };
        run.points.clear();
    }
    rig.retest(rules);
    rig.cluster
}
