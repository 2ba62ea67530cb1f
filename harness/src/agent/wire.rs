//! Messages on a link: one JSON document a line, of bounded length, and nothing that is not understood.

use std::io::{self, BufRead, Read as _, Write};

use serde::{Serialize, de::DeserializeOwned};

use super::child::MOST_STDOUT;

/// The longest order an agent reads, in bytes; a spec is far smaller.
pub(crate) const MOST_ORDER: u64 = 1 << 20;
/// The longest report a controller reads, in bytes: all that a process may say, quoted.
pub(crate) const MOST_REPORT: u64 = 2 * MOST_STDOUT + MOST_ORDER;

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
pub(crate) fn send(output: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

/// Reads the next message of at most so many bytes; none at the end of the link.
///
/// # Errors
/// When the link breaks, or what comes is no message.
pub(crate) fn receive<T: DeserializeOwned>(
    input: &mut impl BufRead,
    most: u64,
) -> Result<Option<T>, ReadError> {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::{Configuration, NodeAudit, RunSpec, Test};

    use super::{
        super::protocol::{Order, PROTOCOL, Report},
        *,
    };

    #[test]
    fn messages_survive_the_link_one_a_line() {
        let orders = [
            Order::Hello { protocol: PROTOCOL, silence_ms: Some(30_000), place: "ssh:far".into() },
            Order::Alive {},
            Order::Measure {
                run: 3,
                token: "ab".into(),
                peer: "[::1]:18515".parse().unwrap(),
                spec: Box::new(RunSpec::new(Test::Latency)),
                hold: true,
            },
            Order::Start { run: 3, at_monotonic_ns: u64::MAX },
            Order::Clock {},
            Order::Audit { device: "mlx5_0".into() },
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
            "{\"start\":{\"run\":1}}\n",
            "{\"start\":{\"run\":1,\"at_monotonic_ns\":-1}}\n",
            "{\"clock\":{\"at\":1}}\n",
            "{\"audit\":{\"device\":\"soft\",\"root\":\"/\"}}\n",
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

    proptest! {
        #[test]
        fn what_many_runs_and_clocks_say_survives_the_link(
            run: u32, ns: u64, line in ".*", name in "[a-z_.]{1,30}", value in ".*",
        ) {
            let order = Order::Start { run, at_monotonic_ns: ns };
            let facts = Configuration([(name, value)].into());
            let reports = [
                Report::Said { run, line: line.clone() },
                Report::NotStarted { run, cause: line },
                Report::Clock { monotonic_ns: ns },
                Report::Alive {},
                Report::Audited(Box::new(NodeAudit { facts, findings: Vec::new() })),
            ];
            let mut wire = Vec::new();
            send(&mut wire, &order).unwrap();
            prop_assert_eq!(receive::<Order>(&mut wire.as_slice(), MOST_ORDER).unwrap(), Some(order));
            let mut wire = Vec::new();
            reports.iter().for_each(|report| send(&mut wire, report).unwrap());
            let mut input = wire.as_slice();
            for report in reports {
                prop_assert_eq!(receive::<Report>(&mut input, MOST_REPORT).unwrap(), Some(report));
            }
        }

        #[test]
        fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let mut input = bytes.as_slice();
            while let Ok(Some(_)) = receive::<Order>(&mut input, 200) {}
            let mut input = bytes.as_slice();
            while let Ok(Some(_)) = receive::<Report>(&mut input, 200) {}
        }
    }
}
