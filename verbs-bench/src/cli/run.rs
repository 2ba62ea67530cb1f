//! `verbs-bench run`: flags to RunSpec, a responder if none is given, the record as a table or as JSON.

use std::{
    fs,
    io::{self, Read},
    net::IpAddr,
    path::PathBuf,
};

use clap::Args;
use schema::{Outcome, RunRecord, RunSpec};

use super::{
    EXIT_FAILED, EXIT_USAGE, complain,
    flags::{TestFlags, flag_of},
    table,
    target::{self, Target},
};
use crate::{
    connect::auth::Token,
    session::{
        self,
        hold::{Hold, HoldError, Lines},
    },
};

/// Flags of `run`. perftest's short letters work: -b -c -d -D -e -i -I -l -m -n -o -p -q -Q -r -R -s -S -t -u -x -X.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verbs-bench run --device soft --test latency
  verbs-bench run --device soft --test bandwidth -s 64Ki --soft-model latency=2us,rate=100Gbps
  verbs-bench run --device soft --op send -s 4Ki --rate 100k/s --arrivals poisson
  verbs-bench run --peer 10.0.0.2 --op read --threads 2 -q 4 -s 8 -s 64Ki -D 5s --json

Sizes: 64Ki, 1Mi (binary). Durations: 2s, 500ms. Rates: 100Gbps (decimal bits), 250k/s (messages).
Exit codes: 0 measured, 2 refused before anything ran, 3 could not measure.")]
pub(super) struct Run {
    /// Responder as ADDR[:PORT]; without it a responder is started on this host
    #[arg(long, value_name = "ADDR:PORT")]
    peer: Option<String>,
    /// Port of the responder, where --peer has none [default: 18515]
    #[arg(short = 'p', long, requires = "peer")]
    port: Option<u16>,
    /// IPv4 or IPv6 address that our connection to the responder comes from [default: by the route]
    #[arg(long, value_name = "ADDR", requires = "peer")]
    bind_source: Option<IpAddr>,
    /// RunSpec JSON from a file, or from standard input with `-`, instead of the flags about the test
    #[arg(long, value_name = "FILE|-", conflicts_with_all = TestFlags::GROUPS)]
    spec: Option<String>,
    #[command(flatten)]
    test: TestFlags,
    /// File with the token that `serve --token-file` was given
    #[arg(long, value_name = "FILE", env = "VERBS_BENCH_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// Print one RunRecord as JSON on stdout, and nothing else
    #[arg(long)]
    json: bool,
    /// Print {"holding":true} once all is set up, and begin at the moment that the next line of standard input names:
    /// {"start_at_monotonic_ns":N} by CLOCK_MONOTONIC of this host; the first line is the RunSpec
    #[arg(long, requires_all = ["spec", "json"])]
    hold: bool,
    /// End when the process PID, which starts this one, ends
    #[arg(long, value_name = "PID")]
    exit_with_parent: Option<u32>,
}

impl Run {
    pub(super) fn execute(self) -> u8 {
        if let Some(parent) = self.exit_with_parent {
            session::local::exit_with_parent(parent);
        }
        match self.prepare() {
            Err(faults) => {
                faults.iter().for_each(complain);
                EXIT_USAGE
            }
            Ok((spec, target, lines)) => {
                let mut hold = lines.map(|lines| Hold::new(lines, Box::new(io::stdout())));
                self.print(&target.measure(&spec, hold.as_mut(), self.json))
            }
        }
    }

    /// All that can be refused before anything is touched; with the lines that the start of a run comes from that is held.
    fn prepare(&self) -> Result<(RunSpec, Target, Option<Lines>), Vec<String>> {
        let (spec, lines) = match &self.spec {
            Some(from) if self.hold => read_held(from).map(|(spec, lines)| (spec, Some(lines))),
            Some(from) => read_spec(from).map(|spec| (spec, None)),
            None => Ok((self.test.spec(self.peer.is_none()), None)),
        }
        .map_err(|error| vec![error])?;
        refuse_faults(&spec, self.peer.is_none(), flag_of)?;
        let address = self.peer.as_deref().map(|peer| target::address(peer, self.port)).transpose();
        let token = self.token_file.as_deref().map(Token::read).transpose();
        match (address, token) {
            (Ok(address), Ok(token)) => {
                Ok((spec, Target { address, source: self.bind_source, token }, lines))
            }
            (address, token) => Err(address.err().into_iter().chain(token.err()).collect()),
        }
    }

    fn print(&self, record: &RunRecord) -> u8 {
        if self.json {
            match serde_json::to_string_pretty(record) {
                Ok(json) => println!("{json}"),
                Err(error) => complain(format!("the record cannot be written as JSON: {error}")),
            }
        } else {
            print!("{}", table::render(record));
        }
        if let outcome @ (Outcome::Failed { .. } | Outcome::Skipped { .. }) = &record.outcome {
            complain(outcome);
            return EXIT_FAILED;
        }
        0
    }
}

/// What is wrong with a spec by itself, then what this host cannot do; `local` is whether both sides run here, `flag_of` how
/// the command spells the flag of a field.
pub(super) fn refuse_faults(
    spec: &RunSpec,
    local: bool,
    flag_of: fn(&str) -> String,
) -> Result<(), Vec<String>> {
    let faults = spec.faults();
    if !faults.is_empty() {
        return Err(faults.iter().map(|fault| format!("{} ({})", flag_of(fault.field), fault)).collect());
    }
    session::preflight::host_side(spec, local).map_err(|error| vec![error])
}

fn read_spec(from: &str) -> Result<RunSpec, String> {
    let text = if from == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| format!("standard input: {error}"))?;
        text
    } else {
        fs::read_to_string(from).map_err(|error| format!("spec file {from}: {error}"))?
    };
    parse(from, &text)
}

/// The longest spec of a run that is held, in bytes.
const MOST_SPEC: usize = 1 << 20;

/// The spec from the first line of standard input, and what comes after it.
fn read_held(from: &str) -> Result<(RunSpec, Lines), String> {
    if from != "-" {
        return Err(
            "--hold: the start comes on standard input, and so must the spec before it: --spec -".into()
        );
    }
    let read = || {
        let mut lines = Lines::of_stdin()?;
        Ok((lines.next(MOST_SPEC)?, lines))
    };
    let (text, lines) = read().map_err(|error: HoldError| format!("standard input: {error}"))?;
    Ok((parse(from, &text)?, lines))
}

fn parse(from: &str, text: &str) -> Result<RunSpec, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| format!("spec {from}: field `{}`: {}", error.path(), error.inner()))
}
