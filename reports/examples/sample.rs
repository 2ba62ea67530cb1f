//! Renders a synthetic campaign, to look at the report: `cargo run -p reports --example sample -- improved out.html`
//! (or `.md`, or `.hlog`).

use std::{env, error::Error, fs};

use reports::{CompareOptions, compare, export, render, testing};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1);
    let (Some(name), Some(path)) = (args.next(), args.next()) else {
        return Err("give the name of a sample and a path to write to".into());
    };
    let campaign = match name.as_str() {
        "large" => Some(testing::large()),
        name => testing::named(name),
    };
    let campaign = campaign.ok_or_else(|| format!("no sample `{name}`; known are {:?}", testing::NAMES))?;
    let comparison = compare(&campaign, &CompareOptions::default());
    let page = if path.ends_with(".hlog") {
        String::from_utf8(export::hlog(&campaign, |_| true)?)?
    } else if path.ends_with(".md") {
        render::markdown(&campaign, &comparison)
    } else {
        render::html(&campaign, &comparison)?
    };
    fs::write(&path, page)?;
    let look = render::Look { colours: true, pictures: true, all: true, ..render::Look::PLAIN };
    print!("{}", render::terminal(&comparison, &look));
    Ok(())
}
