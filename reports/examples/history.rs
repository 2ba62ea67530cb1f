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
    let look = Look { colours: true, pictures: true, width: 120, ..Look::PLAIN };
    let campaigns = testing::night_campaigns();
    print!("{}", history::terminal(&report, &look));
    for series in &report.series {
        println!("{}", history::series(&report, series.id, &campaigns, &look).unwrap_or_default());
    }
    fs::write(&path, history::dashboard(&report, &campaigns)?)?;
    Ok(())
}
