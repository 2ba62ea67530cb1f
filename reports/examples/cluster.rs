//! Renders a judged cluster, to look at its views: `cargo run -p reports --features testing --example cluster -- RACK out.html`, or
//! `FINE`, or `AWKWARD` for names that are hard to show. What a terminal shows goes to standard output.

use std::{env, error::Error, fs};

use reports::{
    render::{Look, cluster},
    testing,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [name, path] = args.as_slice() else {
        return Err("give RACK, FINE or AWKWARD and a path to write to".into());
    };
    let (measured, report) = match name.as_str() {
        "RACK" => (testing::measured_cluster(), testing::cluster_report()),
        "FINE" => (testing::fine_cluster(), testing::fine_cluster_report()),
        "AWKWARD" => (testing::awkward_cluster(), testing::awkward_cluster_report()),
        other => return Err(format!("no cluster `{other}`; known are RACK, FINE and AWKWARD").into()),
    };
    let look = Look { colours: true, pictures: true, width: 120, ..Look::PLAIN };
    print!("{}", cluster::terminal(&report, &look));
    fs::write(path, cluster::html(&measured, &report)?)?;
    Ok(())
}
