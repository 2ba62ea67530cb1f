//! The hot loop of the bandwidth test.
//!
//! Stamps: one clock reading before a burst of posts on a QP (a burst is at most an eighth of the window, so a sample of
//! latency under load is at most so much too long, never too short), one after a poll that returned completions. In a
//! window of sixteen and more the reading after a poll also stamps the burst that follows at once: the few nanoseconds
//! between are nothing beside sixteen messages. A message of a schedule is stamped with the time it was due.
//!
//! What could be a choice is a type parameter: the posting API with its verb, the way completions are taken, the schedule,
//! and whether receives come in too. The clock is read through a pointer, once a burst and once a poll at most.

use super::{inbox::Inbox, lane::Lane};
use crate::{
    clock::{AnyTicks, Ticks},
    engine::{Halt, idle::Idle, kept::Kept, pace::Pace, post::Poster, reap::Reaper, trouble, watch::Watch},
};

/// A reason to leave the loop.
#[derive(Debug, Clone, Copy)]
pub struct Goal {
    /// Closed loop: at the first poll that returns completions at or after this tick. Schedule: nothing that is due later
    /// is posted, and the loop ends when what was due has completed.
    pub tick: u64,
    /// When so many work requests are complete.
    pub completed: u64,
}

/// How far a loop fell behind its schedule.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lateness {
    /// Messages that found the window full at their time.
    pub messages: u64,
    /// The worst, in ticks.
    pub max_ticks: u64,
}

/// The loop of one thread.
pub struct Pump<P, R> {
    /// Its QPs.
    pub lanes: Vec<Lane<P>>,
    /// Its completions.
    pub reaper: R,
    /// Its waiting.
    pub idle: Idle,
    /// Work requests completed.
    pub completed: u64,
    /// Completions to come; without any there is nothing to poll for.
    pub owed: u64,
    /// Lists a burst.
    pub burst: u64,
    /// Whether the reading after a poll stamps the next burst.
    pub deep: bool,
    /// Next lane of a schedule.
    pub turn: usize,
    /// How far behind its schedule it fell.
    pub lateness: Lateness,
    /// The next message of the schedule found no room at its time.
    pub behind: bool,
}

impl<P: Poster, R: Reaper> Pump<P, R> {
    /// Runs until the goal; returns the tick at which it was seen to be reached.
    #[inline(never)]
    pub fn run<S: Pace, I: Inbox>(
        &mut self,
        clock: AnyTicks,
        goal: Goal,
        pace: &mut S,
        inbox: &mut I,
        kept: &mut Kept,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        let mut last_progress = clock.now();
        // Whether last_progress was read just now, so that it stamps the next burst.
        let mut fresh = false;
        // A schedule starts with nothing outstanding: when everything posted so far will be complete.
        let mut all_complete = self.completed;
        loop {
            let mut posted = false;
            if S::SCHEDULED {
                let now = clock.now();
                if self.completed == all_complete {
                    // Between two messages of a slow schedule nothing is awaited, so nothing is late.
                    last_progress = now;
                }
                all_complete += self.post_due(now, goal, pace, watch)?;
                let all_posted = pace.due() >= goal.tick || self.completed >= goal.completed;
                if all_posted && self.completed == all_complete {
                    return Ok(now.max(last_progress));
                }
            } else {
                posted = self.post_room(clock, &mut fresh, last_progress, watch)?;
            }
            let received = inbox.turn();
            if received < 0 {
                return Err(inbox.trouble(watch));
            }
            let polled = if self.owed > 0 { self.reaper.poll() } else { 0 };
            if polled > 0 {
                let now = clock.now();
                self.take(polled as usize, now, kept, watch)?;
                last_progress = now;
                fresh = self.deep;
                self.idle.busy();
                if kept.latency.interval_over(now) {
                    kept.latency.end_interval(now, self.completed);
                    watch.look()?;
                    fresh = false;
                }
                if !S::SCHEDULED && (now >= goal.tick || self.completed >= goal.completed) {
                    return Ok(now);
                }
            } else if polled < 0 {
                return Err(trouble::poll(polled, watch));
            } else if received > 0 {
                self.idle.busy();
                last_progress = clock.now();
                fresh = false;
            } else if !posted {
                self.idle.empty(clock, last_progress, watch, "completion")?;
            }
        }
    }

    /// Closed loop: a burst on every QP that has room; returns whether there was one.
    #[inline(always)]
    fn post_room(
        &mut self,
        clock: AnyTicks,
        fresh: &mut bool,
        last_progress: u64,
        watch: &Watch<'_>,
    ) -> Result<bool, Halt> {
        let mut posted = false;
        for lane in &mut self.lanes {
            if lane.window.has_room() {
                posted = true;
                // A burst without a signaled work request needs no stamp.
                let stamped = *fresh || !lane.window.signals_within(self.burst);
                let tick = if stamped { last_progress } else { clock.now() };
                *fresh = false;
                let errno = lane.post_burst(tick, self.burst, &mut self.owed);
                if errno != 0 {
                    return Err(trouble::post(errno, watch));
                }
            } else if lane.window.has_last() {
                let errno = lane.post_last(clock.now(), &mut self.owed);
                if errno != 0 {
                    return Err(trouble::post(errno, watch));
                }
            }
        }
        Ok(posted)
    }

    /// Schedule: every message that is due, each on the next QP that has room; returns how many were posted.
    #[inline(always)]
    fn post_due<S: Pace>(
        &mut self,
        now: u64,
        goal: Goal,
        pace: &mut S,
        watch: &Watch<'_>,
    ) -> Result<u64, Halt> {
        let mut posted = 0;
        while pace.due() <= now && pace.due() < goal.tick {
            let Some(lane) = self.next_with_room() else {
                self.behind = true;
                return Ok(posted);
            };
            let due = pace.due();
            let errno = self.lanes[lane].post_burst(due, 1, &mut self.owed);
            if errno != 0 {
                return Err(trouble::post(errno, watch));
            }
            self.lateness.messages += u64::from(self.behind);
            self.lateness.max_ticks = self.lateness.max_ticks.max(now - due);
            posted += 1;
            pace.advance();
        }
        self.behind = false;
        Ok(posted)
    }

    /// The next QP in turn whose window has room.
    #[inline(always)]
    fn next_with_room(&mut self) -> Option<usize> {
        for _ in 0..self.lanes.len() {
            let lane = self.turn;
            self.turn = if lane + 1 == self.lanes.len() { 0 } else { lane + 1 };
            if self.lanes[lane].window.has_room() {
                return Some(lane);
            }
        }
        None
    }

    /// Takes a batch of completions, a run of one QP's at a time.
    #[inline(always)]
    fn take(&mut self, polled: usize, now: u64, kept: &mut Kept, watch: &Watch<'_>) -> Result<(), Halt> {
        let mut at = 0;
        while at < polled {
            let Some(id) = self.reaper.done(at) else {
                return Err(trouble::completion(self.reaper.completion(at), watch));
            };
            let first = at;
            at += 1;
            while at < polled && self.reaper.done(at) == Some(id) {
                at += 1;
            }
            let count = (at - first) as u64;
            let owing = self.lanes.get_mut(id as usize).filter(|lane| lane.stamps.owed() >= count);
            let Some(lane) = owing else {
                return Err(trouble::completion(self.reaper.completion(first), watch));
            };
            self.completed += lane.window.credit(count);
            self.owed -= count;
            let reaper = &self.reaper;
            let mut next = first;
            lane.stamps.take(count, |tick, signals| {
                kept.latency.add_n(now.saturating_sub(tick), signals);
                if R::TIMESTAMPS {
                    for n in next..next + signals as usize {
                        kept.split(tick, reaper.device_ticks(n), now);
                    }
                    next += signals as usize;
                }
            });
        }
        Ok(())
    }
}
