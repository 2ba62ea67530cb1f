//! Writes a synthetic history as JSON: `cargo run -p reports --features testing --example nights -- YEAR history.json`
//! (or `SAMPLE`). With `judge`, judges its last night and writes the report instead.

use std::{env, error::Error, fs};

use reports::{
    history::{Rules, judge},
    testing::nights::Nights,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let (name, path, judged) = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [name, path] => (name, path, false),
        [name, path, "judge"] => (name, path, true),
        _ => return Err("give YEAR or SAMPLE, a path to write to, and `judge` for the report".into()),
    };
    let nights = match name {
        "YEAR" => Nights::year(),
        "SAMPLE" => Nights::default(),
        other => return Err(format!("no nights `{other}`; known are YEAR and SAMPLE").into()),
    };
    let history = nights.history();
    let json = if judged {
        let last = history.nights.last().ok_or("no night")?.id;
        serde_json::to_string(&judge(&history, last, &Rules::default()).ok_or("no such night")?)?
    } else {
        serde_json::to_string(&history)?
    };
    fs::write(path, json)?;
    Ok(())
}
