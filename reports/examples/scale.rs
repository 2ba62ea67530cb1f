//! What a large campaign costs to compare and to render, in time and memory:
//! `cargo run --release -p reports --example scale -- 10000 20` for 10,000 runs of 20 message sizes.

use std::{env, error::Error, fs, time::Instant};

use reports::{CompareOptions, compare, render, testing};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = env::args().skip(1).map(|count| count.parse::<u32>());
    let (Some(runs), Some(points)) = (args.next(), args.next()) else {
        return Err("give a number of runs and a number of message sizes, such as 10000 20".into());
    };
    let (runs, points) = (runs?, points?);
    let campaign = timed("make the campaign", || testing::sized(runs, points));
    let comparison = timed("compare", || compare(&campaign, &CompareOptions::default()));
    let html = timed("html", || render::html(&campaign, &comparison))?;
    let markdown = timed("markdown", || render::markdown(&campaign, &comparison));
    let json = timed("json", || render::report_json(&campaign, &comparison));
    println!("{} runs of {points} sizes; {} cells", campaign.runs.len(), comparison.cells.len());
    for (name, text) in [("html", html), ("markdown", markdown), ("json", json)] {
        println!("{name:>18}: {:.2} MB", text.len() as f64 / 1e6);
    }
    Ok(())
}

/// Does something, and prints how long it took, how much of that on a CPU, and what the process needed at most so far.
fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let done = work();
    let (took, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!("{what:>18}: {took:.2} s, {cpu:.2} s on a CPU, peak {} MB", peak_mb());
    done
}

/// Time of this thread on a CPU, as the scheduler counts it: what remains of a duration on a machine that does other things.
fn cpu_seconds() -> f64 {
    let spent = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    spent.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// The most memory the process ever held, as the kernel counts it; 0 where it does not say.
fn peak_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()).map_or(0, |kb| kb / 1024)
}
