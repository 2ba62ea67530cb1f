//! Renders a judged night, to look at the views of a history: `cargo run -p reports --example history -- out.html`. The
//! terminal's views go to standard output.

use std::{env, error::Error, fs};

use reports::{
    render::{Look, history},
    testing,
};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args().nth(1).ok_or("give a path to write to")?;
    let report = testing::night_report();
    let mut report = report;
    if env::args().nth(2).is_some() {
        let day = 86_400_000;
        let n0 = report.nights[0].clone();
        report.nights = (0..365).map(|n| { let mut x = n0.clone(); x.id = n + 1; x.started_at_unix_ms += n as u64 * day; x.campaigns.clear(); x }).collect();
        report.night = report.nights[364].clone();
        let of = report.series.clone();
        let mut seed = 7u32;
        let mut rnd = || { seed = seed.wrapping_mul(1664525).wrapping_add(1013904223); f64::from(seed >> 8) / 16777216.0 - 0.5 };
        report.series = (0..200).map(|k| {
            let mut s = of[k % of.len()].clone();
            s.id = k as i64 + 1;
            s.key.requester.host = format!("node{k}");
            let p0 = s.points[0].clone();
            let v0 = p0.value.unwrap();
            s.points = (0..365).map(|n| {
                let v = v0 * (1.0 + 0.01 * (rnd() + rnd() + rnd())) * if n > 200 { 0.95 } else { 1.0 };
                reports::history::PointReport { night: n + 1, value: Some(v), low: Some(v * (1.0 - 0.004 * (1.0 + rnd()))), high: Some(v * (1.0 + 0.004 * (1.0 + rnd()))), runs: 5, confirm: None }
            }).collect();
            s
        }).collect();
    }
    let look = Look { colours: true, pictures: true, width: 120, ..Look::PLAIN };
    let campaigns = testing::night_campaigns();
    print!("{}", history::terminal(&report, &look));
    for series in &report.series {
        println!("{}", history::series(&report, series.id, &campaigns, &look).unwrap_or_default());
    }
    fs::write(&path, history::dashboard(&report, &campaigns)?)?;
    Ok(())
}
