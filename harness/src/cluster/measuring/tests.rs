//! Whatever becomes of nodes and of the program, each round is made once, and what could not run is said to be that.

use std::{path::Path, time::Duration};

use pretty_assertions::assert_eq;
use reports::testing::Sample;
use schema::{
    ClusterNode, Directions, LauncherKind, NodeState, Outcome, PairOutcome, PatternKind, RunRecord, RunSpec,
    Side, Stage,
};

use super::*;
use crate::{
    cluster::{
        PairResult, PairTask, RoundResult, WantedNode,
        pattern::Seat,
        suite::{self, Suite},
    },
    store::NewCluster,
};

/// A crew that does as it is told to in a test.
struct Scripted {
    nodes: Vec<ClusterNode>,
    record: RunRecord,
    /// A node whose pairs are slow.
    slow: Option<u32>,
    /// A node that is lost in the round of this number.
    loses: Option<(u32, u32)>,
    /// The round in which someone asks to stop.
    stops: Option<u32>,
    /// What it was asked for, round by round.
    asked: Vec<Vec<PairTask>>,
}

impl Crew for Scripted {
    fn nodes(&self) -> &[ClusterNode] {
        &self.nodes
    }

    fn measure(&mut self, pairs: &[PairTask], interrupt: &Interrupt) -> Option<RoundResult> {
        let round = self.asked.len() as u32;
        self.asked.push(pairs.to_vec());
        if self.stops == Some(round) {
            interrupt.raise();
            return None;
        }
        if let Some((node, _)) = self.loses.filter(|(_, when)| *when == round) {
            let state = NodeState::Lost { why: "its link ended".into(), at_unix_ms: 7 };
            self.nodes[node as usize].state = state;
        }
        let pairs = pairs.iter().map(|task| self.result(task)).collect();
        Some(RoundResult {
            pairs,
            skew_ns: Some(Nanos(5)),
            skew_uncertainty_ns: None,
            waited: Duration::ZERO,
        })
    }
}

impl Scripted {
    fn result(&self, task: &PairTask) -> PairResult {
        let mut record = RunRecord { spec: task.spec.clone(), ..self.record.clone() };
        let lost = |rank: u32| self.nodes[rank as usize].state != NodeState::Present;
        if lost(task.requester) || lost(task.responder) {
            let side = if lost(task.requester) { Side::Requester } else { Side::Responder };
            let (cause, advice) = ("its link ended".to_owned(), String::new());
            record.outcome = Outcome::Failed { stage: Stage::Measure, side, cause, advice };
            return PairResult { record, late_ns: None };
        }
        let slow = [task.requester, task.responder].iter().any(|rank| self.slow == Some(*rank));
        // No two alike, as on any machine.
        let noise = 1.0 + f64::from((task.requester * 7 + task.responder * 13) % 11) * 1e-3;
        let share = noise * if slow { 0.5 } else { 1.0 };
        for point in &mut record.points {
            point.bandwidth_bits_per_sec = Some(1e10 * share);
            point.messages_per_sec = Some(1e6 * share);
        }
        PairResult { record, late_ns: Some(3) }
    }
}

/// Notes what it is told.
#[derive(Default)]
struct Told(Vec<String>);

impl ClusterObserver for Told {
    fn begins(&mut self, rounds: u32, kept: u32) {
        self.0.push(format!("{rounds} rounds, {kept} kept"));
    }
    fn starts(&mut self, _: &RoundProgress, _: &Step) {}
    fn ended(&mut self, progress: &RoundProgress, round: &Round, runs: &[PairRun]) {
        assert!(progress.number <= progress.of && round.part == progress.part && !runs.is_empty());
    }
    fn lost(&mut self, node: &str, why: &str) {
        self.0.push(format!("{node} lost: {why}"));
    }
    fn again(&mut self, suspects: usize) {
        self.0.push(format!("{suspects} again"));
    }
}

const SUITE: &str =
    "question = \"Which?\"\n[[scenarios]]\nfile = \"pair.toml\"\n[pattern]\nkind = \"pairs\"\n";
const PAIR: &str = "question = \"How fast?\"\n[hosts.requester]\ndevice = \"soft\"\n[soft]\nmodel = \"rate=1Gbps\"\n[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\nsize = \"64Ki\"\n";

struct Bench {
    folder: tempfile::TempDir,
    store: Store,
    suite: Suite,
    rounds: Rounds,
}

fn suite_in(folder: &Path, pair: &str) -> Suite {
    std::fs::write(folder.join("pair.toml"), pair).unwrap();
    suite::parse(&folder.join("rack.toml"), SUITE.to_owned()).unwrap()
}

fn wanted(rank: u32) -> WantedNode {
    WantedNode {
        name: format!("node{rank}"),
        host: None,
        device: Some("soft".into()),
        soft: None,
        address: None,
        switches: Vec::new(),
    }
}

fn nodes(count: u32) -> Vec<ClusterNode> {
    let node = |rank: u32| ClusterNode {
        name: format!("node{rank}"),
        host: None,
        place: "local".into(),
        device: "soft".into(),
        switches: Vec::new(),
        state: NodeState::Present,
        audit: None,
    };
    (0..count).map(node).collect()
}

fn crew(count: u32) -> Scripted {
    let record =
        Sample { blocks: 1, latencies: 200, ..Sample::default() }.campaign().runs.swap_remove(0).record;
    Scripted { nodes: nodes(count), record, slow: None, loses: None, stops: None, asked: Vec::new() }
}

fn bench(count: u32) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_or_open(&folder.path().join("store.db")).unwrap();
    let suite = suite_in(folder.path(), PAIR);
    let nodes = nodes(count);
    let seats: Vec<Seat<'_>> = nodes.iter().map(Seat::from).collect();
    let rounds = Rounds { steps: suite.steps(&seats, 1).unwrap(), at_once: None };
    Bench { folder, store, suite, rounds }
}

impl Bench {
    fn begin(&mut self, nodes: &[ClusterNode]) -> i64 {
        let new = NewCluster {
            suite: &self.suite.name,
            suite_toml: &self.suite.source,
            question: &self.suite.question,
            launcher: LauncherKind::Local,
            pattern: PatternKind::Pairs,
            directions: Directions::Both,
            seed: 1,
            started_at_unix_ms: 1,
            workloads: &self.suite.workloads,
            schedule: &self.rounds.to_json(),
            nodes,
        };
        self.store.begin_cluster(&new).unwrap()
    }

    fn carry_out(&mut self, id: i64, crew: &mut Scripted) -> (Option<Cluster>, Vec<String>) {
        let (mut told, interrupt) = (Told::default(), Interrupt::default());
        let measuring = Measuring {
            store: &mut self.store,
            crew,
            observer: &mut told,
            interrupt: &interrupt,
            rounds: &self.rounds,
            ends: &[None, Some("rate=300Mbps".parse().unwrap())],
            rules: &self.suite.rules,
        };
        match measuring.carry_out(id).unwrap() {
            Measured::Whole(cluster) => (Some(*cluster), told.0),
            Measured::Interrupted => (None, told.0),
        }
    }
}

fn pairs(tasks: &[Vec<PairTask>]) -> Vec<(u32, u32)> {
    tasks.iter().flatten().map(|task| (task.requester, task.responder)).collect()
}

#[test]
fn every_pair_is_measured_once_each_way_and_kept() {
    let (mut bench, mut crew) = (bench(6), crew(6));
    let id = bench.begin(&crew.nodes);
    let (cluster, told) = bench.carry_out(id, &mut crew);
    let cluster = cluster.unwrap();
    assert_eq!(told, ["10 rounds, 0 kept"]);
    let mut all = pairs(&crew.asked);
    all.sort_unstable();
    let expected: Vec<(u32, u32)> =
        (0..6).flat_map(|a| (0..6).filter(move |b| *b != a).map(move |b| (a, b))).collect();
    assert_eq!(all, expected);
    assert_eq!(bench.store.cluster(id).unwrap(), cluster);
    assert_eq!((cluster.rounds.len(), cluster.runs.len()), (10, 30));
    assert!(cluster.runs.iter().all(|run| run.outcome == PairOutcome::Measured && run.late_ns == Some(3)));
    assert!(cluster.rounds.iter().all(|round| round.controller_ns == round.wall_ns), "it never waited");
    assert_eq!(bench.store.check().unwrap().problems, [""; 0]);
    // A slow end is one of every link of its node, whichever side it is on.
    for task in crew.asked.iter().flatten() {
        let RunSpec { soft_model, requester, responder, .. } = &task.spec;
        let rate = soft_model.as_ref().unwrap().rate_bits_per_sec.unwrap().get();
        let slow = task.requester == 1 || task.responder == 1;
        assert_eq!(rate, if slow { 300_000_000 } else { 1_000_000_000 });
        assert_eq!((requester.device.as_str(), responder.device.as_str()), ("soft", "soft"));
    }
}

#[test]
fn a_node_that_is_lost_costs_its_own_pairs_and_nothing_else() {
    let (mut bench, mut crew) = (bench(6), crew(6));
    crew.loses = Some((2, 3));
    let id = bench.begin(&crew.nodes);
    let (cluster, told) = bench.carry_out(id, &mut crew);
    let cluster = cluster.unwrap();
    assert_eq!(told, ["10 rounds, 0 kept", "node2 lost: its link ended"]);
    let of_node2 = |run: &PairRun| [run.requester, run.responder].contains(&2);
    for run in &cluster.runs {
        let could = matches!(&run.outcome, PairOutcome::CouldNotRun { why }
            if why.starts_with("node2 (") && why.ends_with("its link ended") && run.points.is_empty());
        assert_eq!(could, of_node2(run) && run.round >= 3, "{run:?}");
    }
    assert!(crew.asked.iter().skip(4).flatten().all(|task| ![task.requester, task.responder].contains(&2)));
    assert_eq!(bench.store.cluster(id).unwrap(), cluster);
    assert_eq!(cluster.nodes, crew.nodes);
    assert_eq!(bench.store.check().unwrap().problems, [""; 0]);
}

#[test]
fn rounds_in_which_nobody_can_be_measured_are_recorded_without_trying() {
    let (mut bench, mut crew) = (bench(2), crew(2));
    crew.nodes[1].state = NodeState::Absent { why: "no route to it".into() };
    let id = bench.begin(&crew.nodes);
    let (cluster, _) = bench.carry_out(id, &mut crew);
    let cluster = cluster.unwrap();
    assert_eq!((crew.asked.len(), cluster.rounds.len(), cluster.runs.len()), (0, 2, 2));
    for run in &cluster.runs {
        let side = if run.requester == 1 { "requester" } else { "responder" };
        let why = format!("node1 ({side}, launch): no route to it");
        assert_eq!(run.outcome, PairOutcome::CouldNotRun { why });
    }
    assert_eq!(bench.store.pair_record(id, 1).unwrap().spec.requester.device, "soft");
}

#[test]
fn what_was_stopped_goes_on_where_it_was_and_comes_to_the_same() {
    let (mut whole, mut undisturbed) = (bench(6), crew(6));
    undisturbed.slow = Some(4);
    let id = whole.begin(&undisturbed.nodes);
    let (expected, told) = whole.carry_out(id, &mut undisturbed);
    let expected = expected.unwrap();
    assert!(told[1].ends_with(" again"), "{told:?}");
    let again = expected.rounds.iter().filter(|round| round.part == RoundPart::Retest).count() as u32;
    assert!(again >= 2, "{again}");
    let rounds = expected.rounds.len() as u32;
    let gist = |cluster: &Cluster| -> Vec<_> {
        let of = |run: &PairRun| {
            let round = &cluster.rounds[run.round as usize];
            (round.label.clone(), round.part, run.requester, run.responder, run.points.clone())
        };
        cluster.runs.iter().map(of).collect()
    };
    for stops in 0..rounds {
        let mut bench = bench(6);
        let mut first = Scripted { stops: Some(stops), slow: Some(4), ..crew(6) };
        let id = bench.begin(&first.nodes);
        assert!(bench.carry_out(id, &mut first).0.is_none());
        assert_eq!(bench.store.cluster(id).unwrap().rounds.len() as u32, stops);
        assert_eq!(bench.store.unfinished_cluster(&bench.suite.name).unwrap(), Some(id));
        let mut second = Scripted { slow: Some(4), ..crew(6) };
        let (cluster, _) = bench.carry_out(id, &mut second);
        assert_eq!(second.asked.len() as u32, rounds - stops, "stopped in round {stops}");
        assert_eq!(gist(&cluster.unwrap()), gist(&expected));
    }
}

#[test]
fn a_node_that_is_back_is_measured_again() {
    let (mut bench, mut first) = (bench(4), crew(4));
    (first.loses, first.stops) = (Some((3, 0)), Some(3));
    let id = bench.begin(&first.nodes);
    assert!(bench.carry_out(id, &mut first).0.is_none());
    let (cluster, _) = bench.carry_out(id, &mut crew(4));
    let cluster = cluster.unwrap();
    let of_node3 = |run: &&PairRun| [run.requester, run.responder].contains(&3);
    let measured = cluster.runs.iter().filter(of_node3).map(|run| run.outcome == PairOutcome::Measured);
    assert_eq!(measured.collect::<Vec<_>>(), [false, false, false, true, true, true]);
    assert_eq!(cluster.nodes[3].state, NodeState::Present);
}

#[test]
fn only_the_same_cluster_is_gone_on_with() {
    let mut bench = bench(3);
    let all = || (0..3).map(wanted).collect::<Vec<_>>();
    let refused =
        |bench: &Bench, suite: &Suite, wanted| find(&bench.store, suite, wanted).unwrap_err().to_string();
    assert!(refused(&bench, &bench.suite, all()).contains("run without --resume"));
    let id = bench.begin(&nodes(3));

    let resumed = find(&bench.store, &bench.suite, all().into_iter().rev().collect()).unwrap();
    assert_eq!((resumed.cluster, &resumed.rounds), (id, &bench.rounds));
    assert_eq!(resumed.wanted, all(), "each has its rank again");

    let text = refused(&bench, &bench.suite, vec![wanted(0), wanted(1), wanted(7)]);
    assert!(text.contains("node2 not asked for now, node7 not asked for then"), "{text}");
    let mut other = all();
    other[1].device = Some("mlx5_0".into());
    let text = refused(&bench, &bench.suite, other);
    assert!(text.contains("node1 with device soft then, with device mlx5_0 now"), "{text}");

    let changed = Suite { source: format!("{SUITE}# another\n"), ..bench.suite.clone() };
    let text = refused(&bench, &changed, all());
    assert!(text.contains("suite `rack` has changed") && text.contains("+# another"), "{text}");
    let faster = suite_in(bench.folder.path(), &PAIR.replace("1Gbps", "2Gbps"));
    assert!(refused(&bench, &faster, all()).contains("a scenario that the suite names"));
    bench.store.end_cluster(id, 9).unwrap();
    assert!(refused(&bench, &bench.suite, all()).contains("no cluster of suite `rack` is unfinished"));
}

#[test]
fn a_round_is_split_again_where_suspects_are_measured_again() {
    let (mut bench, mut crew) = (bench(8), Scripted { slow: Some(5), ..crew(8) });
    bench.rounds.at_once = Some(1);
    let id = bench.begin(&crew.nodes);
    let cluster = bench.carry_out(id, &mut crew).0.unwrap();
    let again = cluster.rounds.iter().filter(|round| round.part == RoundPart::Retest);
    let sizes: Vec<usize> =
        again.map(|round| cluster.runs.iter().filter(|run| run.round == round.number).count()).collect();
    assert!(sizes.len() >= 2 && sizes.iter().all(|size| *size == 1), "{sizes:?}");
}
