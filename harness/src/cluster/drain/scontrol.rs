//! Slurm's own word on its nodes, and the one way we change them: `scontrol`, without a shell.

use std::{
    ffi::OsString,
    process::{Command, Stdio},
};

use super::DrainError;

/// The command.
pub struct Scontrol {
    program: OsString,
}

/// A node as Slurm has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmNode {
    /// Its name.
    pub name: String,
    /// Its state with its flags: `IDLE+DRAIN`.
    pub state: String,
    /// Why it is in it, without who said so; empty where nobody did.
    pub reason: String,
}

impl SlurmNode {
    /// Whether no job is put on it by someone's will.
    pub fn is_drained(&self) -> bool {
        self.state.split('+').any(|flag| flag.trim_end_matches('*').starts_with("DRAIN"))
    }
}

impl Default for Scontrol {
    fn default() -> Self {
        Scontrol { program: "scontrol".into() }
    }
}

impl Scontrol {
    /// Another program that answers as scontrol does.
    pub fn at(program: impl Into<OsString>) -> Self {
        Scontrol { program: program.into() }
    }

    /// One node, or all.
    ///
    /// # Errors
    /// When it can't be started, or knows no such node.
    pub fn show(&self, node: Option<&str>) -> Result<Vec<SlurmNode>, DrainError> {
        let mut arguments = vec!["show", "node", "-o"];
        arguments.extend(node);
        let text = self.call(&arguments)?;
        Ok(text.lines().filter_map(read).collect())
    }

    /// Changes a node.
    ///
    /// # Errors
    /// When it can't be started, or refuses.
    pub fn update(&self, arguments: &[String]) -> Result<(), DrainError> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        self.call(&arguments).map(drop)
    }

    fn call(&self, arguments: &[&str]) -> Result<String, DrainError> {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("LC_ALL", "C").stdin(Stdio::null());
        let output = command.output().map_err(DrainError::Start)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let mut said = text(&output.stderr) + &text(&output.stdout);
        said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let command = format!("scontrol {}", arguments.join(" "));
        Err(DrainError::Refused {
            command,
            said: if said.is_empty() { output.status.to_string() } else { said },
        })
    }
}

/// A line of `scontrol show node -o`: `NodeName=n1 .. State=IDLE+DRAIN .. Reason=any words [root@2026-12-01T14:24:03] Comment=..`.
fn read(line: &str) -> Option<SlurmNode> {
    let field = |key: &str| line.split(' ').find_map(|word| word.strip_prefix(key));
    let name = field("NodeName=")?.to_owned();
    let state = field("State=")?.to_owned();
    let reason = line.split_once(" Reason=").map(|(_, rest)| without_author(rest)).unwrap_or_default();
    Some(SlurmNode { name, state, reason: reason.to_owned() })
}

/// A reason up to who gave it and when.
fn without_author(rest: &str) -> &str {
    let author = |text: &str| {
        text.split_once(']').is_some_and(|(author, _)| author.contains('@') && !author.contains(' '))
    };
    let end = rest.match_indices(" [").find(|(at, _)| author(&rest[at + 2..]));
    end.map_or(rest.trim_end(), |(at, _)| &rest[..at])
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    // As scontrol of Slurm 22.05.8 printed it.
    const DRAINED: &str = "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=10.37 AvailableFeatures=(null) ActiveFeatures=(null) Gres=(null) NodeAddr=127.0.0.1 NodeHostName=vm Port=17131 Version=22.05.8 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  RealMemory=1000 AllocMem=0 FreeMem=1734 Sockets=2 Boards=1 State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=main  BootTime=2026-12-01T09:50:37 CfgTRES=cpu=2,mem=1000M,billing=2 AllocTRES= CapWatts=n/a Reason=rdma-harness: cluster 3: n1 receives 22 % less (a [b] c) [root@2026-12-01T14:24:03] Comment=some comment";

    #[test]
    fn a_node_is_read_with_its_reason_and_without_who_gave_it() {
        let node = read(DRAINED).unwrap();
        assert_eq!((node.name.as_str(), node.state.as_str()), ("n1", "IDLE+DRAIN"));
        assert_eq!(node.reason, "rdma-harness: cluster 3: n1 receives 22 % less (a [b] c)");
        assert!(node.is_drained());
        let fine = read("NodeName=n2 Arch=x86_64 State=MIXED ThreadsPerCore=1 ExtSensorsTemp=n/s").unwrap();
        assert!(fine.reason.is_empty() && !fine.is_drained());
        assert_eq!(read("No nodes in the system"), None);
    }

    #[test]
    fn a_missing_program_and_a_refusal_say_so() {
        let missing = Scontrol::at("/nowhere/scontrol").show(None).unwrap_err().to_string();
        assert!(missing.contains("starting scontrol") && missing.contains("in the PATH"), "{missing}");
        let refused = Scontrol::at("false").update(&["update".into()]).unwrap_err().to_string();
        assert_eq!(refused, "`scontrol update` failed: exit status: 1");
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "(NodeName=|State=| Reason=|\\[|\\]|@|[a-z é]){0,30}") {
            let _ = read(&line);
        }
    }
}
