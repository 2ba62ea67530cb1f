//! `nightly`: measures a suite, or goes on with a night, and says what came out.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use clap::Args;
use rdma_harness::{
    agent::Launcher,
    interrupt::Interrupt,
    nightly::{
        self, Agents, Entry, Leg, Night, NightEnding, NightObserver, ResumeNightError, Suite, fresh_seed,
    },
    plan,
    run::Observer,
    store::{NewNight, Store},
    words,
};
use reports::{
    history::{NightReport, NightVerdict},
    render::history,
};
use schema::{NightPart, Origin};

use super::{Place, history::judged, night_files, output, progress::Shown};
use crate::exit::{Exit, UsageError};

/// Arguments of `nightly`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness nightly scenarios/nightly/soft.toml
  rdma-harness nightly my-rack.toml --dry-run
  rdma-harness nightly my-rack.toml --resume
  rdma-harness nightly my-rack.toml --json > night.json
  rdma-harness nightly my-rack.toml --out results

Every scenario is a campaign of its own; the median of its runs is the night's value, held against the nights before. What
stands out is measured again the same night. docs/nightly.md tells how to write a suite, and how to have it run every night.
Ctrl-C stops cleanly: hosts are turned back, what is done is kept, and --resume goes on.
Exit codes: 0 fine, 1 regression, 2 wrong use or wrong suite, 3 could not run or was stopped, 4 suspected, not confirmed.")]
pub(super) struct Nightly {
    /// The suite file
    suite: PathBuf,
    /// Print the judged night as one JSON document on stdout, and nothing else there
    #[arg(long)]
    json: bool,
    /// Write the night to this folder for other tools: JUnit, Prometheus, CSV and more (docs/outputs.md)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Show what would run and for how long, and run nothing
    #[arg(long, conflicts_with_all = ["json", "resume", "out"])]
    dry_run: bool,
    /// Go on with the newest night of this suite, which did not come to its end: only the missing runs
    #[arg(long)]
    resume: bool,
    /// The verbs-bench to use on this host [default: the one beside this program, else the one in PATH]
    #[arg(long, value_name = "FILE", env = "VERBS_BENCH")]
    verbs_bench: Option<PathBuf>,
}

impl Nightly {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let suite = nightly::suite::load(&self.suite)?;
        if self.dry_run {
            output::print(&dry_run(&suite)?)?;
            return Ok(Exit::Fine);
        }
        let mut store = place.create_or_open()?;
        let _measuring = store.lock_to_measure()?;
        let id = self.night(&mut store, &suite)?;
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        ctrlc::set_handler(move || raised.raise()).context("listening for Ctrl-C")?;
        let (mut crew, mut observer) =
            (Agents(Launcher::from_environment(self.verbs_bench.clone())), OnStderr::default());
        let mut night = Night {
            suite: &suite,
            store: &mut store,
            id,
            crew: &mut crew,
            observer: &mut observer,
            interrupt: &interrupt,
            failures: Vec::new(),
            complaints: Vec::new(),
            unheld: Vec::new(),
        };
        let ending = night.carry_out()?;
        let troubled = !night.failures.is_empty() || !night.complaints.is_empty();
        for complaint in night.complaints.iter().chain(&night.unheld) {
            eprintln!("rdma-harness: {complaint}");
        }
        match ending {
            NightEnding::Judged(report) => self.conclude(&store, &report, troubled),
            NightEnding::Interrupted => {
                let (file, suite) = (store.file().display(), self.suite.display());
                eprintln!("rdma-harness: night {id} was stopped; what is done is kept");
                eprintln!("rdma-harness: go on with: rdma-harness nightly {suite} --store {file} --resume");
                Ok(Exit::CouldNotRun)
            }
        }
    }

    /// The night to work on: begun now, or found.
    fn night(&self, store: &mut Store, suite: &Suite) -> anyhow::Result<i64> {
        if self.resume {
            return match nightly::find(store, suite) {
                Ok(id) => Ok(id),
                Err(ResumeNightError::Store(error)) => Err(error.into()),
                Err(refused) => Err(UsageError(refused.to_string()).into()),
            };
        }
        if let Some(night) = store.unfinished_night(&suite.name)? {
            let id = night.id;
            eprintln!(
                "rdma-harness: night {id} of this suite is unfinished (--resume goes on with it); this is a new one"
            );
        }
        let new = NewNight {
            suite: &suite.name,
            suite_toml: &suite.source,
            origin: Origin::Measured,
            started_at_unix_ms: words::unix_ms(),
        };
        Ok(store.begin_night(&new)?)
    }

    /// Says what came out.
    fn conclude(&self, store: &Store, report: &NightReport, troubled: bool) -> anyhow::Result<Exit> {
        if self.json {
            output::print(&history::json(report))?;
        } else {
            let (file, night) = (store.file().display(), report.night.id);
            output::print(&history::lines(report).join("\n"))?;
            output::print(&format!(
                "kept    {file} (night {night})\nhistory rdma-harness history --store {file}"
            ))?;
        }
        if let Some(folder) = &self.out {
            // As the store has it: its end is known by now.
            let (past, report) = judged(store, &report.suite, Some(report.night.id))?;
            night_files::write_all(folder, store, &past, &report)?;
        }
        Ok(match report.verdict {
            NightVerdict::Regression => Exit::Regression,
            _ if troubled => Exit::CouldNotRun,
            NightVerdict::CouldNotRun => Exit::CouldNotRun,
            NightVerdict::Inconclusive => Exit::Unsettled,
            NightVerdict::Fine => Exit::Fine,
        })
    }
}

/// What a night would run.
fn dry_run(suite: &Suite) -> anyhow::Result<String> {
    let mut lines = vec![suite.question.clone(), String::new()];
    let mut all = Some(Duration::ZERO);
    for entry in &suite.entries {
        let plan = entry.plan(fresh_seed()?)?;
        let time = plan::block_time(&plan).map(|block| block * plan.design.blocks);
        let takes = time
            .map_or("as long as its messages take".to_owned(), |time| format!("about {}", words::time(time)));
        let runs = plan.runs.len();
        let kept = entry
            .points
            .iter()
            .map(|kept| format!("{} of {} at {}", kept.metric, kept.workload, kept.msg_bytes));
        let name = entry.name();
        lines.push(format!("{name}: {runs} runs, {} of each workload, {takes}", entry.runs));
        lines.extend(kept.map(|kept| format!("  {kept}")));
        all = all.zip(time).map(|(all, time)| all + time);
    }
    let series: usize = suite.entries.iter().map(|entry| entry.points.len()).sum();
    let time = all.map_or(String::new(), |all| format!(", about {}", words::time(all)));
    lines.push(format!(
        "\n{series} series{time}; scenarios in which one stands out are measured a second time"
    ));
    Ok(lines.join("\n"))
}

/// Tells on stderr how the night goes on.
#[derive(Default)]
struct OnStderr(Option<Shown>);

impl NightObserver for OnStderr {
    fn begins(&mut self, leg: &Leg<'_>) -> &mut dyn Observer {
        let again = if leg.part == NightPart::Confirm { ", again" } else { "" };
        eprintln!("{}{again} (campaign {})", leg.entry.name(), leg.campaign);
        self.0.insert(Shown::on_stderr(leg.missing, &leg.plan.design))
    }

    fn ends(&mut self) {
        if let Some(shown) = self.0.take() {
            shown.finish();
        }
    }

    fn failed(&mut self, entry: &Entry, why: &str) {
        eprintln!("rdma-harness: {}: {why}; the night goes on without it", entry.name());
    }
}
