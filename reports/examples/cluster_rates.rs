//! Simulates clusters with planted faults and writes how often the findings are right between the markers of a Markdown file:
//! `cargo run --release -p reports --example cluster_rates -- docs/measurement.md 200`, or `just cluster-rates`.
//!
//! With `--check`, nothing is written, and a bound that is missed makes it end with 1.

use std::{
    env,
    error::Error,
    fs,
    process::ExitCode,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use reports::testing::cluster::rates::{Planted, Tally, case, tally};

const BEGIN: &str = "<!-- cluster rates: made by `just cluster-rates` -->\n";
const END: &str = "<!-- end of cluster rates -->\n";
/// Precision and recall must reach this.
const LEAST: f64 = 0.98;
/// Share of clean clusters of which something may be said.
const MOST_FALSE: f64 = 0.01;
const SIZES: [u32; 2] = [64, 512];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (flags, args): (Vec<String>, Vec<String>) =
        env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let check = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => return Err(format!("unknown option among {flags:?}; there is `--check`").into()),
    };
    let [path, cases] = &args[..] else {
        return Err("give the file to write to and a number of cases, such as docs/measurement.md 200".into());
    };
    let cases = cases.parse().map_err(|_| format!("`{cases}` is no number of cases"))?;
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let (before, after) =
        around(&text).ok_or_else(|| format!("{path} has no lines `{BEGIN}` and `{END}`"))?;

    let mut table = String::from(
        "| nodes | planted | of them | named | which way right | findings | false | clusters with a false one | left suspected | rounds again |\n\
         | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut missed = Vec::new();
    for nodes in SIZES {
        for planted in Planted::ALL {
            let start = Instant::now();
            let row = in_parallel(nodes, planted, cases);
            eprintln!("{:>6.0} s  {nodes} nodes, {}: {row:?}", start.elapsed().as_secs_f64(), planted.name());
            table.push_str(&line(nodes, planted, &row));
            missed.extend(misses(nodes, planted, &row));
        }
    }
    missed.iter().for_each(|missed| eprintln!("missed: {missed}"));
    if !check {
        let intro = format!("{cases} clusters a row.\n\n");
        fs::write(path, format!("{before}{BEGIN}\n{intro}{table}\n{END}{after}"))?;
    }
    Ok(if check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn line(nodes: u32, planted: Planted, row: &Tally) -> String {
    let share = |share: f64, of: u32| if of == 0 { "".to_owned() } else { format!("{:.1} %", 100.0 * share) };
    let sides = f64::from(row.sides_right) / f64::from(row.named.max(1));
    format!(
        "| {nodes} | {} | {} | {} | {} | {} | {} | {} of {} | {} | {:.1} |\n",
        planted.name(),
        row.planted,
        share(row.recall(), row.planted),
        share(sides, row.named),
        row.findings,
        share(1.0 - row.precision(), row.findings),
        row.cases_with_false,
        row.cases,
        row.suspected,
        f64::from(row.retest_rounds) / f64::from(row.cases.max(1)),
    )
}

fn misses(nodes: u32, planted: Planted, row: &Tally) -> Vec<String> {
    let what = format!("{nodes} nodes, {}", planted.name());
    let mut missed = Vec::new();
    if planted == Planted::Nothing {
        let said = f64::from(row.cases_with_false) / f64::from(row.cases.max(1));
        if said > MOST_FALSE {
            missed.push(format!("{what}: something is said of {said:.3} of the clusters"));
        }
        return missed;
    }
    for (name, share) in [("precision", row.precision()), ("recall", row.recall())] {
        if share < LEAST {
            missed.push(format!("{what}: {name} {share:.3}"));
        }
    }
    missed
}

/// What stands before and after the markers.
fn around(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.split_once(BEGIN)?;
    Some((before, rest.split_once(END)?.1))
}

/// A thread a core, each taking the next case; who simulates a case makes no difference to it.
fn in_parallel(nodes: u32, planted: Planted, cases: u64) -> Tally {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let (next, sum) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= cases {
                        break;
                    }
                    let one = tally(&case(nodes, planted, seed));
                    *sum.lock().expect("no other thread panicked") += one;
                }
            });
        }
    });
    sum.into_inner().expect("no thread panicked")
}
