//! `run`: carries out a scenario, or goes on with one, and says what came out.

use std::{path::PathBuf, time::Duration};

use anyhow::Context as _;
use clap::Args;
use rdma_harness::{
    agent::{Launcher, Pair},
    interrupt::Interrupt,
    plan,
    resume::{self, ResumeError},
    run::{self, Ending, Processes, Stopping, Work},
    scenario,
    store::{NewCampaign, Store},
    words,
};
use reports::render;
use schema::Campaign;

use super::{Place, compare, output, plan::draw_seed, progress::Shown, report};
use crate::exit::{self, Exit, UsageError};

/// Arguments of `run`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness run scenarios/quickstart.toml --report report
  rdma-harness run scenarios/path-mtu.toml --resume
  rdma-harness run my.toml --json > verdict.json

Ctrl-C stops cleanly: hosts are turned back, what is done is kept, and --resume goes on.
Hosts reached through ssh: RDMA_HARNESS_SSH names another ssh command, RDMA_HARNESS_REMOTE another program there.
Exit codes: 0 fine, 1 regression, 2 wrong use or wrong scenario, 3 could not run or was stopped, 4 inconclusive or unstable.")]
pub(super) struct Run {
    /// The scenario file
    scenario: PathBuf,
    /// Write report.html, report.md and report.json into this folder
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Print the comparison as one JSON document on stdout, and nothing else there
    #[arg(long)]
    json: bool,
    /// Show the plan and run nothing
    #[arg(long, conflicts_with_all = ["json", "resume", "report"])]
    dry_run: bool,
    /// Go on with the newest unfinished campaign of this scenario: same seed, same order, only the missing runs
    #[arg(long)]
    resume: bool,
    /// With --resume: make the runs that did not complete again, too
    #[arg(long, requires = "resume")]
    retry_failed: bool,
    /// The verbs-bench to use on this host [default: the one beside this program, else the one in PATH]
    #[arg(long, value_name = "FILE", env = "VERBS_BENCH")]
    verbs_bench: Option<PathBuf>,
}

impl Run {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        if self.dry_run {
            output::print(&super::plan::show(&self.scenario, place)?)?;
            return Ok(Exit::Fine);
        }
        let scenario = scenario::load(&self.scenario)?;
        let plan = plan::plan(&scenario, draw_seed()?)?;
        let agents = Pair::launch(&Launcher::from_environment(self.verbs_bench.clone()), &plan.hosts)?;
        let mut store = place.create_or_open()?;
        let _measuring = store.lock_to_measure()?;
        let mut processes = Processes::new(agents, plan.hosts.address);
        processes.prepare(&plan.variants, &plan.workloads)?;
        let id = self.campaign(&mut store, &plan)?;
        let ending = self.carry_out(&mut store, id, &mut processes)?;
        let complaints = processes.close();
        for complaint in &complaints {
            eprintln!("rdma-harness: {complaint}");
        }
        let exit = self.end(&store, id, ending)?;
        Ok(if complaints.is_empty() { exit } else { Exit::CouldNotRun })
    }

    /// Says how it ended.
    fn end(&self, store: &Store, id: i64, ending: Ending) -> anyhow::Result<Exit> {
        match ending {
            Ending::Finished => self.conclude(store, id),
            Ending::Interrupted => Ok(self.stopped(store, id)),
            Ending::Hopeless(outcome) => {
                let what = format!("the first runs all {outcome}");
                eprintln!(
                    "rdma-harness: {what}; the campaign was stopped, since no run can be expected to succeed"
                );
                Ok(self.stopped(store, id))
            }
            Ending::Lost(why) => {
                eprintln!(
                    "rdma-harness: {why}; the campaign was stopped, since no run can be made without it"
                );
                Ok(self.stopped(store, id))
            }
        }
    }

    /// The campaign to work on: begun now, or found.
    fn campaign(&self, store: &mut Store, plan: &plan::Plan) -> anyhow::Result<i64> {
        if !self.resume {
            if let Some((head, _)) = store.newest_unfinished(&plan.scenario)? {
                eprintln!(
                    "rdma-harness: campaign {} of this scenario is unfinished (--resume goes on with it); this is a new one",
                    head.id
                );
            }
            return Ok(store.begin(&NewCampaign { plan, started_at_unix_ms: words::unix_ms() })?);
        }
        match resume::find(store, plan, self.retry_failed) {
            Ok(id) => Ok(id),
            Err(ResumeError::Store(error)) => Err(error.into()),
            Err(refused) => Err(UsageError(refused.to_string()).into()),
        }
    }

    fn carry_out(&self, store: &mut Store, id: i64, processes: &mut Processes) -> anyhow::Result<Ending> {
        let missing = store.missing_runs(id, self.retry_failed)?;
        let campaign = store.load(id)?;
        let mut work = Work {
            campaign: id,
            variants: &campaign.variants,
            grouping: campaign.design.grouping,
            workloads: &campaign.workloads,
            runs: &missing,
            cooldown: Duration::from_nanos(campaign.design.cooldown_ns.get()),
            stopping: Stopping::of(&campaign, store, run::standing)?,
        };
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        ctrlc::set_handler(move || raised.raise()).context("listening for Ctrl-C")?;
        let mut shown = Shown::on_stderr(missing.len(), &campaign.design);
        let ending = run::carry_out(&mut work, store, processes, &mut shown, &interrupt);
        shown.finish();
        Ok(ending?)
    }

    /// Says what came out.
    fn conclude(&self, store: &Store, id: i64) -> anyhow::Result<Exit> {
        let campaign = store.load(id)?;
        let comparison = compare::compare(&campaign);
        let html =
            self.report.as_ref().map(|folder| report::write(folder, &campaign, &comparison)).transpose()?;
        if self.json {
            output::print(&render::json(&comparison))?;
        } else {
            output::print(&render::terminal(&comparison, &output::look(false)))?;
            output::print(&whereabouts(store, &campaign, html.as_deref()))?;
        }
        Ok(exit::of_comparison(&comparison))
    }

    /// Says what is kept and how to go on.
    fn stopped(&self, store: &Store, id: i64) -> Exit {
        let kept = store.campaigns().ok().and_then(|heads| heads.into_iter().find(|head| head.id == id));
        if let Some(head) = kept {
            eprintln!("rdma-harness: {} of {} runs are kept as campaign {id}", head.tried, head.planned);
        }
        let (scenario, file) = (self.scenario.display(), store.file().display());
        eprintln!("rdma-harness: go on with: rdma-harness run {scenario} --store {file} --resume");
        Exit::CouldNotRun
    }
}

fn whereabouts(store: &Store, campaign: &Campaign, html: Option<&std::path::Path>) -> String {
    let kept = format!("store   {} (campaign {})", store.file().display(), campaign.id);
    match html {
        Some(html) => format!("report  {}\n{kept}", html.display()),
        None => format!("{kept}\nreport  rdma-harness report {} --out DIR writes one", campaign.id),
    }
}
