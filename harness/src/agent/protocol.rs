//! What the controller of a campaign and the agent of one side say to each other: one JSON document a line.
//!
//! Both ends refuse what they do not know. No order names a program or a path: what an agent starts and where it reads
//! its host is settled when it is launched.

use std::{
    io::{self, BufRead, Read as _, Write},
    net::{IpAddr, SocketAddr},
};

use schema::{HostEvidence, KnobRecord, RunSpec, SCHEMA_VERSION, Side, Tuning};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::child::MOST_STDOUT;

/// Raised when a message changes its meaning.
pub const PROTOCOL: u32 = 1;
/// The release of this program.
pub const RELEASE: &str = env!("CARGO_PKG_VERSION");
/// The longest order an agent reads, in bytes; a spec is far smaller.
pub const MOST_ORDER: u64 = 1 << 20;
/// The longest report a controller reads, in bytes: all that a process may say, quoted.
pub const MOST_REPORT: u64 = 2 * MOST_STDOUT + MOST_ORDER;

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
        /// Which side the agent is.
        side: Side,
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
    /// Its verbs-bench: what it answers to `--version`, or why there is none.
    pub verbs_bench: Result<String, String>,
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

/// Why there is no next message.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The link broke.
    #[error("reading from the link: {0}")]
    Io(#[from] io::Error),
    /// The other end says something that is no message.
    #[error("what came is not a message of this protocol: {cause}: {line}")]
    Garbage {
        /// What the parser says.
        cause: String,
        /// The beginning of the line.
        line: String,
    },
    /// The other end sends more than any message holds.
    #[error("a message is longer than {0} bytes")]
    TooLong(u64),
}

/// Writes one message.
pub fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Reads the next message of at most so many bytes; none at the end of the link.
///
/// # Errors
/// When the link breaks, or what comes is no message.
pub fn receive<T: DeserializeOwned>(input: &mut impl BufRead, most: u64) -> Result<Option<T>, ReadError> {
    let mut line = Vec::new();
    input.take(most).read_until(b'\n', &mut line)?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => serde_json::from_slice(&line)
            .map(Some)
            .map_err(|error| ReadError::Garbage { cause: error.to_string(), line: beginning(&line) }),
        Some(_) if line.len() as u64 == most => Err(ReadError::TooLong(most)),
        Some(_) => Ok(None), // cut in the middle of a message: as good as none
    }
}

/// The beginning of a line, fit for a message.
fn beginning(line: &[u8]) -> String {
    const MOST: usize = 120;
    String::from_utf8_lossy(line).trim_end().chars().take(MOST).map(printable).collect()
}

fn printable(c: char) -> char {
    if c.is_control() { '.' } else { c }
}

impl Hello {
    /// Why this agent can't be worked with; none if it can.
    pub fn fault(&self) -> Option<String> {
        let theirs = (self.protocol, self.schema_version, self.release.as_str());
        (theirs != (PROTOCOL, SCHEMA_VERSION, RELEASE)).then(|| {
            format!(
                "its agent is of release {} (protocol {}, schema {}), this is {RELEASE} (protocol {PROTOCOL}, schema {SCHEMA_VERSION}); install the same release on both hosts",
                self.release, self.protocol, self.schema_version
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::Test;

    use super::*;

    fn hello() -> Hello {
        Hello {
            protocol: PROTOCOL,
            schema_version: SCHEMA_VERSION,
            release: RELEASE.into(),
            boot_id: Some("b".into()),
            netns: None,
            hostname: None,
            verbs_bench: Ok("verbs-bench 0".into()),
        }
    }

    #[test]
    fn messages_survive_the_link_one_a_line() {
        let orders = [
            Order::Hello {
                protocol: PROTOCOL,
                silence_ms: Some(30_000),
                side: Side::Responder,
                place: "ssh:far".into(),
            },
            Order::Alive {},
            Order::Measure {
                run: 3,
                token: "ab".into(),
                peer: "[::1]:18515".parse().unwrap(),
                spec: Box::new(RunSpec::new(Test::Latency)),
            },
            Order::Stop { run: 3 },
        ];
        let mut wire = Vec::new();
        for order in &orders {
            send(&mut wire, order).unwrap();
        }
        assert_eq!(wire.iter().filter(|byte| **byte == b'\n').count(), orders.len());
        let mut input = wire.as_slice();
        for order in orders {
            assert_eq!(receive::<Order>(&mut input, MOST_ORDER).unwrap(), Some(order));
        }
        assert_eq!(receive::<Order>(&mut input, MOST_ORDER).unwrap(), None);
    }

    #[test]
    fn unknown_orders_and_unknown_fields_are_refused() {
        for line in [
            "{\"format_disk\":{}}\n",
            "{\"stop\":{\"run\":1,\"program\":\"/bin/sh\"}}\n",
            "{\"stop\":{}}\n",
            "stop\n",
            "\n",
        ] {
            let refused = receive::<Order>(&mut line.as_bytes(), MOST_ORDER);
            assert!(matches!(refused, Err(ReadError::Garbage { .. })), "{line}: {refused:?}");
        }
    }

    #[test]
    fn an_endless_line_is_refused_and_a_cut_one_is_the_end() {
        let refused = receive::<Order>(&mut "x".repeat(100).as_bytes(), 64);
        assert!(matches!(refused, Err(ReadError::TooLong(64))));
        assert!(matches!(receive::<Order>(&mut "{\"stop\":".as_bytes(), MOST_ORDER), Ok(None)));
    }

    #[test]
    fn another_release_is_refused_by_name() {
        assert_eq!(hello().fault(), None);
        let old = Hello { release: "0.0.1".into(), ..hello() };
        assert!(old.fault().unwrap().contains("0.0.1"), "{:?}", old.fault());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut input = bytes.as_slice();
            while let Ok(Some(_)) = receive::<Order>(&mut input, 200) {}
            let mut input = bytes.as_slice();
            while let Ok(Some(_)) = receive::<Report>(&mut input, 200) {}
        }
    }
}
