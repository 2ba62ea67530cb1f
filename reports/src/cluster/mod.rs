//! What a cluster's pairs say about its nodes, links and switches.
//!
//! The peers of one night are the reference: no history is asked. Pure: what is suspected, who should be measured again with
//! whom, and what is said in the end are functions of the [`schema::Cluster`] alone.
//!
//! [`scene`] lays a cluster out, [`polish`] takes a matrix apart, and [`claim`] says what stands out of one measure. [`suspect`] puts
//! together what is about one thing, [`retest`] plans whom to measure again with whom, and [`again`] says what came of it.
//! [`census`] compares configurations. `docs/cluster.md` explains the method, `docs/measurement.md` how often it is right.

mod again;
mod cells;
mod census;
mod claim;
mod evidence;
mod findings;
mod groups;
mod limits;
pub mod model;
mod not_run;
mod polish;
mod retest;
mod robust;
mod roll_up;
mod rounds;
mod scene;
mod sentence;
mod suspect;
mod views;

use schema::{Cluster, SCHEMA_VERSION};

use again::Again;
use claim::{Claim, Judged};
pub use model::{
    ClusterCounts, ClusterFinding, ClusterHead, ClusterReport, ClusterRules, ClusterVerdict, Effect,
    FindingKind, GroupReport, Matrix, Measure, NodeMeasure, NodeReport, NotRun, RetestReport, RoundsReport,
    Subject,
};
pub use roll_up::{RolledUp, roll_up};
use scene::Scene;
pub use suspect::Suspect;

/// A cluster's pattern, taken apart.
struct Analysis<'c> {
    scene: Scene<'c>,
    /// By measure: the median of each pair's runs, by requester and responder.
    medians: Vec<Vec<f64>>,
    /// By measure.
    judged: Vec<Judged>,
}

impl<'c> Analysis<'c> {
    fn of(cluster: &'c Cluster, rules: &'c ClusterRules) -> Self {
        let scene = Scene::of(cluster, rules);
        let medians =
            |(number, measure): (usize, &Measure)| scene.cells.medians(measure, number >= scene.first_loaded);
        let medians: Vec<Vec<f64>> = scene.measures.iter().enumerate().map(medians).collect();
        let judged = claim::judged(&scene, &medians);
        Analysis { scene, medians, judged }
    }

    /// Whether any pair gave a number.
    fn measured(&self) -> bool {
        self.judged.iter().any(|judged| judged.fit.measured > 0)
    }

    fn claims(&self) -> Vec<Claim> {
        self.judged.iter().flat_map(|judged| &judged.claims).copied().collect()
    }
}

/// What stands out among the pairs of a cluster's pattern, leaves first, then nodes, then links. Runs of a retest are not looked at.
pub fn suspects(cluster: &Cluster, rules: &ClusterRules) -> Vec<Suspect> {
    let analysis = Analysis::of(cluster, rules);
    suspect::folded(&analysis.scene, &analysis.claims())
}

/// Whom to measure again with whom, in attempt 0, 1 and so on: rounds of disjoint pairs, requester first, each to be made for every
/// workload. Empty when enough is known of the suspects, or when nobody is left to measure them with.
pub fn retest(
    cluster: &Cluster,
    suspects: &[Suspect],
    attempt: u32,
    rules: &ClusterRules,
) -> Vec<Vec<(u32, u32)>> {
    let claims: Vec<Claim> = suspects.iter().flat_map(|suspect| &suspect.claims).copied().collect();
    if claims.is_empty() {
        return Vec::new();
    }
    let analysis = Analysis::of(cluster, rules);
    retest::rounds(&Again::of(&analysis.scene, &analysis.judged, &claims), &claims, attempt)
}

/// Takes a measured pattern through the whole retest: what [`retest`] plans for attempt 0, 1 and so on until it is empty, each round
/// given to `measure`. The pattern is taken apart once and not once an attempt, which is what thousands of simulated clusters need.
#[cfg(feature = "testing")]
pub(crate) fn retested(
    mut cluster: Cluster,
    rules: &ClusterRules,
    mut measure: impl FnMut(&mut Cluster, u32, &[(u32, u32)]),
) -> Cluster {
    // What was measured again is kept beside what was measured first until it is complete.
    let runs = std::mem::take(&mut cluster.runs);
    let mut beside = cluster.clone();
    cluster.runs = runs;
    let first = cluster.runs.len() as u32;
    {
        let analysis = Analysis::of(&cluster, rules);
        let claims = analysis.claims();
        for attempt in 0.. {
            let again = Again::beside(&analysis.scene, &analysis.judged, &claims, &beside);
            let rounds = retest::rounds(&again, &claims, attempt);
            if rounds.is_empty() {
                break;
            }
            rounds.iter().for_each(|pairs| measure(&mut beside, attempt, pairs));
        }
    }
    for run in &mut beside.runs {
        run.sequence += first;
    }
    cluster.runs.append(&mut beside.runs);
    cluster.rounds = beside.rounds;
    cluster
}

/// Says what is to be said about a cluster.
pub fn judge(cluster: &Cluster, rules: &ClusterRules) -> ClusterReport {
    let analysis = Analysis::of(cluster, rules);
    let findings = findings::of(&analysis);
    let not_run = not_run::of(&analysis.scene);
    ClusterReport {
        schema_version: SCHEMA_VERSION,
        head: views::head(cluster),
        verdict: findings::verdict(&findings, &not_run, analysis.measured()),
        limits: limits::of(&analysis),
        counts: views::counts(cluster, &findings),
        nodes: views::nodes(&analysis, &findings),
        leaves: groups::leaves(&analysis),
        hops: groups::hops(&analysis),
        matrices: views::matrices(&analysis),
        rounds: rounds::of(cluster),
        findings,
        not_run,
        rules: *rules,
    }
}

#[cfg(test)]
mod tests;
