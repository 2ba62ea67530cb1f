//! A cluster comes back as it was put in, in whole rounds; it is checked, merged, pruned and found again like everything else.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use reports::testing::Sample;
use rusqlite::Connection;
use schema::{
    Certainty, Cluster, ClusterNode, ClusterWorkload, Configuration, Directions, FoundBy, LauncherKind,
    Metric, Nanos, NodeAudit, NodeState, Origin, Outcome, PairOutcome, PairPoint, PairRole, PairRun,
    PatternKind, Reported, Round, RoundPart, RunRecord, SCHEMA_VERSION, Side, Stage, Trend,
};

use super::*;
use crate::store::{PruneRule, migrations, tests::value};

fn record() -> RunRecord {
    Sample { blocks: 1, latencies: 2_000, ..Sample::default() }.campaign().runs.swap_remove(0).record
}

fn failed() -> RunRecord {
    let mut record = record();
    record.points.clear();
    record.outcome = Outcome::Failed {
        stage: Stage::Measure,
        side: Side::Responder,
        cause: "its agent is gone".into(),
        advice: "look at the host".into(),
    };
    record
}

fn node(rank: u32) -> ClusterNode {
    let facts = [("firmware".to_owned(), "20.31".to_owned())].into();
    ClusterNode {
        name: format!("node{rank}"),
        host: (rank != 3).then(|| format!("host{rank}")),
        place: format!("ssh:node{rank}"),
        device: "auto".into(),
        switches: vec!["spine".into(), format!("leaf{}", rank / 2)],
        state: match rank {
            3 => NodeState::Absent { why: "no route to it".into() },
            _ => NodeState::Present,
        },
        audit: (rank != 3).then(|| NodeAudit { facts: Configuration(facts), findings: Vec::new() }),
    }
}

/// Four nodes, one of which never came, in three rounds of two pairs; without a number and an end.
fn cluster() -> Cluster {
    let record = record();
    let rounds = (0..3).map(|number| Round {
        number,
        part: if number == 2 { RoundPart::Retest } else { RoundPart::Pattern },
        label: format!("step {} of 3", number + 1),
        workload: 0,
        started_at_unix_ms: 2_000 + u64::from(number),
        wall_ns: Nanos(5_000),
        skew_ns: (number != 1).then_some(Nanos(70)),
        skew_uncertainty_ns: None,
        controller_ns: Nanos(9),
    });
    let pairs = [[(0, 1), (2, 3)], [(0, 2), (1, 3)], [(0, 3), (1, 2)]];
    let run = |sequence: u32| {
        let (requester, responder) = pairs[sequence as usize / 2][sequence as usize % 2];
        let ran = responder != 3;
        PairRun {
            sequence,
            round: sequence / 2,
            role: if sequence == 4 { PairRole::Congestor } else { PairRole::Measured },
            requester,
            responder,
            outcome: match (ran, sequence) {
                (false, _) => PairOutcome::CouldNotRun { why: "its agent is gone".into() },
                (true, 5) => PairOutcome::Invalid { why: "the port was down".into() },
                (true, _) => PairOutcome::Measured,
            },
            points: if ran { PairPoint::of(&record) } else { Vec::new() },
            late_ns: ran.then_some(i64::from(sequence) - 3),
            remarks: if sequence == 2 { vec!["responder: 3,412 lost".into()] } else { Vec::new() },
        }
    };
    Cluster {
        schema_version: SCHEMA_VERSION,
        id: 0,
        suite: "c".into(),
        question: "Which?".into(),
        launcher: LauncherKind::Ssh,
        pattern: PatternKind::Pairs,
        directions: Directions::Both,
        seed: u64::MAX,
        started_at_unix_ms: 1_000,
        ended_at_unix_ms: None,
        fabric: Some(record.fabric),
        fabric_label: Some(record.fabric_label.clone()),
        workloads: vec![ClusterWorkload {
            scenario: "s".into(),
            variant: "v".into(),
            workload: "w".into(),
            spec: record.spec.clone(),
            metrics: vec![Metric::Bandwidth],
        }],
        nodes: (0..4).map(node).collect(),
        rounds: rounds.collect(),
        runs: (0..6).map(run).collect(),
    }
}

fn begin(store: &mut Store, cluster: &Cluster) -> i64 {
    let new = NewCluster {
        suite: &cluster.suite,
        suite_toml: "name = \"c\"",
        question: &cluster.question,
        launcher: cluster.launcher,
        pattern: cluster.pattern,
        directions: cluster.directions,
        seed: cluster.seed,
        started_at_unix_ms: cluster.started_at_unix_ms,
        workloads: &cluster.workloads,
        schedule: "[[0, 1], [2, 3]]",
        nodes: &cluster.nodes,
    };
    store.begin_cluster(&new).unwrap()
}

fn keep_round(store: &mut Store, id: i64, cluster: &Cluster, number: u32) {
    let (good, bad) = (record(), failed());
    let runs = cluster.runs.iter().filter(|run| run.round == number);
    let pairs: Vec<KeptPair<'_>> =
        runs.map(|run| KeptPair { run, record: if run.points.is_empty() { &bad } else { &good } }).collect();
    store.keep_round(id, &cluster.rounds[number as usize], &pairs).unwrap();
}

fn new_store(folder: &Path, name: &str) -> (PathBuf, Store) {
    let file = folder.join(name);
    let store = Store::create_or_open(&file).unwrap();
    (file, store)
}

/// A store with a cluster at its end.
fn ended(folder: &Path, name: &str) -> (PathBuf, Store, Cluster) {
    let (file, mut store) = new_store(folder, name);
    let mut cluster = cluster();
    cluster.id = begin(&mut store, &cluster);
    (0..3).for_each(|round| keep_round(&mut store, cluster.id, &cluster, round));
    store.end_cluster(cluster.id, 9_000).unwrap();
    cluster.ended_at_unix_ms = Some(9_000);
    (file, store, cluster)
}

fn begin_night(store: &mut Store, cluster: i64) -> i64 {
    let new = NewNight { suite: "c", suite_toml: "", origin: Origin::Cluster, started_at_unix_ms: 1_000 };
    store.begin_night_of_cluster(cluster, &new).unwrap()
}

#[test]
fn a_cluster_comes_back_exactly_with_every_record() {
    let folder = tempfile::tempdir().unwrap();
    let (file, store, cluster) = ended(folder.path(), "store.db");
    drop(store);
    let store = Store::open(&file).unwrap();
    assert_eq!(store.cluster(cluster.id).unwrap(), cluster);
    for run in &cluster.runs {
        let expected = if run.points.is_empty() { failed() } else { record() };
        assert_eq!(store.pair_record(cluster.id, run.sequence).unwrap(), expected);
    }
    let error = store.pair_record(cluster.id, 6).unwrap_err().to_string();
    assert!(error.contains("no run 6"), "{error}");
    let [summary] = &store.clusters().unwrap()[..] else { panic!("one cluster") };
    assert_eq!((summary.nodes, summary.present, summary.rounds), (4, 3, 3));
    assert_eq!((summary.runs, summary.invalid, summary.could_not_run), (6, 1, 3));
    assert_eq!(store.cluster_id(None).unwrap(), cluster.id);
    assert!(store.cluster_id(Some(7)).unwrap_err().to_string().contains("no cluster 7"));
    assert!(store.cluster(7).is_err());
}

#[test]
fn what_is_kept_is_whole_rounds_and_says_what_it_began_with() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut store) = new_store(folder.path(), "store.db");
    let mut cluster = cluster();
    let fabric = (cluster.fabric.take(), cluster.fabric_label.take());
    let id = begin(&mut store, &cluster);
    cluster.id = id;
    let (rounds, runs) = (std::mem::take(&mut cluster.rounds), std::mem::take(&mut cluster.runs));
    assert_eq!(store.cluster(id).unwrap(), cluster);
    assert_eq!(store.unfinished_cluster("c").unwrap(), Some(id));
    assert_eq!(store.unfinished_cluster("other").unwrap(), None);
    let text = store.cluster_text(id).unwrap();
    assert_eq!((text.suite_toml.as_str(), text.schedule.as_str()), ("name = \"c\"", "[[0, 1], [2, 3]]"));

    (cluster.rounds, cluster.runs) = (rounds, runs);
    keep_round(&mut store, id, &cluster, 0);
    // A second pair that can't be kept takes the round with it.
    let good = record();
    let mut wrong = cluster.runs[3].clone();
    wrong.sequence = 99;
    let pairs = [KeptPair { run: &cluster.runs[2], record: &good }, KeptPair { run: &wrong, record: &good }];
    assert!(store.keep_round(id, &cluster.rounds[1], &pairs).is_err());
    let mut nan = cluster.runs[2].clone();
    nan.points[0].p50_ns = Some(f64::NAN);
    let pairs = [KeptPair { run: &nan, record: &good }];
    assert!(store.keep_round(id, &cluster.rounds[1], &pairs).unwrap_err().to_string().contains("finite"));
    cluster.rounds.truncate(1);
    cluster.runs.truncate(2);
    (cluster.fabric, cluster.fabric_label) = fabric;
    assert_eq!(store.cluster(id).unwrap(), cluster);

    cluster.nodes[2].state = NodeState::Lost { why: "its link ended".into(), at_unix_ms: 5 };
    store.keep_cluster_nodes(id, &cluster.nodes).unwrap();
    assert_eq!(store.cluster(id).unwrap(), cluster);
    store.end_cluster(id, 9).unwrap();
    assert_eq!(store.unfinished_cluster("c").unwrap(), None);
}

#[test]
fn every_kind_of_damage_is_named_with_its_place() {
    let damages = [
        ("SELECT 1", ""),
        ("UPDATE cluster SET workloads = '{'", "cluster 1: invalid type"),
        ("UPDATE cluster_node SET state = '{}'", "cluster 1: missing field"),
        ("UPDATE pair_run SET status = 'fast'", "cluster 1: `status`"),
        ("UPDATE pair_point SET p99_ns = 1.0", "cluster 1, run 0: its numbers are not those of its record"),
        ("DELETE FROM pair_point WHERE sequence = 5", "run 5: its numbers"),
        ("DELETE FROM round_records WHERE round = 1", "cluster 1, round 1: its records are missing"),
        ("UPDATE round_records SET lines = x'00' WHERE round = 2", "cluster 1, round 2: records of a round"),
        ("UPDATE round_records SET first_sequence = 3 WHERE round = 2", "cluster 1, round 2: 2 records of 2"),
        ("UPDATE cluster_round SET pruned_at_unix_ms = 7", "it is pruned, and its records are there"),
        ("UPDATE pair_run SET round = 0 WHERE sequence = 4", "cluster 1, run"),
    ];
    for (sql, expected) in damages {
        let folder = tempfile::tempdir().unwrap();
        let (_, store, _) = ended(folder.path(), "store.db");
        store.connection.execute_batch(sql).unwrap();
        let checked = store.check().unwrap();
        if expected.is_empty() {
            assert_eq!(checked.problems, [""; 0]);
            assert_eq!((checked.clusters, checked.pair_runs, checked.pruned_pair_runs), (1, 6, 0));
            assert_eq!(checked.histograms, 3);
        } else {
            let named = checked.problems.iter().any(|problem| problem.contains(expected));
            assert!(named, "{sql}: {:#?}", checked.problems);
        }
    }
}

#[test]
fn another_stores_cluster_is_added_once_and_brought_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut ours, first) = ended(folder.path(), "ours.db");
    let (file, mut theirs) = new_store(folder.path(), "theirs.db");
    let mut cluster = cluster();
    let id = begin(&mut theirs, &cluster);
    keep_round(&mut theirs, id, &cluster, 0);
    let merged = ours.merge(&file).unwrap();
    assert_eq!(((merged.clusters.added, merged.clusters.known), merged.rounds.added), ((1, 0), 1));

    keep_round(&mut theirs, id, &cluster, 1);
    keep_round(&mut theirs, id, &cluster, 2);
    cluster.nodes[1].state = NodeState::Lost { why: "its link ended".into(), at_unix_ms: 5 };
    theirs.keep_cluster_nodes(id, &cluster.nodes).unwrap();
    theirs.end_cluster(id, 9_000).unwrap();
    let night = begin_night(&mut theirs, id);
    theirs.keep_values(night, &[value("write", 1.0)]).unwrap();
    theirs.end_night(night, 9_000).unwrap();
    let merged = ours.merge(&file).unwrap();
    assert_eq!((merged.clusters.added, merged.clusters.known), (0, 1));
    assert_eq!((merged.rounds.added, merged.rounds.known), (2, 1));
    assert_eq!(merged.conflicts, [""; 0]);
    (cluster.id, cluster.ended_at_unix_ms) = (2, Some(9_000));
    assert_eq!(ours.cluster(2).unwrap(), cluster);
    assert_eq!(ours.pair_record(2, 5).unwrap(), record());
    assert_eq!(ours.cluster(first.id).unwrap(), first, "and what was here is as it was");
    assert_eq!(ours.clusters().unwrap()[0].night, Some(1));
    assert_eq!(ours.night(1).unwrap().unwrap().cluster, Some(2));

    let again = ours.merge(&file).unwrap();
    assert_eq!((again.clusters.added, again.rounds.added, again.rounds.known), (0, 0, 3));
    assert_eq!(ours.cluster(2).unwrap(), cluster);
    assert_eq!(ours.check().unwrap().problems, [""; 0]);

    theirs.connection.execute_batch("UPDATE cluster_round SET wall_ns = 1 WHERE number = 1").unwrap();
    let merged = ours.merge(&file).unwrap();
    let expected = "cluster 1 there is cluster 2 here, with other rounds; none of its rounds were added";
    assert_eq!((merged.conflicts.as_slice(), merged.clusters.known), (&[expected.to_owned()][..], 0));
    assert_eq!(ours.cluster(2).unwrap(), cluster);
}

#[test]
fn a_backup_has_the_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let (_, store, cluster) = ended(folder.path(), "store.db");
    let copy = folder.path().join("copy.db");
    store.backup(&copy, false).unwrap();
    let copy = Store::open(&copy).unwrap();
    assert_eq!(copy.cluster(cluster.id).unwrap(), cluster);
    assert_eq!(copy.pair_record(cluster.id, 1).unwrap(), failed());
}

#[test]
fn records_of_old_clusters_go_and_their_numbers_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut store, cluster) = ended(folder.path(), "store.db");
    let unfinished = begin(&mut store, &cluster);
    keep_round(&mut store, unfinished, &cluster, 0);
    let rule = PruneRule { before_unix_ms: 5_000, also_flagged: false, also_campaigns: false };
    assert_eq!(store.prunable(&rule).unwrap().clusters, [0_i64; 0], "it belongs to no night");
    let all = PruneRule { also_campaigns: true, ..rule };
    assert_eq!(store.prunable(&all).unwrap().clusters, [cluster.id], "and one that waits is not touched");
    assert_eq!(store.prunable(&PruneRule { before_unix_ms: 1_000, ..all }).unwrap().clusters, [0_i64; 0]);

    assert_eq!(store.night_of_cluster(cluster.id).unwrap(), None);
    let night = begin_night(&mut store, cluster.id);
    assert_eq!(store.night_of_cluster(cluster.id).unwrap(), Some(night));
    store.keep_values(night, &[value("write", 1.0)]).unwrap();
    store.end_night(night, 9_000).unwrap();
    let series = store.history("c", None).unwrap().series[0].id;
    let said = Reported {
        night,
        series,
        found_by: FoundBy::Fence,
        certainty: Certainty::Confirmed,
        trend: Trend::Regressed,
        since: night,
    };
    store.keep_reported(night, &[said]).unwrap();
    let what = store.prunable(&rule).unwrap();
    assert_eq!((what.clusters.as_slice(), what.flagged.as_slice()), (&[][..], &[night][..]));
    store.keep_reported(night, &[]).unwrap();

    let what = store.prunable(&rule).unwrap();
    assert_eq!((what.clusters.as_slice(), what.pair_runs), (&[cluster.id][..], 6));
    store.prune(&what, 77_000).unwrap();
    assert_eq!(store.cluster(cluster.id).unwrap(), cluster);
    let error = store.pair_record(cluster.id, 1).unwrap_err().to_string();
    assert!(error.contains("pruned") && error.contains("1970-01-01T00:01:17Z"), "{error}");
    assert_eq!(store.pair_record(unfinished, 0).unwrap(), record());
    let checked = store.check().unwrap();
    assert_eq!((checked.problems.len(), checked.pair_runs, checked.pruned_pair_runs), (0, 8, 6));
    assert_eq!(store.prunable(&rule).unwrap().clusters, [0_i64; 0], "once is enough");
}

#[test]
fn a_version_4_file_opens_and_takes_clusters() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch(include_str!("../../../fixtures/store-version-1.sql")).unwrap();
    for step in
        [include_str!("../version-2.sql"), include_str!("../version-3.sql"), include_str!("../version-4.sql")]
    {
        connection.execute_batch(step).unwrap();
    }
    connection.pragma_update(None, "user_version", 4).unwrap();
    drop(connection);
    let mut store = Store::open(&file).unwrap();
    assert_eq!(store.load(1).unwrap().runs.len(), 6);
    assert_eq!(store.clusters().unwrap(), []);
    let cluster = cluster();
    let id = begin(&mut store, &cluster);
    keep_round(&mut store, id, &cluster, 0);
    assert_eq!(store.cluster(id).unwrap().runs, cluster.runs[..2]);
    assert_eq!(migrations::version(&store.connection).unwrap(), 5);
}
