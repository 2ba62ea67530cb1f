//! A night's values: of every series the median of its valid runs, and what else the runs say. Pure: the same campaign gives the
//! same values every time, so that what is kept can be checked.

use reports::{
    bound::{Bound, broken, payload_bound},
    compare::median,
};
use schema::{Campaign, CampaignRun, Configuration, Endpoint, Fabric, Level, Metric, RunRecord, Side, Test};

use super::{Kept, configuration::configuration};
use crate::words;

/// Of fewer valid runs the median is no better than a single run, so there is no value.
pub const FEWEST_VALID: usize = 3;

/// Checks of a run's evidence that say that a link is wrong, whatever was measured over it.
const OF_THE_LINK: &[&str] = &["cable", "link-down"];

/// What the runs of a campaign say of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    /// Which workload, size and metric.
    pub kept: Kept,
    /// What carried the messages.
    pub fabric: Fabric,
    /// Both ends, requester first; none where no run came so far.
    pub ends: Option<[Endpoint; 2]>,
    /// Under what it was measured; none where no run came so far.
    pub configuration: Option<Configuration>,
    /// Valid runs, in time order, in [`Metric::unit`].
    pub runs: Vec<f64>,
    /// Runs whose number is not used.
    pub failed_runs: u32,
    /// Why, the first of them.
    pub failure: Option<String>,
    /// What the link and the host can carry, of this metric; none for any but bandwidth, and where it is not known.
    pub expected: Option<Bound>,
    /// What is wrong with the link.
    pub faults: Vec<String>,
}

impl Derived {
    /// The median of the runs; none of fewer than [`FEWEST_VALID`].
    pub fn value(&self) -> Option<f64> {
        median(&self.runs).filter(|_| self.runs.len() >= FEWEST_VALID)
    }
}

/// What a campaign of one variant says of these series.
pub fn derive(campaign: &Campaign, points: &[Kept]) -> Vec<Derived> {
    points.iter().map(|kept| derive_one(campaign, kept)).collect()
}

fn derive_one(campaign: &Campaign, kept: &Kept) -> Derived {
    let runs: Vec<&CampaignRun> = campaign.runs.iter().filter(|run| run.workload == kept.workload).collect();
    let records = || runs.iter().map(|run| &run.record);
    let (mut values, mut failed_runs, mut failure) = (Vec::new(), 0, None);
    for record in records() {
        match value(record, kept) {
            Ok(value) => values.push(value),
            Err(why) => {
                failed_runs += 1;
                failure.get_or_insert(why);
            }
        }
    }
    if runs.is_empty() {
        failure = Some("no run was made".to_owned());
    }
    // What was in force when a run failed is told only where no run was better.
    let valid: Vec<&RunRecord> = records().filter(|record| record.is_valid()).collect();
    let configuration = configuration(valid.into_iter()).or_else(|| configuration(records()));
    Derived {
        kept: kept.clone(),
        fabric: records().next().map_or_else(|| fabric_asked(campaign, kept), |record| record.fabric),
        ends: records().find_map(ends),
        configuration,
        runs: values,
        failed_runs,
        failure,
        expected: (kept.metric == Metric::Bandwidth)
            .then(|| records().find_map(|record| expected(record, kept)))
            .flatten(),
        faults: faults(&runs),
    }
}

fn fabric_asked(campaign: &Campaign, kept: &Kept) -> Fabric {
    let workload = campaign.workloads.iter().find(|workload| workload.name == kept.workload);
    let spec = workload.and_then(|workload| workload.specs.values().next());
    let soft = spec.is_some_and(|spec| spec.requester.device == "soft");
    if soft { Fabric::Soft } else { Fabric::Verbs }
}

fn value(record: &RunRecord, kept: &Kept) -> Result<f64, String> {
    if !record.is_valid() {
        return Err(words::ending(record));
    }
    if let Some(why) = broken(record) {
        return Err(why);
    }
    let point = record.points.iter().find(|point| point.msg_bytes == kept.msg_bytes);
    let point = point.ok_or_else(|| format!("it measured nothing at {}", kept.msg_bytes))?;
    kept.metric.of(point).ok_or_else(|| {
        format!("{} messages are too few to publish {}; let it measure longer", point.messages, kept.metric)
    })
}

/// The two ends, requester first.
fn ends(record: &RunRecord) -> Option<[Endpoint; 2]> {
    let (requester, responder) = (record.requester.as_ref()?, record.responder.as_ref()?);
    Some(
        [requester, responder]
            .map(|side| Endpoint { host: side.host.hostname.clone(), device: side.device.name.clone() }),
    )
}

/// What [`Metric::Bandwidth`], which counts both directions, can come to.
fn expected(record: &RunRecord, kept: &Kept) -> Option<Bound> {
    let bound = payload_bound(record, kept.msg_bytes)?;
    if !record.spec.bidirectional || record.spec.test == Test::Latency {
        return Some(bound);
    }
    let basis = format!("both directions of {}", bound.basis);
    Some(Bound { bits_per_sec: 2.0 * bound.bits_per_sec, basis })
}

/// What the evidence says of the link, each once, with the first run's words.
fn faults(runs: &[&CampaignRun]) -> Vec<String> {
    let mut faults = Vec::new();
    for side in [Side::Requester, Side::Responder] {
        let trained_down = |run: &&CampaignRun| {
            let record = match side {
                Side::Requester => run.record.requester.as_ref(),
                Side::Responder => run.record.responder.as_ref(),
            };
            record?.device.pcie.clone().filter(|pcie| pcie.link != pcie.possible)
        };
        if let Some(pcie) = runs.iter().find_map(trained_down) {
            let (link, possible) = (pcie.link, pcie.possible);
            faults.push(format!("a PCIe link of the {side} runs at {link}; both its ends can {possible}"));
        }
        for check in OF_THE_LINK {
            let wrong = |run: &&CampaignRun| {
                let judged = run.record.judgements.iter();
                let mut judged = judged.filter(|judged| judged.side == Some(side) && judged.check == *check);
                judged.find(|judged| judged.level >= Level::Warn).cloned()
            };
            let found: Vec<_> = runs.iter().filter_map(wrong).collect();
            if let Some(first) = found.first() {
                let (of, count) = (runs.len(), found.len());
                let text = format!("{check} at the {side} in {count} of {of} runs: {}", first.found);
                let meaning =
                    if first.meaning.is_empty() { String::new() } else { format!(" ({})", first.meaning) };
                faults.push(text + &meaning);
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use reports::testing::{Sample, fail};
    use schema::{Bytes, Judgement, record::PcieRecord};

    use super::*;

    /// A campaign of one variant with five runs.
    fn campaign(test: Test) -> Campaign {
        Sample { test, candidates: Vec::new(), blocks: 5, ..Sample::default() }.campaign()
    }

    fn kept(metric: Metric) -> Kept {
        Kept { workload: "write".into(), msg_bytes: Bytes(65_536), metric }
    }

    #[test]
    fn the_same_campaign_gives_the_same_values() {
        let campaign = campaign(Test::Latency);
        let points = [kept(Metric::P50), kept(Metric::P99)];
        let once = derive(&campaign, &points);
        assert_eq!(once, derive(&campaign, &points));
        assert_eq!(once[1].value(), median(&once[1].runs));
        assert!(once[0].value() < once[1].value());
    }

    #[test]
    fn a_metric_that_was_not_published_is_a_reason_and_no_zero() {
        let mut campaign = campaign(Test::Latency);
        for run in &mut campaign.runs {
            run.record.points[0].latency_ns.p99_9 = None;
        }
        let derived = &derive(&campaign, &[kept(Metric::P99_9)])[0];
        assert_eq!((derived.value(), derived.runs.len()), (None, 0));
        let failure = derived.failure.as_deref().unwrap();
        assert!(failure.contains("too few to publish p99.9"), "{failure}");
    }

    #[test]
    fn what_no_longer_counts_is_counted_as_failed() {
        let mut campaign = campaign(Test::Bandwidth);
        fail(&mut campaign.runs[0]);
        let last = campaign.runs.last_mut().unwrap();
        last.record.invalid = vec!["a counter ran backwards".into()];
        let made = campaign.runs.len();
        let derived = &derive(&campaign, &[kept(Metric::Bandwidth)])[0];
        assert_eq!((derived.failed_runs, derived.runs.len()), (2, made - 2));
    }

    #[test]
    fn what_no_link_carries_is_no_value() {
        let mut campaign = campaign(Test::Bandwidth);
        let made = campaign.runs.len();
        for run in &mut campaign.runs {
            run.record.spec.soft_model = Some("rate=100Gbps".parse().unwrap());
        }
        campaign.runs[1].record.points[0].bandwidth_bits_per_sec = Some(103e9);
        let derived = &derive(&campaign, &[kept(Metric::Bandwidth)])[0];
        assert_eq!((derived.failed_runs as usize, derived.runs.len()), (1, made - 1));
        assert!(derived.failure.as_deref().unwrap().contains("claims 103.0 Gb/s"), "{:?}", derived.failure);
    }

    #[test]
    fn what_the_link_suffered_is_told_once_with_how_often() {
        let mut campaign = campaign(Test::Bandwidth);
        let made = campaign.runs.len();
        for run in campaign.runs.iter_mut().skip(1) {
            for (check, level) in [("link-down", Level::Fail), ("cable", Level::Pass), ("pause", Level::Fail)]
            {
                run.record.judgements.push(Judgement {
                    side: Some(Side::Responder),
                    check: check.into(),
                    level,
                    found: "link_downed +1".into(),
                    threshold: "none".into(),
                    meaning: "the link went down while the run lasted".into(),
                });
            }
        }
        let faults = &derive(&campaign, &[kept(Metric::Bandwidth)])[0].faults;
        let wanted = format!(
            "link-down at the responder in {} of {made} runs: link_downed +1 (the link went down while the run lasted)",
            made - 1
        );
        assert_eq!(*faults, [wanted]);
    }

    #[test]
    fn a_pcie_link_that_trained_to_less_is_a_fault() {
        let mut campaign = campaign(Test::Bandwidth);
        let pcie = |link: &str| {
            Some(PcieRecord {
                link: link.into(),
                possible: "16.0 GT/s x16".into(),
                rate_bits_per_sec: schema::BitsPerSec(126_000_000_000),
                max_payload_bytes: None,
            })
        };
        let end = |campaign: &mut Campaign, link: &str| {
            for run in &mut campaign.runs {
                run.record.requester.as_mut().unwrap().device.pcie = pcie(link);
            }
            derive(campaign, &[kept(Metric::Bandwidth)])[0].faults.clone()
        };
        assert!(end(&mut campaign, "16.0 GT/s x16").is_empty());
        let said = "a PCIe link of the requester runs at 16.0 GT/s x8; both its ends can 16.0 GT/s x16";
        assert_eq!(end(&mut campaign, "16.0 GT/s x8"), [said]);
    }

    #[test]
    fn both_directions_may_reach_twice_the_rate() {
        let mut campaign = campaign(Test::Bandwidth);
        for run in &mut campaign.runs {
            run.record.spec.soft_model = Some("rate=10Gbps".parse().unwrap());
            run.record.spec.bidirectional = true;
        }
        let expected = derive(&campaign, &[kept(Metric::Bandwidth)])[0].expected.clone().unwrap();
        assert_eq!(expected.bits_per_sec, 20e9);
        assert!(expected.basis.starts_with("both directions of the rate"), "{}", expected.basis);
        assert_eq!(derive(&campaign, &[kept(Metric::P50)])[0].expected, None);
    }
}
