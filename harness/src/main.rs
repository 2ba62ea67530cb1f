//! The `rdma-harness` program: parses the command line, carries it out, and turns the outcome into an exit code.
#![forbid(unsafe_code)]

mod cli;
mod exit;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let command = cli::Cli::parse();
    match command.execute() {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("rdma-harness: {error:#}");
            exit::of_error(&error).into()
        }
    }
}
