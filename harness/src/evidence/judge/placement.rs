//! Whether the polling threads and their memory were where they were put, and whether their CPUs were let work.

use schema::{RunRecord, evidence::Level, record::PlacementRecord};

use super::{Ruling, SideOfRun, Thresholds};
use crate::evidence::catalogue::Group;

pub(super) fn rule(record: &RunRecord, side: &SideOfRun<'_>, thresholds: &Thresholds) -> Vec<Ruling> {
    let mut rulings = Vec::new();
    if let Some(of_engine) = side.record {
        let placement = &of_engine.placement;
        rulings.extend(thread_cpu(side, placement));
        rulings.extend(switches(record, side, placement, thresholds));
        rulings.extend(residency(side, placement, of_engine.device.numa_node));
        rulings.extend(frequency(side, placement, thresholds));
    }
    rulings.extend(throttling(side));
    rulings
}

/// Whether the polling threads stayed on the CPUs they were pinned to.
fn thread_cpu(side: &SideOfRun<'_>, placement: &PlacementRecord) -> Option<Ruling> {
    let pinned = pinned(placement);
    if placement.cpus_seen.is_empty() {
        return None;
    }
    let seen = list(&placement.cpus_seen);
    if pinned.is_empty() {
        let ruling = Ruling::new(
            Some(side.side),
            "thread-cpu",
            Level::Note,
            format!("seen on CPU {seen}, not pinned"),
        );
        return Some(
            ruling
                .threshold("pinned")
                .meaning("the scheduler chose the CPUs: they may differ from run to run"),
        );
    }
    let strayed: Vec<u32> = placement.cpus_seen.iter().copied().filter(|cpu| !pinned.contains(cpu)).collect();
    let threshold = format!("CPU {} alone", list(&pinned));
    let ruling = if strayed.is_empty() {
        Ruling::new(Some(side.side), "thread-cpu", Level::Pass, format!("seen on CPU {seen} alone"))
    } else {
        Ruling::new(
            Some(side.side),
            "thread-cpu",
            Level::Fail,
            format!("pinned to CPU {}, seen on CPU {}", list(&pinned), list(&strayed)),
        )
        .meaning("a polling thread left its CPU: the run was not measured where it was put")
        .invalidates_if(true)
    };
    Some(ruling.threshold(threshold))
}

/// How often something else took a polling thread's CPU.
fn switches(
    record: &RunRecord,
    side: &SideOfRun<'_>,
    placement: &PlacementRecord,
    by: &Thresholds,
) -> Option<Ruling> {
    let switches = placement.involuntary_switches?;
    let seconds: f64 = record.points.iter().map(|point| point.duration_ns.get() as f64 / 1e9).sum();
    if seconds <= 0.0 {
        return None;
    }
    let rate = switches as f64 / seconds;
    let level = match grade(rate, by.switches_pass_per_sec, by.switches_fail_per_sec) {
        _ if switches <= by.switches_few => Level::Pass,
        level => level,
    };
    let meaning = match level {
        Level::Pass | Level::Note => "",
        Level::Warn => "other work ran on the polling CPU: the slowest messages waited for it",
        Level::Fail => {
            "the polling thread shared its CPU with other work: every number of the run may be of half a CPU"
        }
    };
    let found = format!("{switches} involuntary switches in {seconds:.1} s, {rate:.1} a second");
    let (few, pass, fail) = (by.switches_few, by.switches_pass_per_sec, by.switches_fail_per_sec);
    let threshold = format!("at most {pass} a second, or {few} in all; above {fail} a second fails");
    Some(Ruling::new(Some(side.side), "switches", level, found).threshold(threshold).meaning(meaning))
}

/// Whether the message buffers lie on the node they were bound to, and on the NIC's.
fn residency(side: &SideOfRun<'_>, placement: &PlacementRecord, nic: Option<u32>) -> Option<Ruling> {
    let total: u64 = placement.pages_by_node.iter().map(|(_, pages)| *pages).fold(0, u64::saturating_add);
    if total == 0 {
        return None;
    }
    let on = |node: u32| -> u64 {
        placement
            .pages_by_node
            .iter()
            .filter(|(of, _)| *of == node)
            .map(|(_, pages)| *pages)
            .fold(0, u64::saturating_add)
    };
    let found = |node: u32| format!("{} of {total} pages on node {node}", on(node));
    let check = |level, found| Ruling::new(Some(side.side), "residency", level, found);
    Some(match (placement.memory_node_bound, nic) {
        (Some(bound), _) if on(bound) < total => check(Level::Fail, found(bound))
            .threshold(format!("all on node {bound}, to which they were bound"))
            .meaning("buffers lie off the node they were bound to: the run was not measured as it was asked")
            .invalidates_if(true),
        (Some(bound), Some(nic)) if bound != nic => check(Level::Note, found(bound))
            .threshold(format!("all on node {bound}, as asked; the NIC is on node {nic}"))
            .meaning("the NIC reaches the buffers over the link between the nodes, as was asked"),
        (Some(bound), _) => check(Level::Pass, found(bound)).threshold(format!("all on node {bound}")),
        (None, Some(nic)) if on(nic) < total => check(Level::Warn, found(nic))
            .threshold(format!("all on the NIC's node {nic}"))
            .meaning("the NIC reaches some buffers over the link between the nodes; nothing bound them"),
        (None, Some(nic)) => check(Level::Pass, found(nic)).threshold(format!("all on the NIC's node {nic}")),
        (None, None) => return None,
    })
}

/// How fast the polling CPUs ran while they measured.
fn frequency(side: &SideOfRun<'_>, placement: &PlacementRecord, by: &Thresholds) -> Option<Ruling> {
    let pinned = pinned(placement);
    let cpus = &side.evidence?.frequencies;
    let slowest = cpus.iter().filter(|cpu| pinned.contains(&cpu.cpu)).min_by_key(|cpu| cpu.median_khz)?;
    let mhz = |khz: u64| khz / 1_000;
    let found = format!(
        "CPU {} at {} MHz (median of {} samples, {} to {})",
        slowest.cpu,
        mhz(slowest.median_khz),
        slowest.samples,
        mhz(slowest.lowest_khz),
        mhz(slowest.highest_khz)
    );
    let Some(base) = slowest.base_khz else {
        let ruling = Ruling::new(Some(side.side), "frequency", Level::Note, found);
        return Some(ruling.threshold("none: the platform names no base frequency"));
    };
    let enough = slowest.median_khz as f64 >= by.frequency_pass_share * base as f64;
    let (level, meaning) = if enough {
        (Level::Pass, "")
    } else {
        (Level::Fail, "the polling CPU ran below its base frequency: power saving, or heat")
    };
    let threshold =
        format!("{:.0} % of the base frequency, {} MHz", 100.0 * by.frequency_pass_share, mhz(base));
    Some(Ruling::new(Some(side.side), "frequency", level, found).threshold(threshold).meaning(meaning))
}

/// Whether heat slowed a CPU, or the optics were too hot.
fn throttling(side: &SideOfRun<'_>) -> Option<Ruling> {
    let counted = side.counted(Group::Throttled);
    let hot: Vec<String> = counted
        .iter()
        .filter(|counted| counted.counter.delta > Some(0))
        .map(|counted| {
            format!(
                "{} {} +{}",
                counted.counter.source,
                counted.counter.name,
                counted.counter.delta.unwrap_or(0)
            )
        })
        .collect();
    if counted.is_empty() {
        return None;
    }
    let (level, found, meaning) = if hot.is_empty() {
        (Level::Pass, "none".to_owned(), "")
    } else {
        (Level::Warn, hot.join(", "), "heat slowed the host down while the run lasted")
    };
    Some(Ruling::new(Some(side.side), "throttling", level, found).threshold("none").meaning(meaning))
}

/// The CPUs of the polling threads; records of earlier releases have the first alone.
pub(super) fn pinned(placement: &PlacementRecord) -> Vec<u32> {
    if placement.cpus_pinned.is_empty() {
        placement.cpu_pinned.into_iter().collect()
    } else {
        placement.cpus_pinned.clone()
    }
}

fn list(cpus: &[u32]) -> String {
    host::cpulist::format(cpus)
}

/// Pass up to `pass`, fail above `fail`, warning between.
pub(super) fn grade(value: f64, pass: f64, fail: f64) -> Level {
    if value <= pass {
        Level::Pass
    } else if value <= fail {
        Level::Warn
    } else {
        Level::Fail
    }
}

#[cfg(test)]
mod tests {
    use schema::{evidence::FrequencyEvidence, outcome::Side};

    use super::*;
    use crate::evidence::judge::testing::{count, judged, of, record};

    const SIDE: Option<Side> = Some(Side::Requester);

    fn placed(change: impl FnOnce(&mut PlacementRecord)) -> RunRecord {
        let mut record = record();
        let side = record.requester.as_mut().expect("a completed run");
        side.device.numa_node = Some(1);
        let placement = &mut side.placement;
        (placement.cpus_pinned, placement.cpus_seen) = (vec![2, 3], vec![2, 3]);
        (placement.memory_node_bound, placement.pages_by_node) = (Some(1), vec![(1, 512)]);
        change(placement);
        record
    }

    #[test]
    fn a_thread_seen_elsewhere_makes_the_run_invalid_and_an_unpinned_one_is_a_note() {
        let mut stayed = placed(|_| ());
        assert_eq!(judged(&mut stayed, SIDE, "thread-cpu").level, Level::Pass);
        let mut strayed = placed(|placement| placement.cpus_seen.push(7));
        assert!(judged(&mut strayed, SIDE, "thread-cpu").found.ends_with("seen on CPU 7"));
        assert!(!strayed.is_valid());
        let mut free = placed(|placement| {
            placement.cpus_pinned.clear();
            placement.cpu_pinned = None;
        });
        assert_eq!(judged(&mut free, SIDE, "thread-cpu").level, Level::Note);
        assert!(free.is_valid());
    }

    #[test]
    fn pages_off_the_bound_node_make_the_run_invalid_and_a_remote_node_that_was_asked_for_does_not() {
        let mut good = placed(|_| ());
        assert_eq!(judged(&mut good, SIDE, "residency").level, Level::Pass);
        let mut off = placed(|placement| placement.pages_by_node = vec![(1, 500), (0, 12)]);
        assert_eq!(judged(&mut off, SIDE, "residency").found, "500 of 512 pages on node 1");
        assert!(!off.is_valid());
        let mut asked = placed(|placement| {
            (placement.memory_node_bound, placement.pages_by_node) = (Some(0), vec![(0, 512)]);
        });
        assert_eq!((judged(&mut asked, SIDE, "residency").level, asked.is_valid()), (Level::Note, true));
        let mut unbound = placed(|placement| {
            (placement.memory_node_bound, placement.pages_by_node) = (None, vec![(0, 512)]);
        });
        assert_eq!((judged(&mut unbound, SIDE, "residency").level, unbound.is_valid()), (Level::Warn, true));
    }

    #[test]
    fn switches_are_held_against_the_time_measured() {
        let seconds =
            |record: &RunRecord| record.points.iter().map(|p| p.duration_ns.get() as f64 / 1e9).sum::<f64>();
        for (rate, level) in [(5.0, Level::Pass), (20.0, Level::Warn), (120.0, Level::Fail)] {
            let mut record = placed(|_| ());
            let switches = (rate * seconds(&record)).round() as u64;
            record.requester.as_mut().expect("a side").placement.involuntary_switches = Some(switches);
            assert_eq!(judged(&mut record, SIDE, "switches").level, level, "{rate} a second");
        }
        let mut short = placed(|_| ());
        short.points.iter_mut().for_each(|point| point.duration_ns = schema::Nanos(50_000_000));
        short.requester.as_mut().expect("a side").placement.involuntary_switches = Some(5);
        assert_eq!(judged(&mut short, SIDE, "switches").level, Level::Pass, "five are no rate");
    }

    #[test]
    fn only_polling_cpus_below_their_base_frequency_fail() {
        let evidence = |cpu, median_khz, base_khz| FrequencyEvidence {
            cpu,
            samples: 3,
            lowest_khz: 1_000_000,
            median_khz,
            highest_khz: 3_000_000,
            base_khz,
        };
        for (frequencies, level) in [
            (
                vec![evidence(2, 1_950_000, Some(2_000_000)), evidence(9, 800_000, Some(2_000_000))],
                Level::Pass,
            ),
            (
                vec![evidence(2, 2_900_000, Some(2_000_000)), evidence(3, 1_200_000, Some(2_000_000))],
                Level::Fail,
            ),
            (vec![evidence(2, 1_200_000, None)], Level::Note),
        ] {
            let mut record = placed(|_| ());
            of(&mut record, Side::Requester).frequencies = frequencies;
            assert_eq!(judged(&mut record, SIDE, "frequency").level, level);
        }
    }

    #[test]
    fn heat_is_a_warning() {
        let mut record = placed(|_| ());
        count(&mut record, Side::Requester, "thermal cpu2", "core_throttle_count", 0);
        assert_eq!(judged(&mut record.clone(), SIDE, "throttling").level, Level::Pass);
        count(&mut record, Side::Requester, "thermal cpu3", "package_throttle_count", 4);
        let hot = judged(&mut record, SIDE, "throttling");
        assert_eq!((hot.level, hot.found.as_str()), (Level::Warn, "thermal cpu3 package_throttle_count +4"));
    }
}
