//! The runs in progress on this host: each with its process and what watches the host around it. The end of one is awaited on a
//! thread of its own, so that it holds up no other.

use std::{
    collections::BTreeMap,
    io, mem,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use schema::HostEvidence;

use super::{job::Job, protocol::End};
use crate::evidence::Watch;

/// How many there are at once at most: a controller that starts more has lost count. One that all others of a large cluster
/// write to at once has as many.
const MOST: usize = 512;

/// How a run ended, and what its host did meanwhile.
pub(super) type Ended = io::Result<(End, Box<HostEvidence>)>;

enum Run {
    /// Its process works.
    Working(Box<(Job, Watch)>),
    /// Its process is about to end, on a thread that looks whether it shall hurry.
    Ending(Arc<AtomicBool>, JoinHandle<()>),
}

/// The runs in progress. Dropped, their processes are ended.
#[derive(Default)]
pub(super) struct Runs(BTreeMap<u32, Run>);

impl Runs {
    /// Why no run of this number can begin; none if one can.
    pub(super) fn refusal(&self, number: u32) -> Option<String> {
        if self.0.contains_key(&number) {
            return Some(format!("the process of run {number} has not ended"));
        }
        (self.0.len() >= MOST).then(|| format!("{MOST} runs are in progress on this host, which is the most"))
    }

    /// A run has begun.
    pub(super) fn begin(&mut self, number: u32, job: Job, watch: Watch) {
        self.0.insert(number, Run::Working(Box::new((job, watch))));
    }

    /// The process of a run that works; none when it is about to end, or has.
    pub(super) fn working(&self, number: u32) -> Option<&Job> {
        match self.0.get(&number)? {
            Run::Working(working) => Some(&working.0),
            Run::Ending(..) => None,
        }
    }

    /// Awaits the end of a run's process and kills it after `patience`; `tell` hears of it. Without effect where the end is
    /// awaited already.
    pub(super) fn end(
        &mut self,
        number: u32,
        patience: Duration,
        (stdout, place): (Vec<u8>, String),
        tell: impl FnOnce(Ended) + Send + 'static,
    ) {
        if self.working(number).is_none() {
            return;
        }
        let Some(Run::Working(working)) = self.0.remove(&number) else { return };
        let hurry = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&hurry);
        let thread = thread::spawn(move || {
            let (job, watch) = *working;
            let side = job.side;
            let ended = job.end(patience, &asked, stdout);
            tell(ended.map(|end| (end, Box::new(watch.finish(side, place, Vec::new())))));
        });
        self.0.insert(number, Run::Ending(hurry, thread));
    }

    /// Ends a run's process now, also one whose end is awaited.
    pub(super) fn stop(&mut self, number: u32, place: String, tell: impl FnOnce(Ended) + Send + 'static) {
        if let Some(Run::Ending(hurry, _)) = self.0.get(&number) {
            hurry.store(true, Ordering::Relaxed);
        }
        self.end(number, Duration::ZERO, (Vec::new(), place), tell);
    }

    /// A run's end was told.
    pub(super) fn forget(&mut self, number: u32) {
        self.0.remove(&number);
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        let runs = mem::take(&mut self.0);
        for run in runs.values() {
            if let Run::Ending(hurry, _) = run {
                hurry.store(true, Ordering::Relaxed);
            }
        }
        for run in runs.into_values() {
            match run {
                Run::Working(..) => {} // dropped, its process is killed
                Run::Ending(_, thread) => drop(thread.join()),
            }
        }
    }
}
