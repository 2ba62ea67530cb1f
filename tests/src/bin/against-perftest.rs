//! Measures verbs-bench side by side with perftest on two RDMA devices of this machine: alternating runs, each comparison as
//! a ratio with its paired interval. Single runs on an emulated machine differ by a quarter; pairs tell the tools apart.
//!
//! Exit code 1 when an interval lies wholly beyond its limit, that is, when the disagreement is certain.
#![forbid(unsafe_code)]

use std::{fs, path::PathBuf, process::Command};

use anyhow::Context;
use clap::Parser;
use e2e::{
    finish,
    paired::{self, Ratio},
    perftest::{self, Column, Ends},
    programs::PATIENCE,
    verbs_bench,
};
use schema::{Point, RunRecord};
use serde::Serialize;

#[derive(Debug, Parser)]
struct Options {
    /// Pairs of each comparison; 0 leaves them out
    #[arg(long, default_value_t = 12)]
    pairs: usize,
    /// Only the comparisons with these tools, such as ib_send_lat [default: all]
    #[arg(long, value_delimiter = ',')]
    tools: Vec<String>,
    /// Pairs on the shaped link; 0 leaves it out
    #[arg(long, default_value_t = 4)]
    shaped_pairs: usize,
    /// Device that posts
    #[arg(long, default_value = "rxe0")]
    device: String,
    /// Device that is written to
    #[arg(long, default_value = "rxe1")]
    peer_device: String,
    /// Address at which the second device's side is reached
    #[arg(long, default_value = "10.0.0.2")]
    address: String,
    /// CPU of the side that posts, for both tools
    #[arg(long, default_value = "1")]
    cpu: String,
    /// CPU of the side that is written to, for both tools
    #[arg(long, default_value = "2")]
    peer_cpu: String,
    /// Network devices that are shaped
    #[arg(long, value_delimiter = ',', default_value = "veth0,veth1")]
    netdevs: Vec<String>,
    /// Folder for against-perftest.md and .json
    #[arg(long, default_value = ".")]
    out: PathBuf,
}

/// One comparison: the same test with both tools.
#[derive(Debug, Clone, Copy)]
struct Comparison {
    name: &'static str,
    tool: &'static str,
    /// Options that both tools understand.
    options: &'static [&'static str],
    only_perftest: &'static [&'static str],
    only_ours: &'static [&'static str],
    unit: &'static str,
    /// perftest's number.
    column: Column,
    /// Our number.
    value: fn(&Point) -> Option<f64>,
    /// Lowest and highest ratio that is agreement.
    limits: (f64, f64),
}

/// Agreement of two rates, and of two latencies: what emulation spreads, and no more.
const RATES: (f64, f64) = (0.95, f64::INFINITY);
const LATENCIES: (f64, f64) = (0.0, 1.05);

const WRITE_BW: Comparison = Comparison {
    name: "64 KiB write bandwidth, depth 128",
    tool: "ib_write_bw",
    options: &["-n", "2000", "-t", "128"],
    only_perftest: &["-s", "65536"],
    only_ours: &["--test", "bandwidth", "--op", "write", "--size", "64Ki"],
    unit: "MiB/s",
    column: Column::BANDWIDTH,
    value: mebibytes_per_sec,
    limits: RATES,
};

const READ_BW: Comparison = Comparison {
    name: "64 KiB read bandwidth, depth 128",
    tool: "ib_read_bw",
    options: &["-n", "1000", "-t", "128"],
    only_ours: &["--test", "bandwidth", "--op", "read", "--size", "64Ki"],
    ..WRITE_BW
};

const SEND_BW: Comparison = Comparison {
    name: "64 KiB send bandwidth, depth 128",
    tool: "ib_send_bw",
    options: &["-n", "1000", "-t", "128"],
    only_ours: &["--test", "bandwidth", "--op", "send", "--size", "64Ki"],
    ..WRITE_BW
};

const ATOMIC_BW: Comparison = Comparison {
    name: "fetch-and-add rate, depth 128",
    tool: "ib_atomic_bw",
    options: &["-n", "4000", "-t", "128"],
    only_perftest: &["-A", "FETCH_AND_ADD"],
    only_ours: &["--test", "bandwidth", "--op", "fetch_add"],
    unit: "M/s",
    column: Column::MESSAGE_RATE,
    value: millions_per_sec,
    limits: RATES,
};

const WRITE_LAT: Comparison = Comparison {
    name: "8 B write latency, median",
    tool: "ib_write_lat",
    options: &["-n", "5000", "-I", "0"],
    only_perftest: &["-s", "8"],
    only_ours: &["--test", "latency", "--op", "write", "--size", "8"],
    unit: "us",
    column: Column::TYPICAL,
    value: median_us,
    limits: LATENCIES,
};

const READ_LAT: Comparison = Comparison {
    name: "8 B read latency, median",
    tool: "ib_read_lat",
    options: &["-n", "3000"],
    only_ours: &["--test", "latency", "--op", "read", "--size", "8"],
    ..WRITE_LAT
};

const SEND_LAT: Comparison = Comparison {
    name: "8 B send latency, median",
    tool: "ib_send_lat",
    options: &["-n", "3000", "-I", "0"],
    only_ours: &["--test", "latency", "--op", "send", "--size", "8"],
    ..WRITE_LAT
};

const ATOMIC_LAT: Comparison = Comparison {
    name: "fetch-and-add latency, median",
    tool: "ib_atomic_lat",
    options: &["-n", "3000"],
    only_perftest: &["-A", "FETCH_AND_ADD"],
    only_ours: &["--test", "latency", "--op", "fetch_add"],
    ..WRITE_LAT
};

/// Four messages in flight: more would wait in the shaper for longer than the ACK timeout, and be sent twice.
const SHAPED: Comparison = Comparison {
    name: "64 KiB write bandwidth, link shaped to 80 Mbit/s",
    options: &["-n", "500", "-t", "4"],
    limits: (0.99, 1.01),
    ..WRITE_BW
};

/// The comparisons of the open link, each with its first port: a comparison uses four ports a pair.
const COMPARISONS: [(Comparison, u16); 8] = [
    (WRITE_BW, 18_600),
    (WRITE_LAT, 19_000),
    (READ_BW, 19_400),
    (READ_LAT, 19_800),
    (SEND_BW, 20_200),
    (SEND_LAT, 20_600),
    (ATOMIC_BW, 21_000),
    (ATOMIC_LAT, 21_400),
];

fn mebibytes_per_sec(point: &Point) -> Option<f64> {
    Some(point.bandwidth_bits_per_sec? / 8.0 / 1_048_576.0)
}

fn millions_per_sec(point: &Point) -> Option<f64> {
    Some(point.messages_per_sec? / 1e6)
}

fn median_us(point: &Point) -> Option<f64> {
    Some(point.latency_ns.p50? as f64 / 1e3)
}

/// What one comparison came to.
#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    unit: &'static str,
    verbs_bench: Vec<f64>,
    perftest: Vec<f64>,
    ratio: f64,
    low: f64,
    high: f64,
    limit_low: f64,
    /// None is no limit.
    limit_high: Option<f64>,
    beyond_limit: bool,
}

impl Comparison {
    fn run(&self, ends: &Ends, pairs: usize, first_port: u16) -> anyhow::Result<Row> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for pair in 0..pairs {
            let port = first_port + 4 * u16::try_from(pair)?;
            let perftest = || perftest::measure(self.tool, self.column, ends, &self.perftest_options(), port);
            // The order alternates, so that a drift of the machine falls on both.
            let (our, their) = if pair % 2 == 0 {
                let our = self.measure_ours(ends)?;
                (our, perftest()?)
            } else {
                let their = perftest()?;
                (self.measure_ours(ends)?, their)
            };
            eprintln!(
                "{} pair {}: verbs-bench {our:.2}, {} {their:.2} {}",
                self.name,
                pair + 1,
                self.tool,
                self.unit
            );
            ours.push(our);
            theirs.push(their);
        }
        Ok(self.row(ours, theirs))
    }

    fn perftest_options(&self) -> Vec<&'static str> {
        [self.only_perftest, self.options].concat()
    }

    fn measure_ours(&self, ends: &Ends) -> anyhow::Result<f64> {
        let mut command =
            verbs_bench(&["run", "--json", "--device", &ends.requester, "--peer-device", &ends.responder]);
        command.args(["--gid-index", &ends.gid_index, "--peer-gid-index", &ends.gid_index]);
        command.args(["--cpu", &ends.requester_cpu, "--peer-cpu", &ends.responder_cpu]);
        let record: RunRecord = finish(command.args(self.only_ours).args(self.options), PATIENCE).completed();
        (self.value)(&record.points[0]).context("the record holds no such number")
    }

    fn row(&self, verbs_bench: Vec<f64>, perftest: Vec<f64>) -> Row {
        let Ratio { ratio, low, high, .. } = paired::ratio(&verbs_bench, &perftest);
        let (limit_low, limit_high) = self.limits;
        Row {
            name: self.name,
            unit: self.unit,
            verbs_bench,
            perftest,
            ratio,
            low,
            high,
            limit_low,
            limit_high: limit_high.is_finite().then_some(limit_high),
            beyond_limit: high < limit_low || low > limit_high,
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(
        "| comparison | pairs | verbs-bench, median | perftest, median | ratio | 95 % interval |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        text += &format!(
            "| {} | {} | {:.2} {unit} | {:.2} {unit} | {:.3} | {:.3} to {:.3} |\n",
            row.name,
            row.perftest.len(),
            median(&row.verbs_bench),
            median(&row.perftest),
            row.ratio,
            row.low,
            row.high,
            unit = row.unit,
        );
    }
    text
}

/// The link of these network devices at 80 Mbit/s, for as long as this lives.
struct Shaped<'o>(&'o [String]);

impl<'o> Shaped<'o> {
    fn new(netdevs: &'o [String]) -> anyhow::Result<Self> {
        let shaped = Shaped(netdevs);
        for netdev in netdevs {
            tc(&["qdisc", "add", "dev", netdev, "root", "netem", "rate", "80mbit"])?;
        }
        Ok(shaped)
    }
}

impl Drop for Shaped<'_> {
    fn drop(&mut self) {
        for netdev in self.0 {
            if let Err(error) = tc(&["qdisc", "del", "dev", netdev, "root"]) {
                eprintln!("{netdev} stays shaped: {error:#}");
            }
        }
    }
}

fn tc(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("tc").args(arguments).status().context("tc does not start")?;
    anyhow::ensure!(status.success(), "tc {} failed", arguments.join(" "));
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let ends = Ends {
        requester: options.device.clone(),
        responder: options.peer_device.clone(),
        address: options.address.clone(),
        gid_index: "1".into(),
        requester_cpu: options.cpu.clone(),
        responder_cpu: options.peer_cpu.clone(),
    };
    let mut rows = Vec::new();
    for (comparison, first_port) in COMPARISONS {
        let wanted = options.tools.is_empty() || options.tools.iter().any(|tool| tool == comparison.tool);
        if wanted && options.pairs > 0 {
            rows.push(comparison.run(&ends, options.pairs, first_port)?);
        }
    }
    if options.shaped_pairs > 0 {
        let _shaped = Shaped::new(&options.netdevs)?;
        rows.push(SHAPED.run(&ends, options.shaped_pairs, 21_800)?);
    }
    let text = markdown(&rows);
    print!("{text}");
    fs::write(options.out.join("against-perftest.md"), &text)?;
    fs::write(options.out.join("against-perftest.json"), serde_json::to_string_pretty(&rows)?)?;
    let beyond: Vec<&str> = rows.iter().filter(|row| row.beyond_limit).map(|row| row.name).collect();
    anyhow::ensure!(beyond.is_empty(), "the whole interval lies beyond the limit: {}", beyond.join("; "));
    Ok(())
}
