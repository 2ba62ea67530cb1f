//! The `verbs-bench` program: flags in, one measurement, a table or one JSON record out.

use std::process::ExitCode;

use clap::Parser;
use verbs_bench::cli::Cli;

fn main() -> ExitCode {
    ExitCode::from(Cli::parse().execute())
}
