//! `tune`: turns the knobs of this host by a profile, and turns them back.

mod around;
mod show;

use std::{env, path::PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use host::{Sysroot, cpulist};
use rdma_harness::{
    interrupt::Interrupt,
    scenario::profile,
    tuning::{self, Plan, Site, TuneError},
};
use schema::{Class, KnobRecord, KnobState, Tuning};
use serde::Serialize;

use super::output;
use crate::exit::{Exit, UsageError};

const EXAMPLES: &str = "\
Examples:
  rdma-harness tune plan low-latency --device mlx5_0        every write, and none made
  rdma-harness tune apply low-latency --device mlx5_0 --poll-cpus 2-3 -- ib_write_lat -d mlx5_0 peer
  rdma-harness tune apply negative-control                  stays until `tune restore`
  rdma-harness tune verify roce-lossless-check -d mlx5_0    checks, changes nothing
  rdma-harness tune recover                                 after a crash

A profile is a name or a file that ends in .toml; `tune profiles` lists the names.
Exit codes: 0 done, 2 wrong use or wrong profile, 3 it could not be done, does not hold, or someone else changed a value.
docs/journal.md says how what was changed is found again after a crash.";

/// Arguments of `tune`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Tune {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    place: Where,
}

#[derive(Subcommand)]
enum Action {
    /// Show every write that a profile means on this host; write nothing
    Plan(Chosen),
    /// Turn a profile's knobs, all or none; with a command, only while it runs
    Apply(Apply),
    /// Check that a profile holds, or without one what was applied; write nothing
    Verify {
        /// Name or file of a profile
        profile: Option<String>,
    },
    /// Show what is tuned on this host
    Status,
    /// Turn back what `tune apply` left
    Restore {
        /// Overwrite what someone else has changed since
        #[arg(long)]
        force: bool,
    },
    /// Turn back what a crash left; can be run again at any time
    Recover {
        /// Overwrite what someone else has changed since, and pass over what is damaged in the journal
        #[arg(long)]
        force: bool,
    },
    /// List the profiles of this program
    Profiles,
}

#[derive(Args)]
struct Chosen {
    /// Name or file of a profile
    profile: String,
    /// Turn knobs that disturb the link, too
    #[arg(long)]
    allow_disruptive: bool,
}

#[derive(Args)]
struct Apply {
    #[command(flatten)]
    chosen: Chosen,
    /// Hold the knobs in the foreground until Ctrl-C, then turn them back
    #[arg(long, conflicts_with = "command")]
    hold: bool,
    /// Run while the knobs are turned; they are turned back however it ends
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Where to tune.
#[derive(Args)]
struct Where {
    /// RDMA device whose interrupts, function and network device are meant
    #[arg(short, long, global = true, value_name = "DEVICE")]
    device: Option<String>,
    /// Its network device [default: the one the RDMA device names]
    #[arg(long, global = true, value_name = "NETDEV")]
    netdev: Option<String>,
    /// CPUs that poll, as a list: interrupts stay away from them
    #[arg(long, global = true, value_name = "CPUS")]
    poll_cpus: Option<String>,
    /// Root of a tree instead of this host
    #[arg(long, global = true, value_name = "DIR", default_value = "/")]
    sysroot: PathBuf,
    /// Folder of the journal [default: /run/rdma-harness of the host]
    #[arg(long, global = true, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

impl Tune {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        let site = self.place.site()?;
        let json = self.place.json;
        match self.action {
            Action::Plan(chosen) => plan(&site, &chosen, json),
            Action::Apply(apply) => apply.execute(&site, json),
            Action::Verify { profile } => verify(&site, profile.as_deref(), json),
            Action::Status => status(&site, json),
            Action::Restore { force } | Action::Recover { force } => recover(&site, force, json),
            Action::Profiles => profiles(json),
        }
    }
}

impl Where {
    fn site(&self) -> anyhow::Result<Site> {
        let mut site = Site::new(Sysroot::new(&self.sysroot));
        if !self.sysroot.is_dir() {
            return Err(
                UsageError(format!("--sysroot {}: there is no such folder", self.sysroot.display())).into()
            );
        }
        if let Some(folder) = &self.state_dir {
            site.state_dir.clone_from(folder);
        }
        if let Some(cpus) = &self.poll_cpus {
            site.poll_cpus =
                cpulist::parse(cpus).map_err(|error| UsageError(format!("--poll-cpus: {error}")))?;
        }
        let known = |class: &str, name: &Option<String>| match name {
            Some(name) if !site.sysroot.exists(format!("/sys/class/{class}/{name}")) => {
                let names = site.sysroot.list(format!("/sys/class/{class}")).known().unwrap_or_default();
                Err(UsageError(format!("there is no device `{name}` here, but {}", some_of(&names))))
            }
            _ => Ok(()),
        };
        known("infiniband", &self.device)?;
        known("net", &self.netdev)?;
        site.device.clone_from(&self.device);
        site.netdev.clone_from(&self.netdev);
        site.ssh_connection = env::var("SSH_CONNECTION").ok();
        Ok(site)
    }
}

impl Chosen {
    fn plan(&self, site: &Site) -> anyhow::Result<Plan> {
        let mut tuning = load(&self.profile)?;
        tuning.allow_disruptive |= self.allow_disruptive;
        Ok(tuning::plan(site, &tuning)?)
    }
}

impl Apply {
    fn execute(self, site: &Site, json: bool) -> anyhow::Result<Exit> {
        let plan = self.chosen.plan(site)?;
        let fleeting: Vec<&str> = plan
            .steps
            .iter()
            .filter(|step| step.class == Class::SelfRestoring)
            .map(|step| step.knob.word())
            .collect();
        if self.command.is_empty() && !self.hold && !fleeting.is_empty() {
            return Err(UsageError(format!(
                "{} ends with the process that holds it: give a command after --, or --hold",
                fleeting.join(", ")
            ))
            .into());
        }
        let interrupt = Interrupt::default();
        let raised = interrupt.clone();
        ctrlc::set_handler(move || raised.raise()).context("listening for signals")?;
        let applied = tuning::apply(site, plan)?;
        if self.command.is_empty() && !self.hold {
            let records = applied.leave()?;
            show::records(&records, json)?;
            eprintln!("rdma-harness: the host stays so; `rdma-harness tune restore` turns it back");
            return Ok(Exit::Fine);
        }
        show::records_beside(&applied.records())?;
        let ran = if self.hold {
            eprintln!("rdma-harness: held until Ctrl-C");
            around::hold(&interrupt);
            Ok(())
        } else {
            around::run(&self.command, &applied, &interrupt)
        };
        let stayed = applied.verify();
        let restored = applied.restore();
        let drifted: Vec<&KnobRecord> =
            stayed.iter().filter(|record| record.state == KnobState::Drifted).collect();
        for record in &drifted {
            let now = record.effective.as_deref().unwrap_or("unknown");
            eprintln!("rdma-harness: {} did not stay: it is `{now}`", record.target);
        }
        for record in &restored.conflicts {
            eprintln!("rdma-harness: {}: {}", record.target, record.note);
        }
        ran?;
        Ok(if restored.conflicts.is_empty() && drifted.is_empty() { Exit::Fine } else { Exit::CouldNotRun })
    }
}

fn plan(site: &Site, chosen: &Chosen, json: bool) -> anyhow::Result<Exit> {
    let plan = chosen.plan(site)?;
    if json {
        output::print(&serde_json::to_string_pretty(&plan)?)?;
    } else {
        output::print(&show::plan(&plan))?;
    }
    Ok(if plan.refusals.is_empty() { Exit::Fine } else { Exit::CouldNotRun })
}

fn verify(site: &Site, profile: Option<&str>, json: bool) -> anyhow::Result<Exit> {
    let records = match profile {
        Some(profile) => {
            let tuning = Tuning { check_only: true, ..load(profile)? };
            let plan = tuning::plan(site, &tuning)?;
            if !plan.refusals.is_empty() {
                return Err(TuneError::Refused { refusals: plan.refusals }.into());
            }
            plan.others
        }
        None => {
            let status = tuning::status(site);
            if !status.tuned {
                return Err(UsageError(format!("{}; name a profile to check", status.summary)).into());
            }
            status.records
        }
    };
    show::records(&records, json)?;
    let holds = |record: &KnobRecord| {
        matches!(record.state, KnobState::Unchanged | KnobState::Verified | KnobState::Skipped)
    };
    Ok(if records.iter().all(holds) { Exit::Fine } else { Exit::CouldNotRun })
}

fn status(site: &Site, json: bool) -> anyhow::Result<Exit> {
    let status = tuning::status(site);
    if json {
        output::print(&serde_json::to_string_pretty(&status)?)?;
    } else {
        output::print(&format!("{}\njournal: {}", status.summary, status.journal))?;
        if !status.records.is_empty() {
            show::records(&status.records, false)?;
        }
    }
    Ok(Exit::Fine)
}

fn recover(site: &Site, force: bool, json: bool) -> anyhow::Result<Exit> {
    let recovered = tuning::recover(site, force)?;
    eprintln!("rdma-harness: {}", recovered.found);
    if !recovered.records.is_empty() || json {
        show::records(&recovered.records, json)?;
    }
    if recovered.conflicts.is_empty() {
        return Ok(Exit::Fine);
    }
    eprintln!("rdma-harness: {} not turned back; --force overwrites", recovered.conflicts.len());
    Ok(Exit::CouldNotRun)
}

fn profiles(json: bool) -> anyhow::Result<Exit> {
    #[derive(Serialize)]
    struct Profile {
        name: &'static str,
        about: String,
    }
    let profiles: Vec<Profile> = profile::PROFILES
        .iter()
        .map(|(name, source)| Profile { name, about: profile::about(source) })
        .collect();
    if json {
        output::print(&serde_json::to_string_pretty(&profiles)?)?;
    } else {
        let lines: Vec<String> =
            profiles.iter().map(|found| format!("{:20} {}", found.name, found.about)).collect();
        output::print(&lines.join("\n"))?;
    }
    Ok(Exit::Fine)
}

fn load(name: &str) -> anyhow::Result<Tuning> {
    Ok(profile::load(name, &env::current_dir().unwrap_or_default())?)
}

fn some_of(names: &[String]) -> String {
    if names.is_empty() { "none at all".to_owned() } else { names.join(", ") }
}
