//! The loops behind one face: every choice of a spec is made here, once, before a loop starts.

use schema::PostApi;

use super::{
    inbox::NoInbox,
    lane::Lane,
    pump::{Goal, Lateness, Pump},
    window::Window,
};
use crate::{
    clock::{Clock, Scale, Source},
    engine::{
        Halt,
        idle::Idle,
        job::Job,
        kept::Kept,
        pace::{Closed, Schedule},
        post::{ClassicList, ExtendedList, Kind, Moving, Poster, Preset, Route, Still},
        reap::{ClassicReaper, ExtendedReaper, Reaper},
        receiver::Receiver,
        watch::Watch,
    },
};

/// Lists of a burst at most.
const LONGEST_BURST: u32 = 16;
/// A burst is at most this part of the window.
const BURSTS_PER_WINDOW: u32 = 8;
/// From this window on, the reading after a poll also stamps the next burst.
const DEEP_WINDOW: u32 = 16;

/// A loop, whatever it was compiled for.
pub trait Drive: Send {
    /// Runs until the goal; returns the tick at which it was seen to be reached.
    fn run(
        &mut self,
        source: Source,
        goal: Goal,
        schedule: Option<&mut Schedule>,
        receiver: Option<&mut Receiver>,
        kept: &mut Kept,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt>;

    /// Work requests completed so far.
    fn completed(&self) -> u64;

    /// How far behind its schedule it fell; reading it begins anew.
    fn take_lateness(&mut self) -> Lateness;

    /// The windows of its QPs.
    fn windows(&mut self) -> Box<dyn Iterator<Item = &mut Window> + '_>;
}

// SAFETY: the pointers inside are those of the job, whose maker vouches that one thread at a time uses them.
unsafe impl<P, R> Send for Pump<P, R> {}

impl<P: Poster, R: Reaper> Drive for Pump<P, R> {
    fn run(
        &mut self,
        source: Source,
        goal: Goal,
        schedule: Option<&mut Schedule>,
        receiver: Option<&mut Receiver>,
        kept: &mut Kept,
        watch: &mut Watch<'_>,
    ) -> Result<u64, Halt> {
        let clock = source.ticks();
        match (schedule, receiver) {
            (None, None) => Pump::run(self, clock, goal, &mut Closed, &mut NoInbox, kept, watch),
            (None, Some(inbox)) => Pump::run(self, clock, goal, &mut Closed, inbox, kept, watch),
            (Some(pace), None) => Pump::run(self, clock, goal, pace, &mut NoInbox, kept, watch),
            (Some(pace), Some(inbox)) => Pump::run(self, clock, goal, pace, inbox, kept, watch),
        }
    }

    fn completed(&self) -> u64 {
        self.completed
    }

    fn take_lateness(&mut self) -> Lateness {
        std::mem::take(&mut self.lateness)
    }

    fn windows(&mut self) -> Box<dyn Iterator<Item = &mut Window> + '_> {
        Box::new(self.lanes.iter_mut().map(|lane| &mut lane.window))
    }
}

fn pump<P: Poster, R: Reaper>(job: &Job<'_>, scale: Scale, posters: Vec<P>, reaper: R) -> Box<dyn Drive>
where
    Pump<P, R>: 'static,
{
    let spec = job.spec;
    let burst = (spec.tx_depth / BURSTS_PER_WINDOW / spec.post_list).clamp(1, LONGEST_BURST);
    Box::new(Pump {
        lanes: posters.into_iter().map(|poster| Lane::new(poster, spec)).collect(),
        reaper,
        idle: Idle::new(&job.send_cq, spec.wait, scale),
        completed: 0,
        owed: 0,
        burst: burst.into(),
        deep: spec.tx_depth >= DEEP_WINDOW,
        turn: 0,
        lateness: Lateness::default(),
        behind: false,
    })
}

/// # Safety
/// As [`drive`].
unsafe fn classic<K: Kind + 'static>(job: &Job<'_>, scale: Scale) -> Box<dyn Drive> {
    let spec = job.spec;
    let posters = job.qps.iter().enumerate().map(|(lane, qp)| {
        // SAFETY: as the caller's.
        unsafe {
            ClassicList::<K>::new(qp.qp, &Route::new(job, lane, qp), spec.post_list, spec.signal_interval)
        }
    });
    let posters = posters.collect();
    // SAFETY: as the caller's.
    let reaper = unsafe { ClassicReaper::new(job.send_cq.cq, spec.cq_poll_batch) };
    pump(job, scale, posters, reaper)
}

/// # Safety
/// As [`drive`]; the job's QPs and send queue are extended.
unsafe fn extended<const TIMESTAMPS: bool>(job: &Job<'_>, scale: Scale) -> Box<dyn Drive> {
    let spec = job.spec;
    let posters = job.qps.iter().enumerate().map(|(lane, qp)| {
        // SAFETY: as the caller's.
        unsafe {
            ExtendedList::new(qp.qp_ex, &Route::new(job, lane, qp), spec.post_list, spec.signal_interval)
        }
    });
    let posters = posters.collect();
    // SAFETY: as the caller's.
    let reaper = unsafe { ExtendedReaper::<TIMESTAMPS>::new(job.send_cq.cq, spec.cq_poll_batch) };
    pump(job, scale, posters, reaper)
}

/// The loop a job needs.
///
/// # Safety
/// As [`Job`] says, for as long as the loop lives; the QPs are in RTS.
pub unsafe fn drive(job: &Job<'_>, clock: &Clock) -> Box<dyn Drive> {
    let (spec, scale) = (job.spec, clock.scale());
    let numbered = matches!(spec.op, schema::Op::WriteImm | schema::Op::CompareSwap);
    let walks = job.layout.slots > u64::from(spec.post_list) && !spec.op.is_atomic();
    // SAFETY: as the caller's.
    unsafe {
        match spec.post_api {
            PostApi::Extended if spec.completion_timestamps => extended::<true>(job, scale),
            PostApi::Extended => extended::<false>(job, scale),
            PostApi::Classic if numbered || walks => classic::<Moving>(job, scale),
            PostApi::Classic if spec.post_list.is_multiple_of(spec.signal_interval) => {
                classic::<Preset>(job, scale)
            }
            PostApi::Classic => classic::<Still>(job, scale),
        }
    }
}
