//! Where the level of a series changes: E-divisive (Matteson and James 2014) in windows, as Hunter and Apache Otava use it
//! (Fleming et al., ICPE 2023).
//!
//! A window is split where the energy distance between both parts is largest, again and again, while Student's t says that
//! they differ. The splits of all windows are then merged from the weakest up, until each meets the bar against its neighbours.
//! What that bar is, is the caller's question.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// A split of a series, compared with the splits beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    /// The first value after it.
    pub(super) index: usize,
    /// Two-sided p that both sides have one mean.
    pub(super) p: f64,
    /// Mean since the split before.
    pub(super) before: f64,
    /// Mean up to the split after.
    pub(super) after: f64,
}

/// What a split must meet to stay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bar {
    /// p must be below this.
    pub(super) p: f64,
    /// The magnitude must be above this.
    pub(super) magnitude: f64,
}

impl Split {
    /// The larger of the changes forward and backward, as a share: a halving counts as much as a doubling.
    pub(super) fn magnitude(&self) -> f64 {
        let change = |from: f64, to: f64| if from == 0.0 { 0.0 } else { (to / from - 1.0).abs() };
        change(self.before, self.after).max(change(self.after, self.before))
    }
}

/// A part of a window, split where the energy distance is largest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Proposal<'a> {
    /// The values before the split.
    before: &'a [f64],
    /// Those after it, up to where the distance is largest.
    after: &'a [f64],
    /// All those after it.
    rest: &'a [f64],
}

impl Proposal<'_> {
    /// Whether the values before the split differ from all after it, or from the next ones alone: a level that is left again within
    /// the window hides behind what follows it.
    pub(super) fn is_significant(&self, p: f64) -> bool {
        self.differs_from_the_rest(p) || differ(self.before, self.after, p)
    }

    fn differs_from_the_rest(&self, p: f64) -> bool {
        differ(self.before, self.rest, p)
    }
}

/// Equal means of constant parts have no t, and do not differ.
fn differ(before: &[f64], after: &[f64], p: f64) -> bool {
    student(before, after, &|_| 1.0).is_some_and(|found| found <= p)
}

/// Splits that may be change points: found in windows of so many values, which overlap by half.
pub(super) fn weak_splits(
    values: &[f64],
    window: usize,
    significant: &impl Fn(Proposal) -> bool,
) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < values.len() {
        let end = (start + window).min(values.len());
        let here = divide(&values[start..end], significant);
        let last = here.last().map_or(0, |last| start + last);
        found.extend(here.into_iter().map(|index| start + index));
        start = last.max(start + window / 2);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Divides a window while the likeliest split is significant.
fn divide(values: &[f64], significant: &impl Fn(Proposal) -> bool) -> Vec<usize> {
    let within = Within::of(values);
    let mut ends = vec![0, values.len()];
    loop {
        let mut best: Option<(Likeliest, [usize; 2])> = None;
        for part in ends.windows(2).filter(|part| part[1] - part[0] > 1) {
            let likeliest = within.likeliest(part[0], part[1]);
            if best.as_ref().is_none_or(|(best, _)| likeliest.q > best.q) {
                best = Some((likeliest, [part[0], part[1]]));
            }
        }
        let Some((Likeliest { split, until, .. }, [from, to])) = best else { break };
        let (before, after, rest) = (&values[from..split], &values[split..until], &values[split..to]);
        if !significant(Proposal { before, after, rest }) {
            break;
        }
        let place = ends.partition_point(|end| *end < split);
        ends.insert(place, split);
    }
    ends[1..ends.len() - 1].to_vec()
}

/// Where two stretches beside each other differ most.
#[derive(Debug, Clone, Copy)]
struct Likeliest {
    q: f64,
    split: usize,
    until: usize,
}

/// For every stretch of a window, the sum of the distances between its values.
struct Within {
    n: usize,
    sums: Vec<f64>,
}

impl Within {
    fn of(values: &[f64]) -> Self {
        let n = values.len();
        let mut within = Within { n, sums: vec![0.0; (n + 1) * (n + 1)] };
        for from in (0..n).rev() {
            let mut to_first = 0.0;
            for to in from + 1..=n {
                to_first += (values[to - 1] - values[from]).abs();
                within.sums[from * (n + 1) + to] = within.sum(from + 1, to.max(from + 1)) + to_first;
            }
        }
        within
    }

    fn sum(&self, from: usize, to: usize) -> f64 {
        self.sums[from * (self.n + 1) + to]
    }

    /// The energy distance between `start..split` and `split..end`, weighted by their sizes.
    fn q(&self, start: usize, split: usize, end: usize) -> f64 {
        let (n, m) = ((split - start) as f64, (end - split) as f64);
        let (left, right) = (self.sum(start, split), self.sum(split, end));
        let between = self.sum(start, end) - left - right;
        let mut q = 2.0 / (m + n) * between;
        if n > 1.0 {
            q -= 2.0 * m / (m + n) / (n - 1.0) * left;
        }
        if m > 1.0 {
            q -= 2.0 * n / (m + n) / (m - 1.0) * right;
        }
        q
    }

    /// The split of `start..end` with the largest q against whatever follows it, up to any end.
    fn likeliest(&self, start: usize, end: usize) -> Likeliest {
        let mut best = Likeliest { q: f64::NEG_INFINITY, split: start + 1, until: end };
        for split in start + 1..end {
            for until in split + 1..=end {
                let q = self.q(start, split, until);
                if q > best.q {
                    best = Likeliest { q, split, until };
                }
            }
        }
        best
    }
}

/// Two-sided p of Student's t for two samples with one spread, each side's counted as Otava does, without Bessel's correction;
/// none where neither side varies and both are the same. `inflation` says by how much a mean of so many values varies more than
/// if they were independent.
fn student(left: &[f64], right: &[f64], inflation: &impl Fn(usize) -> f64) -> Option<f64> {
    let (a, b) = (left.len() as f64, right.len() as f64);
    if a + b <= 2.0 {
        return Some(1.0);
    }
    let ((mean_a, squares_a), (mean_b, squares_b)) = (spread(left), spread(right));
    let pooled = (squares_a * (a - 1.0) / a + squares_b * (b - 1.0) / b) / (a + b - 2.0);
    let (inflated_a, inflated_b) = (inflation(left.len()) / a, inflation(right.len()) / b);
    let error = (pooled * (inflated_a + inflated_b)).sqrt();
    let distance = (mean_a - mean_b).abs();
    if distance == 0.0 {
        return (error > 0.0).then_some(1.0);
    }
    let freedom = (1.0 / inflated_a + 1.0 / inflated_b - 2.0).max(1.0);
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(if error > 0.0 { (2.0 * student.sf(distance / error)).min(1.0) } else { 0.0 })
}

/// Mean, and the sum of the squares around it.
fn spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum())
}

/// Every split compared with the values up to its neighbours.
fn measure(values: &[f64], splits: &[usize], inflation: &impl Fn(usize) -> f64) -> Vec<Split> {
    let end = |at: usize| splits.get(at).copied().unwrap_or(values.len());
    let of = |(at, &index): (usize, &usize)| {
        let from = if at == 0 { 0 } else { splits[at - 1] };
        let (left, right) = (&values[from..index], &values[index..end(at + 1)]);
        let p = student(left, right, inflation).unwrap_or(1.0);
        Split { index, p, before: spread(left).0, after: spread(right).0 }
    };
    splits.iter().enumerate().map(of).collect()
}

/// Removes the weakest split again and again, until each meets its bar. Both closures are asked again after every removal,
/// since the noise is what is left around the levels: `inflation` as in [`student`], and the bar of each split.
pub(super) fn merge<I: Fn(usize) -> f64>(
    values: &[f64],
    mut splits: Vec<usize>,
    inflation: impl Fn(&[usize]) -> I,
    bars: impl Fn(&[usize]) -> Vec<Bar>,
) -> Vec<Split> {
    loop {
        let measured = measure(values, &splits, &inflation(&splits));
        match weakest(&measured, &bars(&splits)) {
            Some(weakest) => splits.remove(weakest),
            None => return measured,
        };
    }
}

/// The split with the largest p, if that is too large, or else the one with the least magnitude, if that is too small; of
/// equals the first.
fn weakest(splits: &[Split], bars: &[Bar]) -> Option<usize> {
    let share = |value: f64, bar: f64| match bar {
        0.0 if value > 0.0 => f64::INFINITY,
        0.0 => 0.0,
        bar => value / bar,
    };
    let p = |at: usize| share(splits[at].p, bars[at].p);
    let magnitude = |at: usize| share(splits[at].magnitude(), bars[at].magnitude);
    let least_likely = (0..splits.len()).rev().max_by(|a, b| p(*a).total_cmp(&p(*b)))?;
    if p(least_likely) >= 1.0 {
        return Some(least_likely);
    }
    let smallest = (0..splits.len()).min_by(|a, b| magnitude(*a).total_cmp(&magnitude(*b)))?;
    (magnitude(smallest) <= 1.0).then_some(smallest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// Published change points; each with its source and licence.
    #[derive(Deserialize)]
    struct Vectors {
        otava: Vec<Series>,
        energy_distance: EnergyDistance,
        mongodb: Vec<Counted>,
    }

    #[derive(Deserialize)]
    struct Series {
        name: String,
        values: Vec<f64>,
        runs: Vec<Run>,
    }

    #[derive(Deserialize)]
    struct Run {
        window: usize,
        p: f64,
        magnitude: f64,
        indices: Vec<usize>,
        both_measured: Vec<usize>,
    }

    #[derive(Deserialize)]
    struct EnergyDistance {
        values: Vec<f64>,
        /// `q[split - 1][until - 2]`
        q: Vec<Vec<f64>>,
        likeliest: usize,
        indices: Vec<usize>,
    }

    #[derive(Deserialize)]
    struct Counted {
        name: String,
        window: usize,
        p: f64,
        values: Vec<f64>,
        indices: Vec<usize>,
    }

    fn vectors() -> Vectors {
        serde_json::from_str(include_str!("../../tests/vectors/change-points.json")).expect("vectors")
    }

    /// Proposals are judged at ten times the p, or twice where that is large, against all that follows: as Otava has it.
    fn loose(p: f64) -> f64 {
        match p {
            p if p < 0.05 => 10.0 * p,
            p if p < 0.5 => 2.0 * p,
            p => p,
        }
    }

    /// One bar for all, and no memory.
    fn plain(values: &[f64], window: usize, p: f64, magnitude: f64) -> Vec<Split> {
        let splits =
            weak_splits(values, window, &|proposal: Proposal| proposal.differs_from_the_rest(loose(p)));
        merge(values, splits, |_| |_| 1.0, |splits| vec![Bar { p, magnitude }; splits.len()])
    }

    /// Otava's merge measures what follows a removed split again, and leaves what precedes it with the values it had.
    fn as_otava(values: &[f64], window: usize, p: f64, magnitude: f64) -> Vec<Split> {
        let mut splits = measure(
            values,
            &weak_splits(values, window, &|proposal: Proposal| proposal.differs_from_the_rest(loose(p))),
            &|_| 1.0,
        );
        while let Some(weakest) = weakest(&splits, &vec![Bar { p, magnitude }; splits.len()]) {
            splits.remove(weakest);
            if weakest < splits.len() {
                splits[weakest] = measure(values, &indices(&splits), &|_| 1.0)[weakest];
            }
        }
        splits
    }

    fn indices(splits: &[Split]) -> Vec<usize> {
        splits.iter().map(|split| split.index).collect()
    }

    #[test]
    fn otavas_published_change_points_are_found_to_the_index() {
        for series in vectors().otava {
            for run in series.runs {
                let found = as_otava(&series.values, run.window, run.p, run.magnitude);
                assert_eq!(indices(&found), run.indices, "{}, p {}, {}", series.name, run.p, run.magnitude);
                let found = plain(&series.values, run.window, run.p, run.magnitude);
                assert_eq!(indices(&found), run.both_measured, "{}, p {}", series.name, run.p);
            }
        }
    }

    #[test]
    fn otavas_sample_has_its_published_levels_and_p() {
        let vectors = vectors();
        let sample = vectors.otava.iter().find(|series| series.name == "sample.csv metric2").expect("there");
        let found = plain(&sample.values, 50, 0.001, 0.0);
        assert!((found[0].before - 10.481_667).abs() < 1e-6 && (found[0].after - 9.125).abs() < 1e-6);
        assert!((found[0].magnitude() - 0.148_676).abs() < 1e-6);
        assert!((found[0].p - 0.000_005).abs() < 5e-7, "{}", found[0].p);
    }

    #[test]
    fn the_energy_distance_is_that_of_its_definition() {
        let EnergyDistance { values, q, likeliest, indices } = vectors().energy_distance;
        let within = Within::of(&values);
        for split in 1..values.len() {
            for until in split + 1..=values.len() {
                let expected = q[split - 1][until - 2];
                assert!((within.q(0, split, until) - expected).abs() < 1e-9 * (1.0 + expected.abs()));
            }
        }
        assert_eq!(within.likeliest(0, values.len()).split, likeliest);
        assert_eq!(divide(&values, &|proposal| proposal.differs_from_the_rest(0.01)), indices);
    }

    /// Permutations decide there, Student's t here, so a few nights' difference is no disagreement.
    #[test]
    fn mongodbs_published_change_points_are_found_within_two() {
        for Counted { name, window, p, values, indices: expected } in vectors().mongodb {
            let found = indices(&plain(&values, window, p, 0.0));
            assert_eq!(found.len(), expected.len(), "{name}: {found:?}, published {expected:?}");
            let near = found.iter().zip(&expected).all(|(found, expected)| found.abs_diff(*expected) <= 2);
            assert!(near, "{name}: {found:?}, published {expected:?}");
        }
    }

    #[test]
    fn a_level_that_is_left_again_does_not_hide() {
        let values = [[1.00, 1.01].repeat(6), [0.92, 0.93].repeat(6), [1.00, 1.01].repeat(13)].concat();
        let whole = weak_splits(&values, 50, &|proposal: Proposal| proposal.differs_from_the_rest(1e-3));
        assert!(whole.is_empty());
        let near = weak_splits(&values, 50, &|proposal: Proposal| proposal.is_significant(1e-3));
        assert_eq!(near, [12, 24]);
    }

    #[test]
    fn a_constant_series_has_no_splits() {
        for values in [&[7.0; 200][..], &[0.0; 200], &[]] {
            assert!(weak_splits(values, 50, &|proposal: Proposal| proposal.is_significant(0.9)).is_empty());
        }
    }
}
