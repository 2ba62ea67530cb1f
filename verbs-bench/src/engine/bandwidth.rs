//! The bandwidth loop: keep every QP's window full, take completions in batches, stamp and record them.
//!
//! Stamps: one clock reading before a burst of posts on a QP (a burst is at most a sixteenth of the window, so a sample of
//! latency under load is at most so much too long, never too short), one after a poll that returned completions. A sample
//! is the time from the former to the latter. In a window of sixteen and more the reading after a poll also stamps the
//! burst that follows at once: the few nanoseconds between are nothing beside sixteen messages. Nothing else in the loop costs time but the posts and polls themselves.

use rdma_sys::{ibv_cq, ibv_wc};
use schema::{Nanos, RunSpec, Stage, Stop};

use super::{Halt, lane::Lane, recorder::Recorder, trouble, watch::Watch};
use crate::clock::Ticks;

/// Empty polls between two looks at the clock.
const POLLS_PER_LOOK: u32 = 1_024;

/// From this window on, the reading after a poll also stamps the next burst.
const DEEP_WINDOW: u32 = 16;

/// A reason to leave the loop.
#[derive(Debug, Clone, Copy)]
struct Goal {
    /// At the first poll that returns completions at or after this tick.
    tick: u64,
    /// When so many work requests are complete.
    completed: u64,
}

/// All QPs of a requester and their completion queue.
pub struct Bandwidth {
    lanes: Vec<Lane>,
    cq: *mut ibv_cq,
    wcs: Box<[ibv_wc]>,
    completed: u64,
    burst: u32,
    fixed: bool,
    deep: bool,
}

/// What the Measure phase saw.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Messages completed in it.
    pub messages: u64,
    /// Its length.
    pub duration: Nanos,
}

impl Bandwidth {
    /// Takes the lanes of one thread.
    ///
    /// # Safety
    /// `cq` must be the send completion queue of every lane's QP and outlive this.
    pub unsafe fn new(lanes: Vec<Lane>, cq: *mut ibv_cq, spec: &RunSpec) -> Self {
        // SAFETY: ibv_wc is a C struct of integers; all zeros is a valid value.
        let wcs = (0..spec.cq_poll_batch).map(|_| unsafe { std::mem::zeroed() }).collect();
        Bandwidth {
            lanes,
            cq,
            wcs,
            completed: 0,
            burst: (spec.tx_depth / 16 / spec.post_list).clamp(1, 16),
            fixed: spec.post_list.is_multiple_of(spec.signal_interval),
            deep: spec.tx_depth >= DEEP_WINDOW,
        }
    }

    /// Posts `per_lane` work requests on every QP and waits for all of them.
    pub fn write_once<T: Ticks>(
        &mut self,
        clock: T,
        per_lane: u64,
        scrap: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<(), Halt> {
        self.allow_all(per_lane);
        let completed = self.completed + per_lane * self.lanes.len() as u64;
        self.pump(clock, Goal { tick: u64::MAX, completed }, scrap, watch).map(|_| ())
    }

    /// WarmUp, Measure, Drain. Samples of Measure go to `kept`, those of the other phases to `scrap`.
    pub fn measure<T: Ticks>(
        &mut self,
        clock: T,
        spec: &RunSpec,
        kept: &mut Recorder,
        scrap: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<Measured, Halt> {
        let scale = kept.scale();
        watch.enter(Stage::WarmUp);
        self.allow_all(u64::MAX);
        let warm_until = clock.now() + scale.ticks(spec.warmup_ns.get());
        let mut began = self.pump(clock, Goal { tick: warm_until, completed: u64::MAX }, scrap, watch)?;
        let goal = match spec.stop {
            Stop::DurationNs(duration) => {
                Goal { tick: began + scale.ticks(duration.get()), completed: u64::MAX }
            }
            Stop::Iterations(count) => {
                self.drain(clock, scrap, watch)?;
                self.share_out(count);
                began = clock.now();
                Goal { tick: u64::MAX, completed: self.completed + count }
            }
        };
        watch.enter(Stage::Measure);
        let before = self.completed;
        kept.start(began, before);
        let ended = self.pump(clock, goal, kept, watch)?;
        let messages = self.completed - before;
        kept.finish(ended, self.completed);
        watch.enter(Stage::Drain);
        self.drain(clock, scrap, watch)?;
        Ok(Measured { messages, duration: Nanos(scale.ns(ended - began)) })
    }

    fn allow_all(&mut self, work_requests: u64) {
        for lane in &mut self.lanes {
            lane.allow(work_requests);
        }
    }

    /// Divides `count` messages among the QPs.
    fn share_out(&mut self, count: u64) {
        let lanes = self.lanes.len() as u64;
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            lane.allow(count / lanes + u64::from((index as u64) < count % lanes));
        }
    }

    /// Waits for everything that is outstanding.
    fn drain<T: Ticks>(&mut self, clock: T, scrap: &mut Recorder, watch: &mut Watch<'_>) -> Result<(), Halt> {
        let outstanding: u64 = self.lanes.iter_mut().map(|lane| lane.posted() + lane.allow_flush()).sum();
        if self.completed < outstanding {
            self.pump(clock, Goal { tick: u64::MAX, completed: outstanding }, scrap, watch)?;
        }
        Ok(())
    }

    fn pump<T: Ticks>(
        &mut self,
        clock: T,
        goal: Goal,
        recorder: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        if self.fixed {
            self.pump_as::<T, true>(clock, goal, recorder, watch)
        } else {
            self.pump_as::<T, false>(clock, goal, recorder, watch)
        }
    }

    /// The hot loop. Returns the tick at which the goal was seen to be reached.
    #[inline(never)]
    fn pump_as<T: Ticks, const FIXED: bool>(
        &mut self,
        clock: T,
        goal: Goal,
        recorder: &mut Recorder,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        let batch = self.wcs.len() as i32;
        let mut last_progress = clock.now();
        // Whether last_progress was read just now, so that it stamps the next burst.
        let mut fresh = false;
        let mut idle = 0u32;
        loop {
            for lane in &mut self.lanes {
                if lane.has_room() {
                    // A burst without a signaled work request needs no stamp.
                    let stamped = fresh || !lane.signals_within(self.burst);
                    let tick = if stamped { last_progress } else { clock.now() };
                    fresh = false;
                    let mut left = self.burst;
                    while left > 0 && lane.has_room() {
                        let errno = lane.post::<FIXED>(tick);
                        if errno != 0 {
                            return Err(trouble::post(errno, watch));
                        }
                        left -= 1;
                    }
                } else if lane.has_last() {
                    let errno = lane.post_last(clock.now());
                    if errno != 0 {
                        return Err(trouble::post(errno, watch));
                    }
                }
            }
            // SAFETY: `new` asked for a live completion queue; wcs has room for `batch` completions.
            let polled = unsafe { rdma_sys::ibv_poll_cq(self.cq, batch, self.wcs.as_mut_ptr()) };
            if polled > 0 {
                let now = clock.now();
                for wc in &self.wcs[..polled as usize] {
                    let lane = wc.wr_id as usize;
                    if wc.status != 0 || lane >= self.lanes.len() || !self.lanes[lane].owes_completion() {
                        return Err(trouble::completion(wc, watch));
                    }
                    let (tick, credit) = self.lanes[lane].complete();
                    self.completed += credit;
                    recorder.add(now - tick);
                }
                last_progress = now;
                fresh = self.deep;
                idle = 0;
                if recorder.interval_over(now) {
                    recorder.end_interval(now, self.completed);
                    watch.look()?;
                    fresh = false;
                }
                if now >= goal.tick || self.completed >= goal.completed {
                    return Ok(now);
                }
            } else if polled < 0 {
                return Err(trouble::poll(polled, watch));
            } else {
                idle += 1;
                if idle == POLLS_PER_LOOK {
                    idle = 0;
                    watch.idle(clock.now(), last_progress, "completion")?;
                }
            }
        }
    }
}
