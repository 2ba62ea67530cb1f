//! A campaign as large as they usually get, with latencies as hosts have them: no two histograms alike, stalls in the tail, and
//! intervals that know their p99.

use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, LogNormal, Pareto};
use schema::{
    Bytes, Campaign, EncodedHistogram, LatencyKind, LatencySummary, Point, histogram::new_latency_histogram,
};

use super::Sample;

/// Messages of a run at one size.
const MESSAGES: u32 = 20_000;

/// Twenty message sizes, thirty blocks: thirty runs of each of two variants, and thirty controls.
pub fn large() -> Campaign {
    let sizes = (3..23).map(|power| Bytes(1 << power)).collect();
    let mut campaign = Sample { sizes, blocks: 30, latencies: 0, ..Sample::default() }.campaign();
    let mut random = ChaCha8Rng::seed_from_u64(campaign.design.seed);
    for run in &mut campaign.runs {
        let speed = if run.variant == "deep" { 1.5 } else { 1.0 };
        for point in &mut run.record.points {
            let median_ns = 1e9 * 16.0 / point.messages_per_sec.unwrap_or(1e6) / speed
                * (1.0 + 0.01 * random.random::<f64>());
            fill(point, median_ns, &mut random);
        }
    }
    campaign
}

fn fill(point: &mut Point, median_ns: f64, random: &mut ChaCha8Rng) {
    let histogram = histogram(median_ns, random);
    if let Some(latency) = LatencySummary::of(LatencyKind::PostToCompletion, &histogram) {
        point.latency_ns = latency;
    }
    point.histogram = EncodedHistogram::encode(&histogram, 0);
    for interval in &mut point.intervals {
        let stall = if random.random::<f64>() < 0.03 { 4.0 } else { 1.0 };
        let two_digits = |ns: f64| {
            let step = 10f64.powi(ns.log10().floor() as i32 - 1);
            ((ns / step).round() * step) as u64
        };
        interval.p50_ns = Some(two_digits(median_ns * (0.97 + 0.06 * random.random::<f64>())));
        interval.p99_ns = Some(two_digits(1.4 * stall * median_ns * (0.9 + 0.2 * random.random::<f64>())));
    }
}

/// A log-normal body; one message in a hundred waits for something else.
fn histogram(median_ns: f64, random: &mut ChaCha8Rng) -> Histogram<u64> {
    let body = LogNormal::new(median_ns.ln(), 0.12).expect("a finite spread");
    let stall = Pareto::new(1.5, 1.8).expect("a positive shape");
    let mut histogram = new_latency_histogram();
    for _ in 0..MESSAGES {
        let wait = if random.random::<f64>() < 0.01 { stall.sample(random) } else { 1.0 };
        histogram.record((body.sample(random) * wait) as u64).expect("below a minute");
    }
    histogram
}
