//! Factorial campaigns with known answers: what was put into the runs is what the comparison finds, and nothing else.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use reports::{
    CampaignVerdict, CompareOptions, Comparison, Verdict, compare,
    compare::{Asks, Cell, Confounding, Doubt},
    testing::{factorial, fail},
};
use schema::{Campaign, Metric, Purpose};

/// A campaign of all combinations of the letters, whose bandwidth in Gb/s `of` says, with noise of this standard deviation.
fn measured(
    letters: &str,
    rows: &[&str],
    blocks: u32,
    (noise, seed): (f64, u64),
    of: impl Fn(&str) -> f64,
) -> Campaign {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    factorial::campaign(letters, rows, blocks, |_, row| {
        let wobble: f64 = StandardNormal.sample(&mut random);
        of(row.unwrap_or("")) * (noise * wobble).exp() * 1e9
    })
}

fn full(letters: &str, blocks: u32, noise: (f64, u64), of: impl Fn(&str) -> f64) -> Campaign {
    let rows = factorial::full(letters);
    measured(letters, &rows.iter().map(String::as_str).collect::<Vec<_>>(), blocks, noise, of)
}

fn compared(campaign: &Campaign) -> Comparison {
    compare(campaign, &CompareOptions::default())
}

fn cell<'c>(comparison: &'c Comparison, candidate: &str) -> &'c Cell {
    let mut cells = comparison.cells.iter();
    cells
        .find(|cell| cell.candidate == candidate && cell.metric == Metric::Bandwidth)
        .unwrap_or_else(|| panic!("no {candidate}"))
}

fn change(comparison: &Comparison, candidate: &str) -> f64 {
    cell(comparison, candidate).effect.unwrap().change
}

#[test]
fn a_cube_by_hand() {
    // Gb/s in standard order; effects by hand, each half of the corners over the other half:
    // a = (2*6*2*12 / (1*3*1*4))^(1/4) = (288/12)^(1/4), b = (3*6*4*12 / (1*2*1*2))^(1/4), c = (1*2*4*12 / (1*2*3*6))^(1/4).
    let rows = ["", "a", "b", "ab", "c", "ac", "bc", "abc"];
    let gbps = [1.0, 2.0, 3.0, 6.0, 1.0, 2.0, 4.0, 12.0];
    let of = |row: &str| gbps[rows.iter().position(|other| *other == row).unwrap()];
    let comparison = compared(&measured("abc", &rows, 10, (0.0, 1), of));
    let close = |got: f64, by_hand: f64| assert!((got - by_hand).abs() < 1e-9, "{got} {by_hand}");
    close(change(&comparison, "a") + 1.0, (288.0f64 / 12.0).powf(0.25));
    close(change(&comparison, "b") + 1.0, (864.0f64 / 4.0).powf(0.25));
    close(change(&comparison, "c") + 1.0, (96.0f64 / 36.0).powf(0.25));
    // Together against the product of each alone, over both settings of the third: a x b = sqrt((6*1/(2*3)) * (12*1/(2*4))).
    close(change(&comparison, "a x b") + 1.0, (1.0f64 * 1.5).sqrt());
    close(change(&comparison, "a x c") + 1.0, (1.0f64 * (12.0 * 3.0 / (6.0 * 4.0))).sqrt());
    close(
        change(&comparison, "b x c") + 1.0,
        ((4.0 * 1.0 / (3.0 * 1.0)) * (12.0 * 2.0 / (6.0 * 2.0f64))).sqrt(),
    );
    // Levels are geometric means: of a, over the runs with it off and on; of two, what each alone predicts and what there is.
    let pair = cell(&comparison, "a").pairs[0];
    close(pair.baseline / 1e9, 12.0f64.powf(0.25));
    close(pair.candidate / 1e9, 288.0f64.powf(0.25));
    let pair = cell(&comparison, "a x b").pairs[0];
    close(pair.candidate / 1e9, (6.0 * 12.0f64).sqrt());
    close(pair.baseline / 1e9, (2.0 * 2.0f64).sqrt() * (3.0 * 4.0f64).sqrt() / 1.0);
}

#[test]
fn the_one_that_matters_is_named_and_no_other() {
    for seed in 0..20 {
        let campaign = full("abcd", 10, (0.01, seed), |row| if row.contains('c') { 9.0 } else { 10.0 });
        let comparison = compared(&campaign);
        assert_eq!(comparison.verdict, CampaignVerdict::Regressed, "seed {seed}");
        for cell in comparison.gates() {
            assert_eq!(cell.asks, Asks::Factor);
            assert_eq!(
                cell.verdict == Verdict::Regressed,
                cell.candidate == "c",
                "seed {seed}: {}",
                cell.candidate
            );
            assert_ne!(cell.verdict, Verdict::Improved, "seed {seed}");
        }
        assert_eq!(comparison.gates().count(), 4);
        assert!((change(&comparison, "c") + 0.1).abs() < 0.01, "seed {seed}");
    }
}

#[test]
fn without_an_effect_nothing_is_claimed() {
    let claims = (0..300).filter(|seed| {
        let comparison = compared(&full("abc", 10, (0.02, 1_000 + seed), |_| 10.0));
        comparison.gates().any(|cell| matches!(cell.verdict, Verdict::Improved | Verdict::Regressed))
    });
    // The bound is 1 %: of 300, more than 8 happen less than once in 250 times at exactly 1 %.
    let claims = claims.count();
    assert!(claims <= 8, "{claims} of 300");
}

#[test]
fn what_two_bring_together_is_an_interaction_and_never_a_gate() {
    // Neither does anything alone.
    let both = |row: &str| if row.contains('a') && row.contains('b') { 11.0 } else { 10.0 };
    let comparison = compared(&full("abc", 12, (0.004, 5), both));
    let together = cell(&comparison, "a x b");
    assert_eq!(
        (together.asks, together.gated, &together.verdict),
        (Asks::Interaction, false, &Verdict::Exploratory)
    );
    let effect = together.effect.unwrap();
    assert!(effect.low < 0.1 && effect.high > 0.1 && effect.p_adjusted < 0.05, "{effect:?}");
    assert!(cell(&comparison, "a x c").effect.unwrap().p_adjusted > 0.05);
    // A factor's own change is over all settings of the others: half of what both bring.
    assert!((change(&comparison, "a").ln_1p() - 1.1f64.ln() / 2.0).abs() < 0.004);
}

#[test]
fn what_a_fraction_confounds_is_said_at_the_interaction() {
    let rows = ["", "ad", "bd", "ab", "cd", "ac", "bc", "abcd"];
    let comparison = compared(&measured("abcd", &rows, 10, (0.01, 2), |_| 10.0));
    let design = comparison.factorial.as_ref().unwrap();
    assert_eq!(design.confounding, Confounding::Resolution { resolution: 4 });
    assert_eq!(cell(&comparison, "a x b").aliases, ["c x d"]);
    assert!(cell(&comparison, "a").aliases.is_empty());
    assert!(comparison.cells.iter().all(|cell| cell.candidate != "c x d"), "it is the same column as a x b");
    let interactions = comparison.cells.iter().filter(|cell| cell.asks == Asks::Interaction);
    assert!(
        interactions.clone().count() == 3
            && interactions.clone().all(|cell| cell.metric == Metric::Bandwidth)
    );
}

#[test]
fn a_block_that_lacks_a_run_is_dropped_with_its_reason() {
    let mut campaign = full("ab", 12, (0.005, 3), |row| if row.contains('a') { 12.0 } else { 10.0 });
    let lost = campaign.runs.iter().position(|run| run.block == 4 && run.variant == "a+b").unwrap();
    fail(&mut campaign.runs[lost]);
    let comparison = compared(&campaign);
    for factor in ["a", "b", "a x b"] {
        let cell = cell(&comparison, factor);
        assert_eq!((cell.pairs.len(), cell.dropped.len(), cell.dropped[0].block), (11, 1, 4), "{factor}");
        assert_eq!(cell.dropped[0].reason, format!("run {} (a+b) failed", campaign.runs[lost].number()));
    }
    assert_eq!(comparison.verdict, CampaignVerdict::Improved);
}

#[test]
fn a_combination_that_never_runs_leaves_nothing_to_judge_by() {
    let mut campaign = full("ab", 8, (0.005, 3), |_| 10.0);
    campaign.runs.iter_mut().filter(|run| run.variant == "a+b").for_each(fail);
    assert_eq!(compared(&campaign).verdict, CampaignVerdict::CouldNotRun);
}

#[test]
fn the_control_may_stray_as_far_as_so_many_runs_even_out() {
    let strayed = |by: f64| {
        let mut campaign = full("abcd", 12, (0.001, 9), |_| 10.0);
        let controls = campaign.runs.iter_mut().filter(|run| run.purpose == Purpose::Control);
        controls.for_each(|run| {
            let bandwidth = &mut run.record.points[0].bandwidth_bits_per_sec;
            *bandwidth = bandwidth.map(|bits| bits * by);
        });
        compared(&campaign).verdict
    };
    // Margin 2 %, sixteen runs: half the margin times sqrt(16 / 2) is 2.8 %, and half of that is too little to be called unstable.
    assert_eq!(strayed(1.013), CampaignVerdict::Equivalent);
    assert_eq!(strayed(1.03), CampaignVerdict::Unstable);
    let comparison = compared(&full("abcd", 12, (0.001, 9), |_| 10.0));
    assert!((cell(&comparison, "a").control_limit - 0.01 * 8f64.sqrt()).abs() < 1e-12);
}

#[test]
fn a_claim_about_a_factor_takes_a_fifth_of_the_level() {
    // Eight blocks and three factors can't reach p < 0.01 after Holm: 3 * 2 / 2^8 = 0.023.
    let of = |row: &str| if row.contains('a') { 9.0 } else { 10.0 };
    let comparison = compared(&full("abc", 8, (0.005, 4), of));
    let Verdict::Inconclusive { doubt: Doubt::NotSureEnough { level }, pairs_needed } =
        cell(&comparison, "a").verdict
    else {
        panic!("{:?}", cell(&comparison, "a").verdict);
    };
    assert!((level - 0.01).abs() < 1e-12);
    assert_eq!(pairs_needed, Some(10));
    assert_eq!(reports::compare::fewest_blocks_for_factors(3, &CompareOptions::default()), 10);
    assert_eq!(compared(&full("abc", 10, (0.005, 4), of)).verdict, CampaignVerdict::Regressed);
}

#[test]
fn factors_are_ranked_by_what_they_bring_with_their_share() {
    // Without noise: ln of b is four times that of a, and nothing acts together.
    let of = |row: &str| {
        10.0 * if row.contains('a') { 1.02 } else { 1.0 }
            * if row.contains('b') { 1.02f64.powi(-4) } else { 1.0 }
    };
    let comparison = compared(&full("abc", 10, (0.0, 1), of));
    let [ranking] = &comparison.rankings[..] else { panic!("{:?}", comparison.rankings) };
    let order: Vec<&str> = ranking.ranked.iter().map(|ranked| ranked.candidate.as_str()).collect();
    assert_eq!((order[0], order[1], order.len()), ("b", "a", 6));
    let shares: Vec<f64> = ranking.ranked.iter().map(|ranked| ranked.share.unwrap()).collect();
    assert!((shares[0] - 16.0 / 17.0).abs() < 1e-9 && (shares[1] - 1.0 / 17.0).abs() < 1e-9, "{shares:?}");
    assert!(ranking.rest_share.unwrap() < 1e-9);
    let first = comparison.ranked_cell(ranking, &ranking.ranked[0]).unwrap();
    assert_eq!((first.candidate.as_str(), first.metric), ("b", ranking.metric));
    let together = ranking.ranked.iter().find(|ranked| ranked.candidate == "a x b").unwrap();
    for (mean, by_hand) in together.means.unwrap().iter().zip(["", "a", "b", "ab"].map(of)) {
        assert!((mean / 1e9 - by_hand).abs() < 1e-9);
    }
    assert_eq!(ranking.ranked[0].means, None, "a factor has two means, in its cell");
}

/// What `vectors/factorial.py` wrote.
#[derive(serde::Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    letters: String,
    rows: Vec<String>,
    /// By block and row.
    gbps: Vec<Vec<f64>>,
    effects: Vec<Expected>,
}

#[derive(serde::Deserialize)]
struct Expected {
    term: String,
    contrasts: Vec<f64>,
    change: f64,
    low: f64,
    high: f64,
}

#[test]
fn contrasts_agree_with_statsmodels_and_their_intervals_with_scipy() {
    let vectors: Vectors = serde_json::from_str(include_str!("vectors/factorial.json")).unwrap();
    assert_eq!(vectors.cases.len(), 4);
    for case in vectors.cases {
        let rows: Vec<&str> = case.rows.iter().map(String::as_str).collect();
        let campaign = factorial::campaign(&case.letters, &rows, case.gbps.len() as u32, |block, row| {
            let position = rows.iter().position(|other| *other == row.unwrap_or("")).unwrap();
            case.gbps[block as usize][position] * 1e9
        });
        let comparison = compared(&campaign);
        for expected in case.effects {
            let cell = cell(&comparison, &expected.term);
            let effect = cell.effect.unwrap();
            let got = [effect.change, effect.low, effect.high];
            let ours = cell.pairs.iter().map(|pair| pair.ln_ratio).chain(got);
            let theirs =
                expected.contrasts.iter().copied().chain([expected.change, expected.low, expected.high]);
            for (ours, theirs) in ours.zip(theirs) {
                assert!((ours - theirs).abs() < 1e-9, "{}, {}: {ours} {theirs}", case.name, expected.term);
            }
        }
    }
}
