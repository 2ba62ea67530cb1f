//! What some nights come to: their level, and how two levels compare.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{model::Change, noise::inflation};
use crate::compare::{mean_and_sd, median};

/// The median of the distances from the median; none of nothing.
pub(super) fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

/// Values further than so many median absolute deviations from the median, pulled in to there. Numbers that are mostly equal
/// have no deviation, so nothing is pulled in closer than `least`, a share of the median.
pub(super) fn winsorised(values: &[f64], mads: f64, least: f64) -> Vec<f64> {
    let (Some(middle), Some(mad)) = (median(values), mad(values)) else { return Vec::new() };
    let reach = (mads * mad).max(least * middle.abs());
    values.iter().map(|value| value.max(middle - reach).min(middle + reach)).collect()
}

/// How two levels compare by Student's t, on logarithms where all values have one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Compared {
    /// The levels: geometric means, or plain ones where a value is not above 0.
    pub(super) change: Change,
    /// Two-sided p that they are one; none where there is no interval.
    pub(super) p: Option<f64>,
}

/// Compares some nights, or runs, with some later ones, each with its own spread (Welch); none where either are none. `memory` as
/// in [`super::noise::Noise`].
pub(super) fn compare(before: &[f64], after: &[f64], memory: f64) -> Option<Compared> {
    between(before, after, |before, after| welch(before, after, memory))
}

/// Compares two levels of a series that varies alike around all its levels; none where either has no nights. A level of three
/// nights says next to nothing of its own spread: Welch's interval would hold 0 beside a change that is beyond doubt.
pub(super) fn compare_alike(before: &[f64], after: &[f64], alike: Alike) -> Option<Compared> {
    between(before, after, |before, after| Some(alike.doubt(before.len(), after.len())))
}

/// How a series varies around its levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Alike {
    /// Standard deviation of the logarithms.
    sd: f64,
    freedom: f64,
    memory: f64,
}

impl Alike {
    /// Of all its levels; none where a value has no logarithm, or each level is a single night. `memory` as in
    /// [`super::noise::Noise`].
    pub(super) fn of(levels: &[Vec<f64>], memory: f64) -> Option<Alike> {
        let nights: usize = levels.iter().map(Vec::len).sum();
        if nights <= levels.len() || levels.iter().flatten().any(|value| *value <= 0.0) {
            return None;
        }
        let squares = |level: &Vec<f64>| {
            let logs: Vec<f64> = level.iter().map(|value| value.ln()).collect();
            let middle = mean(&logs);
            logs.iter().map(|value| (value - middle).powi(2)).sum::<f64>()
        };
        let (nights, levels, squares) =
            (nights, levels.len() as f64, levels.iter().map(squares).sum::<f64>());
        let effective = nights as f64 / inflation(nights, memory);
        let sd = (squares / (nights as f64 - levels)).sqrt();
        Some(Alike { sd, freedom: (effective - levels).max(1.0), memory })
    }

    fn doubt(self, before: usize, after: usize) -> Doubt {
        let share = |nights: usize| inflation(nights, self.memory) / nights as f64;
        Doubt { square: self.sd.powi(2) * (share(before) + share(after)), freedom: self.freedom }
    }
}

fn between(
    before: &[f64],
    after: &[f64],
    doubt: impl Fn(&[f64], &[f64]) -> Option<Doubt>,
) -> Option<Compared> {
    if before.is_empty() || after.is_empty() {
        return None;
    }
    let has_logs = |values: &[f64]| values.iter().all(|value| *value > 0.0);
    if !has_logs(before) || !has_logs(after) {
        let (before, after) = (mean(before), mean(after));
        let change = if before == 0.0 { 0.0 } else { after / before - 1.0 };
        return Some(Compared { change: Change { before, after, change, low: None, high: None }, p: None });
    }
    let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
    let (before, after) = (logs(before), logs(after));
    let (from, to) = (mean(&before), mean(&after));
    let told = doubt(&before, &after).and_then(|doubt| doubt.told(to - from));
    let end = |sign: f64| told.map(|told| (to - from + sign * told.reach).exp_m1());
    let change = Change {
        before: from.exp(),
        after: to.exp(),
        change: (to - from).exp_m1(),
        low: end(-1.0),
        high: end(1.0),
    };
    Some(Compared { change, p: told.map(|told| told.p) })
}

/// By how much the distance of two means varies.
#[derive(Debug, Clone, Copy)]
struct Doubt {
    /// Its variance.
    square: f64,
    freedom: f64,
}

#[derive(Debug, Clone, Copy)]
struct Told {
    /// Half of the 95 % interval.
    reach: f64,
    p: f64,
}

impl Doubt {
    fn told(self, distance: f64) -> Option<Told> {
        if self.square == 0.0 {
            // Two levels without any noise leave no doubt.
            return Some(Told { reach: 0.0, p: if distance == 0.0 { 1.0 } else { 0.0 } });
        }
        let student = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        let error = self.square.sqrt();
        let p = (2.0 * student.sf(distance.abs() / error)).min(1.0);
        Some(Told { reach: student.inverse_cdf(0.975) * error, p })
    }
}

/// None with a sample of one, which says nothing about its spread.
fn welch(before: &[f64], after: &[f64], memory: f64) -> Option<Doubt> {
    if before.len() < 2 || after.len() < 2 {
        return None;
    }
    let error = |values: &[f64]| {
        let effective = values.len() as f64 / inflation(values.len(), memory);
        (mean_and_sd(values).1.powi(2) / effective, (effective - 1.0).max(1.0))
    };
    let ((one, one_freedom), (other, other_freedom)) = (error(before), error(after));
    let square = one + other;
    let freedom = square.powi(2) / (one.powi(2) / one_freedom + other.powi(2) / other_freedom);
    Some(Doubt { square, freedom })
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_and_p_agree_with_scipy() {
        // before, after = np.log([10, 11, 10.5, 10.2, 9.9]), np.log([9.1, 9.0, 9.4])
        // r = scipy.stats.ttest_ind(after, before, equal_var=False); np.expm1(r.confidence_interval(0.95)), r.pvalue
        let found = compare(&[10.0, 11.0, 10.5, 10.2, 9.9], &[9.1, 9.0, 9.4], 0.0).expect("values");
        let Change { change, low, high, .. } = found.change;
        let close = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(close(change, -0.11126193479636548), "{change}");
        assert!(close(low.expect("five and three"), -0.1600162230962827), "{low:?}");
        assert!(close(high.expect("five and three"), -0.05967785300163425), "{high:?}");
        assert!(close(found.p.expect("five and three"), 0.002190613109701196), "{:?}", found.p);
    }

    #[test]
    fn a_level_of_three_nights_takes_its_spread_from_the_whole_series() {
        use crate::testing::nights::{NightNoise, Wander};
        use rand::SeedableRng as _;
        let mut held = 0;
        for seed in 0..1_000 {
            let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
            let mut noise = NightNoise::new(Wander::Normal, 0.01);
            let mut nights = |count: usize, level: f64| -> Vec<f64> {
                (0..count).map(|_| level * (1.0 + noise.next(&mut random))).collect()
            };
            let (before, after) = (nights(60, 100.0), nights(3, 95.0));
            let alike = Alike::of(&[before.clone(), after.clone()], 0.0).expect("values above 0");
            let change = compare_alike(&before, &after, alike).expect("values").change;
            let (low, high) = (change.low.expect("an interval"), change.high.expect("an interval"));
            assert!(high < 0.0 && high - low < 0.04, "{change:?}");
            held += i32::from(low <= -0.05 && -0.05 <= high);
        }
        assert!((930..=970).contains(&held), "a 95 % interval held the truth {held} times of 1,000");
    }

    #[test]
    fn one_night_has_no_interval_and_zeros_have_no_logarithm() {
        let one = compare(&[10.0, 11.0], &[9.0], 0.0).expect("values");
        assert_eq!((one.change.low, one.p), (None, None));
        let zeros = compare(&[0.0, 0.0], &[1.0, 3.0], 0.0).expect("values").change;
        assert_eq!((zeros.before, zeros.after, zeros.change), (0.0, 2.0, 0.0));
        assert!(compare(&[], &[1.0], 0.0).is_none());
    }

    #[test]
    fn only_what_is_far_out_is_pulled_in() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 100.0];
        assert_eq!(winsorised(&values, 8.0, 0.0), [1.0, 2.0, 3.0, 4.0, 5.0, 15.5]);
        assert_eq!(winsorised(&[7.0, 7.0, 7.0, 7.0, 9.0], 8.0, 0.02)[4], 7.14);
        assert!(winsorised(&[], 8.0, 0.02).is_empty());
    }

    proptest! {
        #[test]
        fn memory_makes_intervals_wider(
            before in proptest::collection::vec(1.0f64..2.0, 3..20),
            after in proptest::collection::vec(1.0f64..2.0, 3..20),
        ) {
            let width = |memory| {
                let change = compare(&before, &after, memory).unwrap().change;
                change.high.unwrap() - change.low.unwrap()
            };
            prop_assert!(width(0.5) > width(0.0));
        }
    }
}
