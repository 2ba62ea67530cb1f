//! Where the NIC's vectors fired and whether they stayed. Polled completions raise no interrupt, so a polled run on
//! hardware is expected to show almost none; a software device's packets come through the network device's.

use std::collections::BTreeSet;

use schema::{
    RunRecord, Wait,
    evidence::{Level, VectorEvidence},
};

use super::{Ruling, SideOfRun, Thresholds, placement::pinned};
use crate::evidence::catalogue::Group;

pub(super) fn rule(record: &RunRecord, side: &SideOfRun<'_>, thresholds: &Thresholds) -> Vec<Ruling> {
    let Some(evidence) = side.evidence else { return Vec::new() };
    let vectors = &evidence.vectors;
    let mut rulings = Vec::new();
    if !vectors.is_empty() {
        rulings.push(places(record, side, vectors, thresholds));
        rulings.push(stability(side, vectors, &evidence.movers));
        rulings.extend(on_polling_cpu(record, side, vectors, thresholds));
    }
    rulings.extend(queues(side));
    rulings
}

/// The share of the interrupts that fired on CPUs that were allowed.
fn places(record: &RunRecord, side: &SideOfRun<'_>, vectors: &[VectorEvidence], by: &Thresholds) -> Ruling {
    let (mut total, mut right) = (0u64, 0u64);
    for vector in vectors {
        let allowed = allowed(vector);
        for (cpu, count) in &vector.fired {
            total = total.saturating_add(*count);
            // Where the mask can't be read, no CPU is wrong.
            if allowed.is_empty() || allowed.contains(cpu) {
                right = right.saturating_add(*count);
            }
        }
    }
    let seconds = side.evidence.map_or(0.0, |evidence| evidence.watched_ns.get() as f64 / 1e9);
    let polls = record.spec.wait == Wait::Poll;
    let check = |level, found: String| Ruling::new(Some(side.side), "irq-placement", level, found);
    let threshold = format!(
        "{:.0} % on allowed CPUs; below {:.0} % fails; from {} interrupts on",
        100.0 * by.interrupts_pass_share,
        100.0 * by.interrupts_fail_share,
        by.interrupts_least
    );
    if total < by.interrupts_least {
        let meaning = if polls {
            "polled completions raise no interrupt: where the vectors go can't have changed the result"
        } else {
            "too few to judge where they go"
        };
        return check(Level::Pass, format!("{total} interrupts in {seconds:.1} s"))
            .threshold(threshold)
            .meaning(meaning);
    }
    let share = right as f64 / total as f64;
    let level = if share >= by.interrupts_pass_share {
        Level::Pass
    } else if share >= by.interrupts_fail_share {
        Level::Warn
    } else {
        Level::Fail
    };
    let meaning = match (level, polls) {
        (Level::Pass, true) if !side.is_software() => {
            "a polled run takes almost none: these are of other traffic"
        }
        (Level::Pass, _) => "",
        _ => "interrupts fired where they are not allowed: the mask had not taken, or was changed",
    };
    check(level, format!("{total} interrupts in {seconds:.1} s, {:.1} % on allowed CPUs", 100.0 * share))
        .threshold(threshold)
        .meaning(meaning)
}

/// Whether a vector's mask or place changed while the run lasted.
fn stability(side: &SideOfRun<'_>, vectors: &[VectorEvidence], movers: &[String]) -> Ruling {
    let moved: Vec<(&VectorEvidence, Level)> =
        vectors.iter().filter_map(|vector| Some((vector, moved(vector)?))).collect();
    let worst = [Level::Fail, Level::Warn, Level::Note]
        .into_iter()
        .find(|level| moved.iter().any(|(_, of)| of == level))
        .unwrap_or(Level::Pass);
    let found = if moved.is_empty() {
        format!("{} vectors, none moved", vectors.len())
    } else {
        let words = moved.iter().map(|(vector, _)| describe(vector)).take(4).collect::<Vec<_>>().join("; ");
        format!("{} of {} vectors moved: {words}", moved.len(), vectors.len())
    };
    let running: Vec<&str> =
        movers.iter().filter(|mover| mover.ends_with("(running)")).map(String::as_str).collect();
    let suspects = if running.is_empty() {
        "no known mover ran".to_owned()
    } else {
        format!("{} may have done it", running.join(", "))
    };
    let meaning = match worst {
        Level::Pass => String::new(),
        Level::Note => {
            "a mask set before the run took effect with the first interrupt, as the kernel does it".to_owned()
        }
        _ => format!("the interrupts did not stay where they were: {suspects}"),
    };
    Ruling::new(Some(side.side), "irq-stability", worst, found)
        .threshold("the same CPUs throughout, looked at every second")
        .meaning(meaning)
}

/// How bad a move is; none where the vector stayed.
fn moved(vector: &VectorEvidence) -> Option<Level> {
    let fired = !vector.fired.is_empty();
    if !vector.allowed_later.is_empty() {
        return Some(if fired { Level::Fail } else { Level::Warn });
    }
    let later = vector.effective_seen.get(1..).filter(|later| !later.is_empty())?;
    let allowed = allowed(vector);
    let within = |list: &String| cpus(list).iter().all(|cpu| allowed.contains(cpu));
    if allowed.is_empty() || !later.iter().all(within) {
        return Some(if fired { Level::Fail } else { Level::Warn });
    }
    // A new mask is obeyed by the next interrupt: the first place may be the old one.
    let only_took_effect = later.len() == 1 && !vector.effective_seen.first().is_some_and(within);
    Some(if only_took_effect { Level::Note } else { Level::Warn })
}

fn describe(vector: &VectorEvidence) -> String {
    let VectorEvidence { irq, action, allowed, allowed_later, effective_seen, .. } = vector;
    if allowed_later.is_empty() {
        format!("{action} (IRQ {irq}) delivered to {}", effective_seen.join(", then "))
    } else {
        let first = allowed.as_deref().unwrap_or("unknown");
        format!("{action} (IRQ {irq}) allowed on {first}, then {}", allowed_later.join(", then "))
    }
}

/// Interrupts of the NIC on the polling CPUs themselves.
fn on_polling_cpu(
    record: &RunRecord,
    side: &SideOfRun<'_>,
    vectors: &[VectorEvidence],
    by: &Thresholds,
) -> Option<Ruling> {
    let pinned = pinned(&side.record?.placement);
    if pinned.is_empty() || record.spec.wait != Wait::Poll {
        return None;
    }
    let fired = vectors.iter().flat_map(|vector| &vector.fired);
    let count: u64 =
        fired.filter(|(cpu, _)| pinned.contains(cpu)).map(|(_, count)| *count).fold(0, u64::saturating_add);
    let cpus = host::cpulist::format(&pinned);
    let (level, meaning) = if count < by.interrupts_least {
        (Level::Pass, "")
    } else {
        (
            Level::Warn,
            "interrupts took time from the polling thread: give them another core of the NIC's node",
        )
    };
    let ruling = Ruling::new(
        Some(side.side),
        "irq-on-polling-cpu",
        level,
        format!("{count} interrupts of the NIC on CPU {cpus}"),
    );
    Some(ruling.threshold(format!("fewer than {}", by.interrupts_least)).meaning(meaning))
}

/// Interrupts of the network device's queues that were moved under them.
fn queues(side: &SideOfRun<'_>) -> Option<Ruling> {
    let moved = side
        .counted(Group::AffinityMoved)
        .iter()
        .filter_map(|counted| counted.counter.delta)
        .fold(0, u64::saturating_add);
    (moved > 0).then(|| {
        Ruling::new(
            Some(side.side),
            "queue-affinity",
            Level::Warn,
            format!("{moved} queues saw their interrupt move"),
        )
        .threshold("none")
        .meaning("someone moved the network device's interrupts while the run lasted")
    })
}

/// Every CPU a vector was allowed on.
fn allowed(vector: &VectorEvidence) -> BTreeSet<u32> {
    vector.allowed.iter().chain(&vector.allowed_later).flat_map(|list| cpus(list)).collect()
}

fn cpus(list: &str) -> Vec<u32> {
    host::cpulist::parse(list).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use schema::outcome::Side;

    use super::*;
    use crate::evidence::judge::testing::{count, judged, of, record, vector};

    const SIDE: Option<Side> = Some(Side::Responder);

    fn with(vectors: Vec<VectorEvidence>) -> RunRecord {
        let mut record = record();
        of(&mut record, Side::Responder).vectors = vectors;
        record
    }

    #[test]
    fn interrupts_are_judged_by_the_share_on_allowed_cpus_once_there_are_enough() {
        for (fired, level) in [
            (vec![], Level::Pass),
            (vec![(7, 99)], Level::Pass),
            (vec![(2, 990), (7, 10)], Level::Pass),
            (vec![(2, 960), (7, 40)], Level::Warn),
            (vec![(2, 900), (7, 100)], Level::Fail),
        ] {
            let mut record = with(vec![vector(&["2-3"], &["2"], &fired)]);
            assert_eq!(judged(&mut record, SIDE, "irq-placement").level, level, "{fired:?}");
        }
        let mut polled = with(vec![vector(&["2-3"], &["2"], &[(2, 3)])]);
        assert!(judged(&mut polled, SIDE, "irq-placement").meaning.contains("no interrupt"));
        let mut unknown = with(vec![vector(&[], &[], &[(7, 500)])]);
        assert_eq!(judged(&mut unknown, SIDE, "irq-placement").level, Level::Pass, "no mask, no wrong CPU");
    }

    #[test]
    fn a_changed_mask_fails_and_names_the_mover() {
        let mut record = with(vec![vector(&["2", "0-7"], &["2", "5"], &[(5, 400)])]);
        of(&mut record, Side::Responder).movers = vec!["irqbalance (running)".into()];
        let found = judged(&mut record, SIDE, "irq-stability");
        assert_eq!(found.level, Level::Fail);
        assert!(found.meaning.contains("irqbalance (running)"), "{}", found.meaning);
        let mut idle = with(vec![vector(&["2", "0-7"], &["2"], &[])]);
        assert_eq!(judged(&mut idle, SIDE, "irq-stability").level, Level::Warn, "it fired nothing");
    }

    #[test]
    fn a_place_that_changed_is_judged_by_whether_it_is_allowed() {
        for (effective, level) in [
            (&["2"][..], Level::Pass),
            (&["2", "3"][..], Level::Warn),
            (&["0", "3"][..], Level::Note),
            (&["2", "6"][..], Level::Fail),
            (&["0", "3", "2"][..], Level::Warn),
        ] {
            let mut record = with(vec![vector(&["2-3"], effective, &[(3, 1)])]);
            assert_eq!(judged(&mut record, SIDE, "irq-stability").level, level, "{effective:?}");
        }
    }

    #[test]
    fn interrupts_on_the_polling_cpu_are_a_warning_where_it_polls() {
        let mut record = with(vec![vector(&["2-3"], &["2"], &[(2, 100)])]);
        let placement = &mut record.responder.as_mut().expect("a side").placement;
        (placement.cpus_pinned, placement.cpus_seen) = (vec![2], vec![2]);
        assert_eq!(judged(&mut record, SIDE, "irq-on-polling-cpu").level, Level::Warn);
        record.spec.wait = Wait::Event;
        super::super::judge(&mut record);
        assert!(record.judgements.iter().all(|judgement| judgement.check != "irq-on-polling-cpu"));
    }

    #[test]
    fn queues_that_were_moved_are_said() {
        let mut record = with(Vec::new());
        count(&mut record, Side::Responder, "ethtool e", "ch0_aff_change", 1);
        assert_eq!(judged(&mut record, SIDE, "queue-affinity").level, Level::Warn);
    }
}
