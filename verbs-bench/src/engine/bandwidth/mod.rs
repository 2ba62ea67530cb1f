//! The bandwidth test of one thread: WarmUp, Measure and Drain over the hot loop of `pump`.
//!
//! `window` counts, `stamps` remembers when, `lane` is one QP, `pump` the loop, `drive` makes every choice before it starts.
//! Every loop numbers its messages from 0: an atomic's counter must be 0 when a loop is made, and a receiver must expect
//! new numbers.

pub mod drive;
pub mod inbox;
pub mod lane;
pub mod pump;
pub mod stamps;
pub mod window;

use schema::{Arrivals, Nanos, Pace, RunSpec, Stage};

use self::{
    drive::{Drive, drive},
    pump::Goal,
};
use super::{Halt, job::Job, kept::Kept, pace::Schedule, receiver::Receiver, watch::Watch};
use crate::clock::{Clock, Scale, Source};

/// When the phases of a thread end, in absolute ticks, so that all threads of a side share one window.
#[derive(Debug, Clone, Copy)]
pub struct Phases {
    /// End of WarmUp.
    pub warm_until: u64,
    /// End of Measure.
    pub end: End,
    /// Messages a second of this thread; none in a closed loop.
    pub messages_per_sec: Option<f64>,
}

/// When Measure ends.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// At this tick.
    At(u64),
    /// After so many messages of this thread; its clock starts with their first post.
    After(u64),
}

/// What the Measure phase of a thread saw.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    /// Messages completed in it.
    pub messages: u64,
    /// Its first tick.
    pub began: u64,
    /// Its last tick.
    pub ended: u64,
    /// Messages posted in all phases of this loop, checks included.
    pub sent: u64,
    /// Exchanges of a latency test over an unreliable transport that no answer came to in time.
    pub lost: u64,
    /// Messages of a schedule that found the window full at their time.
    pub late_messages: u64,
    /// How far behind its schedule the loop was at worst, in ticks.
    pub max_lateness_ticks: u64,
}

/// The loop of one thread for one message size.
pub struct Bandwidth<'a> {
    drive: Box<dyn Drive>,
    spec: &'a RunSpec,
    source: Source,
    scale: Scale,
    slots: u64,
    /// Which of the threads: each has gaps of its own.
    first_qp: u32,
    scrap: Kept,
}

impl<'a> Bandwidth<'a> {
    /// Builds the work requests and chooses the loop.
    ///
    /// # Safety
    /// As [`Job`] says, for as long as this lives; the QPs are in RTS.
    pub unsafe fn new(job: &Job<'a>, clock: &Clock) -> Self {
        Bandwidth {
            // SAFETY: as the caller's.
            drive: unsafe { drive(job, clock) },
            spec: job.spec,
            source: clock.source(),
            scale: clock.scale(),
            slots: if job.spec.op.is_atomic() { 1 } else { job.layout.slots },
            first_qp: job.qps.first().map_or(0, |qp| qp.index),
            scrap: Kept::new(clock.scale(), job.spec.interval_ns, None),
        }
    }

    /// Sends one message to every slot of every QP and waits for all of them; returns how many that were.
    pub fn send_each_slot_once(
        &mut self,
        receiver: Option<&mut Receiver>,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        let qps = self.allow_all(self.slots);
        let completed = self.drive.completed() + self.slots * qps;
        let goal = Goal { tick: u64::MAX, completed };
        self.drive.run(self.source, goal, None, receiver, &mut self.scrap, watch)?;
        Ok(self.slots * qps)
    }

    /// Messages posted on each QP so far.
    pub fn sent_per_qp(&mut self) -> Vec<u64> {
        self.drive.windows().map(|window| window.posted()).collect()
    }

    /// WarmUp, Measure, Drain. Samples of Measure go to `kept`.
    ///
    /// A closed loop measures from the end of WarmUp to the first completion after its end, with the window full on both
    /// sides. A schedule measures exactly the messages that are due in the window, however late they complete.
    pub fn measure(
        &mut self,
        phases: Phases,
        mut receiver: Option<&mut Receiver>,
        kept: &mut Kept,
        watch: &mut Watch<'_>,
    ) -> Result<Measured, Halt> {
        watch.enter(Stage::WarmUp);
        let mut schedule = phases.messages_per_sec.map(|rate| self.schedule(rate));
        self.allow_all(u64::MAX);
        let warm = Goal { tick: phases.warm_until, completed: u64::MAX };
        let mut began = self.source.now();
        if began < phases.warm_until {
            began = self.phase(warm, schedule.as_mut(), receiver.as_deref_mut(), None, watch)?;
        }
        self.drive.take_lateness();
        let goal = match phases.end {
            End::At(tick) => Goal { tick, completed: u64::MAX },
            End::After(count) => {
                self.drain(receiver.as_deref_mut(), watch)?;
                // The last post of a window flushes a post list; a schedule posts singly and needs none.
                self.share_out(count, u64::from(schedule.is_some()));
                began = self.source.now();
                Goal { tick: u64::MAX, completed: self.drive.completed() + count }
            }
        };
        watch.enter(Stage::Measure);
        let before = self.drive.completed();
        kept.start(began, before);
        let ended = self.phase(goal, schedule.as_mut(), receiver.as_deref_mut(), Some(kept), watch)?;
        let messages = self.drive.completed() - before;
        kept.finish(ended, self.drive.completed());
        let lateness = self.drive.take_lateness();
        watch.enter(Stage::Drain);
        self.drain(receiver, watch)?;
        let sent = self.sent_per_qp().iter().sum();
        Ok(Measured {
            messages,
            began,
            ended,
            sent,
            lost: 0,
            late_messages: lateness.messages,
            max_lateness_ticks: lateness.max_ticks,
        })
    }

    fn phase(
        &mut self,
        goal: Goal,
        mut schedule: Option<&mut Schedule>,
        receiver: Option<&mut Receiver>,
        kept: Option<&mut Kept>,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        if let Some(schedule) = &mut schedule {
            schedule.start(self.source.now());
        }
        let kept = kept.unwrap_or(&mut self.scrap);
        self.drive.run(self.source, goal, schedule, receiver, kept, watch)
    }

    fn schedule(&self, messages_per_sec: f64) -> Schedule {
        let (arrivals, seed) = match self.spec.pace {
            Pace::Closed => (Arrivals::Fixed, 0),
            Pace::Open { arrivals, seed, .. } | Pace::Search { arrivals, seed, .. } => (arrivals, seed),
        };
        Schedule::new(messages_per_sec, arrivals, seed.wrapping_add(self.first_qp.into()), self.scale)
    }

    /// Allows so many work requests on every QP; how many QPs that are.
    fn allow_all(&mut self, work_requests: u64) -> u64 {
        self.drive.windows().map(|window| window.allow(work_requests)).count() as u64
    }

    /// Divides `count` messages among the QPs, and `spare` to each for the last post that is never made.
    fn share_out(&mut self, count: u64, spare: u64) {
        let qps = self.drive.windows().count() as u64;
        for (index, window) in self.drive.windows().enumerate() {
            window.allow(count / qps + u64::from((index as u64) < count % qps) + spare);
        }
    }

    /// Waits for everything that is outstanding.
    fn drain(&mut self, receiver: Option<&mut Receiver>, watch: &mut Watch<'_>) -> Result<(), Halt> {
        let goal: u64 = self.drive.windows().map(|window| window.posted() + window.allow_flush()).sum();
        if self.drive.completed() < goal {
            self.phase(Goal { tick: u64::MAX, completed: goal }, None, receiver, None, watch)?;
        }
        Ok(())
    }
}

impl Measured {
    /// Length of the window.
    pub fn duration(&self, scale: Scale) -> Nanos {
        Nanos(scale.ns(self.ended.saturating_sub(self.began)))
    }
}
