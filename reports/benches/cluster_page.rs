//! What it costs to write the page of a cluster, and how that grows with its pairs: time per pair should stay what it is.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reports::{
    cluster::{ClusterRules, judge},
    render::cluster::html,
    testing::cluster::Simulated,
};
use schema::PairPoint;

fn pages(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("page of a cluster, four measures both ways");
    group.sample_size(10);
    for nodes in [64, 128, 256, 512] {
        let simulated = Simulated {
            nodes,
            leaves: nodes / 16,
            metrics: PairPoint::METRICS.into(),
            ..Simulated::default()
        };
        let rules = ClusterRules::default();
        let measured = simulated.carried_out(&rules);
        let report = judge(&measured, &rules);
        group.throughput(Throughput::Elements(u64::from(nodes * (nodes - 1))));
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter(|| html(black_box(&measured), &report).expect("a sound report"));
        });
    }
    group.finish();
}

criterion_group!(benches, pages);
criterion_main!(benches);
