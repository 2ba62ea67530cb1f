//! Simulates campaigns and writes how often their verdicts are right between the markers of a Markdown file:
//! `cargo run --release -p reports --example calibrate -- docs/measurement.md 10000`, or `just calibrate`.
//!
//! With `--check`, nothing is written, and a bound that is missed makes it end with 1.

use std::{env, error::Error, fs, process::ExitCode, thread, time::Instant};

use reports::testing::calibration::{Group, Row, Setting, Tally, all, markdown};

const BEGIN: &str = "<!-- calibration: made by `just calibrate` -->\n";
const END: &str = "<!-- end of calibration -->\n";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (flags, args): (Vec<String>, Vec<String>) =
        env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let check = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => return Err(format!("unknown option among {flags:?}; there is `--check`").into()),
    };
    let [path, campaigns] = &args[..] else {
        return Err(
            "give the file to write to and a number of campaigns, such as docs/measurement.md 10000".into()
        );
    };
    let campaigns = campaigns.parse().map_err(|_| format!("`{campaigns}` is no number of campaigns"))?;
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let (before, after) =
        around(&text).ok_or_else(|| format!("{path} has no lines `{BEGIN}` and `{END}`"))?;

    let groups: Vec<(Group, Vec<Row>)> = all().into_iter().map(|group| simulated(group, campaigns)).collect();
    let missed: Vec<String> = groups
        .iter()
        .flat_map(|(group, rows)| rows.iter().flat_map(|row| group.bounds.missed(row)))
        .collect();
    missed.iter().for_each(|missed| eprintln!("missed: {missed}"));
    if !check {
        fs::write(
            path,
            format!(
                "{before}{BEGIN}\n{campaigns} campaigns for each noise, spread and layout.\n\n{}{END}{after}",
                markdown(&groups)
            ),
        )?;
    }
    Ok(if check && !missed.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What stands before and after the markers.
fn around(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.split_once(BEGIN)?;
    Some((before, rest.split_once(END)?.1))
}

fn simulated(group: Group, campaigns: u64) -> (Group, Vec<Row>) {
    let start = Instant::now();
    let mut rows = Vec::new();
    for setting in &group.settings {
        let row = Row { setting: *setting, tally: in_parallel(*setting, rows.len() as u64, campaigns) };
        let Tally { campaigns, significant, claims, .. } = row.tally;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("{seconds:>6.0} s  {row}: {significant} differ, {claims} claim, of {campaigns}");
        rows.push(row);
    }
    (group, rows)
}

/// A thread a core; who simulates a campaign makes no difference to it.
fn in_parallel(setting: Setting, seed: u64, campaigns: u64) -> Tally {
    let threads = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let mut sum = Tally::default();
    thread::scope(|scope| {
        let share = |thread: u64| campaigns * thread / threads;
        let parts: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || setting.simulate(seed, share(thread)..share(thread + 1))))
            .collect();
        for part in parts {
            match part.join() {
                Ok(part) => sum += part,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    sum
}
