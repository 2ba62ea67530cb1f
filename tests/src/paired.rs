//! The ratio of two tools over alternating runs: mean of the log-ratios with Student's t interval.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A ratio and its two-sided 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    /// Geometric mean of ours / theirs.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Pairs.
    pub pairs: usize,
}

/// Ours over theirs, pair by pair; at least two pairs, all values above zero.
pub fn ratio(ours: &[f64], theirs: &[f64]) -> Ratio {
    assert_eq!(ours.len(), theirs.len(), "a pair has two halves");
    assert!(ours.len() >= 2, "an interval needs two pairs or more");
    let n = ours.len() as f64;
    let logs: Vec<f64> = ours.iter().zip(theirs).map(|(our, their)| (our / their).ln()).collect();
    assert!(logs.iter().all(|log| log.is_finite()), "every value must be above zero: {ours:?} {theirs:?}");
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let t = StudentsT::new(0.0, 1.0, n - 1.0).expect("n - 1 degrees of freedom").inverse_cdf(0.975);
    let half = t * (variance / n).sqrt();
    Ratio { ratio: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp(), pairs: ours.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_scipy() {
        // python3: import numpy as np; from scipy import stats; d = np.log(np.array([1.1, 2.3, 2.9]) / np.array([1, 2, 3]))
        //          m = d.mean(); h = stats.t.ppf(.975, 2) * d.std(ddof=1) / 3**.5; np.exp([m, m-h, m+h])
        let found = ratio(&[1.1, 2.3, 2.9], &[1.0, 2.0, 3.0]);
        for (got, want) in
            [(found.ratio, 1.069_356_28), (found.low, 0.854_665_25), (found.high, 1.337_977_47)]
        {
            assert!((got - want).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn equal_tools_have_ratio_one() {
        let same = ratio(&[3.0, 5.0], &[3.0, 5.0]);
        assert_eq!((same.ratio, same.low, same.high), (1.0, 1.0, 1.0));
    }
}
