//! What the evidence of a run says: each check with what was found, what was held against it and what it means; and whether
//! the numbers of the run may be used.
//!
//! Pure: a record goes in, judgements come out. A run is invalid by the checks that say so below, and by nothing else; the
//! rule is written out in `docs/measurement.md`, "When a run is invalid".

mod counters;
mod interrupts;
mod placement;
mod side;
mod steady;
mod thresholds;
mod traffic;

use schema::{
    RunRecord,
    evidence::{Judgement, Level},
    outcome::Side,
};

use side::SideOfRun;
pub use thresholds::Thresholds;

/// A check that came out, and whether it makes the run invalid.
struct Ruling {
    judgement: Judgement,
    invalidates: bool,
}

impl Ruling {
    fn new(side: Option<Side>, check: &str, level: Level, found: impl Into<String>) -> Ruling {
        let judgement = Judgement {
            side,
            check: check.to_owned(),
            level,
            found: found.into(),
            threshold: String::new(),
            meaning: String::new(),
        };
        Ruling { judgement, invalidates: false }
    }

    fn threshold(mut self, threshold: impl Into<String>) -> Ruling {
        self.judgement.threshold = threshold.into();
        self
    }

    fn meaning(mut self, meaning: impl Into<String>) -> Ruling {
        self.judgement.meaning = meaning.into();
        self
    }

    /// The numbers of a run with this may not be used.
    fn invalidates_if(mut self, so: bool) -> Ruling {
        self.invalidates = so;
        self
    }

    fn reason(&self) -> String {
        let Judgement { side, check, found, .. } = &self.judgement;
        match side {
            Some(side) => format!("{check} ({side}): {found}"),
            None => format!("{check}: {found}"),
        }
    }
}

/// Judges a record by our thresholds: fills in what its evidence says, and why its numbers may not be used. Only a completed
/// run can be invalid; a failed one has no numbers.
pub fn judge(record: &mut RunRecord) {
    judge_by(record, &Thresholds::default());
}

/// Judges a record by these thresholds.
pub fn judge_by(record: &mut RunRecord, thresholds: &Thresholds) {
    let rulings = rule(record, thresholds);
    if record.outcome.is_completed() {
        for reason in rulings.iter().filter(|ruling| ruling.invalidates).map(Ruling::reason) {
            if !record.invalid.contains(&reason) {
                record.invalid.push(reason);
            }
        }
    }
    record.judgements = rulings.into_iter().map(|ruling| ruling.judgement).collect();
}

fn rule(record: &RunRecord, thresholds: &Thresholds) -> Vec<Ruling> {
    let mut rulings = Vec::new();
    for side in [Side::Requester, Side::Responder] {
        let side = SideOfRun::of(record, side);
        rulings.extend(steady::tuning(&side));
        rulings.extend(steady::cpus_online(&side));
        rulings.extend(placement::rule(record, &side, thresholds));
        rulings.extend(interrupts::rule(record, &side, thresholds));
        rulings.extend(counters::rule(record, &side, thresholds));
    }
    rulings.extend(traffic::rule(record, thresholds));
    rulings
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::{testing::record, *};

    #[test]
    fn a_quiet_run_is_valid_and_judged_again_it_says_the_same() {
        let mut record = record();
        judge(&mut record);
        assert!(record.is_valid(), "{:?}", record.invalid);
        assert!(
            record.judgements.iter().all(|judgement| judgement.level <= Level::Warn),
            "{:#?}",
            record.judgements
        );
        let once = record.clone();
        judge(&mut record);
        assert_eq!(record, once);
    }

    #[test]
    fn what_someone_else_held_against_a_run_stays() {
        let mut record = record();
        record.invalid.push("the agent lost its host".into());
        judge(&mut record);
        assert_eq!(record.invalid, ["the agent lost its host"]);
    }

    #[test]
    fn a_failed_run_is_judged_and_has_no_numbers_to_invalidate() {
        let mut record = record();
        testing::count(&mut record, Side::Requester, "hw_counters a/1", "retry_exceeded_err", 1);
        record.outcome = schema::Outcome::Failed {
            stage: schema::Stage::Measure,
            side: Side::Requester,
            cause: "transport retry counter exceeded".into(),
            advice: String::new(),
        };
        judge(&mut record);
        assert!(record.invalid.is_empty());
        assert!(record.judgements.iter().any(|judgement| judgement.check == "retries-exceeded"));
    }

    proptest! {
        /// Whatever evidence comes over the link, judging it neither panics nor forgets why a run is invalid.
        #[test]
        fn any_evidence_can_be_judged(
            counters in vec((0..6usize, "[a-z_0-9]{0,20}|rcvd_seq_err|sent_pkts|rx_prio3_pause_duration", any::<Option<u64>>()), 0..12),
            lists in vec("[0-9]{0,3}(-[0-9]{0,3})?|.{0,6}", 0..4),
            fired in vec((any::<u32>(), any::<u64>()), 0..4),
            watched: u64,
            mtu: u32,
        ) {
            const SOURCES: [&str; 6] = ["hw_counters a/1", "counters a/1", "ethtool e", "netdev e", "thermal cpu1", ""];
            let mut record = record();
            record.granted.as_mut().expect("granted").path_mtu = mtu;
            for point in &mut record.points {
                point.counts = Some(schema::record::Counts { requester_sent: watched, ..Default::default() });
            }
            let evidence = testing::of(&mut record, Side::Requester);
            evidence.watched_ns = schema::Nanos(watched);
            for (source, name, delta) in counters {
                evidence.counters.push(schema::CounterDelta {
                    source: SOURCES[source].into(),
                    name,
                    unit: schema::Unit::Unknown,
                    delta,
                    invalid: delta.is_none().then(|| super::super::delta::BACKWARDS.to_owned()),
                });
            }
            evidence.vectors.push(schema::VectorEvidence {
                irq: 1,
                action: "x".into(),
                allowed: lists.first().cloned(),
                allowed_later: Vec::new(),
                effective_seen: lists,
                fired,
                moved: true,
            });
            judge(&mut record);
            prop_assert!(record.judgements.iter().all(|judgement| !judgement.check.is_empty() && !judgement.found.is_empty()));
        }
    }
}
