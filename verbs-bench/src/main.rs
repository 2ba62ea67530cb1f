//! The `verbs-bench` program: flags in, one measurement, a table or one JSON record out.

use std::process::ExitCode;

use clap::Parser;
use verbs_bench::cli::Cli;

fn main() -> ExitCode {
    verbs_bench::session::start_up::program_begins();
    ExitCode::from(Cli::parse().execute())
}
