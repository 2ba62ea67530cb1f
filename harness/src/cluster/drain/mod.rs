//! Takes nodes that were found slow out of a Slurm cluster, and gives those back that are well again.
//!
//! A reason that this program did not write is somebody's note: its node is left as it is, whatever was found. What is to be done is
//! settled first (`plan.rs`, pure) and can be looked at; each node is read again before it is touched.

mod plan;
mod reason;
mod scontrol;
#[cfg(test)]
mod tests;

use schema::{Cluster, LauncherKind};

pub use plan::{Change, ChangeKind, DrainPlan, LeftAlone, Wishes, plan};
pub use reason::PREFIX;
pub use scontrol::{Scontrol, SlurmNode};

/// Why nothing was done, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// The cluster's nodes are not Slurm's.
    #[error(
        "the nodes of cluster {cluster} were named by the launcher {launcher}, not by Slurm; {}",
        advice(*.launcher)
    )]
    NotSlurm {
        /// Its number.
        cluster: i64,
        /// How its agents were started.
        launcher: LauncherKind,
    },
    /// Pairs are missing.
    #[error(
        "cluster {cluster} is unfinished, and what its other pairs would say is not known; go on with it by `cluster run --resume`"
    )]
    Unfinished {
        /// Its number.
        cluster: i64,
    },
    /// More nodes would be out than may be.
    #[error(
        "{would} nodes would be drained by this program at the same time, and at most {most} may be: where so many are slow, look for what they have in common; --at-most {would} allows it. Nothing was changed"
    )]
    TooMany {
        /// Nodes that would be drained.
        would: u32,
        /// As asked.
        most: u32,
    },
    /// The command could not be started.
    #[error("starting scontrol: {0}; it is part of Slurm, and must be in the PATH")]
    Start(std::io::Error),
    /// The command said no.
    #[error("`{command}` failed: {said}")]
    Refused {
        /// As it was given.
        command: String,
        /// What it said.
        said: String,
    },
}

fn advice(launcher: LauncherKind) -> &'static str {
    match launcher {
        LauncherKind::Ssh | LauncherKind::Join => "where they are the same, --slurm-names says so",
        LauncherKind::Local | LauncherKind::Slurm => "drain nodes by a cluster that Slurm started",
    }
}

impl DrainError {
    /// Whether what was asked is wrong, so that nothing was tried.
    pub fn is_wrong_use(&self) -> bool {
        matches!(self, DrainError::NotSlurm { .. } | DrainError::Unfinished { .. })
    }
}

/// Refuses clusters by which no node may be drained. `slurm_names` is the user's word that the names of an ssh cluster are Slurm's.
///
/// # Errors
/// When its nodes are not Slurm's, or pairs are missing.
pub fn check(cluster: &Cluster, slurm_names: bool) -> Result<(), DrainError> {
    let theirs = match cluster.launcher {
        LauncherKind::Slurm => true,
        LauncherKind::Ssh | LauncherKind::Join => slurm_names,
        LauncherKind::Local => false,
    };
    if !theirs {
        return Err(DrainError::NotSlurm { cluster: cluster.id, launcher: cluster.launcher });
    }
    if cluster.ended_at_unix_ms.is_none() {
        return Err(DrainError::Unfinished { cluster: cluster.id });
    }
    Ok(())
}

/// Makes a change, unless its node is not as it was when the change was planned: then it says so and leaves it.
///
/// # Errors
/// When scontrol can't be started or refuses.
pub fn apply(scontrol: &Scontrol, change: &Change) -> Result<Result<(), LeftAlone>, DrainError> {
    let now = scontrol.show(Some(&change.node))?;
    if now.first() != Some(&change.seen) || now.len() != 1 {
        let why = "was changed by someone else meanwhile".to_owned();
        return Ok(Err(LeftAlone { node: change.node.clone(), why }));
    }
    scontrol.update(&change.arguments())?;
    Ok(Ok(()))
}
