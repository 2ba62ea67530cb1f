//! The statistics against SciPy and statsmodels, on the numbers of `reports/tests/vectors/vectors.json`, which
//! `scripts/stat-vectors.py` writes; the versions are in the file.
//!
//! What is computed agrees to 1e-9 of itself. What is drawn agrees within what the draws leave to chance, which each test states.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{bootstrap, change_point, moving_block, order, share, student::Student, walsh};
use crate::compare::{multiplicity, power, signflip};

#[derive(Deserialize)]
struct Vectors {
    margin: f64,
    alpha: f64,
    samples: Vec<Sample>,
    families: Vec<Family>,
    ranks: Vec<Ranks>,
    powers: Vec<Power>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct Sample {
    name: String,
    d: Vec<f64>,
    mean: f64,
    sd: f64,
    t_p: f64,
    t_low: f64,
    t_high: f64,
    t90_low: f64,
    t90_high: f64,
    tost_p: f64,
    sign_flip_p: f64,
    signed_rank: Option<SignedRank>,
    lag1: f64,
    wilson_share: f64,
    wilson_low: f64,
    wilson_high: f64,
    bootstrap: Option<Bootstrap>,
}

#[derive(Deserialize)]
struct SignedRank {
    estimate: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Deserialize)]
struct Bootstrap {
    bca_low: f64,
    bca_high: f64,
    acceleration: f64,
    bias: f64,
    share_low: f64,
    share_high: f64,
    studentised_low: f64,
    studentised_high: f64,
    standard_error: f64,
}

#[derive(Deserialize)]
struct Family {
    p: Vec<f64>,
    holm: Vec<f64>,
    benjamini_hochberg: Vec<f64>,
}

#[derive(Deserialize)]
struct Ranks {
    n: u64,
    quantile: f64,
    tail: f64,
    low: u64,
    high: u64,
}

#[derive(Deserialize)]
struct Power {
    effect_in_sd: f64,
    power: f64,
    alpha: f64,
    pairs: u32,
}

#[derive(Deserialize)]
struct Step {
    name: String,
    values: Vec<f64>,
    before: u32,
    change: f64,
    p: f64,
}

static VECTORS: LazyLock<Vectors> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../../tests/vectors/vectors.json")).expect("the file of the script")
});

/// Computed: to 1e-9 of the size of what is expected, and of 1e-12 where that is all but nothing.
fn computed(name: &str, got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-9 * expected.abs() + 1e-12, "{name}: {got}, expected {expected}");
}

fn within(name: &str, got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance, "{name}: {got}, expected {expected} within {tolerance}");
}

fn all_computed(name: &str, got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{name}");
    got.iter().zip(expected).for_each(|(got, expected)| computed(name, *got, *expected));
}

#[test]
fn students_t_and_the_two_one_sided_tests() {
    for sample in &VECTORS.samples {
        let student = Student::of(&sample.d);
        let (wide, narrow) = (student.interval(VECTORS.alpha / 2.0), student.interval(VECTORS.alpha));
        let (low, high) = ((-VECTORS.margin).ln_1p(), VECTORS.margin.ln_1p());
        all_computed(
            &sample.name,
            &[student.mean, student.sd, wide.0, wide.1, narrow.0, narrow.1],
            &[sample.mean, sample.sd, sample.t_low, sample.t_high, sample.t90_low, sample.t90_high],
        );
        all_computed(&sample.name, &[student.p(), student.p_within(low, high)], &[sample.t_p, sample.tost_p]);
    }
}

#[test]
fn sign_flips() {
    for sample in &VECTORS.samples {
        let (n, expected) = (sample.d.len(), sample.sign_flip_p);
        let got = signflip::p_value(&sample.d, 1);
        if n <= signflip::EXACT_PAIRS {
            computed(&sample.name, got, expected);
        } else {
            // Five standard errors of our 100,000 draws and SciPy's 400,000; 2 % for the closed form.
            let error = (expected * (1.0 - expected) * (1.0 / 100_000.0 + 1.0 / 400_000.0)).sqrt();
            let closed = if n > signflip::DRAWN_PAIRS { 0.02 * expected } else { 0.0 };
            within(&sample.name, got, expected, 5.0 * error + closed);
        }
    }
}

#[test]
fn the_signed_rank_interval() {
    let mut none = 0;
    for sample in &VECTORS.samples {
        let Some(expected) = &sample.signed_rank else { continue };
        computed(&sample.name, walsh::estimate(&sample.d), expected.estimate);
        match (walsh::interval(&sample.d, VECTORS.alpha / 2.0), expected.low.zip(expected.high)) {
            (Some(got), Some(expected)) => {
                all_computed(&sample.name, &[got.0, got.1], &[expected.0, expected.1]);
            }
            (got, expected) => {
                assert_eq!(got, expected, "{}", sample.name);
                none += 1;
            }
        }
    }
    assert_eq!(none, 1, "one sample is too small for an interval");
}

#[test]
fn the_bootstrap_over_pairs() {
    for sample in &VECTORS.samples {
        let Some(expected) = &sample.bootstrap else { continue };
        let mean = sample.mean;
        computed(&sample.name, bootstrap::acceleration(&sample.d, mean), expected.acceleration);
        let got = bootstrap::of(&sample.d, VECTORS.alpha / 2.0, 1).expect("20 to 500 values");
        assert_eq!(got.resamples, 10_000);
        // A normal quantile at 2.5 % of 10,000 draws has a standard error of 0.027; the studentised one lies further out, where
        // draws are sparser. Five of them, in standard errors of the mean.
        let tolerance = |z: f64| 5.0 * z * expected.standard_error;
        within(&sample.name, got.bca.0, expected.bca_low, tolerance(0.027));
        within(&sample.name, got.bca.1, expected.bca_high, tolerance(0.04));
        within(&sample.name, got.studentised.0, expected.studentised_low, tolerance(0.04));
        within(&sample.name, got.studentised.1, expected.studentised_high, tolerance(0.04));
        // Which of the draws is the end follows from the bias and the acceleration by a formula.
        let share = |z| bootstrap::corrected(z, expected.bias, expected.acceleration);
        let z = 1.959_963_984_540_054;
        all_computed(&sample.name, &[share(-z), share(z)], &[expected.share_low, expected.share_high]);
    }
}

#[test]
fn the_lag_1_autocorrelation() {
    for sample in &VECTORS.samples {
        computed(&sample.name, moving_block::autocorrelation(&sample.d).expect("they differ"), sample.lag1);
    }
}

#[test]
fn wilsons_interval() {
    for sample in &VECTORS.samples {
        let (low, high) = share::wilson(sample.wilson_share, sample.d.len() as u32, VECTORS.alpha / 2.0);
        all_computed(&sample.name, &[low, high], &[sample.wilson_low, sample.wilson_high]);
    }
}

#[test]
fn holm_and_benjamini_hochberg() {
    for family in &VECTORS.families {
        all_computed("Holm", &multiplicity::holm(&family.p), &family.holm);
        let adjusted = multiplicity::benjamini_hochberg(&family.p);
        all_computed("Benjamini-Hochberg", &adjusted, &family.benjamini_hochberg);
    }
}

#[test]
fn ranks_of_quantiles() {
    for ranks in &VECTORS.ranks {
        let got = order::ranks(ranks.n, ranks.quantile, ranks.tail);
        assert_eq!(got, Some((ranks.low, ranks.high)), "{} values, {}", ranks.n, ranks.quantile);
    }
}

#[test]
fn pairs_to_find_an_effect() {
    for asked in &VECTORS.powers {
        let got = power::pairs_to_detect(asked.effect_in_sd, asked.alpha, asked.power);
        assert_eq!(got, Some(asked.pairs), "{} at {}", asked.effect_in_sd, asked.alpha);
    }
}

#[test]
fn the_split_that_differs_most() {
    for step in &VECTORS.steps {
        let got = change_point::of(&step.values).expect("six values or more");
        assert_eq!(got.before, step.before, "{}", step.name);
        all_computed(&step.name, &[got.change, got.p], &[step.change, step.p]);
    }
}
