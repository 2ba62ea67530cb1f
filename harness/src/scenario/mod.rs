//! A scenario as written: a question, what is measured, what is varied, and what decides.
//!
//! Reads the file and checks what can be known from its text; nothing is resolved, ordered or corrected here. What every
//! key means is in `docs/scenarios.md`.

mod check;
mod factors;
mod fault;
mod load;
mod parameter;
pub mod profile;
mod section;
mod stop;
mod tune;

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr};

use schema::{Bytes, Metric, Nanos, Op, Side, SidesTuning, Test};

pub(crate) use factors::{JOINT, NONE};
pub(crate) use fault::did_you_mean;
pub use fault::{Fault, FaultReport, ScenarioError, Span};
pub(crate) use load::read_question;
pub use load::{load, parse};
pub use parameter::{Assignment, PARAMETERS, SIDE_PARAMETERS};
pub use section::At;
pub(crate) use section::{Section, percent, read_tables};
pub use stop::WrittenStop;
pub(crate) use tune::together;

/// A scenario file, read.
pub struct Scenario {
    /// Name of the file without its ending.
    pub name: String,
    /// The file as it was named.
    pub file: PathBuf,
    /// Its text.
    pub source: String,
    /// The question it answers.
    pub question: String,
    /// Where the two sides run.
    pub hosts: Hosts,
    /// How runs are laid out in time.
    pub design: WrittenDesign,
    /// What `[hosts]`, `[design]` and `[soft]` set for every run.
    pub ground: Vec<Assignment>,
    /// What is measured.
    pub workloads: Vec<WrittenWorkload>,
    /// What is varied, one thing against another; empty where factors are, and where nothing is compared.
    pub variants: Vec<WrittenVariant>,
    /// What is on or off, in combinations; empty where variants are listed.
    pub factors: Vec<WrittenFactor>,
    /// What decides.
    pub gates: Vec<WrittenGate>,
}

impl Scenario {
    /// An error of this file.
    pub fn error(&self, faults: Vec<Fault>) -> ScenarioError {
        ScenarioError::Faults(FaultReport { file: self.file.clone(), source: self.source.clone(), faults })
    }
}

/// Where a side runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Place {
    /// A child process beside the controller.
    #[default]
    Local,
    /// A child process in a network namespace of this host.
    Netns(String),
    /// A process on another host, started through ssh: `[user@]host`.
    Ssh(String),
    /// A process that someone else started and that connected to us, in words: `slurm:node7`. No scenario names one.
    Joined(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Local => f.write_str("local"),
            Place::Netns(name) => write!(f, "netns:{name}"),
            Place::Ssh(destination) => write!(f, "ssh:{destination}"),
            Place::Joined(by) => f.write_str(by),
        }
    }
}

/// `local`, `netns:NAME` or `ssh:[USER@]HOST`.
impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "local" => Ok(Place::Local),
            Some(("netns", name)) if !name.is_empty() && !name.contains('/') && !name.starts_with('-') => {
                Ok(Place::Netns(name.to_owned()))
            }
            Some(("ssh", destination)) if is_destination(destination) => {
                Ok(Place::Ssh(destination.to_owned()))
            }
            _ => Err(format!("`{text}` is not a place; write \"local\", \"netns:NAME\" or \"ssh:HOST\"")),
        }
    }
}

/// `[user@]host` in the letters of names and addresses: nothing that ssh takes for an option or a shell for more than a word.
fn is_destination(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || "-_.:@%[]".contains(c);
    let host = text.rsplit('@').next().unwrap_or_default();
    !text.starts_with(['-', '@']) && !host.is_empty() && !host.starts_with('-') && text.chars().all(fine)
}

/// Where a side runs, and what looks after it there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SideHost {
    /// Where its agent is started.
    pub at: Place,
    /// The program that is the agent; absent is this one, and `rdma-harness` in the PATH of another host.
    pub agent: Option<String>,
}

/// Where the two sides run and meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosts {
    /// The side that posts.
    pub requester: SideHost,
    /// The side that is written to.
    pub responder: SideHost,
    /// Address the responder listens on and the requester connects to; it carries the exchange, not the messages.
    pub address: IpAddr,
}

impl Hosts {
    /// Where a side runs.
    pub fn of(&self, side: Side) -> &SideHost {
        match side {
            Side::Requester => &self.requester,
            Side::Responder => &self.responder,
        }
    }
}

/// The order of the runs in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Drawn from the seed, so that drift does not favour a variant.
    #[default]
    Randomized,
    /// As in the file, the control last.
    AsWritten,
}

/// Which combinations of the factors are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factorial {
    /// All.
    Full,
    /// A regular fraction: some interactions can't be told from others, or from factors.
    Fractional,
    /// A Plackett-Burman design: the fewest runs, and interactions spread over all factors.
    Screening,
}

impl fmt::Display for Factorial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Factorial::Full => "full",
            Factorial::Fractional => "fractional",
            Factorial::Screening => "screening",
        })
    }
}

/// How runs are laid out in time, as written.
#[derive(Debug, Clone)]
pub struct WrittenDesign {
    /// Blocks, or the most that are made; each holds every variant once, and the control.
    pub blocks: u32,
    /// Seed of the order; absent is drawn, and recorded.
    pub seed: Option<u64>,
    /// Pause between two runs.
    pub cooldown_ns: Nanos,
    /// Order within a block.
    pub order: Order,
    /// Which combinations of the factors are measured; absent is all of a few.
    pub factorial: Option<At<Factorial>>,
    /// How many combinations; absent is the smallest fitting design.
    pub combinations: Option<At<u32>>,
    /// When there are enough blocks; absent is when all are made.
    pub stop: Option<WrittenStop>,
}

/// A workload as written.
pub struct WrittenWorkload {
    /// Its name.
    pub name: At<String>,
    /// Bandwidth or latency.
    pub test: Test,
    /// The verb.
    pub op: Op,
    /// What it sets.
    pub sets: Vec<Assignment>,
    /// What it sets when it runs under one variant.
    pub with: Vec<(At<String>, Vec<Assignment>)>,
}

/// A variant as written.
pub struct WrittenVariant {
    /// Its name.
    pub name: At<String>,
    /// Whether others are compared with it.
    pub baseline: Option<At<bool>>,
    /// What it sets.
    pub sets: Vec<Assignment>,
    /// What it turns on the hosts.
    pub tune: SidesTuning,
}

impl WrittenVariant {
    /// Whether others are compared with it.
    pub fn is_baseline(&self) -> bool {
        self.baseline.as_ref().is_some_and(|flag| flag.value)
    }
}

/// A factor as written: off is the baseline, on is what it sets and turns.
pub struct WrittenFactor {
    /// Its name.
    pub name: At<String>,
    /// What it sets where it is on.
    pub sets: Vec<Assignment>,
    /// What it turns on the hosts where it is on.
    pub tune: SidesTuning,
}

/// A gate as written.
pub struct WrittenGate {
    /// Path and place of its table.
    pub table: At<String>,
    /// What is compared.
    pub metric: At<Metric>,
    /// Name of the workload; absent is every workload that has the metric.
    pub workload: Option<At<String>>,
    /// Message size; absent is every size.
    pub size: Option<At<Bytes>>,
    /// Changes below this share do not matter; absent is the metric's own.
    pub margin: Option<f64>,
}
