//! A series cut where its configuration changed: nights of different configurations are not compared in silence.

use std::collections::BTreeMap;

use schema::{Configuration, Night, NightValue, Series};

use super::model::{Epoch, PointReport, SeriesReport, SeriesState};

/// A series with its points and epochs, up to the last of these nights.
pub(super) fn report(
    series: &Series,
    nights: &[Night],
    configurations: &BTreeMap<i64, Configuration>,
) -> SeriesReport {
    let seen = |value: &&NightValue| nights.iter().any(|night| night.id == value.night);
    let values: Vec<&NightValue> = series.values.iter().filter(seen).collect();
    SeriesReport {
        id: series.id,
        key: series.key.clone(),
        state: SeriesState::Steady,
        points: values.iter().map(|value| point(value)).collect(),
        epochs: epochs(&values, configurations),
        change_points: Vec::new(),
        cv: None,
        fence: None,
        limit: None,
        baseline: None,
    }
}

fn point(value: &NightValue) -> PointReport {
    let all = value.runs.iter().chain(&value.confirm_runs).copied();
    PointReport {
        night: value.night,
        value: value.value,
        low: all.clone().reduce(f64::min),
        high: all.clone().reduce(f64::max),
        runs: all.count() as u32,
        confirm: None,
    }
}

fn epochs(values: &[&NightValue], configurations: &BTreeMap<i64, Configuration>) -> Vec<Epoch> {
    let none = Configuration::default();
    let of = |value: &NightValue| configurations.get(&value.configuration).unwrap_or(&none);
    let stretches = values.chunk_by(|one, next| one.configuration == next.configuration);
    let mut before: Option<&NightValue> = None;
    stretches
        .map(|stretch| {
            let changes = before.map_or(Vec::new(), |before| of(stretch[0]).changes_from(of(before)));
            before = stretch.last().copied();
            Epoch {
                from: stretch[0].night,
                to: stretch[stretch.len() - 1].night,
                nights: stretch.iter().filter(|value| value.value.is_some()).count() as u32,
                changes,
                against_the_one_before: None,
            }
        })
        .collect()
}
