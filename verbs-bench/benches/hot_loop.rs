//! What the engine's own code costs a message: the bandwidth loop on the raw software NIC, and recording alone.
//!
//! The software NIC writes 64 bytes and makes a completion at once, so the loop is most of what is timed. Compare within one
//! run; docs/measurement.md says how the loop stands beside perftest's.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use std::{hint::black_box, time::Duration};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use schema::{Bytes, Nanos, RunSpec, Side, Stage, Test};
use verbs_bench::{
    clock::Clock,
    connect::Region,
    engine::{
        bandwidth::{End, Phases},
        kept::Kept,
        recorder::Recorder,
        watch::Watch,
    },
    session::{endpoint::Endpoint, loopback::loopback},
};

fn messages_take(
    spec: &RunSpec,
    count: u64,
    endpoint: &Endpoint,
    region: &Region,
    clock: &Clock,
) -> Duration {
    let mut kept = Kept::new(clock.scale(), spec.interval_ns, None);
    let mut watch = Watch::new(None, Side::Requester, Stage::Measure, clock.scale(), spec.deadline_ns);
    let mut bandwidth = endpoint.bandwidth(spec, spec.msg_bytes[0], region, clock);
    let warm_until = clock.source().now() + clock.scale().ticks(spec.warmup_ns.get());
    let phases = Phases { warm_until, end: End::After(count), messages_per_sec: None };
    let measured = bandwidth.measure(phases, None, &mut kept, &mut watch);
    let measured = measured.expect("the raw software NIC does not fail");
    Duration::from_nanos(measured.duration(clock.scale()).get())
}

fn hot_loop(c: &mut Criterion) {
    let clock = Clock::calibrate();
    let mut group = c.benchmark_group("bandwidth loop, 64 B, raw software NIC");
    group.throughput(Throughput::Elements(1));
    for (post_list, signal_interval) in [(1, 1), (1, 64), (16, 16), (16, 64)] {
        let mut spec = RunSpec::new(Test::Bandwidth);
        (spec.msg_bytes, spec.warmup_ns) = (vec![Bytes(64)], Nanos(100_000));
        (spec.post_list, spec.signal_interval) = (post_list, signal_interval);
        (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
        let (endpoint, region) = loopback(&spec).expect("a few kilobytes of memory");
        group.bench_function(
            BenchmarkId::from_parameter(format!("list {post_list} interval {signal_interval}")),
            |b| {
                b.iter_custom(|iterations| messages_take(&spec, iterations, &endpoint, &region, &clock));
            },
        );
    }
    group.finish();
}

fn recording(c: &mut Criterion) {
    let clock = Clock::calibrate();
    let mut group = c.benchmark_group("recording a sample");
    group.throughput(Throughput::Elements(1));
    let mut recorder = Recorder::new(clock.scale(), Nanos(100_000_000));
    recorder.start(0, 0);
    group.bench_function("all different", |b| {
        let mut ticks = 1u64;
        b.iter(|| {
            ticks = ticks.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            recorder.add(black_box(ticks >> 48));
        });
    });
    group.bench_function("runs of equal", |b| b.iter(|| recorder.add(black_box(4_242))));
    group.finish();
}

criterion_group!(benches, hot_loop, recording);
criterion_main!(benches);
