//! `cluster run`: measures the pairs of a cluster, keeps every round, and says which node, link or switch stands out.

use std::{mem, path::PathBuf, sync::mpsc::channel, thread};

use anyhow::Context as _;
use clap::Args;
use rdma_harness::{
    agent::Launcher,
    cluster::{
        Concluded, Crew as _, Fleet, FleetWishes, WantedNode, conclude,
        launch::{self, Started},
        measuring::{self, Measured, Measuring, ResumeClusterError, Resumed, Rounds},
        pattern::{PatternError, Seat},
        suite::{self, Suite},
    },
    interrupt::Interrupt,
    store::{NewCluster, Store},
    words,
};
use reports::{cluster::ClusterVerdict, export::cluster::Pairs, history::NightVerdict, render};
use schema::{ClusterNode, LauncherKind, NodeState, SoftModel};

use super::{
    super::{Place, output, plan::draw_seed},
    nodes::Nodes,
    progress::Shown,
};
use crate::exit::{Exit, UsageError};

/// Nodes of a local cluster where nobody says how many.
const LOCAL_NODES: &str = "4";
/// Nodes that did not come and are told of one by one.
const TOLD: usize = 8;

/// Arguments of `cluster run`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness cluster run scenarios/cluster/soft.toml                            four simulated nodes on this machine
  rdma-harness cluster run scenarios/cluster/roce.toml --launcher slurm           in an allocation: salloc, sbatch
  rdma-harness cluster run scenarios/cluster/roce.toml --launcher ssh --nodes 'node[1-32]'
  rdma-harness cluster run scenarios/cluster/roce.toml --launcher ssh --nodes 'node[1-32]' --resume

Ctrl-C stops cleanly: every agent turns its host back, the rounds that were made are kept, and --resume goes on.
Exit codes: 0 fine, 1 a node, link or switch is slow, 2 wrong use or wrong suite, 3 could not run or was stopped,
4 something is suspected, or nodes differ in their configuration.")]
pub(super) struct Run {
    /// The suite file
    suite: PathBuf,
    #[command(flatten)]
    nodes: Nodes,
    /// Go on with the newest unfinished cluster of this suite: same nodes, same rounds, only the missing ones
    #[arg(long)]
    resume: bool,
    /// Print what came out as one JSON document on stdout, and nothing else there
    #[arg(long)]
    json: bool,
    /// Write report.html, report.md and report.json into this folder, as `cluster report` does
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Write a file of each form for other tools into this folder, as `cluster export` does
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The verbs-bench to use on this host [default: the one beside this program, else the one in PATH]
    #[arg(long, value_name = "FILE", env = "VERBS_BENCH")]
    verbs_bench: Option<PathBuf>,
}

/// What is to be measured: of a new cluster the number is not known before its agents have come.
struct Begun {
    cluster: Option<i64>,
    rounds: Option<Rounds>,
    seed: u64,
}

impl Run {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let mut suite = suite::load(&self.suite)?;
        let mut ask = self.nodes.ask(suite.launch_wait);
        if ask.kind == LauncherKind::Local {
            if ask.nodes.is_none() && ask.hostfile.is_none() {
                ask.nodes = Some(LOCAL_NODES.to_owned());
            }
            share_this_host(&mut suite);
        }
        let wanted = launch::wanted(&ask)?;
        let seed = suite.seed.map_or_else(draw_seed, Ok)?;
        check_pattern(&suite, &wanted, seed, ask.kind)?;
        let mut store = place.create_or_open()?;
        let _measuring = store.lock_to_measure()?;
        let (begun, wanted) = self.begun(&store, &suite, seed, wanted)?;
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        ctrlc::set_handler(move || raised.raise()).context("listening for Ctrl-C")?;

        let ends: Vec<Option<SoftModel>> = wanted.iter().map(|node| node.soft.clone()).collect();
        let (events, heard) = channel();
        let launcher = Launcher::from_environment(self.verbs_bench.clone());
        let mut started: Started = launch::start(&ask, wanted, &launcher, &events, &interrupt)?;
        let mut fleet =
            Fleet::meet(mem::take(&mut started.nodes), events, heard, &FleetWishes::of(&suite), &interrupt);
        fleet.remarks().iter().for_each(|remark| eprintln!("rdma-harness: {remark}"));
        let measured = self.measure(&mut store, &suite, begun, &mut fleet, &ends, &interrupt);
        let complaints: Vec<String> = fleet.dismiss().into_iter().chain(started.end()).collect();
        complaints.iter().for_each(|complaint| eprintln!("rdma-harness: {complaint}"));
        match measured? {
            Some(concluded) => self.told(&store, &concluded, !complaints.is_empty()),
            None => Ok(Exit::CouldNotRun),
        }
    }

    /// The cluster to go on with, or that there is none yet; and the nodes by their ranks.
    fn begun(
        &self,
        store: &Store,
        suite: &Suite,
        seed: u64,
        wanted: Vec<WantedNode>,
    ) -> anyhow::Result<(Begun, Vec<WantedNode>)> {
        if self.resume {
            return match measuring::find(store, suite, wanted) {
                Ok(Resumed { cluster, rounds, wanted }) => {
                    Ok((Begun { cluster: Some(cluster), rounds: Some(rounds), seed }, wanted))
                }
                Err(ResumeClusterError::Store(error)) => Err(error.into()),
                Err(refused) => Err(UsageError(refused.to_string()).into()),
            };
        }
        if let Some(id) = store.unfinished_cluster(&suite.name)? {
            eprintln!(
                "rdma-harness: cluster {id} of this suite is unfinished (--resume goes on with it); this is a new one"
            );
        }
        Ok((Begun { cluster: None, rounds: None, seed }, wanted))
    }

    /// Makes the rounds that are missing; none when it could not, and why was told.
    fn measure(
        &self,
        store: &mut Store,
        suite: &Suite,
        begun: Begun,
        fleet: &mut Fleet,
        ends: &[Option<SoftModel>],
        interrupt: &Interrupt,
    ) -> anyhow::Result<Option<Concluded>> {
        if interrupt.is_raised() {
            eprintln!("rdma-harness: stopped before a round was made");
            return Ok(None);
        }
        tell_absent(fleet.nodes());
        let present = fleet.nodes().iter().filter(|node| node.state == NodeState::Present).count();
        if present < 2 {
            eprintln!("rdma-harness: there is no pair of nodes to measure; nothing was kept");
            return Ok(None);
        }
        let Begun { cluster, rounds, seed } = begun;
        let rounds = match rounds {
            Some(rounds) => rounds,
            None => {
                let seats: Vec<Seat<'_>> = fleet.nodes().iter().map(Seat::from).collect();
                Rounds { steps: suite.steps(&seats, seed)?, at_once: suite.at_once }
            }
        };
        let id = match cluster {
            Some(id) => id,
            None => begin(store, suite, &self.nodes, &rounds, seed, fleet.nodes())?,
        };
        let mut shown = Shown::on_stderr(id, fleet.nodes());
        let measuring = Measuring {
            store,
            crew: fleet,
            observer: &mut shown,
            interrupt,
            rounds: &rounds,
            ends,
            rules: &suite.rules,
        };
        let measured = measuring.carry_out(id);
        shown.finish();
        match measured? {
            Measured::Whole(cluster) => {
                Ok(Some(conclude(store, *cluster, &suite.rules, suite.history.as_deref())?))
            }
            Measured::Interrupted => {
                self.stopped(store, id);
                Ok(None)
            }
        }
    }

    fn stopped(&self, store: &Store, id: i64) {
        let (file, suite) = (store.file().display(), self.suite.display());
        eprintln!("rdma-harness: cluster {id} was stopped; the rounds that were made are kept");
        eprintln!(
            "rdma-harness: go on with: rdma-harness cluster run {suite} --launcher {} --store {file} --resume, and the same nodes",
            self.nodes.launcher
        );
    }

    /// Says what came out.
    fn told(&self, store: &Store, concluded: &Concluded, troubled: bool) -> anyhow::Result<Exit> {
        let Concluded { report, night, cluster } = concluded;
        if let Some(folder) = &self.report {
            super::report::write(folder, cluster, report)?;
        }
        if let Some(folder) = &self.out {
            super::export::write_all(folder, cluster, report, Pairs::LeftOut)?;
        }
        if self.json {
            output::print(&render::cluster::json(report))?;
        } else {
            output::print(&render::cluster::lines(report).join("\n"))?;
            if let Some(night) = night {
                output::print(&format!(
                    "\nnight   {} of {}, by the nights before:",
                    night.night.id, night.suite
                ))?;
                output::print(&render::history::lines(night).join("\n"))?;
            }
            output::print(&format!("kept    {} (cluster {})", store.file().display(), report.head.id))?;
        }
        let of_night = night.as_ref().map(|night| of_night(night.verdict));
        let said = [Some(of_cluster(report.verdict)), of_night, troubled.then_some(Exit::CouldNotRun)];
        // What is slow is said before what could not be told.
        let worst = [Exit::Regression, Exit::CouldNotRun, Exit::Unsettled];
        Ok(worst.into_iter().find(|exit| said.contains(&Some(*exit))).unwrap_or(Exit::Fine))
    }
}

fn of_night(verdict: NightVerdict) -> Exit {
    match verdict {
        NightVerdict::Fine => Exit::Fine,
        NightVerdict::Regression => Exit::Regression,
        NightVerdict::CouldNotRun => Exit::CouldNotRun,
        NightVerdict::Inconclusive => Exit::Unsettled,
    }
}

fn of_cluster(verdict: ClusterVerdict) -> Exit {
    match verdict {
        ClusterVerdict::Fine => Exit::Fine,
        ClusterVerdict::Slow => Exit::Regression,
        ClusterVerdict::CouldNotRun => Exit::CouldNotRun,
        ClusterVerdict::Inconclusive => Exit::Unsettled,
    }
}

/// Several nodes share the CPUs of this host: no more of them are measured at once than it has room for.
fn share_this_host(suite: &mut Suite) {
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let together = suite.pattern.is_together();
    if suite.at_once.is_none() && !together {
        let pairs = (cpus / 2).max(1) as u32;
        suite.at_once = Some(pairs);
        eprintln!(
            "rdma-harness: all nodes are on this host, which has {cpus} CPUs: {pairs} pair(s) at once; pattern.at_once of the suite sets another number"
        );
    } else if together {
        eprintln!(
            "rdma-harness: all nodes are on this host, which has {cpus} CPUs: what the pairs of a round do to each other is in good part what they take from its CPUs"
        );
    }
}

/// Refuses what can't be laid out, before anything is started. Switches may still be told by who starts the agents.
fn check_pattern(suite: &Suite, wanted: &[WantedNode], seed: u64, kind: LauncherKind) -> anyhow::Result<()> {
    let seats: Vec<Seat<'_>> = wanted.iter().map(Seat::from).collect();
    match suite.steps(&seats, seed) {
        Err(PatternError::NoTopology { .. }) if matches!(kind, LauncherKind::Slurm | LauncherKind::Join) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

fn begin(
    store: &mut Store,
    suite: &Suite,
    nodes: &Nodes,
    rounds: &Rounds,
    seed: u64,
    present: &[ClusterNode],
) -> anyhow::Result<i64> {
    Ok(store.begin_cluster(&NewCluster {
        suite: &suite.name,
        suite_toml: &suite.source,
        question: &suite.question,
        launcher: nodes.launcher,
        pattern: suite.pattern.kind(),
        directions: suite.directions,
        seed,
        started_at_unix_ms: words::unix_ms(),
        workloads: &suite.workloads,
        schedule: &rounds.to_json(),
        nodes: present,
    })?)
}

/// Says who did not come, and why.
fn tell_absent(nodes: &[ClusterNode]) {
    let absent = nodes.iter().filter_map(|node| match &node.state {
        NodeState::Present => None,
        NodeState::Absent { why } | NodeState::Lost { why, .. } => Some((&node.name, why)),
    });
    let absent: Vec<_> = absent.collect();
    for (name, why) in absent.iter().take(TOLD) {
        eprintln!("rdma-harness: {name} is not there: {why}");
    }
    if absent.len() > TOLD {
        eprintln!("rdma-harness: and {} more are not there", absent.len() - TOLD);
    }
}
