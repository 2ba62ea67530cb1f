//! What it costs to judge a night, and how that grows with the nights and the series before it: time per night of a series
//! should stay what it is.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reports::{
    history::{Rules, judge},
    testing::nights::Nights,
};

fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("judge a night");
    group.sample_size(10);
    for (nights, series) in [(90, 200), (180, 200), (365, 200), (365, 50), (365, 100)] {
        let history = Nights { nights, series, ..Nights::year() }.history();
        group.throughput(Throughput::Elements((nights * series) as u64));
        group.bench_function(BenchmarkId::from_parameter(format!("{nights} nights x {series}")), |bencher| {
            bencher.iter(|| judge(black_box(&history), nights as i64, &Rules::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, growth);
criterion_main!(benches);
