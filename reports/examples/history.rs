//! Renders a judged night, to look at the views of a history: `cargo run -p reports --example history -- NIGHT out.html`, or `YEAR`
//! for a year of nights of 200 series. The terminal's views of a night go to standard output.

use std::{env, error::Error, fs};

use reports::{
    history::{Rules, judge},
    render::{
        Look,
        history::{self, Campaigns},
    },
    testing::{self, nights::Nights},
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [name, path] = args.as_slice() else {
        return Err("give NIGHT or YEAR and a path to write to".into());
    };
    let page = match name.as_str() {
        "NIGHT" => {
            let (report, campaigns) = (testing::night_report(), testing::night_campaigns());
            let look = Look { colours: true, pictures: true, width: 120, ..Look::PLAIN };
            print!("{}", history::terminal(&report, &look));
            for series in &report.series {
                println!("{}", history::series(&report, series.id, &campaigns, &look).unwrap_or_default());
            }
            history::dashboard(&report, &campaigns)?
        }
        "YEAR" => {
            let history = Nights::year().history();
            let last = history.nights.last().ok_or("no night")?.id;
            let report = judge(&history, last, &Rules::default()).ok_or("no such night")?;
            history::dashboard(&report, &Campaigns::new())?
        }
        other => return Err(format!("no history `{other}`; known are NIGHT and YEAR").into()),
    };
    fs::write(path, page)?;
    Ok(())
}
