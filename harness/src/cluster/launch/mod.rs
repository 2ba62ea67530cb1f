//! Starts an agent on every node of a cluster, by the scheduler the site has, by ssh, or here; or waits for agents that others
//! start.
//!
//! Which nodes are wanted is settled first (`wanted.rs`), from the command line, a host file, a topology file or the
//! allocation; starting (`stdio.rs`, `join.rs`, `slurm/`) gives each a link, or says why it has none. Agents that connect to us
//! pass a gate (`gate.rs`). A node without an agent is no reason to measure none: it is told of and left out.

mod gate;
mod host_file;
mod join;
mod muster;
mod node_set;
mod say;
mod seats;
mod slurm;
mod stdio;
mod topology;
mod wanted;
mod words;

use std::{collections::BTreeMap, io, net::SocketAddr, path::PathBuf, sync::mpsc::Sender, time::Duration};

use schema::LauncherKind;

pub use say::Say;
pub use wanted::wanted;

use super::{Mustered, Rank, WantedNode};
use crate::{
    agent::{self, join::TokenError, link::Event},
    interrupt::Interrupt,
    scenario::FaultReport,
};

/// How long agents are waited for where nothing else is said.
pub const WAIT: Duration = Duration::from_secs(60);
/// How long what started the agents may take to end after them.
const FAREWELL: Duration = Duration::from_secs(60);

/// What is asked of a launcher.
#[derive(Debug, Clone)]
pub struct Ask {
    /// How agents are started.
    pub kind: LauncherKind,
    /// A set of nodes, `node[1-8]`; or how many, where names say nothing (local, join).
    pub nodes: Option<String>,
    /// A file with one node a line.
    pub hostfile: Option<PathBuf>,
    /// A file that tells which switches are above which nodes, as Slurm's `topology.conf`.
    pub topology: Option<PathBuf>,
    /// Where agents that connect to us find us (join, slurm); none is any address and a port of the kernel's choice.
    pub listen: Option<SocketAddr>,
    /// The host by which they find us; none is found out.
    pub controller: Option<String>,
    /// The file of the token that they prove (join): read, or written where it is not there; none is one that goes with the start.
    pub token_file: Option<PathBuf>,
    /// How long an agent may take to come.
    pub wait: Duration,
    /// Where is said what is waited for.
    pub say: Say,
}

impl Ask {
    /// Asks for no more than a kind, and says things to stderr.
    pub fn new(kind: LauncherKind) -> Self {
        Ask {
            kind,
            nodes: None,
            hostfile: None,
            topology: None,
            listen: None,
            controller: None,
            token_file: None,
            wait: WAIT,
            say: Say::new(|line| eprintln!("{line}")),
        }
    }

    /// Whether nodes are told by how many they are, not by name.
    fn is_numbered(&self) -> bool {
        let number = |nodes: &String| !nodes.is_empty() && nodes.bytes().all(|byte| byte.is_ascii_digit());
        self.hostfile.is_none() && self.nodes.as_ref().is_some_and(number)
    }
}

/// Agents, started as far as they came.
pub struct Started {
    /// Every node that was wanted, by rank.
    pub nodes: Vec<Mustered>,
    /// What started them, where it stays, and the names of their nodes by their numbers in it.
    step: Option<(slurm::Step, BTreeMap<u32, String>)>,
}

impl Started {
    /// Ends what started the agents, once they were dismissed; gives what they said at their end, in words.
    pub fn end(self) -> Vec<String> {
        let Some((step, names)) = self.step else { return Vec::new() };
        let said = step.finish(FAREWELL).into_iter();
        said.map(|(number, words)| match number.and_then(|number| names.get(&number)) {
            Some(name) => format!("{name}: {words}"),
            None => words,
        })
        .collect()
    }
}

/// Why there are no agents to work with.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// A file could not be read.
    #[error("reading the {what} {}: {cause}", file.display())]
    Read {
        /// What it is.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// A file or a set of nodes says something that can't be meant.
    #[error("{0}")]
    Faults(FaultReport),
    /// There is no address to wait at.
    #[error("listening on {}: {cause}; give an address of this host with --listen", address.map_or("any address".to_owned(), |address| address.to_string()))]
    Listen {
        /// What was asked.
        address: Option<SocketAddr>,
        /// Why not.
        cause: io::Error,
    },
    /// There is no token to prove.
    #[error("{0}")]
    Token(#[from] TokenError),
    /// What an agent was told of its node is not what was said here.
    #[error("{0}")]
    Contradiction(String),
    /// What is asked can't be done, and what to do.
    #[error("{0}")]
    Wrong(String),
    /// The scheduler's way to start agents could not be started.
    #[error("starting srun: {0}; is Slurm's srun in the PATH?")]
    NoStep(io::Error),
    /// Someone asked to stop before the agents had come.
    #[error("interrupted before the agents had come")]
    Interrupted,
}

impl LaunchError {
    /// Whether it is the user's to correct: nothing was measured then.
    pub fn is_wrong_use(&self) -> bool {
        !matches!(self, LaunchError::Interrupted | LaunchError::NoStep(_))
    }
}

/// Starts the agents of the wanted nodes, whose reports go to `events`.
///
/// # Errors
/// When none can be started, or someone asks to stop meanwhile: those that came are gone again then.
pub fn start(
    ask: &Ask,
    wanted: Vec<WantedNode>,
    launcher: &agent::Launcher,
    events: &Sender<Event<Rank>>,
    interrupt: &Interrupt,
) -> Result<Started, LaunchError> {
    let mut step = None;
    let nodes = match ask.kind {
        LauncherKind::Local | LauncherKind::Ssh => {
            stdio::start(wanted, launcher, ask.wait, events, interrupt)
        }
        LauncherKind::Join => join::start(ask, wanted, events, interrupt)?,
        LauncherKind::Slurm => {
            let stepped = slurm::start(ask, &wanted, launcher, interrupt)?;
            let name = |(rank, comer): (&Rank, &gate::Comer)| {
                (comer.identity.rank, wanted[*rank as usize].name.clone())
            };
            let names = stepped.comers.iter().map(name).collect();
            step = stepped.step.map(|step| (step, names));
            let absent = |rank, _: &WantedNode| stepped.absent.get(&rank).cloned().unwrap_or_default();
            muster::muster(wanted, stepped.comers, events, absent)?
        }
    };
    if interrupt.is_raised() {
        return Err(LaunchError::Interrupted);
    }
    Ok(Started { nodes, step })
}
