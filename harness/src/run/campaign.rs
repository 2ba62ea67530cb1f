//! The loop of a campaign.

use std::time::{Duration, Instant};

use schema::{Grouping, Outcome, RunRecord, Stopped, Variant, Workload};

use super::{
    Executor, Task,
    stopping::{Look, Next, Stopping},
};
use crate::{
    interrupt::Interrupt,
    plan::{PlannedRun, spec},
    store::{Store, StoreError},
};

/// Failures with one cause, from the very start on, after which nothing can be expected of the next run.
const HOPELESS: u32 = 3;

/// How a campaign came to its end for now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Every run was tried, or no more were needed.
    Finished,
    /// Someone asked to stop; what was done is kept.
    Interrupted,
    /// The first runs all failed for one reason.
    Hopeless(Outcome),
    /// An agent is gone; the run it was lost in is kept as failed.
    Lost(String),
}

/// Where a campaign stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Position of the run, from 1, among those to be made now.
    pub number: u32,
    /// Runs to be made now, if none of them turns out not to be needed.
    pub of: u32,
    /// Time since the first.
    pub elapsed: Duration,
}

impl Progress {
    /// Time left for all of them, judging by the runs that have ended; none before the first has.
    pub fn time_left(&self) -> Option<Duration> {
        let ended = self.number - 1;
        (ended > 0).then(|| self.elapsed / ended * (self.of - ended))
    }
}

/// Is told how a campaign goes on.
pub trait Observer {
    /// A run starts.
    fn started(&mut self, progress: &Progress, run: &PlannedRun);
    /// A run ended and is kept.
    fn ended(&mut self, progress: &Progress, run: &PlannedRun, record: &RunRecord);
    /// The gates were looked at.
    fn looked(&mut self, look: &Look);
    /// No more blocks are made after these.
    fn stopped(&mut self, why: Stopped, blocks: u32);
}

/// What is to be done of a campaign.
pub struct Work<'c> {
    /// Its number in the store.
    pub campaign: i64,
    /// Its variants.
    pub variants: &'c [Variant],
    /// What its runs share.
    pub grouping: Grouping,
    /// Its workloads, with every spec.
    pub workloads: &'c [Workload],
    /// The runs to make, in order.
    pub runs: &'c [PlannedRun],
    /// Pause between two runs.
    pub cooldown: Duration,
    /// When it may stop before all its blocks are made; none where it may not.
    pub stopping: Option<Stopping>,
}

impl Work<'_> {
    /// The run at a position.
    fn task(&self, n: usize) -> Task<'_> {
        const OF_THE_PLAN: &str = "the store refuses runs that are not of the campaign's plan";
        let run = &self.runs[n];
        let group = |run: &PlannedRun| (run.block, run.variant.clone(), run.purpose);
        let same_group = |next: &PlannedRun| group(next) == group(run);
        Task {
            spec: spec(self.workloads, run).expect(OF_THE_PLAN),
            variant: self.variants.iter().position(|variant| variant.name == run.variant).expect(OF_THE_PLAN),
            keep: self.grouping == Grouping::PerBlock && self.runs.get(n + 1).is_some_and(same_group),
        }
    }
}

/// Makes the runs, each stored before the next starts.
pub fn carry_out(
    work: &mut Work<'_>,
    store: &mut Store,
    executor: &mut dyn Executor,
    observer: &mut dyn Observer,
    interrupt: &Interrupt,
) -> Result<Ending, StoreError> {
    let start = Instant::now();
    let mut kept = start;
    let mut streak = Streak::default();
    for (n, run) in work.runs.iter().enumerate() {
        if interrupt.is_raised() {
            return Ok(Ending::Interrupted);
        }
        if let Some(stopping) = &mut work.stopping {
            let next = stopping.before(run, work.campaign, store, &mut |look| observer.looked(look))?;
            if let Next::Stop(why) = next {
                store.stop(work.campaign, why)?;
                observer.stopped(why, run.block);
                return Ok(Ending::Finished);
            }
        }
        if n > 0 && !interrupt.sleep(work.cooldown) {
            return Ok(Ending::Interrupted);
        }
        let progress =
            Progress { number: n as u32 + 1, of: work.runs.len() as u32, elapsed: start.elapsed() };
        observer.started(&progress, run);
        let Some(record) = executor.execute(&work.task(n), interrupt) else { return Ok(Ending::Interrupted) };
        let took = kept.elapsed();
        kept = Instant::now();
        store.add_run(work.campaign, run.sequence, &record, took)?;
        if let Some(stopping) = &mut work.stopping {
            stopping.spend(took);
        }
        observer.ended(&progress, run, &record);
        if let Some(why) = executor.lost() {
            return Ok(Ending::Lost(why.to_owned()));
        }
        if streak.is_hopeless_after(&record.outcome) {
            return Ok(Ending::Hopeless(record.outcome));
        }
    }
    if let (Some(stopping), Some(last)) = (&work.stopping, work.runs.last()) {
        stopping.look(last.block + 1, work.campaign, store, &mut |look| observer.looked(look))?;
    }
    Ok(Ending::Finished)
}

/// Watches the very first runs for a failure that repeats itself.
#[derive(Default)]
struct Streak {
    first: Option<Outcome>,
    length: u32,
    broken: bool,
}

impl Streak {
    fn is_hopeless_after(&mut self, outcome: &Outcome) -> bool {
        if self.broken {
            return false;
        }
        let first = self.first.get_or_insert_with(|| outcome.clone());
        self.broken = outcome.is_completed() || gist(first) != gist(outcome);
        self.length += 1;
        !self.broken && self.length >= HOPELESS
    }
}

/// The outcome in words without its numbers: queue pair and port numbers differ from run to run, the cause does not.
fn gist(outcome: &Outcome) -> String {
    outcome.to_string().chars().filter(|c| !c.is_ascii_hexdigit()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schema::CampaignState;

    use super::*;
    use crate::{
        plan::plan,
        run::scripted::{Bench, Fake, SCENARIO},
        scenario::parse,
    };

    #[test]
    fn every_planned_run_is_made_once_and_kept() {
        let mut bench = Bench::new();
        let mut fake = Fake::default();
        assert_eq!(bench.go(&mut fake), Ending::Finished);
        assert_eq!((fake.made, bench.kept()), (6, 6));
        let campaign = bench.store.load(bench.id).unwrap();
        assert_eq!(campaign.state, CampaignState::Finished);
        assert!(
            campaign.runs.iter().zip(&bench.plan.runs).all(|(run, planned)| run.sequence == planned.sequence)
        );
        assert!(
            campaign.runs.iter().all(|run| run.record.spec == bench.plan.workloads[0].specs[&run.variant])
        );
    }

    #[test]
    fn an_interrupted_campaign_keeps_its_runs_and_goes_on_where_it_stopped() {
        let mut bench = Bench::new();
        assert_eq!(bench.go(&mut Fake { interrupt_at: Some(4), ..Fake::default() }), Ending::Interrupted);
        assert_eq!(bench.kept(), 4);
        let mut rest = Fake::default();
        assert_eq!(bench.go(&mut rest), Ending::Finished);
        assert_eq!((rest.made, bench.kept()), (2, 6));
    }

    #[test]
    fn failures_are_data_and_the_campaign_goes_on() {
        let mut bench = Bench::new();
        let mut fake = Fake { failures: vec!["", "no link", "no link", "no link"], ..Fake::default() };
        assert_eq!(bench.go(&mut fake), Ending::Finished);
        assert_eq!(bench.kept(), 6);
        assert_eq!(bench.store.campaigns().unwrap()[0].not_completed, 3);
    }

    #[test]
    fn three_like_failures_at_the_very_start_end_it() {
        let mut bench = Bench::new();
        let mut fake = Fake { failures: vec!["no link"; 6], ..Fake::default() };
        assert!(matches!(bench.go(&mut fake), Ending::Hopeless(_)));
        assert_eq!((fake.made, bench.kept()), (3, 3));
        let mut numbered =
            Fake { failures: vec!["QP 0x11 lost", "QP 0x2f lost", "QP 0x9 lost"], ..Fake::default() };
        assert!(matches!(Bench::new().go(&mut numbered), Ending::Hopeless(_)));
        let mut different = Fake { failures: vec!["no link", "no token", "no link"], ..Fake::default() };
        assert_eq!(Bench::new().go(&mut different), Ending::Finished);
    }

    #[test]
    fn time_left_is_judged_by_what_was_done() {
        let at = |number| Progress { number, of: 10, elapsed: Duration::from_secs(8) };
        assert_eq!(at(1).time_left(), None);
        assert_eq!(at(5).time_left(), Some(Duration::from_secs(12)));
    }

    #[test]
    fn hosts_stay_tuned_within_a_group_and_no_longer() {
        let slow = SCENARIO
            .replace("name = \"deep\"", "name = \"deep\"\ntune.huge_pages = { \"0:2Mi\" = 8 }")
            + "[[workloads]]\nname = \"v\"\ntest = \"latency\"\nop = \"write\"\n";
        for (text, once_a_block) in [
            (slow.as_str(), true),
            (&slow.replace("huge_pages", "thp").replace("\"0:2Mi\" = 8", "enabled = \"never\""), false),
        ] {
            let plan = plan(&parse(Path::new("x.toml"), text.to_owned()).unwrap(), 1).unwrap();
            let work = Work {
                campaign: 1,
                variants: &plan.variants,
                grouping: plan.design.grouping,
                workloads: &plan.workloads,
                runs: &plan.runs,
                cooldown: Duration::ZERO,
                stopping: None,
            };
            let tasks: Vec<Task<'_>> = (0..plan.runs.len()).map(|n| work.task(n)).collect();
            assert!(
                tasks
                    .iter()
                    .zip(&plan.runs)
                    .all(|(task, run)| plan.variants[task.variant].name == run.variant)
            );
            // Two workloads a group: the first of them keeps, the second does not.
            let kept: Vec<bool> = tasks.iter().map(|task| task.keep).collect();
            let wanted: Vec<bool> = (0..plan.runs.len()).map(|n| once_a_block && n % 2 == 0).collect();
            assert_eq!(kept, wanted, "{text}");
        }
    }
}
