//! Student's t on paired differences: the interval of their mean, the test that it is nothing, and Schuirmann's two one-sided
//! tests (1987) that it lies within a margin.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The mean of some differences and what it takes to judge it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct Student {
    /// Mean.
    pub(in crate::compare) mean: f64,
    /// Sample standard deviation.
    pub(in crate::compare) sd: f64,
    n: u32,
}

impl Student {
    /// Of two differences or more.
    pub(in crate::compare) fn of(differences: &[f64]) -> Self {
        let (mean, sd) = mean_and_sd(differences);
        Student { mean, sd, n: differences.len() as u32 }
    }

    fn error(self) -> f64 {
        self.sd / f64::from(self.n).sqrt()
    }

    /// The interval that leaves out `tail` at each end.
    pub(in crate::compare) fn interval(self, tail: f64) -> (f64, f64) {
        let reach = t_quantile(self.n, tail) * self.error();
        (self.mean - reach, self.mean + reach)
    }

    /// Two-sided p that the mean is nothing.
    pub(in crate::compare) fn p(self) -> f64 {
        (2.0 * self.upper_tail(self.mean.abs())).min(1.0)
    }

    /// The larger of the two one-sided p-values against a mean as low as `low` and one as high as `high`: below the level, the mean
    /// lies within them.
    pub(in crate::compare) fn p_within(self, low: f64, high: f64) -> f64 {
        self.upper_tail(self.mean - low).max(self.upper_tail(high - self.mean))
    }

    /// Chance of a mean that lies at least this far above the one assumed.
    fn upper_tail(self, distance: f64) -> f64 {
        match (self.error() > 0.0, distance) {
            (true, distance) => freedom(self.n).sf(distance / self.error()),
            // Differences that are all the same leave no doubt.
            (false, distance) if distance > 0.0 => 0.0,
            (false, 0.0) => 0.5,
            (false, _) => 1.0,
        }
    }
}

/// Mean and sample standard deviation.
pub(crate) fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// Upper quantile of Student's t for n pairs.
pub(in crate::compare) fn t_quantile(pairs: u32, upper_tail: f64) -> f64 {
    freedom(pairs).inverse_cdf(1.0 - upper_tail)
}

fn freedom(pairs: u32) -> StudentsT {
    StudentsT::new(0.0, 1.0, f64::from(pairs - 1)).expect("two pairs or more leave a degree of freedom")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn t_quantiles_agree_with_scipy() {
        // scipy.stats.t.ppf(0.975, [1, 5, 9, 29])
        for (pairs, t) in [
            (2, 12.706204736174694),
            (6, 2.5705818356363146),
            (10, 2.262157162798205),
            (30, 2.0452296421327034),
        ] {
            assert!((t_quantile(pairs, 0.025) / t - 1.0).abs() < 1e-9, "{pairs}");
        }
    }

    #[test]
    fn differences_that_are_all_the_same_leave_no_doubt() {
        let same = Student::of(&[0.01; 6]);
        assert_eq!((same.p(), same.p_within(-0.02, 0.02), same.p_within(-0.02, 0.005)), (0.0, 0.0, 1.0));
        assert_eq!(Student::of(&[0.0; 6]).p(), 1.0);
    }

    proptest! {
        #[test]
        fn the_tests_say_what_their_intervals_say(
            d in proptest::collection::vec(-1.0f64..1.0, 3..30),
            level in 0.001f64..0.4,
            margin in 0.01f64..1.0,
        ) {
            let student = Student::of(&d);
            let (low, high) = student.interval(level / 2.0);
            prop_assert!(low <= student.mean && student.mean <= high);
            let p = student.p();
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert_eq!(p < level, low > 0.0 || high < 0.0);
            let (low, high) = student.interval(level);
            let p = student.p_within(-margin, margin);
            prop_assert!((0.0..=1.0).contains(&p));
            prop_assert_eq!(p < level, low > -margin && high < margin);
        }

        #[test]
        fn a_stricter_level_has_a_wider_interval(
            d in proptest::collection::vec(-1.0f64..1.0, 3..30),
            level in 0.001f64..0.2,
        ) {
            let student = Student::of(&d);
            let (wide, narrow) = (student.interval(level / 2.0), student.interval(level));
            prop_assert!(wide.0 < narrow.0 && narrow.1 < wide.1);
        }
    }
}
