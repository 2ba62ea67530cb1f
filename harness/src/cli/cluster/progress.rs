//! How a cluster goes on, on stderr: a line that moves on a terminal; elsewhere a line now and then, and never one a pair.

use std::{
    io::IsTerminal as _,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use rdma_harness::{
    cluster::{
        measuring::{ClusterObserver, RoundProgress},
        suite::Step,
    },
    words,
};
use schema::{ClusterNode, NodeState, PairOutcome, PairRun, Round, RoundPart};

/// How often a file or a CI log is told.
const TELL_EVERY: Duration = Duration::from_secs(30);

/// Shows progress.
pub(super) struct Shown {
    cluster: i64,
    nodes: usize,
    present: usize,
    /// None where it is not a terminal.
    bar: Option<ProgressBar>,
    told_at: Option<Instant>,
    could_not_run: usize,
    invalid: usize,
}

impl Shown {
    /// On stderr, in the way that suits it.
    pub(super) fn on_stderr(cluster: i64, nodes: &[ClusterNode]) -> Self {
        let style = ProgressStyle::with_template("{bar:24} round {pos} of {len}  {wide_msg}")
            .expect("the template is a constant that indicatif accepts");
        let bar = std::io::stderr().is_terminal().then(|| ProgressBar::new(1).with_style(style));
        let present = nodes.iter().filter(|node| node.state == NodeState::Present).count();
        Shown { cluster, nodes: nodes.len(), present, bar, told_at: None, could_not_run: 0, invalid: 0 }
    }

    /// Leaves the last lines standing.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line that stays.
    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    fn state(&self, progress: &RoundProgress, label: &str) -> String {
        let mut state = label.to_owned();
        for (number, what) in [(self.could_not_run, "could not run"), (self.invalid, "not used")] {
            if number > 0 {
                state.push_str(&format!(", {number} {what}"));
            }
        }
        if let Some(left) = progress.time_left() {
            state.push_str(&format!(", {} left", words::time(left)));
        }
        state
    }
}

impl ClusterObserver for Shown {
    fn begins(&mut self, rounds: u32, kept: u32) {
        let Shown { cluster, nodes, present, .. } = *self;
        let kept = if kept > 0 { format!(", {kept} of them made before") } else { String::new() };
        self.say(&format!("cluster {cluster}: {present} of {nodes} nodes are there, {rounds} rounds{kept}"));
    }

    fn starts(&mut self, progress: &RoundProgress, step: &Step) {
        let again = if progress.part == RoundPart::Retest { "again: " } else { "" };
        let state = self.state(progress, &format!("{again}{}", step.label));
        match &self.bar {
            Some(bar) => {
                bar.set_length(u64::from(progress.of));
                bar.set_position(u64::from(progress.number));
                bar.set_message(state);
            }
            None if self.told_at.is_none_or(|told| told.elapsed() >= TELL_EVERY) => {
                self.told_at = Some(Instant::now());
                eprintln!("round {} of {}: {state}", progress.number, progress.of);
            }
            None => {}
        }
    }

    fn ended(&mut self, _progress: &RoundProgress, _round: &Round, runs: &[PairRun]) {
        for run in runs {
            match run.outcome {
                PairOutcome::Measured => {}
                PairOutcome::Invalid { .. } => self.invalid += 1,
                PairOutcome::CouldNotRun { .. } => self.could_not_run += 1,
            }
        }
    }

    fn lost(&mut self, node: &str, why: &str) {
        self.say(&format!("{node} is lost: {why}; the others go on"));
    }

    fn again(&mut self, suspects: usize) {
        self.told_at = None;
        self.say(&format!("{suspects} thing(s) stand out and are measured again"));
    }
}
