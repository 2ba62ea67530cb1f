//! The command line: one file a subcommand. Prints and chooses; what it calls does the work.

mod agent;
mod baseline;
mod cluster;
mod compare;
mod completions;
mod doctor;
mod explain;
mod export;
mod history;
mod import;
mod night_files;
mod nightly;
mod output;
mod plan;
mod progress;
mod prune;
mod report;
mod run;
mod runs;
mod snapshot;
mod store;
mod tune;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use rdma_harness::store::{Store, StoreError, default_path};

use crate::exit::Exit;

const EXAMPLES: &str = "\
Examples:
  rdma-harness run scenarios/quickstart.toml --report report
  rdma-harness plan scenarios/path-mtu.toml
  rdma-harness runs
  rdma-harness compare 3

Exit codes:
  0 fine   1 regression   2 wrong use or wrong scenario   3 could not run   4 inconclusive or unstable";

/// Answers with evidence: did this change make RDMA faster, slower, or neither?
#[derive(Parser)]
#[command(name = "rdma-harness", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// The store [default: $XDG_DATA_HOME/rdma-harness/store.db]
    #[arg(long, global = true, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Colours and pictures; auto: on a terminal, unless NO_COLOR is set or TERM is dumb; CLICOLOR_FORCE is always
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: clap::ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Carry out a scenario, keep every run, and say what came out
    Run(run::Run),
    /// Measure a suite of scenarios and hold it against the nights before
    Nightly(nightly::Nightly),
    /// Show what a suite measured night after night, and say what is known
    History(history::History),
    /// Measure every pair of many nodes, and name the one that is slow
    Cluster(cluster::Cluster),
    /// Pin a night by a name, and compare others with it
    Baseline(baseline::Baseline),
    /// Look at this host for what changes RDMA: what was read, what is expected, what to do
    Doctor(doctor::Doctor),
    /// Tell what a knob of a host does, or whether something that is said of RDMA hosts holds
    Explain(explain::Explain),
    /// Turn the knobs of this host by a profile, and turn them back, whatever happens in between
    Tune(tune::Tune),
    /// Show what a scenario would run, in which order, for how long, and what it can see
    Plan(plan::Plan),
    /// List campaigns, or the runs of one
    Runs(runs::Runs),
    /// Compare the variants of a campaign again
    Compare(compare::Compare),
    /// Write the report of a campaign: report.html, report.md, report.json
    Report(report::Report),
    /// Write the measurements of a campaign for other tools
    Export(export::Export),
    /// Read logs of other tools into history
    Import(import::Import),
    /// Check, back up or merge stores
    Store(store::StoreFile),
    /// Let go of what only a closer look at old nights needs: samples, time series, evidence
    Prune(prune::Prune),
    /// Look after one side of a campaign on this host, driven over stdin and stdout (`run` starts it)
    Agent(agent::Agent),
    /// Record this host as a tree of files that `doctor --sysroot` reads, redacted
    Snapshot(snapshot::Snapshot),
    /// Print a completion script for a shell
    Completions(completions::Completions),
}

impl Cli {
    /// Carries it out.
    pub(crate) fn execute(self) -> anyhow::Result<Exit> {
        output::choose_colours(self.color);
        let place = Place(self.store);
        match self.command {
            Command::Run(run) => run.execute(&place),
            Command::Nightly(nightly) => nightly.execute(&place),
            Command::History(history) => history.execute(&place),
            Command::Cluster(cluster) => cluster.execute(&place),
            Command::Baseline(baseline) => baseline.execute(&place),
            Command::Doctor(doctor) => doctor.execute(),
            Command::Explain(explain) => explain.execute(),
            Command::Tune(tune) => tune.execute(),
            Command::Plan(plan) => plan.execute(&place),
            Command::Runs(runs) => runs.execute(&place),
            Command::Compare(compare) => compare.execute(&place),
            Command::Report(report) => report.execute(&place),
            Command::Export(export) => export.execute(&place),
            Command::Import(import) => import.execute(&place),
            Command::Store(store) => store.execute(&place),
            Command::Prune(prune) => prune.execute(&place),
            Command::Agent(agent) => agent.execute(),
            Command::Snapshot(snapshot) => snapshot.execute(),
            Command::Completions(completions) => completions.execute(),
        }
    }
}

/// Where the store lies.
struct Place(Option<PathBuf>);

impl Place {
    fn file(&self) -> Result<PathBuf, StoreError> {
        self.0.clone().map_or_else(default_path, Ok)
    }

    /// Opens a store that is there, to read.
    fn open(&self) -> Result<Store, StoreError> {
        Store::open(&self.file()?)
    }

    /// Opens a store that is there, to write.
    fn open_to_write(&self) -> Result<Store, StoreError> {
        Store::open_to_write(&self.file()?)
    }

    /// Opens the store, making it where there is none.
    fn create_or_open(&self) -> Result<Store, StoreError> {
        Store::create_or_open(&self.file()?)
    }
}
