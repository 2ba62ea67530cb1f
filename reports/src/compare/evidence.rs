//! What the hosts did, variant beside variant: what was tuned and what became of it, how the checks came out, and what the
//! counters counted in a run.
//!
//! Only what was judged and counted with the runs is put together here; nothing is judged anew.

use std::collections::BTreeMap;

use schema::{
    Campaign, CampaignRun, KnobRecord, Side,
    evidence::{Judgement, Level},
};

use super::{
    effect::spread,
    model::{
        CheckOfVariant, CheckRow, ConditionRow, CounterOfVariant, CounterRow, EvidenceSummary, TunedRow,
    },
};

/// Puts the evidence of a campaign together; none where no run has any.
pub(super) fn summarise(campaign: &Campaign) -> Option<EvidenceSummary> {
    let summary = EvidenceSummary {
        variants: campaign.variants.iter().map(|variant| variant.name.clone()).collect(),
        tuned: tuned(campaign),
        checks: checks(campaign),
        counters: counters(campaign),
        conditions: conditions(campaign),
    };
    let watched = !(summary.tuned.is_empty() && summary.checks.is_empty() && summary.counters.is_empty());
    watched.then_some(summary)
}

/// The completed runs of a variant, controls and invalid ones among them.
fn completed<'c>(campaign: &'c Campaign, variant: &'c str) -> impl Iterator<Item = &'c CampaignRun> {
    campaign.runs.iter().filter(move |run| run.variant == variant && run.record.outcome.is_completed())
}

/// What makes a row of the table of what was tuned: everything but the target.
type TunedKey = (Side, String, String, Vec<String>, String, Vec<String>, String);

fn tuned(campaign: &Campaign) -> Vec<TunedRow> {
    let mut rows = Vec::new();
    for variant in &campaign.variants {
        let mut targets: BTreeMap<(u8, usize), Vec<(Side, &KnobRecord)>> = BTreeMap::new();
        // In the order in which they were turned; a variant turns the same in every run.
        for run in campaign.runs.iter().filter(|run| run.variant == variant.name) {
            for evidence in &run.record.evidence {
                for (place, knob) in evidence.tuning.iter().enumerate() {
                    targets.entry((evidence.side as u8, place)).or_default().push((evidence.side, knob));
                }
            }
        }
        let mut grouped: Vec<(TunedKey, Vec<String>)> = Vec::new();
        for runs in targets.values() {
            let Some((side, first)) = runs.first() else { continue };
            let key = tuned_key(*side, first, runs);
            match grouped.iter_mut().find(|(known, _)| *known == key) {
                Some((_, targets)) => targets.push(first.target.clone()),
                None => grouped.push((key, vec![first.target.clone()])),
            }
        }
        rows.extend(grouped.into_iter().map(
            |((side, knob, item, old, asked, effective, became), targets)| TunedRow {
                variant: variant.name.clone(),
                side,
                knob,
                item,
                targets,
                old,
                asked,
                effective,
                became,
            },
        ));
    }
    rows
}

fn tuned_key(side: Side, first: &KnobRecord, runs: &[(Side, &KnobRecord)]) -> TunedKey {
    let of = |what: fn(&KnobRecord) -> String| -> Vec<String> {
        distinct(runs.iter().map(|(_, knob)| what(knob)))
    };
    let unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
    let old = distinct(runs.iter().map(|(_, knob)| unknown(&knob.old)));
    let effective = distinct(runs.iter().map(|(_, knob)| unknown(&knob.effective)));
    let mut states: BTreeMap<String, u32> = BTreeMap::new();
    for (_, knob) in runs {
        *states.entry(knob.state.to_string()).or_default() += 1;
    }
    let mut became: Vec<String> =
        states.into_iter().map(|(state, runs)| format!("{state} ({runs})")).collect();
    became.extend(of(|knob| knob.note.clone()).into_iter().filter(|note| !note.is_empty()));
    (side, first.knob.to_string(), first.item.clone(), old, first.asked.clone(), effective, became.join(", "))
}

/// Each once, in the order in which they first occur.
fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen
}

fn checks(campaign: &Campaign) -> Vec<CheckRow> {
    let mut keys: Vec<(Option<Side>, &str)> = Vec::new();
    for judgement in campaign.runs.iter().flat_map(|run| &run.record.judgements) {
        let key = (judgement.side, judgement.check.as_str());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let mut rows: Vec<CheckRow> = keys
        .into_iter()
        .map(|(side, check)| CheckRow {
            side,
            check: check.to_owned(),
            variants: campaign
                .variants
                .iter()
                .map(|variant| check_of(completed(campaign, &variant.name), side, check))
                .collect(),
        })
        .filter(|row| row.variants.iter().any(Option::is_some))
        .collect();
    // What is off comes first; of the same level, in the order of the checks.
    rows.sort_by_key(|row| std::cmp::Reverse(row.worst()));
    rows
}

fn check_of<'c>(
    runs: impl Iterator<Item = &'c CampaignRun>,
    side: Option<Side>,
    check: &str,
) -> Option<CheckOfVariant> {
    let all: Vec<(&CampaignRun, &Judgement)> = runs
        .flat_map(|run| run.record.judgements.iter().map(move |judgement| (run, judgement)))
        .filter(|(_, judgement)| judgement.side == side && judgement.check == check)
        .collect();
    let worst = all.iter().map(|(_, judgement)| judgement.level).max()?;
    let (run, example) = all.iter().find(|(_, judgement)| judgement.level == worst)?;
    Some(CheckOfVariant {
        runs: all.len() as u32,
        worst,
        of_worst: all.iter().filter(|(_, judgement)| judgement.level == worst).count() as u32,
        example_run: run.sequence,
        found: example.found.clone(),
        threshold: example.threshold.clone(),
        meaning: example.meaning.clone(),
    })
}

/// A counter by what it is: side, source, name.
type CounterKey<'c> = (u8, &'c str, &'c str);

fn counters(campaign: &Campaign) -> Vec<CounterRow> {
    let mut rows: BTreeMap<CounterKey<'_>, CounterRow> = BTreeMap::new();
    for (column, variant) in campaign.variants.iter().enumerate() {
        let mut watched: BTreeMap<u8, usize> = BTreeMap::new();
        let mut grown: BTreeMap<CounterKey<'_>, (Vec<f64>, usize)> = BTreeMap::new();
        for evidence in completed(campaign, &variant.name).flat_map(|run| &run.record.evidence) {
            *watched.entry(evidence.side as u8).or_default() += 1;
            for counter in &evidence.counters {
                let key = (evidence.side as u8, counter.source.as_str(), counter.name.as_str());
                rows.entry(key).or_insert_with(|| CounterRow {
                    side: evidence.side,
                    source: counter.source.clone(),
                    name: counter.name.clone(),
                    unit: counter.unit,
                    variants: vec![None; campaign.variants.len()],
                });
                let (known, untold) = grown.entry(key).or_default();
                match counter.delta {
                    Some(delta) => known.push(delta as f64),
                    None => *untold += 1,
                }
            }
        }
        for (key, (mut known, untold)) in grown {
            // A run that was watched and did not keep a counter saw it stand still.
            known.resize(watched[&key.0].saturating_sub(untold), 0.0);
            let of = CounterOfVariant { spread: spread(known.into_iter()), untold: untold as u32 };
            if let Some(row) = rows.get_mut(&key) {
                row.variants[column] = Some(of);
            }
        }
    }
    rows.into_values().filter(CounterRow::moved).collect()
}

/// What decides much and is no number of a run: MTUs, and movers that ran.
fn conditions(campaign: &Campaign) -> Vec<ConditionRow> {
    let row = |name: &str, of: &dyn Fn(&CampaignRun) -> Option<String>| {
        let variants: Vec<Vec<String>> = campaign
            .variants
            .iter()
            .map(|variant| distinct(completed(campaign, &variant.name).filter_map(of)))
            .collect();
        let known = variants.iter().any(|values| !values.is_empty());
        known.then(|| ConditionRow { name: name.to_owned(), variants })
    };
    let movers = |side: Side| {
        move |run: &CampaignRun| {
            let evidence = run.record.evidence.iter().find(|evidence| evidence.side == side)?;
            (!evidence.movers.is_empty()).then(|| evidence.movers.join(", "))
        }
    };
    [
        row("path MTU granted, bytes", &|run| Some(run.record.granted.as_ref()?.path_mtu.to_string())),
        row("active MTU of the requester's port, bytes", &|run| {
            Some(run.record.requester.as_ref()?.device.active_mtu.to_string())
        }),
        row("active MTU of the responder's port, bytes", &|run| {
            Some(run.record.responder.as_ref()?.device.active_mtu.to_string())
        }),
        row("movers of interrupts on the requester's host", &movers(Side::Requester)),
        row("movers of interrupts on the responder's host", &movers(Side::Responder)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl CheckRow {
    /// The worst level in any variant.
    pub fn worst(&self) -> Level {
        self.variants.iter().flatten().map(|of| of.worst).max().unwrap_or(Level::Pass)
    }
}

impl CounterRow {
    /// Whether it grew in some run of some variant, or could not be told.
    fn moved(&self) -> bool {
        self.variants
            .iter()
            .flatten()
            .any(|of| of.untold > 0 || of.spread.is_some_and(|spread| spread.max > 0.0))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::testing::{self, Sample};

    #[test]
    fn a_campaign_nobody_watched_has_none() {
        assert_eq!(summarise(&Sample::default().campaign()), None);
    }

    #[test]
    fn the_worst_comes_first_with_how_often_and_where() {
        let campaign = testing::named("watched").expect("a sample");
        let summary = summarise(&campaign).expect("evidence");
        let worst = &summary.checks[0];
        assert_eq!((worst.check.as_str(), worst.worst()), ("loss", Level::Fail));
        let [base, deep] = &worst.variants[..] else { panic!("two variants") };
        assert_eq!(base.as_ref().map(|of| (of.worst, of.of_worst)), Some((Level::Pass, 16)));
        let deep = deep.as_ref().expect("judged");
        assert_eq!((deep.worst, deep.of_worst, deep.runs), (Level::Fail, 8, 8));
        assert!(summary.checks.windows(2).all(|two| two[0].worst() >= two[1].worst()));
    }

    #[test]
    fn counters_are_medians_of_runs_and_only_those_that_moved() {
        let campaign = testing::named("watched").expect("a sample");
        let summary = summarise(&campaign).expect("evidence");
        assert!(
            summary.counters.iter().all(|row| row.name != "retry_exceeded_err"),
            "it stood still everywhere"
        );
        let seq = summary.counters.iter().find(|row| row.name == "rcvd_seq_err").expect("it moved in one");
        let median =
            |column: usize| seq.variants[column].and_then(|of| of.spread).map(|spread| spread.median);
        assert_eq!((median(0), median(1)), (Some(0.0), Some(11.5)));
        let untold =
            summary.counters.iter().find(|row| row.name == "ack_deferred").expect("it can't be told");
        assert_eq!(untold.variants[1].map(|of| of.untold), Some(1));
    }

    #[test]
    fn targets_that_fared_the_same_share_a_row() {
        let campaign = testing::named("watched").expect("a sample");
        let tuned = summarise(&campaign).expect("evidence").tuned;
        assert_eq!(tuned.len(), 2, "{tuned:#?}");
        assert_eq!((tuned[0].variant.as_str(), tuned[0].knob.as_str()), ("deep", "mtu"));
        assert_eq!(tuned[0].became, "restored (8)");
        assert_eq!(tuned[1].targets.len(), 2);
    }
}
