//! What campaigns with a known answer are said to be, and how often a campaign without an effect is said to have one.

use reports::{
    CampaignVerdict, CompareOptions, Comparison, Verdict, compare,
    compare::{Doubt, Unusable},
    testing::{self, Sample, fail},
};
use schema::{Bytes, Gate, Metric, Outcome, Purpose, Test};

fn judged(campaign: &schema::Campaign) -> Comparison {
    compare(campaign, &CompareOptions::default())
}

fn only_gate(comparison: &Comparison) -> &Verdict {
    let gates: Vec<_> = comparison.gates().collect();
    assert_eq!(gates.len(), 1);
    &gates[0].verdict
}

#[test]
fn every_sample_is_what_it_is_called() {
    for (name, verdict, exit_code) in [
        ("improved", CampaignVerdict::Improved, 0),
        ("regressed", CampaignVerdict::Regressed, 1),
        ("equivalent", CampaignVerdict::Equivalent, 0),
        ("inconclusive", CampaignVerdict::Inconclusive, 4),
        ("unstable", CampaignVerdict::Unstable, 4),
        ("failed_runs", CampaignVerdict::Improved, 0),
        ("several_sizes", CampaignVerdict::Improved, 0),
    ] {
        let comparison = judged(&testing::named(name).unwrap());
        assert_eq!((comparison.verdict, comparison.exit_code()), (verdict, exit_code), "{name}");
    }
}

#[test]
fn lower_latency_is_better_and_lower_bandwidth_is_worse() {
    let latency = Sample { test: Test::Latency, ..Sample::default() };
    assert_eq!(judged(&latency.campaign()).verdict, CampaignVerdict::Improved);
    let slower = Sample { candidates: vec![("deep", 0.9)], ..Sample::default() };
    assert_eq!(judged(&slower.campaign()).verdict, CampaignVerdict::Regressed);
}

#[test]
fn a_real_change_within_the_margin_is_negligible() {
    let gates = vec![Gate { metric: Metric::Bandwidth, workload: None, msg_bytes: None, margin: 0.05 }];
    let campaign = Sample { candidates: vec![("deep", 1.02)], gates, ..Sample::default() }.campaign();
    assert_eq!(judged(&campaign).verdict, CampaignVerdict::Negligible);
}

#[test]
fn a_change_near_the_margin_is_not_decided_by_an_estimate_below_it() {
    // Noise of 0.4 % a run leaves the third of these within the margin, but not its interval.
    for (factor, verdict) in [
        (1.0, Some(Verdict::Equivalent)),
        (1.01, Some(Verdict::Negligible)),
        (1.016, None),
        (1.05, Some(Verdict::Improved)),
    ] {
        let campaign = Sample { candidates: vec![("deep", factor)], ..Sample::default() }.campaign();
        let comparison = judged(&campaign);
        let gate = comparison.gates().next().unwrap();
        assert_eq!(gate.is_decided(), verdict.is_some(), "{factor}: {gate:?}");
        match verdict {
            Some(verdict) => assert_eq!(gate.verdict, verdict, "{factor}: {:?}", gate.effect),
            None => assert!(matches!(gate.verdict, Verdict::Inconclusive { doubt: Doubt::WideInterval, .. })),
        }
    }
    assert!(!judged(&testing::named("unstable").unwrap()).gates().any(reports::compare::Cell::is_decided));
}

#[test]
fn a_regression_weighs_more_than_an_improvement() {
    let campaign =
        Sample { candidates: vec![("deep", 1.5), ("deeper", 0.9)], ..Sample::default() }.campaign();
    let comparison = judged(&campaign);
    assert_eq!((comparison.verdict, comparison.exit_code()), (CampaignVerdict::Regressed, 1));
}

#[test]
fn a_candidate_that_never_ran_is_not_a_pass() {
    let mut campaign = Sample::default().campaign();
    campaign.runs.iter_mut().filter(|run| run.variant == "deep").for_each(fail);
    let comparison = judged(&campaign);
    assert_eq!((comparison.verdict, comparison.exit_code()), (CampaignVerdict::CouldNotRun, 3));
    assert_eq!(comparison.unusable.len(), 10);
    campaign.runs.iter_mut().filter(|run| run.variant == "deep").for_each(|run| {
        run.record.outcome = Outcome::Skipped { reason: "the host has one NUMA node".into() };
    });
    assert_eq!(judged(&campaign).exit_code(), 3);
}

#[test]
fn five_pairs_are_not_enough_and_it_says_how_many_are() {
    let comparison = judged(&Sample { blocks: 5, ..Sample::default() }.campaign());
    let doubt = Doubt::TooFewPairs { have: 5, least: 6 };
    assert_eq!(*only_gate(&comparison), Verdict::Inconclusive { doubt, pairs_needed: Some(6) });
}

#[test]
fn with_many_gates_six_pairs_cannot_reach_the_level() {
    let sizes = [1024, 2048, 4096, 8192].map(Bytes).to_vec();
    let comparison = judged(&Sample { blocks: 6, sizes, ..Sample::default() }.campaign());
    for gate in comparison.gates() {
        let Verdict::Inconclusive { pairs_needed: Some(8), .. } = gate.verdict else {
            panic!("{:?}", gate.verdict)
        };
    }
}

#[test]
fn without_controls_nothing_vouches_for_the_baseline() {
    let mut campaign = Sample::default().campaign();
    campaign.runs.retain(|run| run.purpose == Purpose::Measure);
    let doubt = Doubt::TooFewControls { have: 0, least: 6 };
    assert_eq!(*only_gate(&judged(&campaign)), Verdict::Inconclusive { doubt, pairs_needed: Some(6) });
}

#[test]
fn a_bandwidth_above_the_wire_is_invalid_and_named() {
    let mut campaign = Sample::default().campaign();
    let run = campaign.runs.iter().position(|run| run.variant == "deep").unwrap();
    campaign.runs[run].record.points[0].bandwidth_bits_per_sec = Some(103e9);
    let comparison = judged(&campaign);
    assert_eq!((comparison.verdict, comparison.exit_code()), (CampaignVerdict::Invalid, 3));
    assert_eq!(comparison.unusable[0].kind, Unusable::Invalid);
    assert!(comparison.unusable[0].reason.contains("103.0 Gb/s"), "{}", comparison.unusable[0].reason);
}

#[test]
fn a_quantile_is_a_gate_only_with_a_hundred_samples_beyond_it() {
    let gates = |metric| vec![Gate { metric, workload: None, msg_bytes: None, margin: 0.1 }];
    // 50,000 messages a run: 50 beyond p99.9, 500 beyond p99.
    let sample = |metric| Sample { latencies: 1_000, gates: gates(metric), ..Sample::default() }.campaign();
    let comparison = judged(&sample(Metric::P99_9));
    let Verdict::Inconclusive { doubt: Doubt::TooFewSamples { beyond, .. }, .. } = only_gate(&comparison)
    else {
        panic!("{:?}", only_gate(&comparison));
    };
    assert!((beyond - 50.0).abs() < 1e-6, "{beyond}");
    assert_eq!(*only_gate(&judged(&sample(Metric::P99))), Verdict::Improved);
    let never = Verdict::Inconclusive { doubt: Doubt::NeverGated, pairs_needed: None };
    assert_eq!(*only_gate(&judged(&sample(Metric::P99_99))), never);
}

#[test]
fn the_same_campaign_gives_the_same_comparison() {
    // More than fourteen pairs: the sign-flip test draws.
    let campaign =
        Sample { blocks: 20, noise: 0.05, candidates: vec![("deep", 1.01)], ..Sample::default() }.campaign();
    let mut shuffled = campaign.clone();
    shuffled.runs.reverse();
    let (one, other) = (judged(&campaign), judged(&shuffled));
    assert_eq!(one.cells, other.cells);
    assert_eq!(one, serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap());
}

/// Without an effect, a claim of one is false. The controls are as noisy as the pairs, so many of these campaigns are
/// unstable or inconclusive; what counts is how many claim a change.
#[test]
fn campaigns_without_an_effect_claim_one_at_most_as_often_as_alpha_allows() {
    const CAMPAIGNS: u64 = 300;
    let claims = (0..CAMPAIGNS)
        .filter(|seed| {
            let same = vec![("deep", 1.0)];
            let sample =
                Sample { candidates: same, noise: 0.01, latencies: 0, seed: *seed, ..Sample::default() };
            let effect = judged(&sample.campaign()).gates().next().unwrap().effect.unwrap();
            effect.p_adjusted < 0.05
        })
        .count();
    // 5 % of 300 is 15; a sound test exceeds 26 once in 300 tries, and one that is twice too eager has about 30.
    assert!(claims <= 26, "{claims} of {CAMPAIGNS}");
    assert!(claims >= 4, "{claims} of {CAMPAIGNS}: the test never rejects");
}

#[test]
fn gates_share_the_level_between_them() {
    const CAMPAIGNS: u64 = 200;
    let sizes = [1024, 2048, 4096, 8192, 16_384, 32_768].map(Bytes).to_vec();
    let changed =
        |verdict: &Verdict| matches!(verdict, Verdict::Improved | Verdict::Regressed | Verdict::Negligible);
    let false_claims = (0..CAMPAIGNS)
        .filter(|seed| {
            let sample = Sample {
                sizes: sizes.clone(),
                candidates: vec![("deep", 1.0)],
                noise: 0.002,
                latencies: 0,
                seed: *seed,
                ..Sample::default()
            };
            judged(&sample.campaign()).gates().any(|gate| changed(&gate.verdict))
        })
        .count();
    // Six gates at 5 % each would make about 53 of 200.
    assert!(false_claims <= 20, "{false_claims} of {CAMPAIGNS}");
}
