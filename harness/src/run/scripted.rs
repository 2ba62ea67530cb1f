//! A campaign whose runs are scripted: what each of them comes to is said beforehand, and nothing is measured.

use std::{path::Path, time::Duration};

use schema::{Campaign, Fabric, Outcome, RunRecord, Side, Stage, Stopped};

use super::{Ending, Executor, Look, Observer, Progress, Standing, Stopping, Task, Work, carry_out};
use crate::{
    interrupt::Interrupt,
    plan::{Plan, PlannedRun, plan},
    scenario::parse,
    store::{NewCampaign, Store},
};

/// Two blocks of three runs.
pub(super) const SCENARIO: &str = r#"
question = "Deeper?"
[design]
blocks = 2
seed = 1
cooldown = "0s"
[[workloads]]
name = "w"
test = "bandwidth"
op = "write"
[[variants]]
name = "shallow"
baseline = true
tx_depth = 1
[[variants]]
name = "deep"
"#;

/// Gives what its script says, then completes; interrupts itself at one run.
#[derive(Default)]
pub(super) struct Fake {
    pub(super) failures: Vec<&'static str>,
    pub(super) interrupt_at: Option<usize>,
    pub(super) made: usize,
}

impl Executor for Fake {
    fn execute(&mut self, task: &Task<'_>, interrupt: &Interrupt) -> Option<RunRecord> {
        if self.interrupt_at == Some(self.made) {
            interrupt.raise();
            return None;
        }
        let cause = self.failures.get(self.made).copied().unwrap_or_default();
        self.made += 1;
        let outcome = match cause {
            "" => Outcome::Completed,
            cause => Outcome::Failed {
                stage: Stage::Launch,
                side: Side::Requester,
                cause: cause.into(),
                advice: String::new(),
            },
        };
        Some(RunRecord::start(task.spec.clone(), Fabric::Verbs, self.made as u64, outcome))
    }
}

/// Remembers the looks, and why it stopped after how many blocks.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) looks: Vec<Look>,
    pub(super) stopped: Option<(Stopped, u32)>,
}

impl Observer for Seen {
    fn started(&mut self, _: &Progress, _: &PlannedRun) {}
    fn ended(&mut self, _: &Progress, _: &PlannedRun, _: &RunRecord) {}
    fn looked(&mut self, look: &Look) {
        self.looks.push(*look);
    }
    fn stopped(&mut self, why: Stopped, blocks: u32) {
        self.stopped = Some((why, blocks));
    }
}

/// A campaign in a store of its own.
pub(super) struct Bench {
    pub(super) store: Store,
    pub(super) plan: Plan,
    pub(super) id: i64,
    pub(super) seen: Seen,
    judge: fn(&Campaign) -> Standing,
    _folder: tempfile::TempDir,
}

impl Bench {
    /// [`SCENARIO`].
    pub(super) fn new() -> Self {
        Bench::of(SCENARIO, |_| panic!("a campaign that makes all its blocks takes no look"))
    }

    /// A scenario, and who says what is decided.
    pub(super) fn of(text: &str, judge: fn(&Campaign) -> Standing) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create_or_open(&folder.path().join("store.db")).unwrap();
        let plan = plan(&parse(Path::new("x.toml"), text.to_owned()).unwrap(), 1).unwrap();
        let id = store.begin(&NewCampaign { plan: &plan, started_at_unix_ms: 0 }).unwrap();
        Bench { store, plan, id, seen: Seen::default(), judge, _folder: folder }
    }

    /// A session: makes what is missing.
    pub(super) fn go(&mut self, fake: &mut Fake) -> Ending {
        self.go_on(fake, false)
    }

    /// The same; with `failed`, what did not complete too.
    pub(super) fn go_on(&mut self, fake: &mut Fake, failed: bool) -> Ending {
        let runs = self.store.missing_runs(self.id, failed).unwrap();
        let campaign = self.store.load(self.id).unwrap();
        let mut work = Work {
            campaign: self.id,
            variants: &self.plan.variants,
            grouping: self.plan.design.grouping,
            workloads: &self.plan.workloads,
            runs: &runs,
            cooldown: Duration::ZERO,
            stopping: Stopping::of(&campaign, &self.store, self.judge).unwrap(),
        };
        carry_out(&mut work, &mut self.store, fake, &mut self.seen, &Interrupt::default()).unwrap()
    }

    /// Runs that are kept.
    pub(super) fn kept(&self) -> usize {
        self.store.load(self.id).unwrap().runs.len()
    }
}
