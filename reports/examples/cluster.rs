//! Renders a judged cluster, to look at its views: `cargo run -p reports --features testing --example cluster -- RACK out.html`, or
//! `FINE`, or `AWKWARD` for names that are hard to show, all judged by hand; `LARGE` has 512 simulated nodes with four measures both
//! ways, and tells what they cost. What a terminal shows goes to standard output.

use std::{env, error::Error, fs, time::Instant};

use reports::{
    cluster::{ClusterReport, ClusterRules, judge},
    render::{Look, cluster},
    testing::{
        self,
        cluster::{Plant, Simulated, Slow},
    },
};
use schema::{Cluster, PairPoint};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [name, path] = args.as_slice() else {
        return Err("give RACK, FINE, AWKWARD or LARGE and a path to write to".into());
    };
    let (measured, report) = match name.as_str() {
        "RACK" => (testing::measured_cluster(), testing::cluster_report()),
        "FINE" => (testing::fine_cluster(), testing::fine_cluster_report()),
        "AWKWARD" => (testing::awkward_cluster(), testing::awkward_cluster_report()),
        "LARGE" => large(),
        other => return Err(format!("no cluster `{other}`; known are RACK, FINE, AWKWARD and LARGE").into()),
    };
    let look = Look { colours: true, pictures: true, width: 120, ..Look::PLAIN };
    print!("{}", cluster::terminal(&report, &look));
    let began = Instant::now();
    let page = cluster::html(&measured, &report)?;
    eprintln!("page: {:.2} s, {:.2} MB", began.elapsed().as_secs_f64(), page.len() as f64 / 1e6);
    fs::write(path, page)?;
    Ok(())
}

/// Slow nodes, a slow leaf and a slow link among 512 nodes.
fn large() -> (Cluster, ClusterReport) {
    let rules = ClusterRules::default();
    let plants = [
        (Slow::Node(100), 0.25),
        (Slow::Sends(300), 0.15),
        (Slow::Link(17, 444), 0.4),
        (Slow::Leaf(20), 0.2),
    ];
    let simulated = Simulated {
        nodes: 512,
        leaves: 32,
        metrics: PairPoint::METRICS.into(),
        plants: plants.map(|(what, by)| Plant { what, by }).into(),
        ..Simulated::default()
    };
    let measured = simulated.carried_out(&rules);
    let began = Instant::now();
    let report = judge(&measured, &rules);
    eprintln!("analysis: {:.2} s for {} runs", began.elapsed().as_secs_f64(), measured.runs.len());
    (measured, report)
}
