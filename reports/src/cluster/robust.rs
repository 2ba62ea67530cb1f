//! Medians and spreads that a few odd numbers do not move, of many numbers at a time: found in place, without sorting.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// A standard deviation in median absolute deviations, for normal noise.
const SD_IN_MADS: f64 = 1.482_602_218_505_602;

/// The median, as [`crate::compare::median`] gives it; none of nothing. Leaves the values in another order.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let (below, at, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let at = *at;
    if below.len() < middle || values.len() % 2 == 1 {
        return Some(at);
    }
    let before = values[..middle].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((before + at) / 2.0)
}

/// The standard deviation of the bulk, by the median absolute deviation around `middle`; none of nothing. Corrected for few
/// numbers, whose deviation falls short (Croux and Rousseeuw 1992).
pub(super) fn spread(values: &[f64], middle: f64) -> Option<f64> {
    let mut distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let n = distances.len() as f64;
    let few = match distances.len() {
        0..=2 => 1.196,
        3 => 1.495,
        4 => 1.363,
        5 => 1.206,
        6 => 1.200,
        7 => 1.140,
        8 => 1.129,
        9 => 1.107,
        _ => n / (n - 0.8),
    };
    Some(SD_IN_MADS * few * median(&mut distances)?)
}

/// How many standard deviations stand out, at least `least`, where the spread is known from `known` numbers and `asked` of them are
/// looked at: clean ones stand out in one of a hundred clusters, if their noise is normal.
pub(super) fn threshold(least: f64, asked: usize, known: usize) -> f64 {
    let p = CLEAN / asked.max(1) as f64;
    let freedom = known.saturating_sub(1).max(1) as f64;
    let bar = match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if freedom < 200.0 => student.inverse_cdf(1.0 - p),
        _ => normal().inverse_cdf(1.0 - p),
    };
    least.max(bar)
}

/// What may be found in a clean cluster, in clusters.
pub(super) const CLEAN: f64 = 0.01;

/// The share of normal numbers below so many standard deviations.
pub(super) fn below(z: f64) -> f64 {
    normal().cdf(z)
}

/// How likely at least `bad` of `rounds` are bad, if each is with this share.
pub(super) fn by_chance(bad: u32, rounds: u32, share: f64) -> f64 {
    match Binomial::new(share.clamp(0.0, 1.0), u64::from(rounds)) {
        Ok(binomial) if bad > 0 => binomial.sf(u64::from(bad - 1)),
        _ => 1.0,
    }
}

fn normal() -> Normal {
    Normal::standard()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_spread_is_that_of_the_bulk() {
        assert_eq!(median(&mut []), None);
        let spread = spread(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1_000.0], 5.5).unwrap();
        assert!((spread - SD_IN_MADS * 2.5 * 10.0 / 9.2).abs() < 1e-12, "{spread}");
    }

    #[test]
    fn the_more_are_asked_the_more_it_takes() {
        // -statistics.NormalDist().inv_cdf(.01 / 262144) in Python; Student's density with 7 degrees of freedom, integrated there by
        // Simpson's rule, is .01 / 32 above this.
        assert!((threshold(0.0, 262_144, 262_144) - 5.375_680_574_6).abs() < 1e-7);
        assert!((threshold(0.0, 32, 8) - 5.858_792_499_8).abs() < 1e-6);
        assert_eq!(threshold(5.0, 64, 1_000), 5.0);
    }

    #[test]
    fn chance_is_that_of_so_many_throws() {
        // 3 * .1^2 * .9 + .1^3, and .1^3.
        assert!((by_chance(2, 3, 0.1) - 0.028).abs() < 1e-12);
        assert!((by_chance(3, 3, 0.1) - 0.001).abs() < 1e-12);
        assert_eq!(by_chance(0, 3, 0.1), 1.0);
    }

    proptest! {
        #[test]
        fn the_median_is_that_of_the_house(values in proptest::collection::vec(-1e6f64..1e6, 0..40)) {
            prop_assert_eq!(median(&mut values.clone()), crate::compare::median(&values));
        }
    }
}
