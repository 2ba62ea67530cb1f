//! The estimate of Hodges and Lehmann (1963): the median of all means of two (Walsh averages), which one wild pair hardly moves, and
//! the interval that Wilcoxon's signed-rank test leaves around it.
//!
//! There are n (n + 1) / 2 averages; none is written down. Of sorted values, how many averages lie at or below a number takes
//! one walk, and halving finds the number below which as many lie as wanted.

use statrs::distribution::{ContinuousCDF, Normal};

/// Values up to which the signed-rank distribution is counted out; above, it is close enough to a normal one.
const EXACT: usize = 50;
/// Halvings of a bracket: the last is as narrow as a double resolves.
const HALVINGS: u32 = 100;

/// The median of the Walsh averages of one value or more.
pub(in crate::compare) fn estimate(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let averages = averages(sorted.len());
    let middle = |rank| average_of_rank(&sorted, rank);
    if averages % 2 == 1 {
        middle(averages.div_ceil(2))
    } else {
        (middle(averages / 2) + middle(averages / 2 + 1)) / 2.0
    }
}

/// The interval that leaves out at most `tail` at each end; none with too few values for that.
pub(in crate::compare) fn interval(values: &[f64], tail: f64) -> Option<(f64, f64)> {
    let rank = rank(values.len(), tail)?;
    let sorted = sorted(values);
    let from_above = averages(sorted.len()) + 1 - rank;
    Some((average_of_rank(&sorted, rank), average_of_rank(&sorted, from_above)))
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn averages(n: usize) -> u64 {
    let n = n as u64;
    n * (n + 1) / 2
}

/// The Walsh average of this rank, from 1.
fn average_of_rank(sorted: &[f64], rank: u64) -> f64 {
    let (mut low, mut high) = (sorted[0], sorted[sorted.len() - 1]);
    if at_or_below(sorted, low) >= rank {
        return low;
    }
    for _ in 0..HALVINGS {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if at_or_below(sorted, middle) >= rank { high = middle } else { low = middle }
    }
    high
}

/// Walsh averages at or below a number: for each value, those with it and all before it.
fn at_or_below(sorted: &[f64], number: f64) -> u64 {
    let mut count = 0;
    let mut partners = sorted.len();
    for (index, value) in sorted.iter().enumerate() {
        while partners > 0 && (value + sorted[partners - 1]) / 2.0 > number {
            partners -= 1;
        }
        // Each average once: the partner is not before the value.
        if partners <= index {
            break;
        }
        count += (partners - index) as u64;
    }
    count
}

/// The rank of the lower end: the smallest sum of ranks that the test does not reject.
fn rank(n: usize, tail: f64) -> Option<u64> {
    if n <= EXACT {
        let mut below = 0.0;
        let at = counts(n).into_iter().position(|share| {
            below += share;
            below >= tail
        });
        return at.filter(|rank| *rank > 0).map(|rank| rank as u64);
    }
    let n = n as f64;
    let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let rank = n * (n + 1.0) / 4.0 + Normal::standard().inverse_cdf(tail) * sd;
    (rank >= 1.0).then_some(rank.round() as u64)
}

/// Share of the sign combinations in which the ranks with a plus add up to 0, 1, 2 and so on.
fn counts(n: usize) -> Vec<f64> {
    let mut shares = vec![0.0; averages(n) as usize + 1];
    shares[0] = 1.0;
    for rank in 1..=n {
        for sum in (0..shares.len()).rev() {
            let without = shares[sum];
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = (without + with) / 2.0;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn five_values_have_no_interval_of_95_percent() {
        assert_eq!(interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.025), None);
        assert_eq!(interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.025), Some((1.0, 6.0)));
    }

    #[test]
    fn one_wild_value_hardly_moves_it() {
        let mut values: Vec<f64> = (0..11).map(f64::from).collect();
        assert_eq!(estimate(&values), 5.0);
        values[10] = 1e6;
        assert!(estimate(&values) <= 5.5, "{}", estimate(&values));
    }

    #[test]
    fn the_normal_curve_takes_over_where_it_is_close() {
        for tail in [0.025, 0.05, 0.001] {
            let exact = rank(EXACT, tail).unwrap() as i64;
            let n = EXACT as f64;
            let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
            let normal = n * (n + 1.0) / 4.0 + Normal::standard().inverse_cdf(tail) * sd;
            // Of 1,275 averages.
            assert!((exact as f64 - normal).abs() < 8.0, "{tail}: {exact} and {normal}");
        }
    }

    proptest! {
        #[test]
        fn it_is_the_median_of_all_averages(values in proptest::collection::vec(-1e3f64..1e3, 1..40)) {
            let mut all = Vec::new();
            for (i, a) in values.iter().enumerate() {
                all.extend(values[i..].iter().map(|b| (a + b) / 2.0));
            }
            all.sort_by(f64::total_cmp);
            for rank in 1..=all.len() {
                let found = average_of_rank(&sorted(&values), rank as u64);
                prop_assert!((found - all[rank - 1]).abs() <= 1e-9, "{} of {}", rank, all.len());
            }
        }

        #[test]
        fn the_interval_holds_the_estimate_and_moves_with_it(
            values in proptest::collection::vec(-1.0f64..1.0, 8..80),
            tail in 0.005f64..0.2,
            shift in -5.0f64..5.0,
        ) {
            let (low, high) = interval(&values, tail).unwrap();
            let centre = estimate(&values);
            prop_assert!(low <= centre && centre <= high);
            let moved: Vec<f64> = values.iter().rev().map(|v| v + shift).collect();
            let (moved_low, moved_high) = interval(&moved, tail).unwrap();
            prop_assert!((moved_low - low - shift).abs() < 1e-9 && (moved_high - high - shift).abs() < 1e-9);
            if let Some((wider_low, wider_high)) = interval(&values, tail / 2.0) {
                prop_assert!(wider_low <= low && high <= wider_high);
            }
        }
    }
}
