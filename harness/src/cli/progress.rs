//! How a campaign goes on, on stderr: a line that moves on a terminal, plain lines elsewhere.
//!
//! Drawn between runs only. Nothing ticks while a run measures.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressStyle};
use rdma_harness::{
    plan::PlannedRun,
    run::{Look, Observer, Progress},
    words,
};
use schema::{Design, Purpose, RunRecord, StopRule, Stopped};

/// Shows progress.
pub(super) struct Shown {
    on: On,
    /// Blocks of the campaign, at most.
    blocks: u32,
    /// What stands before a time or a number that holds only if all blocks are made.
    at_most: &'static str,
}

enum On {
    /// A terminal.
    Bar(ProgressBar),
    /// A file, a pipe, a CI log.
    Lines,
}

impl Shown {
    /// On stderr, in the way that suits it.
    pub(super) fn on_stderr(runs: usize, design: &Design) -> Self {
        let at_most = if design.stop == StopRule::AllBlocks { "" } else { "at most " };
        let on = if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template(&format!(
                "{{bar:24}} run {{pos}} of {at_most}{{len}}  {{wide_msg}}"
            ));
            let style = style.expect("the template is one of two constants that indicatif accepts");
            On::Bar(ProgressBar::new(runs as u64).with_style(style))
        } else {
            On::Lines
        };
        Shown { on, blocks: design.blocks, at_most }
    }

    /// Leaves the last lines standing.
    pub(super) fn finish(&self) {
        if let On::Bar(bar) = &self.on {
            bar.finish_and_clear();
        }
    }

    /// A line that stays.
    fn say(&self, line: &str) {
        match &self.on {
            On::Bar(bar) => bar.println(line),
            On::Lines => eprintln!("{line}"),
        }
    }

    fn left(&self, progress: &Progress) -> String {
        let left = progress.time_left();
        left.map_or(String::new(), |left| format!(", {}{} left", self.at_most, words::time(left)))
    }
}

fn name(run: &PlannedRun) -> String {
    let control = if run.purpose == Purpose::Control { " (control)" } else { "" };
    format!("{} {}{control}", run.workload, run.variant)
}

impl Observer for Shown {
    fn started(&mut self, progress: &Progress, run: &PlannedRun) {
        if let On::Bar(bar) = &self.on {
            bar.set_position(u64::from(progress.number));
            bar.set_message(format!("{}{}", name(run), self.left(progress)));
        }
    }

    fn ended(&mut self, progress: &Progress, run: &PlannedRun, record: &RunRecord) {
        let valid = record.is_valid();
        let what = if valid { words::measured(record) } else { words::ending(record) };
        match &self.on {
            On::Bar(bar) if valid => bar.set_message(format!("{} {what}{}", name(run), self.left(progress))),
            On::Bar(bar) => bar.println(format!("run {}: {} {what}", progress.number, name(run))),
            On::Lines => eprintln!(
                "run {} of {}{}: {} {what}{}",
                progress.number,
                self.at_most,
                progress.of,
                name(run),
                self.left(progress)
            ),
        }
    }

    fn looked(&mut self, look: &Look) {
        let Look { number, of, blocks, standing } = look;
        let (decided, gates) = (standing.decided, standing.gates);
        self.say(&format!("look {number} of {of} after {blocks} blocks: {decided} of {gates} gates decided"));
    }

    fn stopped(&mut self, why: Stopped, blocks: u32) {
        self.say(&format!(
            "stopped after {blocks} of at most {} blocks: {}",
            self.blocks,
            words::stopped(why)
        ));
    }
}
