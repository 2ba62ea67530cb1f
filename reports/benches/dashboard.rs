//! What the page of a history costs, a year of nights long: time per series should stay what it is.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reports::{
    history::{Rules, judge},
    render::history::{Campaigns, dashboard},
    testing::nights::Nights,
};

fn pages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("dashboard of a year");
    group.sample_size(10);
    for series in [50, 100, 200] {
        let history = Nights { series, ..Nights::year() }.history();
        let last = history.nights.last().expect("a year has nights").id;
        let report = judge(&history, last, &Rules::default()).expect("a night of it");
        group.throughput(Throughput::Elements(series as u64));
        group.bench_function(BenchmarkId::from_parameter(series), |bencher| {
            bencher.iter(|| dashboard(black_box(&report), &Campaigns::new()).expect("a sound report"));
        });
    }
    group.finish();
}

criterion_group!(benches, pages);
criterion_main!(benches);
