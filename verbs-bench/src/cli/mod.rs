//! The command line: one file a subcommand. Turns flags into a RunSpec and a RunRecord into text; measures nothing.

mod devices;
mod flags;
mod perftest;
mod run;
#[cfg(test)]
mod sample;
mod serve;
mod table;
mod target;

use clap::{Parser, Subcommand};

/// Exit code of a usage error or a refused spec: nothing was touched.
pub const EXIT_USAGE: u8 = 2;
/// Exit code of a measurement that could not be made.
pub const EXIT_FAILED: u8 = 3;

/// RDMA bandwidth and latency between two processes.
///
/// On one host: `verbs-bench serve`. On the other: `verbs-bench run --peer HOST --test latency`. Without --peer, `run` starts
/// its own responder on this host; `--device soft` needs no RDMA device at all. `write-bw`, `read-lat` and their siblings
/// take perftest's flags and print perftest's table.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 110)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List RDMA devices, their ports and GIDs
    Devices(devices::Devices),
    /// Wait to be written to; takes no flags about the test
    Serve(serve::Serve),
    /// Measure
    Run(Box<run::Run>),
    #[command(flatten)]
    Perftest(perftest::Invocation),
    /// Every flag of perftest, and what becomes of it here
    PerftestFlags,
}

impl Cli {
    /// Runs the subcommand; returns the exit code.
    pub fn execute(self) -> u8 {
        match self.command {
            Command::Devices(devices) => devices.execute(),
            Command::Serve(serve) => serve.execute(),
            Command::Run(run) => run.execute(),
            Command::Perftest(invocation) => invocation.execute(),
            Command::PerftestFlags => {
                print!("{}", perftest::page());
                0
            }
        }
    }
}

/// Prints an error the way every subcommand does.
fn complain(error: impl std::fmt::Display) {
    eprintln!("verbs-bench: {error}");
}
