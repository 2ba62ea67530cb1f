//! What a report costs: comparing and drawing twenty points of thirty runs.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
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

criterion_group!(benches, report);
criterion_main!(benches);
