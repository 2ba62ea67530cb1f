//! The sign-flip test of many pairs, without draws: the tail of the sum of randomly signed differences by the saddlepoint
//! approximation of Lugannani and Rice (1980; for this test Robinson 1982), whose relative error stays small far into the tail,
//! where draws see nothing.
//!
//! The sum has the cumulant generating function K(t) = sum of ln cosh(t d). Its cost is some fifty walks over the
//! differences, so that a comparison grows with its runs and not with runs times draws.

use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// Halvings of the bracket around the saddlepoint: the last is narrower than a double resolves.
const HALVINGS: u32 = 60;

/// Two-sided p of a sum whose absolute value is at least so much.
pub(super) fn p_value(differences: &[f64], at_least: f64) -> f64 {
    let sizes: Vec<f64> = differences.iter().map(|d| d.abs()).filter(|d| *d > 0.0).collect();
    let all: f64 = sizes.iter().sum();
    // If all differences are multiples of one step, the sum moves in steps of twice that; half of one to the safe side. Of
    // numbers that are not, the smallest is too small to matter.
    let step = sizes.iter().copied().fold(f64::INFINITY, f64::min);
    if sizes.is_empty() || at_least <= step {
        return 1.0;
    }
    // Only the one combination of signs that was seen, and its opposite, reach as far: the floor of the test.
    let floor = 2f64.powi(1 - sizes.len().min(1_000) as i32);
    if at_least >= all * (1.0 - 1e-9) {
        return floor;
    }
    (2.0 * upper_tail(&sizes, at_least - step)).clamp(floor, 1.0)
}

/// The probability of a sum of at least so much, which lies between 0 and the sum of all.
fn upper_tail(sizes: &[f64], sum: f64) -> f64 {
    let normal = Normal::standard();
    let t = saddlepoint(sizes, sum);
    let generating: f64 = sizes.iter().map(|d| ln_cosh(t * d)).sum();
    let curvature: f64 = sizes.iter().map(|d| (d / (t * d).cosh()).powi(2)).sum();
    let w = (2.0 * (t * sum - generating)).max(0.0).sqrt();
    let u = t * curvature.sqrt();
    // In the middle both are small and their difference is lost; the sum is symmetric, so the normal curve is enough there.
    if w < 1e-3 {
        return normal.sf(w);
    }
    normal.sf(w) + normal.pdf(w) * (1.0 / u - 1.0 / w)
}

/// The t at which the tilted sum has this mean: K'(t) = sum. K' grows from 0 to the sum of all.
fn saddlepoint(sizes: &[f64], sum: f64) -> f64 {
    let mean = |t: f64| sizes.iter().map(|d| d * (t * d).tanh()).sum::<f64>();
    let mut high = 1.0 / sizes.iter().copied().fold(0.0, f64::max);
    while mean(high) < sum {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if mean(middle) < sum { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

fn ln_cosh(x: f64) -> f64 {
    let x = x.abs();
    x + (-2.0 * x).exp().ln_1p() - std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{Binomial, DiscreteCDF};

    #[test]
    fn equal_differences_are_the_sign_test() {
        // All of one size: the number of signs that agree is binomial. From the middle to far in the tail.
        let d = vec![0.25; 200];
        let binomial = Binomial::new(0.5, 200).unwrap();
        for (agree, within) in [(104, 0.01), (110, 0.01), (120, 0.01), (130, 0.02), (140, 0.05), (170, 0.5)] {
            let sum = 0.25 * f64::from(2 * agree - 200);
            let exact = 2.0 * binomial.sf(agree as u64 - 1);
            // Above is the safe side; at 140 of 200 p is 1e-8.
            let ratio = p_value(&d, sum) / exact;
            assert!((0.995..1.0 + within).contains(&ratio), "{agree} of 200 agree: {ratio}");
        }
    }

    #[test]
    fn pairs_that_all_agree_reach_the_floor_and_no_difference_is_none() {
        assert_eq!(p_value(&[0.5; 200], 100.0), 2f64.powi(-199));
        assert_eq!(p_value(&[0.0; 200], 0.0), 1.0);
        assert_eq!(p_value(&[0.5; 200], 0.0), 1.0);
    }

    proptest! {
        #[test]
        fn it_is_a_p_and_falls_with_the_sum(
            d in proptest::collection::vec(-1.0f64..1.0, 129..400),
            share in 0.0f64..1.0,
        ) {
            let all: f64 = d.iter().map(|d| d.abs()).sum();
            let (near, far) = (p_value(&d, share * all), p_value(&d, (share * all * 1.1).min(all)));
            prop_assert!(near > 0.0 && near <= 1.0, "{}", near);
            prop_assert!(far <= near * (1.0 + 1e-6), "{} then {}", near, far);
        }
    }
}
