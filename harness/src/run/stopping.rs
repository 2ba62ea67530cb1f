//! Between two blocks: whether a campaign that may stop early needs another one.
//!
//! Only whole blocks count, and what is looked at is what the store holds, so a campaign that was interrupted takes the
//! same looks as one that was not. The budget of time is spent by measuring, not by the night between two sessions.

use std::time::Duration;

use reports::CompareOptions;
use schema::{Campaign, StopRule, Stopped};

use crate::{
    plan::PlannedRun,
    store::{Store, StoreError},
};

/// How many of a campaign's gates are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Gates that more blocks are not needed for.
    pub decided: u32,
    /// Gates there are.
    pub gates: u32,
}

impl Standing {
    /// Whether nothing is left to decide.
    pub fn is_decided(self) -> bool {
        self.decided >= self.gates
    }
}

/// How many gates of a campaign are decided, by the rules that its comparison goes by.
pub fn standing(campaign: &Campaign) -> Standing {
    let comparison = reports::compare(campaign, &CompareOptions::default());
    let decided = comparison.gates().filter(|gate| gate.is_decided()).count() as u32;
    Standing { decided, gates: comparison.gates().count() as u32 }
}

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Which look, from 1.
    pub number: u32,
    /// Looks at most.
    pub of: u32,
    /// Whole blocks looked at.
    pub blocks: u32,
    /// What was decided.
    pub standing: Standing,
}

/// What is known of a campaign that may stop early when a session of it begins.
pub struct Stopping {
    looks: Vec<u32>,
    max_time: Option<Duration>,
    judge: fn(&Campaign) -> Standing,
    fresh: u32,
    spent: Duration,
}

/// What there is to do before a block.
pub(super) enum Next {
    /// The block is made.
    GoOn,
    /// No more blocks are made.
    Stop(Stopped),
}

impl Stopping {
    /// The state of a campaign as the store has it; none for one that makes all its blocks, or has stopped.
    pub fn of(
        campaign: &Campaign,
        store: &Store,
        judge: fn(&Campaign) -> Standing,
    ) -> Result<Option<Stopping>, StoreError> {
        let StopRule::WhenDecided { max_time_ns, .. } = campaign.design.stop else { return Ok(None) };
        if campaign.stopped.is_some() {
            return Ok(None);
        }
        Ok(Some(Stopping {
            looks: campaign.design.looks(),
            max_time: max_time_ns.map(|time| Duration::from_nanos(time.get())),
            judge,
            fresh: campaign.runs.iter().map(|run| run.block + 1).max().unwrap_or(0),
            spent: store.times(campaign.id)?.iter().map(|(_, took)| *took).sum(),
        }))
    }

    /// Counts what a run took.
    pub(super) fn spend(&mut self, took: Duration) {
        self.spent += took;
    }

    /// Asked before a run: where it begins a block, looks if a look is due, and judges whether the time suffices.
    pub(super) fn before(
        &mut self,
        run: &PlannedRun,
        campaign: i64,
        store: &Store,
        look: &mut dyn FnMut(&Look),
    ) -> Result<Next, StoreError> {
        let whole = run.block;
        if whole < self.fresh {
            return Ok(Next::GoOn);
        }
        self.fresh = whole + 1;
        if self.look(whole, campaign, store, look)? {
            return Ok(Next::Stop(Stopped::Decided));
        }
        let late = whole > 0 && self.max_time.is_some_and(|most| self.spent + self.spent / whole > most);
        Ok(if late { Next::Stop(Stopped::TimeSpent) } else { Next::GoOn })
    }

    /// Takes the look that is due after this many blocks, if one is; whether everything is decided.
    pub(super) fn look(
        &self,
        whole: u32,
        campaign: i64,
        store: &Store,
        look: &mut dyn FnMut(&Look),
    ) -> Result<bool, StoreError> {
        let Some(position) = self.looks.iter().position(|blocks| *blocks == whole) else { return Ok(false) };
        let standing = (self.judge)(&store.load(campaign)?);
        let of = self.looks.len() as u32;
        look(&Look { number: position as u32 + 1, of, blocks: whole, standing });
        Ok(standing.is_decided())
    }
}

#[cfg(test)]
mod tests {
    use schema::CampaignState;

    use super::*;
    use crate::run::{
        Ending,
        scripted::{Bench, Fake, SCENARIO},
    };

    /// Runs of a block.
    const BLOCK: usize = 3;

    /// Twelve blocks at most, looked at after 6, 9 and 12; decided when this many are there.
    fn bench(judge: fn(&Campaign) -> Standing) -> Bench {
        let rule =
            "blocks = 12\nstop = \"when-decided\"\nfirst_look = 6\nlook_every = 3\nmax_time = \"1min\"";
        Bench::of(&SCENARIO.replace("blocks = 2", rule), judge)
    }

    fn decided_after(blocks: usize, campaign: &Campaign) -> Standing {
        assert_eq!(campaign.runs.len() % BLOCK, 0, "only whole blocks are looked at");
        Standing { decided: u32::from(campaign.runs.len() / BLOCK >= blocks), gates: 1 }
    }

    fn never(_: &Campaign) -> Standing {
        Standing { decided: 1, gates: 2 }
    }

    fn looked_at(bench: &Bench) -> Vec<u32> {
        bench.seen.looks.iter().map(|look| look.blocks).collect()
    }

    fn stopped(bench: &Bench) -> Option<Stopped> {
        bench.store.load(bench.id).unwrap().stopped
    }

    #[test]
    fn it_stops_at_the_look_that_decides_and_makes_no_run_more() {
        let mut bench = bench(|campaign| decided_after(8, campaign));
        let mut fake = Fake::default();
        assert_eq!(bench.go(&mut fake), Ending::Finished);
        assert_eq!((fake.made, looked_at(&bench)), (9 * BLOCK, vec![6, 9]));
        assert_eq!((bench.seen.looks[1].number, bench.seen.looks[1].of), (2, 3));
        assert_eq!(
            (stopped(&bench), bench.seen.stopped),
            (Some(Stopped::Decided), Some((Stopped::Decided, 9)))
        );
        assert_eq!(bench.store.load(bench.id).unwrap().state, CampaignState::Finished);
        assert_eq!(bench.go(&mut fake), Ending::Finished, "and there is nothing to go on with");
        assert_eq!(fake.made, 9 * BLOCK);
    }

    #[test]
    fn undecided_it_makes_all_its_blocks_and_looks_a_last_time() {
        let mut bench = bench(never);
        assert_eq!(bench.go(&mut Fake::default()), Ending::Finished);
        assert_eq!((bench.kept(), looked_at(&bench)), (12 * BLOCK, vec![6, 9, 12]));
        assert_eq!((stopped(&bench), bench.seen.stopped), (Some(Stopped::BlocksSpent), None));
    }

    #[test]
    fn wherever_it_is_interrupted_it_takes_the_same_looks_to_the_same_end() {
        for at in [0, 17, 18, 19, 20, 26] {
            let mut bench = bench(|campaign| decided_after(9, campaign));
            assert_eq!(
                bench.go(&mut Fake { interrupt_at: Some(at), ..Fake::default() }),
                Ending::Interrupted
            );
            assert_eq!((bench.kept(), stopped(&bench)), (at, None), "{at}");
            let mut rest = Fake::default();
            assert_eq!(bench.go(&mut rest), Ending::Finished);
            assert_eq!((at + rest.made, stopped(&bench)), (9 * BLOCK, Some(Stopped::Decided)), "{at}");
            let mut looks = looked_at(&bench);
            looks.dedup(); // a look taken right before the interruption is taken again, and says the same
            assert_eq!(looks, [6, 9], "{at}");
        }
    }

    #[test]
    fn a_kill_between_the_last_run_of_a_block_and_its_look_loses_no_look() {
        let mut bench = bench(|campaign| decided_after(6, campaign));
        for n in 0..6 * BLOCK {
            add(&mut bench, n, Duration::ZERO);
        }
        let mut fake = Fake::default();
        assert_eq!(bench.go(&mut fake), Ending::Finished);
        assert_eq!((fake.made, looked_at(&bench), stopped(&bench)), (0, vec![6], Some(Stopped::Decided)));
    }

    fn add(bench: &mut Bench, n: usize, took: Duration) {
        let run = &bench.plan.runs[n];
        let outcome = schema::Outcome::Completed;
        let spec = bench.plan.spec(run).clone();
        let record = schema::RunRecord::start(spec, schema::Fabric::Verbs, 0, outcome);
        bench.store.add_run(bench.id, run.sequence, &record, took).unwrap();
    }

    #[test]
    fn no_block_is_begun_that_would_end_after_its_time_and_one_begun_is_ended() {
        let slow = Duration::from_secs(10);
        let mut spent = bench(never);
        (0..2 * BLOCK).for_each(|n| add(&mut spent, n, slow));
        let mut fake = Fake::default();
        assert_eq!(spent.go(&mut fake), Ending::Finished);
        assert_eq!(
            (fake.made, spent.seen.stopped),
            (0, Some((Stopped::TimeSpent, 2))),
            "60 s of 60 s are gone"
        );
        assert_eq!(stopped(&spent), Some(Stopped::TimeSpent));

        let mut within = bench(never);
        (0..BLOCK + 1).for_each(|n| add(&mut within, n, Duration::from_secs(9)));
        assert_eq!(within.go(&mut Fake::default()), Ending::Finished);
        // 36 s over 2 blocks: a third is expected to end at 54 s, in time; and every further one takes next to nothing.
        assert_eq!(stopped(&within), Some(Stopped::BlocksSpent));

        let mut begun = bench(never);
        (0..2 * BLOCK + 1).for_each(|n| add(&mut begun, n, slow));
        assert_eq!(begun.go(&mut fake), Ending::Finished);
        assert_eq!(
            (fake.made, begun.seen.stopped),
            (2, Some((Stopped::TimeSpent, 3))),
            "a block begun is ended"
        );
    }

    #[test]
    fn a_decided_look_is_worth_more_than_spent_time() {
        let mut bench = bench(|campaign| decided_after(6, campaign));
        (0..6 * BLOCK).for_each(|n| add(&mut bench, n, Duration::from_secs(60)));
        assert_eq!(bench.go(&mut Fake::default()), Ending::Finished);
        assert_eq!(stopped(&bench), Some(Stopped::Decided));
    }

    #[test]
    fn failed_runs_make_a_block_whole_and_may_be_made_again_after_it_stopped() {
        let mut bench = bench(|campaign| decided_after(6, campaign));
        let mut fake = Fake { failures: vec!["", "no link"], ..Fake::default() };
        assert_eq!(bench.go(&mut fake), Ending::Finished);
        assert_eq!((fake.made, looked_at(&bench)), (6 * BLOCK, vec![6]));
        let mut again = Fake::default();
        assert_eq!(bench.go_on(&mut again, true), Ending::Finished);
        assert_eq!((again.made, stopped(&bench), looked_at(&bench)), (1, Some(Stopped::Decided), vec![6]));
    }

    #[test]
    fn runs_made_again_do_not_repeat_the_looks_before_them() {
        let mut bench = bench(never);
        let mut fake = Fake { interrupt_at: Some(7 * BLOCK), ..Fake::default() };
        fake.failures = [vec![""; 6 * BLOCK], vec!["no link"]].concat();
        assert_eq!(bench.go(&mut fake), Ending::Interrupted);
        assert_eq!(bench.go_on(&mut Fake::default(), true), Ending::Finished);
        assert_eq!(looked_at(&bench), [6, 9, 12]);
    }

    #[test]
    fn three_like_failures_and_a_lost_agent_leave_it_unfinished() {
        let mut bench = bench(never);
        let mut fake = Fake { failures: vec!["no link"; 3], ..Fake::default() };
        assert!(matches!(bench.go(&mut fake), Ending::Hopeless(_)));
        assert_eq!((stopped(&bench), bench.seen.stopped), (None, None));
    }
}
