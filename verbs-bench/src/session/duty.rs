//! What a side does for an order: by operation, test and direction.

use schema::{RunSpec, Side, Test};

use crate::connect::Work;

/// What a side does for an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Duty {
    /// Nothing: its memory is written to, read or counted on by the peer's device.
    Wait,
    /// Takes receives until the peer has sent everything.
    Receive,
    /// Answers pings until the requester has enough.
    Answer,
    /// Sends, and receives meanwhile where the peer sends too.
    Send,
}

impl Duty {
    /// By operation, test and direction.
    pub(super) fn of(spec: &RunSpec, side: Side, work: &Work) -> Duty {
        let ping_pong = spec.test == Test::Latency && matches!(work, Work::Measure { .. });
        match side {
            Side::Requester => Duty::Send,
            Side::Responder if ping_pong && !spec.op.fetches() => Duty::Answer,
            Side::Responder if spec.bidirectional => Duty::Send,
            Side::Responder if spec.op.consumes_receives() => Duty::Receive,
            Side::Responder => Duty::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use schema::{Op, Stop};

    use super::*;

    #[test]
    fn the_responders_duty_follows_the_operation_the_test_and_the_direction() {
        let measure = Work::Measure { stop: Stop::Iterations(1), messages_per_sec: None };
        let check = Work::Check { generation: 0 };
        for (test, op, bidirectional, measured, checked) in [
            (Test::Bandwidth, Op::Write, false, Duty::Wait, Duty::Wait),
            (Test::Bandwidth, Op::Read, true, Duty::Send, Duty::Send),
            (Test::Bandwidth, Op::Send, false, Duty::Receive, Duty::Receive),
            (Test::Bandwidth, Op::WriteImm, true, Duty::Send, Duty::Send),
            (Test::Latency, Op::Write, false, Duty::Answer, Duty::Wait),
            (Test::Latency, Op::Send, false, Duty::Answer, Duty::Receive),
            (Test::Latency, Op::FetchAdd, false, Duty::Wait, Duty::Wait),
        ] {
            let spec = RunSpec { bidirectional, ..RunSpec::with_op(test, op) };
            assert_eq!(Duty::of(&spec, Side::Responder, &measure), measured, "{test} {op}");
            assert_eq!(Duty::of(&spec, Side::Responder, &check), checked, "{test} {op}");
            assert_eq!(Duty::of(&spec, Side::Requester, &measure), Duty::Send);
        }
    }
}
