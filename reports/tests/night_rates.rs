//! How often nights are said to have changed that have not, and how soon a change is told: the promises of
//! docs/measurement.md, by simulated histories that are judged as measured ones are. Seeds are fixed, so a failure is a change of the
//! method and not chance.

use reports::testing::nights::{
    Wander,
    rates::{Silence, nights_until_told},
};

const SERIES: u32 = 2_000;

/// Change points, suspected ones included, in at most this share of series of 90 nights without a change.
fn promised(noise: Wander) -> f64 {
    match noise {
        Wander::Normal => 0.01,
        Wander::Autocorrelated | Wander::Outliers | Wander::LogNormal => 0.02,
    }
}

#[test]
fn a_series_without_a_change_seldom_has_a_change_point() {
    for noise in Wander::ALL {
        for cv in [0.01, 0.03] {
            let silence = Silence::simulate(noise, cv, SERIES);
            let share = f64::from(silence.changed) / f64::from(SERIES);
            assert!(share <= promised(noise), "{noise:?}, {cv}: {silence:?}");
        }
    }
}

#[test]
fn a_step_of_three_per_cent_in_one_per_cent_of_noise_is_told_in_its_second_night() {
    let (told, confirmed) = nights_until_told(Wander::Normal, 0.03, 200);
    let (told, confirmed) = (told[told.len() / 2], confirmed[confirmed.len() / 2]);
    assert!(told <= 2, "{told}");
    assert!(confirmed <= 3, "{confirmed}");
}
