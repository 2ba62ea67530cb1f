//! How often verdicts are right, by simulated campaigns that are compared as measured ones are: no effect is claimed too often,
//! one that is there is found, and intervals hold the truth. `just calibrate` does the same with more of them, for
//! `docs/measurement.md`.
//!
//! A bound may be exceeded by three standard errors of a share that lies right at it: 1.5 % for 5 %, 0.7 % for 1 %, and 2.7 % for 80 %,
//! with 2,000 campaigns. Seeds are fixed, so a failure is a change of the method and not chance.

use reports::testing::calibration::{Bounds, Noise, Row, Setting};

const CAMPAIGNS: u64 = 2_000;

const PLAIN: Setting = Setting {
    noise: Noise::Normal,
    gates: 1,
    blocks: 10,
    sd_in_margins: 1.5,
    effect_in_margins: 0.0,
    looks: None,
};

fn simulated(setting: Setting) -> Row {
    Row { setting, tally: setting.simulate(1, 0..CAMPAIGNS) }
}

fn must_hold(bounds: Bounds, settings: impl IntoIterator<Item = Setting>) {
    let missed: Vec<String> =
        settings.into_iter().flat_map(|setting| bounds.missed(&simulated(setting))).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Where false claims are likeliest: one gate after the fewest pairs and after ten, and a family.
fn without_an_effect(noise: Noise) {
    let plain = Setting { noise, ..PLAIN };
    must_hold(Bounds::NoEffect, [plain, Setting { blocks: 6, ..plain }, Setting { gates: 4, ..plain }]);
}

#[test]
fn normal_noise_is_no_effect() {
    without_an_effect(Noise::Normal);
}

#[test]
fn heavy_tails_are_no_effect() {
    without_an_effect(Noise::HeavyTailed);
}

#[test]
fn contaminated_noise_is_no_effect() {
    without_an_effect(Noise::Contaminated);
}

#[test]
fn a_machine_that_drifts_is_no_effect() {
    without_an_effect(Noise::LinearDrift);
    without_an_effect(Noise::Step);
}

#[test]
fn a_machine_that_warms_up_in_each_block_is_no_effect() {
    without_an_effect(Noise::WarmUp);
}

#[test]
fn a_load_from_half_way_on_is_no_effect() {
    without_an_effect(Noise::Load);
}

#[test]
fn runs_that_depend_on_each_other_are_no_effect() {
    without_an_effect(Noise::Autocorrelated);
}

#[test]
fn twenty_pairs_hold_the_bounds_too() {
    must_hold(Bounds::NoEffect, [Setting { blocks: 20, ..PLAIN }]);
}

#[test]
fn eight_gates_share_the_level() {
    must_hold(Bounds::NoEffect, [Setting { gates: 8, sd_in_margins: 3.0, ..PLAIN }]);
}

#[test]
fn an_effect_is_found_with_the_pairs_that_are_asked_for() {
    must_hold(
        Bounds::Difference,
        [(1.0, 10), (1.5, 7), (2.0, 6)].map(|(effect_in_margins, blocks)| Setting {
            effect_in_margins,
            blocks,
            sd_in_margins: 1.0,
            ..PLAIN
        }),
    );
}

#[test]
fn equivalence_is_shown_with_the_pairs_that_are_asked_for() {
    must_hold(
        Bounds::Sameness,
        [(1.0, 11), (1.5, 6)].map(|(margin, blocks)| Setting {
            sd_in_margins: 1.0 / margin,
            blocks,
            ..PLAIN
        }),
    );
}

#[test]
fn quiet_campaigns_have_the_right_verdict() {
    let quiet = Setting { sd_in_margins: 0.5, ..PLAIN };
    must_hold(Bounds::Verdict, [quiet, Setting { effect_in_margins: 1.5, ..quiet }]);
}

#[test]
fn looking_often_claims_no_more() {
    let looks = Setting { blocks: 14, looks: Some((8, 2)), ..PLAIN };
    for noise in [Noise::Contaminated, Noise::Autocorrelated] {
        must_hold(Bounds::NoEffect, [Setting { noise, ..looks }]);
    }
}

#[test]
fn a_clear_answer_stops_early() {
    let looks = Setting { blocks: 14, sd_in_margins: 0.5, looks: Some((8, 2)), ..PLAIN };
    for effect_in_margins in [0.0, 2.0] {
        let row = simulated(Setting { effect_in_margins, ..looks });
        assert_eq!(Bounds::Verdict.missed(&row), [""; 0]);
        let blocks = row.tally.blocks as f64 / row.tally.campaigns as f64;
        assert!(blocks < 11.0, "{row} made {blocks} blocks on average");
    }
}
