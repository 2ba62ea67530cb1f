//! The engine against the software NIC's model: what comes out must be what was put in. A busy machine can take the core
//! away and so add to a latency; a wrong engine is wrong every time. So a measurement has five attempts, and one must agree.

use e2e::{finish, programs::PATIENCE, verbs_bench};
use schema::Point;

const ATTEMPTS: u32 = 5;

fn measure(duration: &str, arguments: &[&str]) -> Point {
    let mut command =
        verbs_bench(&["run", "--device", "soft", "--warmup", "50ms", "--duration", duration, "--json"]);
    finish(command.args(arguments), PATIENCE).completed().points.remove(0)
}

/// Fails with what every attempt said when none agrees.
#[track_caller]
fn agrees(arguments: &[&str], check: impl Fn(&Point) -> Result<(), String>) {
    agrees_over("800ms", arguments, check);
}

#[track_caller]
fn agrees_over(duration: &str, arguments: &[&str], check: impl Fn(&Point) -> Result<(), String>) {
    let mut said = Vec::new();
    for _ in 0..ATTEMPTS {
        match check(&measure(duration, arguments)) {
            Ok(()) => return,
            Err(disagreement) => said.push(disagreement),
        }
    }
    panic!("{ATTEMPTS} attempts at {arguments:?}:\n{}", said.join("\n"));
}

/// Within 3 % or 100 ns, whichever is more.
fn latency(what: &str, found: Option<u64>, put_in: f64) -> Result<(), String> {
    let found = found.ok_or_else(|| format!("{what} was not published"))? as f64;
    let tolerance = (put_in * 0.03).max(100.0);
    ensure((found - put_in).abs() <= tolerance, || {
        format!("{what}: {put_in} ns were put in, {found} ns came out")
    })
}

fn within(what: &str, found: Option<f64>, put_in: f64, share: f64) -> Result<(), String> {
    let found = found.ok_or_else(|| format!("{what} is missing"))?;
    ensure((found / put_in - 1.0).abs() <= share, || format!("{what}: {put_in} was put in, {found} came out"))
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

#[test]
fn a_fixed_latency_is_the_median() {
    // A store to another core takes 100 to 300 ns by itself, on top of the link: the model must be long beside that.
    for (model, put_in) in [("latency=20us", 20_000.0), ("latency=100us", 100_000.0)] {
        agrees(&["--test", "latency", "--soft-model", model], |point| {
            latency(model, point.latency_ns.p50, put_in)
        });
    }
}

#[test]
fn serialisation_is_part_of_the_latency() {
    // 4096 bytes at 1 Gb/s take 32.768 us on the link.
    agrees(&["--test", "latency", "--size", "4Ki", "--soft-model", "latency=20us,rate=1Gbps"], |point| {
        latency("median", point.latency_ns.p50, 20_000.0 + 32_768.0)
    });
}

#[test]
fn a_fixed_rate_is_the_bandwidth() {
    for (model, rate, size) in [
        ("latency=5us,rate=10Gbps", 10e9, "64Ki"),
        ("latency=50us,rate=1Gbps", 1e9, "16Ki"),
        ("rate=2Gbps", 2e9, "4Ki"),
    ] {
        agrees(&["--test", "bandwidth", "--size", size, "--soft-model", model], |point| {
            within(model, point.bandwidth_bits_per_sec, rate, 0.02)
        });
    }
}

#[test]
fn a_shallow_queue_waits_for_its_completions() {
    // One message in flight: each costs its serialisation, the way there and the way back.
    let model = "latency=20us,rate=10Gbps";
    let cycle_ns = 65_536.0 * 8.0 / 10.0 + 2.0 * 20_000.0;
    agrees(&["--test", "bandwidth", "--size", "64Ki", "--tx-depth", "1", "--soft-model", model], |point| {
        within("bandwidth", point.bandwidth_bits_per_sec, 65_536.0 * 8.0 / cycle_ns * 1e9, 0.03)?;
        latency("post to completion", point.latency_ns.p50, cycle_ns)
    });
}

#[test]
fn a_message_rate_limit_is_the_message_rate() {
    agrees(
        &["--test", "bandwidth", "--size", "8", "--soft-model", "latency=10us,message_rate=200000"],
        |point| within("messages per second", point.messages_per_sec, 200_000.0, 0.02),
    );
}

#[test]
fn a_second_mode_shows_in_the_tail_and_not_in_the_median() {
    // Post to completion with one message in flight: 40 us there and back, 1 % of them 200 us longer.
    let model = "latency=20us,jitter=bimodal:0.01:200us";
    agrees(&["--test", "bandwidth", "--size", "8", "--tx-depth", "1", "--soft-model", model], |point| {
        latency("p50", point.latency_ns.p50, 40_000.0)?;
        latency("p90", point.latency_ns.p90, 40_000.0)?;
        latency("p99.9", point.latency_ns.p99_9, 240_000.0)
    });
}

#[test]
fn half_a_round_trip_holds_half_of_a_slow_way() {
    // Either way is slow in 1 % of the messages, so 2 % of the round trips hold one slow way.
    let model = "latency=20us,jitter=bimodal:0.01:200us";
    agrees(&["--test", "latency", "--soft-model", model], |point| {
        latency("p50", point.latency_ns.p50, 20_000.0)?;
        latency("p99", point.latency_ns.p99, 20_000.0 + 100_000.0)
    });
}

#[test]
fn a_stall_is_in_the_maximum_the_series_and_the_tail_of_an_open_window() {
    // 4 KiB at 1 Gb/s: some 3,000 messages in 100 ms, and the 128 in flight see each stall of 20 ms.
    let stalled = [
        "--test",
        "bandwidth",
        "--size",
        "4Ki",
        "--tx-depth",
        "128",
        "--interval",
        "10ms",
        "--soft-model",
        "latency=10us,rate=1Gbps",
        "--soft-fault",
        "stall=20ms/100ms",
    ];
    const STALL: u64 = 20_000_000;
    agrees_over("2s", &stalled, |point| {
        let summary = &point.latency_ns;
        ensure(summary.max >= STALL && summary.p99_9 >= Some(STALL), || {
            format!("no stall in the tail of {summary:?}")
        })?;
        ensure(summary.p50 < Some(STALL / 2), || format!("the median is a stall: {summary:?}"))?;
        // What was in flight completes within 5 ms of a stall's end: in one interval of 10 ms, or in two.
        let showing = point.intervals.iter().filter(|interval| interval.max_ns >= Some(STALL)).count();
        ensure((18..=42).contains(&showing), || format!("2 s hold 20 stalls, {showing} intervals show one"))?;
        let longest = point.intervals.iter().map(|interval| interval.duration_ns.get()).max();
        ensure(longest >= Some(STALL), || {
            format!("no interval spans a stall; the longest is {longest:?} ns")
        })?;
        // The link stands still for a fifth of the time.
        within("bandwidth", point.bandwidth_bits_per_sec, 0.8e9, 0.05)
    });
}

#[test]
fn a_distribution_keeps_its_shape() {
    // ln 2 = 0.693 is the median of an exponential distribution with mean 1, ln 10 = 2.303 its 90th percentile.
    let model = "latency=20us,jitter=exponential:20us,seed=7";
    agrees(&["--test", "bandwidth", "--size", "8", "--tx-depth", "1", "--soft-model", model], |point| {
        latency("median", point.latency_ns.p50, 40_000.0 + 0.693 * 20_000.0)?;
        latency("90th percentile", point.latency_ns.p90, 40_000.0 + 2.303 * 20_000.0)
    });
}
