//! The latency distributions of a size: every histogram is decoded once, read in one pass, and added to those of its variant.

use hdrhistogram::Histogram;
use schema::{Bytes, Point, histogram::MIN_TAIL_SAMPLES};

use super::{RenderError, paint::Paint, source::Source};
use crate::{
    compare::{Spread, spread},
    render::number,
};

/// Runs of a variant whose histograms are read: more change neither a median curve nor a shape that is seen.
const MOST_RUNS: usize = 50;
/// Distance of the points of a curve, in decades of the share that lies beyond.
const STEP: f64 = 0.1;
/// Percentiles that are told in numbers.
pub(super) const TOLD: [f64; 9] = [25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// The distribution of a variant at one size.
pub(in crate::render) struct Tails {
    pub(super) paint: Paint,
    /// Position of the variant.
    pub(super) variant: usize,
    /// Into the tail, as far as at least ten messages of each run lie beyond.
    pub(super) curve: Vec<At>,
    /// All runs together.
    pub(super) all: Histogram<u64>,
    /// Runs that were read.
    pub(super) read: u32,
    /// Runs there are.
    pub(super) runs: u32,
}

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct At {
    /// Decades of the share that lies beyond: 2 is p99.
    pub(super) tail: f64,
    /// The percentile of [`TOLD`] it is.
    pub(super) told: Option<usize>,
    /// The latency there over the runs, ns.
    pub(super) ns: Spread,
}

/// The distributions of every variant that has runs at a size.
pub(in crate::render) fn tails(source: &Source<'_>, msg_bytes: Bytes) -> Result<Vec<Tails>, RenderError> {
    let mut all = Vec::new();
    for (variant, series) in source.series().iter().enumerate() {
        let points = source.points_of(series.name, msg_bytes);
        if let Some(tails) = of(source, points, variant, series.paint)? {
            all.push(tails);
        }
    }
    Ok(all)
}

fn of(
    source: &Source<'_>,
    points: &[&Point],
    variant: usize,
    paint: Paint,
) -> Result<Option<Tails>, RenderError> {
    let grid = grid();
    let mut all: Option<Histogram<u64>> = None;
    let mut runs: Vec<Vec<u64>> = Vec::new();
    for point in evenly(points, MOST_RUNS) {
        let histogram = point.histogram.decode().map_err(|cause| RenderError::Histogram {
            workload: source.workload.name.clone(),
            msg_bytes: point.msg_bytes,
            source: cause,
        })?;
        if histogram.is_empty() {
            continue; // its run was pruned
        }
        runs.push(quantiles(&histogram, &grid));
        match &mut all {
            None => all = Some(histogram),
            // Records have the same bounds; one that does not is left out of the picture rather than out of the page.
            Some(all) => all.add(&histogram).unwrap_or_default(),
        }
    }
    let Some(all) = all else { return Ok(None) };
    let depth = runs.iter().map(Vec::len).min().unwrap_or(0);
    let curve = grid[..depth].iter().enumerate().filter_map(|(i, (tail, told))| {
        let ns = spread(runs.iter().map(|run| run[i] as f64))?;
        Some(At { tail: *tail, told: *told, ns })
    });
    let curve = curve.collect();
    Ok(Some(Tails { paint, variant, curve, all, read: runs.len() as u32, runs: points.len() as u32 }))
}

/// At most so many of them, evenly spread, the first among them.
fn evenly<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    let take = all.len().min(most);
    (0..take).map(move |i| &all[i * all.len() / take])
}

/// The places of a curve: even steps into the tail, and the percentiles that are told.
fn grid() -> Vec<(f64, Option<usize>)> {
    let told = TOLD.iter().enumerate().map(|(i, percent)| (decades(*percent), Some(i)));
    let even = (0..=70).map(|i| (f64::from(i) * STEP, None));
    let mut grid: Vec<_> = told.chain(even).collect();
    grid.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Of two that are the same but for rounding, the told one stays.
    grid.dedup_by(|next, kept| {
        let same = (next.0 - kept.0).abs() < STEP / 10.0;
        if same && kept.1.is_none() {
            *kept = *next;
        }
        same
    });
    grid
}

/// How deep in the tail a percentile lies.
pub(super) fn decades(percent: f64) -> f64 {
    -(1.0 - percent / 100.0).log10()
}

/// The values at the places of a grid that have enough samples beyond, in one pass; at least the first.
fn quantiles(histogram: &Histogram<u64>, grid: &[(f64, Option<usize>)]) -> Vec<u64> {
    let count = histogram.len() as f64;
    let ranks = grid.iter().enumerate().map_while(|(i, (tail, _))| {
        let beyond = count * 10f64.powf(-tail);
        let rank = (count - beyond - 1e-6 * count.max(1.0).recip()).ceil().max(1.0);
        (i == 0 || beyond + 1e-6 >= MIN_TAIL_SAMPLES).then_some(rank as u64)
    });
    let mut values = Vec::new();
    let mut recorded = histogram.iter_recorded();
    let (mut seen, mut value) = (0, 0);
    for rank in ranks {
        while seen < rank {
            let Some(step) = recorded.next() else { break };
            seen += step.count_at_value();
            value = step.value_iterated_to();
        }
        values.push(value);
    }
    values
}

/// `n = 10 runs`, and of how many where not all were read.
pub(super) fn runs_read(tails: &Tails) -> String {
    match tails.read == tails.runs {
        true => number::counted(tails.runs, "run"),
        false => format!("{} of {}, evenly spread", tails.read, number::counted(tails.runs, "run")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use schema::histogram::new_latency_histogram;

    #[test]
    fn one_pass_reads_what_single_questions_read_and_ends_where_ten_samples_lie_beyond() {
        let mut histogram = new_latency_histogram();
        (1..=10_000u64).for_each(|i| histogram.record(i * i % 7_919 + 1).unwrap());
        let grid = grid();
        let values = quantiles(&histogram, &grid);
        assert_eq!(grid[values.len() - 1], (decades(99.9), Some(6)), "of 10,000, ten lie beyond p99.9");
        for ((tail, _), value) in grid.iter().zip(&values) {
            let asked = 1.0 - 10f64.powf(-tail);
            assert_eq!(*value, histogram.value_at_quantile(asked), "at {asked}");
        }
    }

    #[test]
    fn every_told_percentile_is_on_the_grid_once() {
        let grid = grid();
        let told: Vec<usize> = grid.iter().filter_map(|(_, told)| *told).collect();
        assert_eq!(told, (0..TOLD.len()).collect::<Vec<_>>());
        assert!(grid.windows(2).all(|two| two[0].0 < two[1].0));
    }

    #[test]
    fn a_sample_of_many_is_even() {
        let all: Vec<u32> = (0..1_000).collect();
        let some: Vec<u32> = evenly(&all, 50).copied().collect();
        assert_eq!((some.len(), some[0], some[49]), (50, 0, 980));
        assert_eq!(evenly(&all[..3], 50).count(), 3);
        assert_eq!(evenly(&all[..0], 50).count(), 0);
    }
}
