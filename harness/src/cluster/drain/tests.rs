//! Draining by a judged cluster, against a stand-in for scontrol that keeps what it is told.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

use pretty_assertions::assert_eq;
use reports::{
    cluster::{ClusterReport, FindingKind},
    testing::{cluster_report, fine_cluster, fine_cluster_report, measured_cluster},
};
use schema::{Certainty, NodeState};

use super::*;

/// `show` prints a file a node; `update` writes its arguments down, and the node's state and reason as Slurm would.
const STAND_IN: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 9
case $1 in
show)
    if [ -n "$4" ] && [ ! -e "nodes/$4" ]; then echo "Node $4 not found"; exit 1; fi
    for node in nodes/${4:-*}; do cat "$node"; done ;;
update)
    printf '%s\n' "$*" >>calls
    name=${2#NodeName=}; shift 2
    [ ! -e refuses ] || { echo "slurm_update error: Access/permission denied" >&2; exit 1; }
    line=$(cat "nodes/$name")
    state=${line#* State=}; state=${state%% *}
    reason=${line#* Reason=}; reason=${reason% [[]*}
    [ "$reason" != "$line" ] || reason=
    for field; do
        case $field in
        State=DRAIN) state=IDLE+DRAIN ;;
        State=RESUME) state=IDLE reason= ;;
        Reason=*) reason=${field#Reason=} ;;
        esac
    done
    echo "NodeName=$name Arch=x86_64 State=$state Weight=1${reason:+ Reason=$reason [root@2026-12-01T14:24:03]}" >"nodes/$name" ;;
esac
"#;

struct Slurm {
    folder: tempfile::TempDir,
}

impl Slurm {
    /// Nodes of these names, idle, or as one says of itself.
    fn with(nodes: &[&str], states: &[(&str, &str, &str)]) -> Slurm {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("nodes")).unwrap();
        let slurm = Slurm { folder };
        for name in nodes {
            let state = states.iter().find(|(node, ..)| node == name);
            let (_, state, reason) = state.copied().unwrap_or((name, "IDLE", ""));
            let reason = if reason.is_empty() {
                String::new()
            } else {
                format!(" Reason={reason} [root@2026-12-01T00:00:00]")
            };
            slurm.write(
                &format!("nodes/{name}"),
                &format!("NodeName={name} Arch=x86_64 State={state} Weight=1{reason}\n"),
            );
        }
        slurm.write("scontrol", STAND_IN);
        fs::set_permissions(slurm.at("scontrol"), fs::Permissions::from_mode(0o755)).unwrap();
        slurm
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.at(name), text).unwrap();
    }

    fn scontrol(&self) -> Scontrol {
        Scontrol::at(self.at("scontrol"))
    }

    fn plan(&self, report: &ClusterReport, wishes: Wishes) -> Result<DrainPlan, DrainError> {
        plan(report, &self.scontrol().show(None).unwrap(), wishes)
    }

    /// Plans and makes every change; gives the calls that changed something.
    fn carry_out(&self, report: &ClusterReport, wishes: Wishes) -> String {
        for change in self.plan(report, wishes).unwrap().changes {
            apply(&self.scontrol(), &change).unwrap().unwrap();
        }
        fs::read_to_string(self.at("calls")).unwrap_or_default()
    }
}

const DRAIN: Wishes = Wishes { release: false, at_most: 2 };
const RELEASE: Wishes = Wishes { release: true, at_most: 2 };

fn names(report: &ClusterReport) -> Vec<&str> {
    report.nodes.iter().map(|node| node.name.as_str()).collect()
}

/// The node that the report confirms to be slow, and what is said of it.
fn slow(report: &ClusterReport) -> (String, String) {
    let finding = report.findings.iter().find(|finding| finding.kind == FindingKind::Node).unwrap();
    assert_eq!(finding.certainty, Certainty::Confirmed);
    let name = report.nodes[finding.subject.nodes[0] as usize].name.clone();
    (name, reason::reason(report.head.id, &finding.sentence))
}

#[test]
fn a_node_that_is_confirmed_slow_is_drained_once_and_no_other() {
    let report = cluster_report();
    let slurm = Slurm::with(&names(&report), &[]);
    let (name, reason) = slow(&report);
    let plan = slurm.plan(&report, DRAIN).unwrap();
    let commands: Vec<String> = plan.changes.iter().map(Change::command).collect();
    assert_eq!(commands, [format!("scontrol update NodeName={name} State=DRAIN Reason=\"{reason}\"")]);
    let wanted = format!("update NodeName={name} State=DRAIN Reason={reason}\n");
    assert_eq!(slurm.carry_out(&report, DRAIN), wanted);
    assert_eq!(slurm.carry_out(&report, DRAIN), wanted, "a second time has nothing to do");
    let again = slurm.plan(&report, DRAIN).unwrap();
    assert_eq!(again.left_alone, [LeftAlone { node: name, why: "we drained it for this already".into() }]);
}

#[test]
fn another_finding_renews_our_reason_and_drains_nothing_anew() {
    let mut report = cluster_report();
    let (name, first) = slow(&report);
    let slurm = Slurm::with(&names(&report), &[(&name, "IDLE+DRAIN", &first)]);
    report.head.id += 1;
    let wanted = format!("update NodeName={name} Reason={}\n", slow(&report).1);
    assert_eq!(slurm.carry_out(&report, DRAIN), wanted);
}

#[test]
fn what_others_did_is_left_alone_whatever_was_found() {
    let report = cluster_report();
    let (name, _) = slow(&report);
    for (state, note, why) in [
        ("IDLE+DRAIN", "NHC: check_hw_ib", "somebody else's note is on it: NHC: check_hw_ib"),
        ("IDLE", "waiting for a new cable", "somebody else's note is on it: waiting for a new cable"),
        ("DOWN*", "Not responding", "somebody else's note is on it: Not responding"),
        ("MIXED+DRAIN", "", "somebody else drained it"),
    ] {
        let slurm = Slurm::with(&names(&report), &[(&name, state, note)]);
        let plan = slurm.plan(&report, DRAIN).unwrap();
        assert_eq!(
            plan,
            DrainPlan {
                changes: vec![],
                left_alone: vec![LeftAlone { node: name.clone(), why: why.into() }]
            }
        );
        assert_eq!(slurm.carry_out(&report, RELEASE), "", "{note}");
    }
    let others: Vec<&str> = names(&report).into_iter().filter(|other| *other != name).collect();
    let plan = Slurm::with(&others, &[]).plan(&report, DRAIN).unwrap();
    assert_eq!(plan.left_alone[0].why, "Slurm knows no node of this name");
}

#[test]
fn what_is_only_suspected_or_is_of_a_link_drains_nobody() {
    let mut report = cluster_report();
    let slurm = Slurm::with(&names(&report), &[]);
    report.findings.iter_mut().for_each(|finding| finding.certainty = Certainty::Suspected);
    assert_eq!(slurm.plan(&report, DRAIN).unwrap().changes, []);
    let mut report = cluster_report();
    for finding in &mut report.findings {
        (finding.certainty, finding.kind) = (Certainty::Confirmed, FindingKind::Link);
    }
    assert_eq!(slurm.plan(&report, DRAIN).unwrap().changes, []);
}

#[test]
fn no_more_nodes_are_drained_than_may_be_counting_those_that_are_already() {
    let report = cluster_report();
    let (name, _) = slow(&report);
    let others: Vec<&str> = names(&report).into_iter().filter(|other| *other != name).take(2).collect();
    let ours = |node| (node, "IDLE+DRAIN", "rdma-harness: cluster 1: x");
    let slurm = Slurm::with(&names(&report), &[ours(others[0]), ours(others[1])]);
    let refused = slurm.plan(&report, DRAIN).unwrap_err().to_string();
    assert!(
        refused
            .starts_with("3 nodes would be drained by this program at the same time, and at most 2 may be"),
        "{refused}"
    );
    assert_eq!(slurm.plan(&report, Wishes { at_most: 3, ..DRAIN }).unwrap().changes.len(), 1);
}

#[test]
fn nodes_that_we_drained_are_given_back_when_nothing_is_said_of_them() {
    let mut report = fine_cluster_report();
    let owned: Vec<String> = names(&report).into_iter().map(str::to_owned).collect();
    let [a, b, c, d] = [0, 1, 2, 3].map(|n| owned[n].as_str());
    let reason = "rdma-harness: cluster 1: it was slow";
    let drained = "IDLE+DRAIN";
    let states = [
        (a, drained, reason),
        (b, drained, "NHC: rdma-harness: x"),
        (c, drained, reason),
        (d, "IDLE", reason),
    ];
    let slurm = Slurm::with(&owned.iter().map(String::as_str).collect::<Vec<_>>(), &states);
    assert_eq!(slurm.plan(&report, DRAIN).unwrap().changes, [], "only where it is asked for");
    report.nodes[2].state = NodeState::Absent { why: "the scheduler says: drained".into() };
    let plan = slurm.plan(&report, RELEASE).unwrap();
    let left: Vec<(&str, &str)> =
        plan.left_alone.iter().map(|left| (left.node.as_str(), left.why.as_str())).collect();
    let unmeasured = "we drained it, and it was not measured: the scheduler says: drained";
    assert_eq!(left, [(c, unmeasured), (d, "we drained it, and somebody gave it back")]);
    report.head.id = 1;
    let why = "we drained it by cluster 1, which is not older than this one";
    let left = slurm.plan(&report, RELEASE).unwrap().left_alone;
    assert_eq!(left[0], LeftAlone { node: a.to_owned(), why: why.into() });
    report.head.id = 2;
    assert_eq!(slurm.carry_out(&report, RELEASE), format!("update NodeName={a} State=RESUME\n"));
}

#[test]
fn a_node_that_changes_between_the_look_and_the_deed_is_left_alone() {
    let report = cluster_report();
    let (name, _) = slow(&report);
    let slurm = Slurm::with(&names(&report), &[]);
    let change = slurm.plan(&report, DRAIN).unwrap().changes.remove(0);
    slurm.write(&format!("nodes/{name}"), &format!("NodeName={name} State=IDLE Reason=mine [root@x]\n"));
    let left = apply(&slurm.scontrol(), &change).unwrap().unwrap_err();
    assert_eq!(left.why, "was changed by someone else meanwhile");
    assert!(!slurm.at("calls").exists());
}

#[test]
fn what_scontrol_refuses_is_said_with_the_command() {
    let report = cluster_report();
    let slurm = Slurm::with(&names(&report), &[]);
    let change = slurm.plan(&report, DRAIN).unwrap().changes.remove(0);
    slurm.write("refuses", "");
    let error = apply(&slurm.scontrol(), &change).unwrap_err().to_string();
    assert!(
        error.starts_with("`scontrol update NodeName=") && error.ends_with("Access/permission denied"),
        "{error}"
    );
}

#[test]
fn only_clusters_of_slurm_that_came_to_their_end_drain_nodes() {
    let mut cluster = measured_cluster();
    cluster.ended_at_unix_ms = Some(1);
    let mut checked = |launcher, slurm_names| {
        cluster.launcher = launcher;
        check(&cluster, slurm_names).map_err(|error| error.to_string())
    };
    assert_eq!(checked(LauncherKind::Slurm, false), Ok(()));
    assert!(checked(LauncherKind::Ssh, false).unwrap_err().contains("--slurm-names"));
    assert_eq!(checked(LauncherKind::Ssh, true), Ok(()));
    assert!(checked(LauncherKind::Local, true).unwrap_err().contains("named by the launcher local"));
    let mut cluster = fine_cluster();
    (cluster.launcher, cluster.ended_at_unix_ms) = (LauncherKind::Slurm, None);
    assert!(check(&cluster, false).unwrap_err().to_string().contains("is unfinished"));
}
