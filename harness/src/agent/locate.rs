//! Finds verbs-bench and makes sure it starts, before anything is measured.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::Command,
};

use super::ended;

/// The program's name.
const NAME: &str = "verbs-bench";

/// A verbs-bench that starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbsBench {
    /// Where it lies.
    pub program: PathBuf,
    /// What it answers to `--version`.
    pub version: String,
}

/// Why there is no verbs-bench to run.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// Nowhere to be found.
    #[error(
        "verbs-bench was not found beside {} nor in PATH; build it (`cargo build --release -p verbs-bench`) or name it with --verbs-bench FILE or VERBS_BENCH",
        beside.display()
    )]
    NotFound {
        /// The folder of this program.
        beside: PathBuf,
    },
    /// It is there and can't be started.
    #[error("starting {}: {cause}; check that it is an executable of this machine", program.display())]
    Start {
        /// Where it lies.
        program: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// It starts and fails at once.
    #[error("{} --version: {cause}; {advice}", program.display())]
    Broken {
        /// Where it lies.
        program: PathBuf,
        /// How it ended.
        cause: String,
        /// What to do.
        advice: String,
    },
}

/// Finds verbs-bench: the one that was named, else the one beside this program, else the one in PATH.
pub fn locate(named: Option<&Path>) -> Result<VerbsBench, LocateError> {
    let program = match named {
        Some(program) => program.to_owned(),
        None => search()?,
    };
    let version = version(&program)?;
    Ok(VerbsBench { program, version })
}

fn search() -> Result<PathBuf, LocateError> {
    let own = env::current_exe().unwrap_or_default();
    let beside = own.parent().unwrap_or(Path::new("")).to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    std::iter::once(beside.clone())
        .chain(env::split_paths(&path))
        .map(|folder| folder.join(NAME))
        .find(|program| program.is_file())
        .ok_or(LocateError::NotFound { beside })
}

fn version(program: &Path) -> Result<String, LocateError> {
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|cause| LocateError::Start { program: program.to_owned(), cause })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let (cause, advice) = ended::explain(output.status, &String::from_utf8_lossy(&output.stderr));
    Err(LocateError::Broken { program: program.to_owned(), cause, advice })
}
