//! Renders a judged night, to look at the views of a history: `cargo run -p reports --features testing --example history --
//! night out.html`. The terminal's views go to standard output.

use std::{collections::BTreeMap, env, error::Error};

use reports::{render, render::history, testing};

fn main() -> Result<(), Box<dyn Error>> {
    let report = testing::night_report();
    let columns = env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).unwrap_or(120);
    let look = render::Look { colours: true, pictures: true, width: columns, ..render::Look::PLAIN };
    print!("{}", history::terminal(&report, &look));
    let scenarios: BTreeMap<i64, String> = report.nights.iter().flat_map(|n| &n.campaigns).map(|c| (c.campaign, "nightly-rate".to_owned())).collect();
    for id in [1, 4, 11] {
        println!();
        print!("{}", history::series(&report, id, &scenarios, &look).unwrap());
    }
    Ok(())
}
