//! The settings of the table in `docs/measurement.md`.

use super::{Bounds, Noise, Setting};

/// Settings that are there to show the same.
#[derive(Debug, Clone)]
pub struct Group {
    /// Heading of its table.
    pub title: &'static str,
    /// What must come out.
    pub bounds: Bounds,
    /// In the order of the table.
    pub settings: Vec<Setting>,
}

const PLAIN: Setting = Setting {
    noise: Noise::Normal,
    gates: 1,
    blocks: 10,
    sd_in_margins: 1.0,
    effect_in_margins: 0.0,
    looks: None,
};
/// Few enough pairs that every combination of signs is tried, which is fast.
const UP_TO_14: Setting = Setting { blocks: 14, looks: Some((8, 2)), ..PLAIN };
const UP_TO_20: Setting = Setting { blocks: 20, looks: Some((8, 4)), ..PLAIN };

/// All groups.
pub fn all() -> Vec<Group> {
    let group = |title, bounds, settings| Group { title, bounds, settings };
    vec![
        group("No effect, all blocks made", Bounds::NoEffect, no_effect()),
        group("Pairs to find an effect", Bounds::Difference, difference()),
        group("Pairs to show that there is none", Bounds::Sameness, sameness()),
        group("The whole verdict", Bounds::Verdict, verdict()),
        group("No effect, stopped when decided", Bounds::NoEffect, no_effect_with_looks()),
        group("The whole verdict, stopped when decided", Bounds::Verdict, verdict_with_looks()),
    ]
}

/// Between one and three margins, where false claims are likeliest, the spreads are closest.
fn no_effect() -> Vec<Setting> {
    let layouts: [(u32, u32, &[f64]); 5] = [
        (1, 6, &[0.5, 1.5, 3.0]),
        (1, 10, &[0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0]),
        (1, 20, &[1.5]),
        (4, 10, &[0.5, 1.5, 3.0]),
        (8, 10, &[1.5, 3.0]),
    ];
    let mut settings = Vec::new();
    for noise in Noise::ALL {
        for (gates, blocks, sds) in layouts {
            let with = |sd: &f64| Setting { noise, gates, blocks, sd_in_margins: *sd, ..PLAIN };
            settings.extend(sds.iter().map(with));
        }
    }
    settings
}

/// By effect in standard deviations, the pairs that a comparison asks for.
fn difference() -> Vec<Setting> {
    let of = |(effect, blocks): (f64, u32)| Setting {
        blocks,
        sd_in_margins: 1.0,
        effect_in_margins: effect,
        ..PLAIN
    };
    [(0.5, 34), (0.75, 16), (1.0, 10), (1.5, 7), (2.0, 6)].map(of).to_vec()
}

/// By margin in standard deviations, the pairs that a comparison asks for.
fn sameness() -> Vec<Setting> {
    let of = |(margin, blocks): (f64, u32)| Setting { blocks, sd_in_margins: 1.0 / margin, ..PLAIN };
    [(0.5, 36), (0.75, 17), (1.0, 11), (1.5, 6), (2.0, 6)].map(of).to_vec()
}

/// Quiet campaigns: an effect of one and a half margins, or none.
fn verdict() -> Vec<Setting> {
    let of = |(gates, blocks, sd, effect): (u32, u32, f64, f64)| Setting {
        gates,
        blocks,
        sd_in_margins: sd,
        effect_in_margins: effect,
        ..PLAIN
    };
    [
        (1, 6, 0.25, 1.5),
        (1, 10, 0.5, 1.5),
        (1, 20, 0.75, 1.5),
        (8, 10, 0.25, 1.5),
        (1, 6, 0.25, 0.0),
        (1, 10, 0.5, 0.0),
        (1, 20, 0.75, 0.0),
        (8, 10, 0.25, 0.0),
    ]
    .map(of)
    .to_vec()
}

fn no_effect_with_looks() -> Vec<Setting> {
    let mut settings = Vec::new();
    for noise in Noise::ALL {
        for (gates, sd_in_margins) in [(1, 0.5), (1, 1.5), (1, 3.0), (4, 1.5)] {
            settings.push(Setting { noise, gates, sd_in_margins, ..UP_TO_14 });
        }
    }
    for noise in [Noise::Normal, Noise::Autocorrelated] {
        settings.push(Setting { noise, sd_in_margins: 1.5, ..UP_TO_20 });
    }
    settings
}

fn verdict_with_looks() -> Vec<Setting> {
    let of = |plan: Setting, gates, sd_in_margins, effect_in_margins| Setting {
        gates,
        sd_in_margins,
        effect_in_margins,
        ..plan
    };
    vec![
        of(UP_TO_20, 1, 0.25, 1.5),
        of(UP_TO_20, 1, 0.5, 1.5),
        of(UP_TO_20, 1, 0.75, 1.5),
        of(UP_TO_20, 4, 0.5, 1.5),
        of(UP_TO_20, 1, 0.25, 0.0),
        of(UP_TO_20, 1, 0.5, 0.0),
        of(UP_TO_20, 1, 0.75, 0.0),
        of(UP_TO_20, 4, 0.5, 0.0),
    ]
}
