//! What the controller of a campaign and the agent of one side say to each other.
//!
//! Both ends refuse what they do not know. No order names a program or a path: what an agent starts and where it reads
//! its host is settled when it is launched.

use std::net::{IpAddr, SocketAddr};

use schema::{HostEvidence, KnobRecord, NodeAudit, RunSpec, SCHEMA_VERSION, Side, Tuning};
use serde::{Deserialize, Serialize};

/// Raised when a message changes its meaning.
pub const PROTOCOL: u32 = 2;
/// The release of this program.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");

/// What the controller asks of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// The first order of a link.
    Hello {
        /// [`PROTOCOL`] of the controller.
        protocol: u32,
        /// Silence after which the agent takes the controller for gone, in ms; null where a dead link is noticed at once.
        silence_ms: Option<u64>,
        /// Where it runs, in the controller's words.
        place: String,
    },
    /// Says that the controller is still there. It has no answer.
    Alive {},
    /// Starts the responder of a run.
    Serve {
        /// Number of the run; every report about it bears it.
        run: u32,
        /// One-time token of the run, in hexadecimal digits.
        token: String,
        /// Address to listen on.
        listen: IpAddr,
        /// The only device to use, or `auto` for what the requester asks.
        device: String,
        /// CPUs it polls on, as far as they are named.
        poll_cpus: Vec<u32>,
    },
    /// Starts the requester of a run.
    Measure {
        /// Number of the run.
        run: u32,
        /// One-time token of the run, in hexadecimal digits.
        token: String,
        /// Where the responder listens.
        peer: SocketAddr,
        /// What to measure.
        spec: Box<RunSpec>,
        /// Whether it is to stand ready before its first post until [`Order::Start`]: [`Report::Said`] tells that it does.
        hold: bool,
    },
    /// Lets a requester that stands ready post at a moment, or at once where that has passed.
    Start {
        /// Number of the run.
        run: u32,
        /// The moment, by CLOCK_MONOTONIC of the agent's host, ns.
        at_monotonic_ns: u64,
    },
    /// Asks for the time. Answered at once, so that clocks can be compared.
    Clock {},
    /// Audits this host with one device, as `doctor` does. Answered.
    Audit {
        /// The RDMA device as a spec says: `auto`, `soft`, or a name.
        device: String,
    },
    /// Ends the process of a run. Without effect when it has ended.
    Stop {
        /// Number of the run.
        run: u32,
    },
    /// Plans what each variant turns on this host, and notes how the host stands. Answered.
    Prepare {
        /// By variant.
        variants: Vec<Vec<Part>>,
    },
    /// Proves that the host stands as it did when it was prepared. Answered.
    Prove {},
    /// Proves it, and turns the knobs of a variant, all or none. Answered.
    Tune {
        /// Which of the prepared ones.
        variant: u32,
    },
    /// Reads what was turned again. Answered.
    Verify {},
    /// Turns back what was turned, and proves it. Answered.
    Restore {},
}

/// What one side turns on the host of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The side that asks for it.
    pub side: Side,
    /// Its RDMA device as the spec says: `auto`, `soft`, or a name.
    pub device: String,
    /// CPUs it polls on, as far as they are named.
    pub poll_cpus: Vec<u32>,
    /// What it turns.
    pub tuning: Tuning,
}

/// What an agent tells its controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Report {
    /// Answers the first order.
    Hello(Box<Hello>),
    /// The responder of a run said its first line.
    Said {
        /// Number of the run.
        run: u32,
        /// The line.
        line: String,
    },
    /// The process of a run could not be started.
    NotStarted {
        /// Number of the run.
        run: u32,
        /// Why.
        cause: String,
    },
    /// The process of a run ended.
    Ended {
        /// Number of the run.
        run: u32,
        /// How.
        end: End,
        /// What the host did meanwhile.
        evidence: Box<HostEvidence>,
    },
    /// What came of an order about knobs.
    Answer(Answer),
    /// Answers [`Order::Clock`].
    Clock {
        /// CLOCK_MONOTONIC of this host, ns.
        monotonic_ns: u64,
    },
    /// Answers [`Order::Audit`].
    Audited(Box<NodeAudit>),
    /// Says that the agent is still there; every sixth of the silence that the controller named. It has no answer.
    Alive {},
}

/// What came of an order about knobs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The targets it was about.
    pub knobs: Vec<SideKnob>,
    /// Why it could not be done; null if it was.
    pub fault: Option<String>,
}

impl Answer {
    /// It could not be done.
    pub fn fault(why: String) -> Self {
        Answer { knobs: Vec::new(), fault: Some(why) }
    }
}

/// A target, and the side that asked for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideKnob {
    /// The side.
    pub side: Side,
    /// The target.
    pub record: KnobRecord,
}

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// [`PROTOCOL`] of the agent.
    pub protocol: u32,
    /// `SCHEMA_VERSION` of the agent.
    pub schema_version: u32,
    /// [`RELEASE`] of the agent.
    pub release: String,
    /// Boot of its host; null where the kernel does not tell.
    pub boot_id: Option<String>,
    /// Its network namespace, as `net:[INODE]`; null where the kernel does not tell.
    pub netns: Option<String>,
    /// Name of its host; null where the kernel does not tell.
    pub hostname: Option<String>,
    /// What it was started as, by those who start agents of a cluster; null elsewhere.
    pub identity: Option<Identity>,
    /// Its verbs-bench: what it answers to `--version`, or why there is none.
    pub verbs_bench: Result<String, String>,
}

/// What whoever started an agent calls it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Which told: `slurm`, `openmpi`, `pmix`, `pmi`, `kubernetes`, `flags`.
    pub told_by: String,
    /// Its rank, from 0.
    pub rank: u32,
    /// How many there are; null where it is not told.
    pub size: Option<u32>,
    /// Name of its node as the scheduler calls it; null where it has none.
    pub node: Option<String>,
    /// The switches above it, the outermost first; empty where they are not told.
    pub switches: Vec<String>,
    /// Address by which other nodes reach it; null where it does not know.
    pub address: Option<IpAddr>,
}

/// How a process ended, and what it said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// Status as waitpid(2) gives it.
    pub status: i32,
    /// All it wrote on stdout after what was reported already.
    pub stdout: String,
    /// The last it wrote on stderr.
    pub stderr: String,
}

impl Hello {
    /// Why this agent can't be worked with; none if it can.
    pub fn fault(&self) -> Option<String> {
        let theirs = (self.protocol, self.schema_version, self.release.as_str());
        if theirs != (PROTOCOL, SCHEMA_VERSION, RELEASE) {
            return Some(format!(
                "its agent is of release {} (protocol {}, schema {}), this is {RELEASE} (protocol {PROTOCOL}, schema {SCHEMA_VERSION}); install the same release on both hosts",
                self.release, self.protocol, self.schema_version
            ));
        }
        self.verbs_bench.as_ref().err().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello {
            protocol: PROTOCOL,
            schema_version: SCHEMA_VERSION,
            release: RELEASE.into(),
            boot_id: Some("b".into()),
            netns: None,
            hostname: None,
            identity: None,
            verbs_bench: Ok("verbs-bench 0".into()),
        }
    }

    #[test]
    fn another_release_is_refused_by_name() {
        assert_eq!(hello().fault(), None);
        let old = Hello { release: "0.0.1".into(), ..hello() };
        assert!(old.fault().unwrap().contains("0.0.1"), "{:?}", old.fault());
        let bare = Hello { verbs_bench: Err("there is none".into()), ..hello() };
        assert_eq!(bare.fault().as_deref(), Some("there is none"));
    }
}
