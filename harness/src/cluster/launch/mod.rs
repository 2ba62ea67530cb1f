//! Starts an agent on every node of a cluster, by the scheduler the site has, by ssh, or here; or waits for agents that others
//! start.
//!
//! Which nodes are wanted is settled first (`wanted.rs`), from the command line, a host file, a topology file or the
//! allocation; starting (`stdio.rs`) gives each a link, or says why it has none. A node without an agent
//! is no reason to measure none: it is told of and left out.

mod host_file;
mod node_set;
mod stdio;
mod topology;
mod wanted;
mod words;

use std::{io, path::PathBuf, sync::mpsc::Sender, time::Duration};

use schema::LauncherKind;

pub use wanted::wanted;

use super::{Mustered, Rank, WantedNode};
use crate::{
    agent::{self, link::Event},
    interrupt::Interrupt,
    scenario::FaultReport,
};

/// How long agents are waited for where nothing else is said.
pub const WAIT: Duration = Duration::from_secs(60);

/// What is asked of a launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// How agents are started.
    pub kind: LauncherKind,
    /// A set of nodes, `node[1-8]`; or how many, where names say nothing (local, join).
    pub nodes: Option<String>,
    /// A file with one node a line.
    pub hostfile: Option<PathBuf>,
    /// A file that tells which switches are above which nodes, as Slurm's `topology.conf`.
    pub topology: Option<PathBuf>,
    /// How long an agent may take to come.
    pub wait: Duration,
}

/// Agents, started as far as they came.
pub struct Started {
    /// Every node that was wanted, by rank.
    pub nodes: Vec<Mustered>,
}

impl Started {
    /// Ends what started the agents, once they were dismissed; gives what is not as it was, in words.
    pub fn end(self) -> Vec<String> {
        Vec::new()
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
    /// What is asked can't be done, and what to do.
    #[error("{0}")]
    Wrong(String),
    /// Someone asked to stop before the agents had come.
    #[error("interrupted before the agents had come")]
    Interrupted,
}

impl LaunchError {
    /// Whether it is the user's to correct: nothing was started then.
    pub fn is_wrong_use(&self) -> bool {
        !matches!(self, LaunchError::Interrupted)
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
    let nodes = match ask.kind {
        LauncherKind::Local | LauncherKind::Ssh => {
            stdio::start(wanted, launcher, ask.wait, events, interrupt)
        }
        LauncherKind::Join | LauncherKind::Slurm => {
            return Err(LaunchError::Wrong(format!("the launcher {} is not there yet", ask.kind)));
        }
    };
    if interrupt.is_raised() {
        return Err(LaunchError::Interrupted);
    }
    Ok(Started { nodes })
}
