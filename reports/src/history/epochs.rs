//! A series cut where its configuration changed: nights of different configurations are not compared in silence.

use schema::{Configuration, NightValue, Trend};

use super::{
    level::compare,
    levels::{self, Levels},
    model::{Change, ChangePoint, Epoch, PointReport},
    shifts::Shift,
    track::{self, Past, Track},
};
use crate::compare::median;

/// A series night by night.
pub(super) fn points(track: &Track) -> Vec<PointReport> {
    track.nights.iter().map(|(_, value)| point(value)).collect()
}

fn point(value: &NightValue) -> PointReport {
    let runs = levels::runs(value);
    PointReport {
        night: value.night,
        value: levels::value(value),
        low: runs.iter().copied().reduce(f64::min),
        high: runs.iter().copied().reduce(f64::max),
        runs: runs.len() as u32,
        confirm: median(&value.confirm_runs),
    }
}

/// Its epochs, and the change points within each.
pub(super) fn epochs(track: &Track, past: &Past) -> (Vec<Epoch>, Vec<ChangePoint>) {
    let none = Configuration::default();
    let of = |value: &NightValue| past.history.configurations.get(&value.configuration).unwrap_or(&none);
    let stretches = track::stretches(&track.nights);
    let Some((_, over)) = stretches.split_last() else { return (Vec::new(), Vec::new()) };
    let over: Vec<Levels> =
        over.iter().map(|nights| Levels::of(nights, track.margin, false, past.rules)).collect();
    let levels: Vec<&Levels> = over.iter().chain(std::iter::once(&track.levels)).collect();
    let epoch = |number: usize| {
        let (first, last) = (stretches[number][0].1, stretches[number][stretches[number].len() - 1].1);
        let before = number.checked_sub(1).map(|before| (stretches[before][0].1, levels[before]));
        Epoch {
            from: first.night,
            to: last.night,
            nights: levels[number].nights.len() as u32,
            changes: before.map_or(Vec::new(), |(before, _)| of(first).changes_from(of(before))),
            against_the_one_before: before.and_then(|(_, before)| against(before, levels[number], past)),
        }
    };
    let change_points = levels.iter().flat_map(|levels| change_points(levels, track, past)).collect();
    ((0..stretches.len()).map(epoch).collect(), change_points)
}

/// The first level of an epoch against the last of the one before; none where either is too short to be a level.
fn against(before: &Levels, levels: &Levels, past: &Past) -> Option<Change> {
    let (last, first) = (before.level(before.last()), levels.level(0));
    let fewest = past.rules.nights_after as usize + 1;
    let both = last.len() >= fewest && first.len() >= fewest;
    both.then(|| compare(&last, &first, levels.memory()))?.map(|compared| compared.change)
}

fn change_points(levels: &Levels, track: &Track, past: &Past) -> Vec<ChangePoint> {
    let point = |(number, shift): (usize, &Shift)| {
        let change = levels.compared(number, number + 1)?.change;
        let night = levels.nights[shift.index].at;
        Some(ChangePoint {
            night: past.nights[night].id,
            certainty: shift.certainty,
            trend: track::trend(track.metric(), change.change).unwrap_or(Trend::Improved),
            change,
            p: shift.p,
            acknowledged: past.acknowledged(track.series.id, night),
        })
    };
    levels.shifts.iter().enumerate().filter_map(point).collect()
}
