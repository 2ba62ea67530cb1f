//! The page of a cluster: verdict and findings first, then the map of all pairs, and what stands behind both. One self-contained
//! file, like the report of a campaign: no network, opens from disk. Without its script it has everything but the map.

mod data;
mod packed;
mod sections;
mod skew;

use askama::Template;
use schema::Cluster;

use super::{methods, not_run, words, worst};
use crate::{
    cluster::ClusterReport,
    render::{RenderError, number, view::Badge},
};
use sections::{Finding, Group, NodeRow};
use skew::Bar;

#[derive(Template)]
#[template(path = "cluster.html")]
struct Page {
    verdict: Badge,
    claim: String,
    simulated: Option<String>,
    head: String,
    suite: String,
    question: String,
    summary: String,
    findings: Vec<Finding>,
    not_run: Vec<(String, String)>,
    limits: Vec<String>,
    /// The name of the measure by which nodes are shown; none where nothing was measured.
    measure: Option<(usize, String)>,
    measures: Vec<String>,
    nodes: Vec<NodeRow>,
    leaves: Vec<Group>,
    hops: Vec<Group>,
    rounds: Vec<String>,
    skew: Vec<Bar>,
    methods: Vec<String>,
    rules: Vec<String>,
    id: i64,
    data: String,
    packed: String,
    version: &'static str,
}

/// The page of a cluster that was judged.
pub fn html(cluster: &Cluster, report: &ClusterReport) -> Result<String, RenderError> {
    let at = worst::first_measure(report);
    let measures: Vec<String> =
        report.matrices.iter().map(|matrix| words::measure(&matrix.measure)).collect();
    let (data, packed) = data::data(cluster, report);
    let page = Page {
        verdict: words::verdict(report.verdict),
        claim: words::capitalised(&words::claim(report)),
        simulated: words::simulated(report),
        head: words::head(report),
        suite: report.head.suite.clone(),
        question: report.head.question.clone(),
        summary: summary(report),
        findings: report.findings.iter().map(|finding| Finding::of(report, finding)).collect(),
        not_run: report
            .not_run
            .iter()
            .map(|one| (not_run::subject(report, one), words::not_run(one)))
            .collect(),
        limits: words::limits(report),
        measure: at.map(|at| (at, measures[at].clone())),
        measures,
        nodes: worst::order(report, at).into_iter().map(|node| NodeRow::of(report, node, at)).collect(),
        leaves: report.leaves.iter().map(|group| Group::of(report, group)).collect(),
        hops: report.hops.iter().map(|group| Group::of(report, group)).collect(),
        rounds: methods::rounds(report).iter().map(|line| words::capitalised(line)).collect(),
        skew: skew::bars(&cluster.rounds),
        methods: methods::methods(report),
        rules: methods::rules(&report.rules),
        id: report.head.id,
        data,
        packed,
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(page.render()?)
}

fn summary(report: &ClusterReport) -> String {
    let head = &report.head;
    let took = number::took(head.started_at_unix_ms, head.ended_at_unix_ms);
    format!(
        "Started {} UTC{took}. {} by {}, pattern {}, {} directions, seed {}.",
        number::utc(head.started_at_unix_ms),
        number::counted(report.counts.nodes, "node"),
        head.launcher,
        head.pattern,
        head.directions,
        head.seed
    )
}
