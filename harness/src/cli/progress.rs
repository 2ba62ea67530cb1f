//! How a campaign goes on, on stderr: a line that moves on a terminal, plain lines elsewhere.
//!
//! Drawn between runs only. Nothing ticks while a run measures.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};
use rdma_harness::{
    plan::PlannedRun,
    run::{Observer, Progress},
    words,
};
use schema::{Purpose, RunRecord};

/// Shows progress.
pub(super) enum Shown {
    /// A terminal.
    Bar(ProgressBar),
    /// A file, a pipe, a CI log.
    Lines,
}

impl Shown {
    /// On stderr, in the way that suits it.
    pub(super) fn on_stderr(runs: usize) -> Self {
        if !std::io::stderr().is_terminal() {
            return Shown::Lines;
        }
        let style = ProgressStyle::with_template("{bar:24} run {pos} of {len}  {wide_msg}");
        let style = style.expect("the template is a constant that indicatif accepts");
        Shown::Bar(ProgressBar::new(runs as u64).with_style(style))
    }

    /// Leaves the last lines standing.
    pub(super) fn finish(&self) {
        if let Shown::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn name(run: &PlannedRun) -> String {
    let control = if run.purpose == Purpose::Control { " (control)" } else { "" };
    format!("{} {}{control}", run.workload, run.variant)
}

fn left(progress: &Progress) -> String {
    progress.time_left().map_or(String::new(), |left| format!(", {} left", words::time(left)))
}

impl Observer for Shown {
    fn started(&mut self, progress: &Progress, run: &PlannedRun) {
        if let Shown::Bar(bar) = self {
            bar.set_position(u64::from(progress.number));
            bar.set_message(format!("{}{}", name(run), left(progress)));
        }
    }

    fn ended(&mut self, progress: &Progress, run: &PlannedRun, record: &RunRecord) {
        let valid = record.is_valid();
        let what = if valid { words::measured(record) } else { words::ending(record) };
        match self {
            Shown::Bar(bar) if valid => bar.set_message(format!("{} {what}{}", name(run), left(progress))),
            Shown::Bar(bar) => bar.println(format!("run {}: {} {what}", progress.number, name(run))),
            Shown::Lines => {
                eprintln!(
                    "run {} of {}: {} {what}{}",
                    progress.number,
                    progress.of,
                    name(run),
                    left(progress)
                );
            }
        }
    }
}
