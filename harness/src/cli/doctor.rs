//! `doctor`: the audit of a host.

use std::{env, io::IsTerminal as _, path::PathBuf};

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use host::Sysroot;
use rdma_harness::doctor::{
    self,
    symptom::{self, Symptom},
    text::Look,
};
use schema::Severity;

use super::output;
use crate::exit::Exit;

/// Arguments of `doctor`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness doctor                          this host, all its RDMA devices
  rdma-harness doctor -d mlx5_0 --all          one of them, with every reading
  rdma-harness doctor --sysroot tree --json    a recorded host
  rdma-harness doctor --symptom low-bandwidth  what may be the cause, step by step

Exit codes: 0 nothing is wrong, 1 something is (with --symptom: a cause was found), 2 wrong use, 3 could not read.
It writes nothing and starts no program. Without root it says what it could not see.")]
pub(super) struct Doctor {
    /// RDMA device to look at; all of them if absent
    #[arg(short, long, value_name = "DEVICE")]
    device: Option<String>,
    /// Root of a recorded host instead of this one
    #[arg(long, value_name = "DIR", default_value = "/")]
    sysroot: PathBuf,
    /// Look for the cause of a symptom
    #[arg(long, value_name = "SYMPTOM", value_parser = symptoms())]
    symptom: Option<Symptom>,
    /// Show every reading, also of what is fine
    #[arg(long)]
    all: bool,
    /// Print the audit as JSON
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) fn execute(self) -> anyhow::Result<Exit> {
        let Some(symptom) = self.symptom else { return self.audit() };
        let diagnoses = symptom::diagnose(&Sysroot::new(&self.sysroot), self.device.as_deref(), symptom)?;
        if self.json {
            output::print(&serde_json::to_string_pretty(&diagnoses)?)?;
        } else {
            let texts = diagnoses.iter().map(|diagnosis| doctor::text::diagnosis(diagnosis, self.look()));
            output::print(&texts.collect::<Vec<_>>().join("\n"))?;
        }
        let found = diagnoses.iter().any(|diagnosis| diagnosis.found);
        Ok(if found { Exit::Regression } else { Exit::Fine })
    }

    fn audit(&self) -> anyhow::Result<Exit> {
        let audit = doctor::audit(&Sysroot::new(&self.sysroot), self.device.as_deref())?;
        if self.json {
            output::print(&serde_json::to_string_pretty(&audit)?)?;
        } else {
            output::print(&doctor::text::audit(&audit, self.look()))?;
        }
        let wrong = audit.findings.iter().any(|finding| finding.severity == Severity::Wrong);
        Ok(if wrong { Exit::Regression } else { Exit::Fine })
    }

    fn look(&self) -> Look {
        Look {
            all: self.all,
            colour: std::io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none(),
            width: output::width(),
        }
    }
}

fn symptoms() -> impl TypedValueParser<Value = Symptom> {
    PossibleValuesParser::new(Symptom::ALL.map(Symptom::name)).try_map(|name| name.parse::<Symptom>())
}
