//! `import`: logs of other tools become nights of a suite, so that years of them are history.

use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use rdma_harness::{
    import::{self, File, Log, Naming, Refusal},
    words,
};
use sha2::{Digest as _, Sha256};

use super::{Place, output};
use crate::exit::{Exit, UsageError};

/// Arguments of `import`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness import perftest logs/*.txt --scenario rack7 --requester node1 --responder node2
  rdma-harness import perftest out.json --at 2026-03-01T02:00:00Z
  rdma-harness import csv allpairs.csv --rename bw=value --suite allpairs
  rdma-harness history --suite imported

All files are read before anything is kept. If one of them is not understood, none is kept, and the line is named.
A file is imported once: its bytes are known again under any name.")]
pub(super) struct Import {
    #[command(subcommand)]
    form: Form,
}

#[derive(Subcommand)]
enum Form {
    /// Tables and JSON of ib_write_bw and its siblings, also the JSON of releases before 2024
    Perftest {
        #[command(flatten)]
        what: What,
        /// Name of the scenario: perftest knows none
        #[arg(long, value_name = "NAME", default_value = "perftest")]
        scenario: String,
        /// Host of the side that posted: perftest does not tell
        #[arg(long, value_name = "HOST", default_value = "")]
        requester: String,
        /// Host of the side that was written to
        #[arg(long, value_name = "HOST", default_value = "")]
        responder: String,
        /// When it was measured [default: when each file was last written]
        #[arg(long, value_name = "TIME", value_parser = import::csv::moment)]
        at: Option<u64>,
    },
    /// A table with the columns time, scenario, msg_bytes, metric, value, unit, and more (docs/import.md)
    Csv {
        #[command(flatten)]
        what: What,
        /// Another name for a column of the file: FROM=TO
        #[arg(long, value_name = "FROM=TO", value_parser = pair)]
        rename: Vec<(String, String)>,
    },
}

#[derive(Args)]
struct What {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The suite they become nights of
    #[arg(long, value_name = "NAME", default_value = "imported")]
    suite: String,
    /// Say what would be kept, and keep nothing
    #[arg(long)]
    dry_run: bool,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (from, to) = text.split_once('=').ok_or("write FROM=TO")?;
    Ok((from.to_owned(), to.to_owned()))
}

impl Import {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        match self.form {
            Form::Perftest { what, scenario, requester, responder, at } => {
                let naming = Naming { suite: what.suite.clone(), scenario, requester, responder };
                carry_out(&what, &naming, at, import::perftest::read, place)
            }
            Form::Csv { what, rename } => {
                let naming = Naming {
                    suite: what.suite.clone(),
                    scenario: String::new(),
                    requester: String::new(),
                    responder: String::new(),
                };
                carry_out(&what, &naming, None, |text| import::csv::read(text, &rename), place)
            }
        }
    }
}

fn carry_out(
    what: &What,
    naming: &Naming,
    at: Option<u64>,
    read: impl Fn(&str) -> Result<Log, Refusal>,
    place: &Place,
) -> anyhow::Result<Exit> {
    let files = read_all(&what.files, at, read)?;
    let mut told = String::new();
    for file in &files {
        told += &format!("{}: {} measurements\n", file.name, file.log.measurements.len());
        for remark in &file.log.remarks {
            told += &format!("  line {}: {}\n", remark.line, remark.what);
        }
    }
    if what.dry_run {
        output::print(&format!("{told}{}nothing was kept", summary(&files, naming)))?;
        return Ok(Exit::Fine);
    }
    let mut store = place.create_or_open()?;
    let mut new = Vec::new();
    for file in files {
        if store.knows_file(&file.sha256)? {
            told += &format!("{}: imported before, left out\n", file.name);
        } else {
            new.push(file);
        }
    }
    let nights = import::nights(&new, naming);
    if !nights.is_empty() {
        store.add_foreign(&nights)?;
    }
    output::print(&format!("{told}{}store  {}", summary(&new, naming), store.file().display()))?;
    Ok(Exit::Fine)
}

fn summary(files: &[File], naming: &Naming) -> String {
    let nights = import::nights(files, naming);
    let values: usize = nights.iter().map(|night| night.values.len()).sum();
    let span = match (nights.first(), nights.last()) {
        (Some(first), Some(last)) => {
            format!(
                ", {} to {}",
                words::moment(first.started_at_unix_ms),
                words::moment(last.started_at_unix_ms)
            )
        }
        _ => String::new(),
    };
    format!("suite {}: {} nights, {values} values{span}\n", naming.suite, nights.len())
}

/// Reads every file, each once; all that is wrong with any of them is said together.
fn read_all(
    names: &[PathBuf],
    at: Option<u64>,
    read: impl Fn(&str) -> Result<Log, Refusal>,
) -> anyhow::Result<Vec<File>> {
    let mut files: Vec<File> = Vec::new();
    let mut refused = Vec::new();
    for name in names {
        let bytes = fs::read(name).with_context(|| format!("reading {}", name.display()))?;
        let sha256 = hex(&bytes);
        if let Some(same) = files.iter().find(|file| file.sha256 == sha256) {
            refused.push(format!("{}: the same bytes as {}", name.display(), same.name));
            continue;
        }
        match text(&bytes).and_then(&read) {
            Ok(log) => {
                let at_unix_ms = at.map_or_else(|| written_at(name), Ok)?;
                files.push(File { name: name.display().to_string(), sha256, at_unix_ms, log });
            }
            Err(refusal) => refused.push(format!("{}: {refusal}", name.display())),
        }
    }
    if refused.is_empty() {
        return Ok(files);
    }
    Err(UsageError(format!("not understood, and nothing was kept:\n{}", refused.join("\n"))).into())
}

fn text(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Refusal::new(line, "bytes that are not UTF-8 text")
    })
}

/// When a file was last written, ms since 1970 UTC.
fn written_at(name: &Path) -> anyhow::Result<u64> {
    let modified = fs::metadata(name).and_then(|metadata| metadata.modified());
    let modified =
        modified.with_context(|| format!("asking when {} was written; give --at", name.display()))?;
    Ok(modified.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64))
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
