//! What a large cluster costs in the store: `cargo run --release --example cluster_store -- [NODES] [LATENCIES]` keeps every pair in
//! both directions, reads the cluster back, and prints bytes and times.
//!
//! Records are those of the tests, each with a histogram of so many samples of its own.

use std::{env, error::Error, fs, time::Instant};

use rdma_harness::store::{KeptPair, NewCluster, Store};
use reports::testing::Sample;
use schema::{
    ClusterNode, ClusterWorkload, Directions, LauncherKind, Metric, Nanos, NodeState, PairOutcome, PairPoint,
    PairRole, PairRun, PatternKind, Round, RoundPart, RunRecord,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut asked = env::args().skip(1);
    let nodes: u32 = asked.next().map_or(Ok(512), |nodes| nodes.parse())?;
    let latencies: u32 = asked.next().map_or(Ok(10_000), |latencies| latencies.parse())?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("store.db");
    let mut store = Store::create_or_open(&file)?;
    let records = records(nodes / 2, latencies);
    let json: usize =
        records.iter().map(|record| serde_json::to_string(record).map_or(0, |text| text.len())).sum();
    println!("a record    {} bytes of JSON", json / records.len());

    let begun = Instant::now();
    let cluster = begin(&mut store, nodes, &records[0])?;
    let rounds = 2 * (nodes - 1);
    let mut longest = begun.elapsed();
    for number in 0..rounds {
        let at = Instant::now();
        keep(&mut store, cluster, number, nodes, &records)?;
        longest = longest.max(at.elapsed());
    }
    let took = begun.elapsed();
    println!(
        "kept        {rounds} rounds of {} pairs in {took:.1?}, {:.1?} a round, {longest:.1?} at most",
        nodes / 2,
        took / rounds
    );
    store.end_cluster(cluster, 1)?;
    drop(store);
    let bytes = fs::metadata(&file)?.len();
    let runs = u64::from(rounds) * u64::from(nodes / 2);
    println!("file        {bytes} bytes, {} a run", bytes / runs);

    let begun = Instant::now();
    let store = Store::open(&file)?;
    let loaded = store.cluster(cluster)?;
    println!("loaded      {} runs in {:.2?}", loaded.runs.len(), begun.elapsed());
    let begun = Instant::now();
    store.pair_record(cluster, loaded.runs.len() as u32 / 2)?;
    println!("one record  {:.2?}", begun.elapsed());
    let begun = Instant::now();
    let listed = store.clusters()?;
    println!("list        {} cluster in {:.2?}", listed.len(), begun.elapsed());
    let status = fs::read_to_string("/proc/self/status")?;
    println!("memory      {}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("unknown"));
    Ok(())
}

/// As many records as a round has pairs, no two alike.
fn records(pairs: u32, latencies: u32) -> Vec<RunRecord> {
    let sample = Sample { blocks: pairs, latencies, ..Sample::default() }.campaign();
    sample.runs.into_iter().map(|run| run.record).take(pairs as usize).collect()
}

fn begin(store: &mut Store, nodes: u32, record: &RunRecord) -> Result<i64, Box<dyn Error>> {
    let node = |rank: u32| ClusterNode {
        name: format!("node{rank}"),
        host: Some(format!("node{rank}")),
        place: format!("slurm:node{rank}"),
        device: "mlx5_0".into(),
        switches: vec!["spine".into(), format!("leaf{}", rank / 16)],
        state: NodeState::Present,
        audit: None,
    };
    let nodes: Vec<ClusterNode> = (0..nodes).map(node).collect();
    let workload = ClusterWorkload {
        scenario: "s".into(),
        variant: "v".into(),
        workload: "w".into(),
        spec: record.spec.clone(),
        metrics: vec![Metric::Bandwidth],
    };
    Ok(store.begin_cluster(&NewCluster {
        suite: "scale",
        suite_toml: "",
        question: "What does it cost?",
        launcher: LauncherKind::Slurm,
        pattern: PatternKind::Pairs,
        directions: Directions::Both,
        seed: 1,
        started_at_unix_ms: 0,
        workloads: &[workload],
        schedule: "",
        nodes: &nodes,
    })?)
}

fn keep(
    store: &mut Store,
    cluster: i64,
    number: u32,
    nodes: u32,
    records: &[RunRecord],
) -> Result<(), Box<dyn Error>> {
    let pairs = nodes / 2;
    let round = Round {
        number,
        part: RoundPart::Pattern,
        label: format!("step {} of {}", number / 2 + 1, nodes - 1),
        workload: 0,
        started_at_unix_ms: u64::from(number),
        wall_ns: Nanos(3_000_000_000),
        skew_ns: Some(Nanos(100_000)),
        skew_uncertainty_ns: Some(Nanos(50_000)),
        controller_ns: Nanos(10_000_000),
    };
    let run = |pair: u32| PairRun {
        sequence: number * pairs + pair,
        round: number,
        role: PairRole::Measured,
        requester: pair,
        responder: pair + pairs,
        outcome: PairOutcome::Measured,
        points: PairPoint::of(&records[pair as usize]),
        late_ns: Some(40_000),
        remarks: Vec::new(),
    };
    let runs: Vec<PairRun> = (0..pairs).map(run).collect();
    let kept: Vec<KeptPair<'_>> =
        runs.iter().zip(records).map(|(run, record)| KeptPair { run, record }).collect();
    Ok(store.keep_round(cluster, &round, &kept)?)
}
