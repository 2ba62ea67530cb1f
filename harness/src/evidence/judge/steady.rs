//! Whether the host stayed what it was: its tuning, and its CPUs.

use schema::{
    evidence::Level,
    tuning::{KnobRecord, KnobState},
};

use super::{Ruling, SideOfRun};

/// Whether what was tuned took and stayed. A run that was measured on a host that changed under it is invalid.
pub(super) fn tuning(side: &SideOfRun<'_>) -> Option<Ruling> {
    let knobs = &side.evidence?.tuning;
    let are = |states: &[KnobState]| -> Vec<&KnobRecord> {
        knobs.iter().filter(|knob| states.contains(&knob.state)).collect()
    };
    let lost = are(&[KnobState::Drifted, KnobState::Conflict]);
    let skipped = are(&[KnobState::Skipped, KnobState::Planned]);
    let (level, found) = match (knobs.is_empty(), lost.is_empty(), skipped.is_empty()) {
        (true, ..) => return None,
        (false, false, _) => (Level::Fail, list(&lost)),
        (false, true, false) => (
            Level::Note,
            format!(
                "{} of {} targets took; left out: {}",
                knobs.len() - skipped.len(),
                knobs.len(),
                list(&skipped)
            ),
        ),
        (false, true, true) => (Level::Pass, format!("{} targets took and stayed", knobs.len())),
    };
    let meaning = match level {
        Level::Fail => {
            "someone else changed the host while the run lasted: it was not measured as it was tuned"
        }
        Level::Note => "the run was measured without what was left out",
        _ => "",
    };
    let ruling = Ruling::new(Some(side.side), "tuning", level, found);
    Some(
        ruling
            .threshold("every target as asked, before and after")
            .meaning(meaning)
            .invalidates_if(level == Level::Fail),
    )
}

fn list(knobs: &[&KnobRecord]) -> String {
    let words = knobs.iter().map(|knob| {
        let now = knob.effective.as_deref().unwrap_or("unknown");
        match knob.state {
            KnobState::Drifted | KnobState::Conflict => {
                format!("{} {} (asked {}, found {now})", knob.target, knob.state, knob.asked)
            }
            _ => format!("{} {}", knob.target, knob.state),
        }
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Whether CPUs came or went: interrupts and threads are moved when they do.
pub(super) fn cpus_online(side: &SideOfRun<'_>) -> Option<Ruling> {
    let (Some(before), Some(after)) = &side.evidence?.cpus_online else { return None };
    let (level, found, meaning) = if before == after {
        (Level::Pass, format!("{before} throughout"), "")
    } else {
        let meaning = "a CPU came or went: interrupts and threads are moved when it does";
        (Level::Fail, format!("{before} at the start, {after} at the end"), meaning)
    };
    let ruling = Ruling::new(Some(side.side), "cpus-online", level, found);
    Some(ruling.threshold("the same CPUs online").meaning(meaning).invalidates_if(level == Level::Fail))
}

#[cfg(test)]
mod tests {
    use schema::{
        outcome::Side,
        tuning::{Class, Knob},
    };

    use super::*;
    use crate::evidence::judge::testing::{judged, of, record};

    fn knob(state: KnobState) -> KnobRecord {
        KnobRecord {
            knob: Knob::Mtu,
            item: String::new(),
            target: "mtu of ens1np0".into(),
            class: Class::Disruptive,
            old: Some("1500".into()),
            asked: "4200".into(),
            effective: Some("1500".into()),
            state,
            note: String::new(),
        }
    }

    #[test]
    fn a_knob_that_did_not_stay_makes_the_run_invalid_and_one_left_out_does_not() {
        for (states, level, valid) in [
            (vec![KnobState::Verified, KnobState::Unchanged], Level::Pass, true),
            (vec![KnobState::Verified, KnobState::Skipped], Level::Note, true),
            (vec![KnobState::Restored, KnobState::Drifted], Level::Fail, false),
            (vec![KnobState::Conflict], Level::Fail, false),
        ] {
            let mut record = record();
            of(&mut record, Side::Responder).tuning = states.into_iter().map(knob).collect();
            let found = judged(&mut record, Some(Side::Responder), "tuning");
            assert_eq!((found.level, record.is_valid()), (level, valid), "{found:?}");
        }
    }

    #[test]
    fn a_cpu_that_went_makes_the_run_invalid() {
        let mut record = record();
        of(&mut record, Side::Requester).cpus_online.1 = Some("0-2".into());
        let found = judged(&mut record, Some(Side::Requester), "cpus-online");
        assert_eq!(found.level, Level::Fail);
        assert_eq!(record.invalid, ["cpus-online (requester): 0-3 at the start, 0-2 at the end"]);
    }
}
