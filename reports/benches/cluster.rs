//! What it costs to judge a cluster, and how that grows with its nodes: time per pair should stay what it is.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reports::{
    cluster::{ClusterRules, judge},
    testing::cluster::{Plant, Simulated, Slow},
};

fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("judge a cluster");
    group.sample_size(10);
    for nodes in [64, 128, 256, 512] {
        let plants =
            vec![Plant { what: Slow::Node(7), by: 0.2 }, Plant { what: Slow::Link(20, 50), by: 0.4 }];
        let rules = ClusterRules::default();
        let cluster =
            Simulated { nodes, leaves: nodes / 16, plants, ..Simulated::default() }.carried_out(&rules);
        group.throughput(Throughput::Elements(u64::from(nodes * (nodes - 1))));
        group.bench_function(BenchmarkId::from_parameter(nodes), |bencher| {
            bencher.iter(|| judge(black_box(&cluster), &rules));
        });
    }
    group.finish();
}

criterion_group!(benches, growth);
criterion_main!(benches);
