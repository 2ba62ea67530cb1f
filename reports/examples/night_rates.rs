//! The figures of "Nights" in docs/measurement.md: `cargo run --release -p reports --example night_rates -- 10000`, for so many series a
//! row.

use std::{env, error::Error};

use reports::testing::nights::{
    Wander,
    rates::{Silence, Vigil, nights_until_told},
};

fn main() -> Result<(), Box<dyn Error>> {
    let series: u32 = env::args().nth(1).ok_or("give a number of series, such as 10000")?.parse()?;
    println!("| noise | spread | change point after 90 nights | confirmed |\n| --- | --- | --- | --- |");
    for cv in [0.01, 0.03] {
        for noise in Wander::ALL {
            let silence = Silence::simulate(noise, cv, series);
            let share = |count: u32| format!("{:.2} %", 100.0 * f64::from(count) / f64::from(series));
            let (changed, confirmed) = (share(silence.changed), share(silence.confirmed));
            println!("| {} | {} % | {changed} | {confirmed} |", noise.name(), 100.0 * cv);
        }
    }
    println!("\n| step | noise | told in night | confirmed in night |\n| --- | --- | --- | --- |");
    for (worse, noise) in [
        (0.03, Wander::Normal),
        (0.05, Wander::Normal),
        (0.05, Wander::Autocorrelated),
        (0.05, Wander::Outliers),
        (0.1, Wander::Normal),
    ] {
        let (told, confirmed) = nights_until_told(noise, worse, series.div_ceil(10));
        let place = |nights: &[usize]| {
            let at = |share: f64| nights[((nights.len() - 1) as f64 * share) as usize];
            format!("{}, 90 % within {}", at(0.5), at(0.9))
        };
        println!("| {} % | {} | {} | {} |", 100.0 * worse, noise.name(), place(&told), place(&confirmed));
    }
    println!("\n| noise | confirmed in 1,000 nights | suspected | measured again a night |");
    println!("| --- | --- | --- | --- |");
    for noise in Wander::ALL {
        let vigil = Vigil::simulate(noise, series.div_ceil(500), 200);
        let per_night = |count: u32| f64::from(count) / f64::from(vigil.nights);
        let (confirmed, suspected) = (1e3 * per_night(vigil.confirmed), 1e3 * per_night(vigil.suspected));
        let again = per_night(vigil.measured_again);
        println!("| {} | {confirmed:.1} | {suspected:.1} | {again:.2} of 200 |", noise.name());
    }
    Ok(())
}
