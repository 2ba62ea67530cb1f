//! What a report costs: comparing and drawing twenty points of thirty runs; and how comparing grows with the runs.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reports::{CompareOptions, compare, render, testing};

fn report(criterion: &mut Criterion) {
    let campaign = testing::twenty_points();
    let comparison = compare(&campaign, &CompareOptions::default());
    let mut group = criterion.benchmark_group("20 points x 30 runs");
    group.sample_size(10);
    group.bench_function("compare", |bencher| {
        bencher.iter(|| compare(black_box(&campaign), &CompareOptions::default()));
    });
    group.bench_function("html", |bencher| {
        bencher.iter(|| render::html(black_box(&campaign), &comparison).expect("a sound campaign"));
    });
    group.bench_function("markdown", |bencher| {
        bencher.iter(|| render::markdown(black_box(&campaign), &comparison));
    });
    group.finish();
}

/// Time per run should stay what it is. Histograms, which a comparison does not read, hold one sample each.
fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compare, 20 points");
    group.sample_size(10);
    for runs in [1_000, 2_000, 5_000, 10_000_u32] {
        let sizes = (0..20).map(|power| schema::Bytes(8 << power)).collect();
        let blocks = runs.div_ceil(3);
        let campaign =
            testing::Sample { sizes, blocks, latencies: 0, ..testing::Sample::default() }.campaign();
        group.throughput(Throughput::Elements(u64::from(runs)));
        group.bench_function(BenchmarkId::from_parameter(runs), |bencher| {
            bencher.iter(|| compare(black_box(&campaign), &CompareOptions::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, report, growth);
criterion_main!(benches);
