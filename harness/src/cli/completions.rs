//! `completions`: a script that teaches a shell the command line.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::exit::Exit;

/// Arguments of `completions`.
#[derive(Args)]
#[command(after_help = "Example:\n  rdma-harness completions bash > /etc/bash_completion.d/rdma-harness")]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        clap_complete::generate(
            self.shell,
            &mut super::Cli::command(),
            "rdma-harness",
            &mut std::io::stdout(),
        );
        Ok(Exit::Fine)
    }
}
