//! The shape of the latencies: all messages of a variant in one histogram, the variants over one another.

use plotters::prelude::*;
use schema::Bytes;

use super::{
    RenderError,
    axis::Axis,
    figure::{Choice, Drawing, Figure, Numbers, Spot},
    frame::{Frame, line},
    source::Source,
    tails::Tails,
};
use crate::render::number;

const HEIGHT: u32 = 640;
/// Bins of a histogram.
const BINS: u32 = 44;
/// Smallest share that is drawn on the logarithmic axis is that of one message; this bounds the axis of huge counts.
const LEAST_SHARE: f64 = 1e-9;

/// A bin: its edges in ns, and the share of each variant's messages in it.
struct Bin {
    from: u64,
    to: u64,
    messages: Vec<u64>,
}

impl Bin {
    /// Whether it has a row in the table: where no variant has a message there is nothing to tell.
    fn is_told(&self) -> bool {
        self.messages.iter().any(|messages| *messages > 0)
    }
}

/// The histograms of one message size; none without a completed run.
pub(in crate::render) fn histogram(
    source: &Source<'_>,
    msg_bytes: Bytes,
    tails: &[Tails],
) -> Result<Option<Figure>, RenderError> {
    if tails.is_empty() {
        return Ok(None);
    }
    let quantile = |q: f64| tails.iter().map(move |tails| tails.all.value_at_quantile(q));
    let low = tails.iter().map(|tails| tails.all.min()).min().unwrap_or(1).max(1);
    let high = tails.iter().map(|tails| tails.all.max()).max().unwrap_or(1);
    let body = (quantile(0.001).min().unwrap_or(low).max(1), quantile(0.99).max().unwrap_or(high));
    let mut drawings = Vec::new();
    let mut numbers = numbers(source, tails);
    for (pick, (log, (from, to))) in [(false, body), (true, (low, high))].into_iter().enumerate() {
        let bins = bins(tails, from, to);
        let first_row = numbers.rows.len();
        numbers.rows.extend(rows(source, tails, &bins));
        drawings.push(drawing(source, tails, &bins, (pick, log, first_row))?);
    }
    let messages = tails.iter().map(|tails| tails.all.len()).min().unwrap_or(0);
    let caption = format!(
        "{}, all messages of the runs of a variant together, at least {} each. The body ends at p99; to the slowest message, the share is on a logarithmic axis. Messages of one run share its luck: how sure one may be is in the intervals above, not here.",
        source.spans(msg_bytes),
        number::grouped(messages)
    );
    let options = vec!["the body, to p99".into(), "to the slowest message".into()];
    Ok(Some(Figure {
        title: source.titled("Shape of the latencies", msg_bytes),
        caption,
        choices: Choice::between("Range", options).into_iter().collect(),
        drawings,
        numbers,
    }))
}

fn drawing(
    source: &Source<'_>,
    tails: &[Tails],
    bins: &[Bin],
    (pick, log, first_row): (usize, bool, usize),
) -> Result<Drawing, RenderError> {
    let density = |n: usize, bin: &Bin| density(bin, bin.messages[n], tails[n].all.len());
    let densities = || bins.iter().flat_map(|bin| (0..tails.len()).map(move |n| density(n, bin)));
    let least = densities().filter(|density| *density > 0.0).fold(1.0, f64::min).max(LEAST_SHARE);
    let y = move |density: f64| if log { density.max(least).log10() } else { density };
    let title = "share of messages per 1% step".to_owned();
    let shown = densities().filter(|density| *density > 0.0);
    let mut y_axis = match log {
        true => Axis::log(shown, title, number::share),
        false => Axis::linear(shown.chain([0.0]), title, number::share),
    };
    if !log {
        // Nothing is less than no message.
        (y_axis.from, y_axis.ticks) = (0.0, y_axis.ticks.into_iter().filter(|(at, _)| *at >= 0.0).collect());
    }
    let edges = bins.iter().flat_map(|bin| [bin.from as f64, bin.to as f64]);
    let frame = Frame {
        height: HEIGHT,
        left: 190,
        right: 80,
        simulated: source.simulated,
        legend: source.legend(),
        x: Axis::log(edges, "latency, logarithmic".into(), number::nanos_short),
        y: y_axis,
    };
    let floor = frame.y.from;
    let mut spots = Vec::new();
    let svg = frame.draw("histogram", |chart| {
        for (n, tails) in tails.iter().enumerate() {
            let outline = || {
                bins.iter().flat_map(move |bin| {
                    let height = match bin.messages[n] {
                        0 => floor,
                        _ => y(density(n, bin)),
                    };
                    [((bin.from as f64).log10(), height), ((bin.to as f64).log10(), height)]
                })
            };
            let ends = bins.first().zip(bins.last());
            let closed = ends.into_iter().flat_map(|(first, last)| {
                [((last.to as f64).log10(), floor), ((first.from as f64).log10(), floor)]
            });
            let area: Vec<(f64, f64)> = outline().chain(closed).collect();
            chart.plotting_area().draw(&Polygon::new(area, tails.paint.rgb().mix(0.16).filled()))?;
            chart.draw_series(LineSeries::new(outline(), line(tails.paint, 1.0, 3)))?;
            let told = bins.iter().filter(|bin| bin.is_told()).enumerate();
            for (row, bin) in told.filter(|(_, bin)| bin.messages[n] > 0) {
                let middle = ((bin.from as f64).log10() + (bin.to as f64).log10()) / 2.0;
                spots.push(Spot::on(chart, (middle, y(density(n, bin))), first_row + row, tails.variant));
            }
        }
        Ok(())
    })?;
    Ok(Drawing::new(vec![pick], svg, HEIGHT, spots))
}

/// Bins of about the same ratio, never narrower than a histogram tells apart, with the messages of each variant in them.
fn bins(tails: &[Tails], from: u64, to: u64) -> Vec<Bin> {
    let to = to.max(from) + 1;
    let ratio = (to as f64 / from as f64).powf(f64::from(BINS).recip()).max(1.002);
    let mut bins: Vec<Bin> = Vec::new();
    let mut edge = from;
    while edge < to {
        let next = ((edge as f64 * ratio).round() as u64).max(edge + 1).min(to);
        bins.push(Bin { from: edge, to: next, messages: vec![0; tails.len()] });
        edge = next;
    }
    for (n, tails) in tails.iter().enumerate() {
        let mut at = 0;
        for step in tails.all.iter_recorded() {
            let value = tails.all.lowest_equivalent(step.value_iterated_to());
            if value < from {
                continue;
            }
            while at < bins.len() && bins[at].to <= value {
                at += 1;
            }
            let Some(bin) = bins.get_mut(at) else { break };
            bin.messages[n] += step.count_at_value();
        }
    }
    bins
}

/// Share of the messages for each percent of latency that the bin is wide: bins of different width can be compared.
fn density(bin: &Bin, messages: u64, of: u64) -> f64 {
    let percents = (bin.to as f64 / bin.from as f64).ln() / 1.01f64.ln();
    messages as f64 / of.max(1) as f64 / percents
}

fn numbers(source: &Source<'_>, tails: &[Tails]) -> Numbers {
    let mut columns = source.variants();
    for tails in tails {
        let messages = number::grouped(tails.all.len());
        columns[tails.variant].push_str(&format!(", share of {messages} messages"));
    }
    Numbers { about: "Latency".into(), columns, rows: Vec::new() }
}

fn rows(source: &Source<'_>, tails: &[Tails], bins: &[Bin]) -> Vec<(String, Vec<String>)> {
    let row = |bin: &Bin| {
        let name = format!("{} to {}", number::nanos(bin.from as f64), number::nanos(bin.to as f64));
        let mut cells = vec![String::new(); source.variants().len()];
        for (tails, messages) in tails.iter().zip(&bin.messages) {
            cells[tails.variant] = number::share(*messages as f64 / tails.all.len().max(1) as f64);
        }
        (name, cells)
    };
    bins.iter().filter(|bin| bin.is_told()).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{index::Index, render::figures::paint::Paint, testing::Sample};
    use schema::histogram::new_latency_histogram;

    fn tails(values: impl Iterator<Item = u64>) -> Tails {
        let mut all = new_latency_histogram();
        values.for_each(|ns| all.record(ns).unwrap());
        Tails { paint: Paint::Baseline, variant: 0, curve: Vec::new(), all, read: 1, runs: 1 }
    }

    #[test]
    fn every_message_is_in_one_bin_and_bins_touch() {
        let tails = [tails((1..=5_000).map(|i| 90 + i % 37)), tails((1..=900).map(|i| 1_000 * i))];
        let bins = bins(&tails, 90, 900_000);
        assert!(bins.windows(2).all(|two| two[0].to == two[1].from), "no gap");
        for (n, tails) in tails.iter().enumerate() {
            assert_eq!(bins.iter().map(|bin| bin.messages[n]).sum::<u64>(), tails.all.len());
        }
    }

    #[test]
    fn a_single_latency_is_drawn_too() {
        let campaign = Sample { latencies: 0, ..Sample::default() }.campaign();
        let index = Index::of(&campaign);
        let source = Source::of(&campaign, &index, &campaign.workloads[0], schema::Test::Bandwidth);
        let size = Bytes(65_536);
        let tails = super::super::tails(&source, size).unwrap();
        assert!(histogram(&source, size, &tails).unwrap().is_some());
    }
}
