//! What a round comes to: the records of its pairs, and how far apart they began.

use schema::{HostEvidence, Nanos};

use super::{Round, SIDES};
use crate::{
    cluster::{PairResult, RoundResult},
    evidence,
};

impl Round<'_, '_> {
    /// What the round comes to.
    pub(super) fn conclude(self) -> RoundResult {
        let Round { fleet, mut flights, moment_ns, .. } = self;
        fleet.verify();
        let mut pairs = Vec::with_capacity(flights.len());
        let mut uncertainty_ns = 0;
        for flight in &mut flights {
            let mut record = flight.record();
            for side in SIDES {
                if let Some(evidence) = flight.fates.evidence[side as usize].take() {
                    let tuning = fleet.knobs_of(flight.rank(side), side);
                    record.evidence.push(HostEvidence { tuning, ..evidence });
                }
            }
            evidence::judge(&mut record);
            let clock = fleet.members.get(flight.task.requester as usize).and_then(|member| member.clock);
            let late_ns = match (clock, moment_ns, &record.start_up) {
                // One that was not held began as it pleased.
                (Some(clock), Some(moment), Some(start_up)) if start_up.held_ns.is_some() => {
                    uncertainty_ns = clock.uncertainty_ns(moment).max(uncertainty_ns);
                    Some(clock.since(moment, start_up.first_post_monotonic_ns))
                }
                _ => None,
            };
            pairs.push(PairResult { record, late_ns });
        }
        let skew_ns = skew(&pairs);
        RoundResult {
            pairs,
            skew_ns: skew_ns.map(Nanos),
            skew_uncertainty_ns: skew_ns.map(|_| Nanos(2 * uncertainty_ns)),
            waited: fleet.waited,
        }
    }
}

/// From the first pair's first post to the last pair's; none with fewer than two that posted.
fn skew(pairs: &[PairResult]) -> Option<u64> {
    let late = || pairs.iter().filter_map(|pair| pair.late_ns);
    (late().count() >= 2).then(|| late().max().unwrap_or(0).abs_diff(late().min().unwrap_or(0)))
}
