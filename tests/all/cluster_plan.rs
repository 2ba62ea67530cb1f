//! `cluster plan` and `cluster drain` through the program: what a suite would do with nodes, as text and for programs, and what is refused
//! with which exit code. Nothing is measured.

use std::fs;

use e2e::{
    finish,
    programs::{PATIENCE, repository},
    rdma_harness,
};
use serde_json::Value;

fn suite(name: &str) -> String {
    repository().join(format!("scenarios/cluster/{name}.toml")).display().to_string()
}

#[test]
fn a_plan_has_every_pair_each_way_and_no_node_twice_in_a_round() {
    let planned = ["cluster", "plan", &suite("roce"), "--nodes", "9", "--json"];
    let plan: Value = finish(&mut rdma_harness(&planned), PATIENCE).expect(0).json();
    assert_eq!((&plan["counts"]["pairs"], &plan["counts"]["runs"]), (&36.into(), &144.into()));
    let rounds = plan["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 9 * 2 * 2, "nine rounds of an odd number, two workloads, both ways");
    let mut ways = std::collections::BTreeMap::new();
    for round in rounds {
        let mut busy = std::collections::BTreeSet::new();
        for pair in round["pairs"].as_array().unwrap() {
            let [requester, responder] = ["requester", "responder"].map(|end| pair[end].as_u64().unwrap());
            assert!(busy.insert(requester) && busy.insert(responder), "{round}");
            *ways.entry((round["workload"].as_u64().unwrap(), requester, responder)).or_insert(0) += 1;
        }
    }
    assert_eq!(ways.len(), 2 * 9 * 8);
    assert!(ways.values().all(|count| *count == 1));
}

#[test]
fn a_host_file_names_nodes_and_their_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let hosts: String = (1..=6).map(|n| format!("rack{n} leaf=leaf{}\n", n / 4)).collect();
    fs::write(folder.path().join("rack.hosts"), hosts).unwrap();
    let planned = ["cluster", "plan", &suite("hops"), "--hostfile", "rack.hosts"];
    let text = finish(rdma_harness(&planned).current_dir(folder.path()), PATIENCE).expect(0).stdout;
    for wanted in ["6 (rack1 to rack6)", "below 2 leaf switches", "15 of 15", "1 switch, step 1 of 3"] {
        assert!(text.contains(wanted), "no `{wanted}` in:\n{text}");
    }
}

#[test]
fn what_can_not_be_planned_is_wrong_use() {
    let refused = |arguments: &[&str], wanted: &str| {
        let said = finish(&mut rdma_harness(arguments), PATIENCE).expect(2).stderr;
        assert!(said.contains(wanted), "{arguments:?}: wanted {wanted}, got:\n{said}");
    };
    refused(
        &["cluster", "plan", &suite("hops"), "--nodes", "4"],
        "those of node1, node2, node3, node4 are not known",
    );
    refused(
        &["cluster", "plan", &suite("victim"), "--nodes", "4"],
        "pattern.congestors: 8 asked for, and of 4 nodes 1 can be",
    );
    refused(&["cluster", "plan", &suite("pairs"), "--nodes", "4"], "give the path of a suite file");
    refused(&["cluster", "plan", &suite("soft-write"), "--nodes", "4"], "pattern: is missing");
    refused(&["cluster", "drain", "1", "--store", "/nowhere/store.db"], "/nowhere/store.db");
}
