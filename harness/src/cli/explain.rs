//! `explain`: what is known of a knob or a claim.

use clap::Args;
use rdma_harness::knowledge::{self, Entry, Found};

use super::output;
use crate::exit::{Exit, UsageError};

/// Arguments of `explain`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  rdma-harness explain irq-affinity                 a knob, by the name doctor reports it under
  rdma-harness explain net.core.rmem_max            a sysctl; /proc/sys/net/core/rmem_max and rmem_max do too
  rdma-harness explain echo 2 smp_affinity          a claim, by the words you were told it in
  rdma-harness explain 'ib_write_bw -r 1000'        words with dashes are put in quotes
  rdma-harness explain guide 1 claim 18             a claim, by its number in docs/tuning.md
  rdma-harness explain --list

Exit codes:
  0 explained, or several are listed   2 nothing like it is known")]
pub(super) struct Explain {
    /// A knob, a claim, a path, or some words
    #[arg(required_unless_present = "list", value_name = "KNOB|CLAIM")]
    question: Vec<String>,
    /// List all that is known
    #[arg(long, conflicts_with = "question")]
    list: bool,
    /// Print JSON: a list of entries
    #[arg(long)]
    json: bool,
}

impl Explain {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        if self.list {
            self.print(&knowledge::entries().iter().collect::<Vec<_>>(), "")?;
            return Ok(Exit::Fine);
        }
        let question = self.question.join(" ");
        match knowledge::find(&question) {
            Found::One(entry) if self.json => self.print(&[entry], ""),
            Found::One(entry) => output::print(&knowledge::show(entry, output::width())),
            Found::Several(entries) => {
                self.print(&entries, "Several are near; `rdma-harness explain NAME` tells more:\n\n")
            }
            Found::None(near) => return Err(unknown(&question, &near).into()),
        }?;
        Ok(Exit::Fine)
    }

    fn print(&self, entries: &[&Entry], before: &str) -> anyhow::Result<()> {
        if self.json {
            return output::print(&serde_json::to_string_pretty(entries)?);
        }
        output::print(&format!("{before}{}", knowledge::list(entries, output::width())))
    }
}

fn unknown(question: &str, near: &[&str]) -> UsageError {
    let near = match near {
        [] => "`rdma-harness explain --list` has all that is known".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    };
    UsageError(format!("nothing is known of `{question}`; {near}"))
}
