//! How the rounds went: how many, how far apart their pairs started, and how long the controller itself took.

use schema::{Cluster, Nanos, Round, RoundPart};

use super::{model::RoundsReport, robust};

pub(super) fn of(cluster: &Cluster) -> RoundsReport {
    let made = RoundPart::ALL.iter().filter_map(|part| {
        let count = cluster.rounds.iter().filter(|round| round.part == *part).count() as u32;
        (count > 0).then_some((*part, count))
    });
    let of = |what: fn(&Round) -> Option<Nanos>| -> Vec<f64> {
        cluster.rounds.iter().filter_map(what).map(|ns| ns.get() as f64).collect()
    };
    let median = |mut values: Vec<f64>| robust::median(&mut values).map(|ns| Nanos(ns as u64));
    let most = |values: Vec<f64>| values.into_iter().reduce(f64::max).map(|ns| Nanos(ns as u64));
    let controller = |round: &Round| Some(round.controller_ns);
    RoundsReport {
        made: made.collect(),
        median_skew_ns: median(of(|round| round.skew_ns)),
        max_skew_ns: most(of(|round| round.skew_ns)),
        skew_uncertainty_ns: most(of(|round| round.skew_uncertainty_ns)),
        median_controller_ns: median(of(controller)),
        max_controller_ns: most(of(controller)),
    }
}
