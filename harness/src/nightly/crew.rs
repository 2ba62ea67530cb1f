//! What a night needs from outside: someone who makes the runs, and someone who is told how it goes on.

use schema::NightPart;

use super::Entry;
use crate::{
    plan::Plan,
    run::{Executor, Observer},
};

/// Finds who makes the runs of a campaign: agents in earnest, anything else in a test.
pub trait Crew {
    /// Who makes them.
    type Executor: Executor;

    /// Has the hosts of a plan looked after, ready for all that it turns.
    ///
    /// # Errors
    /// When a host can't be reached or can't be tuned so, in words.
    fn muster(&mut self, plan: &Plan) -> Result<Self::Executor, String>;

    /// Lets the hosts go; what could not be left as it was comes back.
    fn dismiss(&mut self, executor: Self::Executor) -> Vec<String>;
}

/// A campaign of a night that begins, or goes on.
#[derive(Clone, Copy)]
pub struct Leg<'l> {
    /// What it is for.
    pub part: NightPart,
    /// What is measured.
    pub entry: &'l Entry,
    /// Its number in the store.
    pub campaign: i64,
    /// Its plan.
    pub plan: &'l Plan,
    /// Runs it still misses.
    pub missing: usize,
}

/// Is told how a night goes on.
pub trait NightObserver {
    /// A campaign begins; what comes back is told of its runs.
    fn begins(&mut self, leg: &Leg<'_>) -> &mut dyn Observer;
    /// It makes no more runs.
    fn ends(&mut self);
    /// A scenario could not be measured, or not whole. The night goes on.
    fn failed(&mut self, entry: &Entry, why: &str);
}
