//! One message size of the record, made of what both sides measured and counted.

use schema::{
    Bytes, LatencyKind, Nanos, Point, RunSpec, Side, Stage, Test,
    record::{Counts, NicTime, PaceReport, Reverse},
    spec::{Pace, Transport},
};

use super::{merge::Measured, work::Output};
use crate::{connect::Stopped, engine::latency, fault::Fault};

/// What the latency of a spec spans.
fn kind(spec: &RunSpec) -> LatencyKind {
    match (spec.test, spec.pace) {
        (Test::Latency, _) => latency::kind(spec.op),
        (Test::Bandwidth, Pace::Closed) => LatencyKind::PostToCompletion,
        (Test::Bandwidth, Pace::Open { .. } | Pace::Search { .. }) => LatencyKind::IntendedToCompletion,
    }
}

fn nothing(size: Bytes, side: Side) -> Fault {
    Fault::new(Stage::Measure, side, format!("no message of {size} completed in the Measure phase"))
        .advise("the path is slower than the phase is long: give a longer --duration")
}

/// Messages a second.
pub(super) fn per_sec(messages: u64, duration: Nanos) -> f64 {
    messages as f64 / (duration.get().max(1) as f64 / 1e9)
}

/// The requester's half of a point; the rest is added to it.
pub(super) fn point(spec: &RunSpec, size: Bytes, measured: &Measured) -> Result<Point, Fault> {
    let rate = per_sec(measured.messages, measured.duration);
    let bandwidth = spec.test == Test::Bandwidth;
    let completion = measured.completion.as_ref();
    let completion_latency_ns = completion.and_then(|samples| samples.summary(LatencyKind::PostToCompletion));
    Ok(Point {
        test: spec.test,
        op: spec.op,
        msg_bytes: size,
        messages: measured.messages,
        duration_ns: measured.duration,
        bandwidth_bits_per_sec: bandwidth.then_some(rate * size.get() as f64 * 8.0),
        messages_per_sec: bandwidth.then_some(rate),
        latency_ns: measured.latency.summary(kind(spec)).ok_or_else(|| nothing(size, Side::Requester))?,
        histogram: measured.latency.encoded(),
        completion_histogram: completion_latency_ns.as_ref().and(completion).map(|samples| samples.encoded()),
        completion_latency_ns,
        intervals: measured.intervals.clone(),
        data_check: None,
        reverse: None,
        counts: None,
        pace: None,
        nic_time: None,
    })
}

/// The responder's half of a bidirectional point.
pub(super) fn reverse(spec: &RunSpec, size: Bytes, measured: &Measured) -> Result<Reverse, Fault> {
    let rate = per_sec(measured.messages, measured.duration);
    Ok(Reverse {
        messages: measured.messages,
        duration_ns: measured.duration,
        bandwidth_bits_per_sec: rate * size.get() as f64 * 8.0,
        messages_per_sec: rate,
        latency_ns: measured.latency.summary(kind(spec)).ok_or_else(|| nothing(size, Side::Responder))?,
        histogram: measured.latency.encoded(),
    })
}

/// What became of a schedule of so many messages a second.
pub(super) fn pace(asked_messages_per_sec: f64, measured: &Measured) -> PaceReport {
    PaceReport {
        asked_messages_per_sec,
        achieved_messages_per_sec: per_sec(measured.messages, measured.duration),
        late_messages: measured.late_messages,
        max_lateness_ns: measured.max_lateness,
        probes: Vec::new(),
    }
}

/// The latency under load by the device's clock.
pub(super) fn nic_time(measured: &Measured, ticks_per_sec: f64, correlation_ns: f64) -> Option<NicTime> {
    let (nic, software) = (measured.nic.as_ref()?, measured.software.as_ref()?);
    Some(NicTime {
        nic_latency_ns: nic.summary(LatencyKind::PostToDevice)?,
        nic_histogram: nic.encoded(),
        software_latency_ns: software.summary(LatencyKind::DeviceToPoll)?,
        software_histogram: software.encoded(),
        device_ticks_per_sec: ticks_per_sec,
        correlation_ns,
    })
}

/// Adds what both sides counted for one order.
pub(super) fn count(counts: &mut Counts, ours: &[Output], theirs: &Stopped) {
    let add = |sum: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0) + more);
        }
    };
    counts.requester_sent += ours.iter().flat_map(|output| &output.sent).sum::<u64>();
    counts.responder_sent += theirs.sent.iter().sum::<u64>();
    add(&mut counts.responder_received, theirs.received);
    add(&mut counts.requester_received, received(ours));
}

/// Messages that came, where this side receives any.
pub(super) fn received(outputs: &[Output]) -> Option<u64> {
    let mut arrived = outputs.iter().flat_map(|output| &output.arrived).peekable();
    arrived.peek()?;
    Some(arrived.map(|arrived| arrived.messages).sum())
}

/// A reliable connection loses nothing and doubles nothing.
pub(super) fn verify_counts(spec: &RunSpec, counts: &Counts) -> Result<(), Fault> {
    let there = counts.responder_received.map(|received| (counts.requester_sent, received));
    let back = counts.requester_received.map(|received| (counts.responder_sent, received));
    for (direction, pair) in [("requester to responder", there), ("responder to requester", back)] {
        let Some((sent, received)) = pair else { continue };
        if sent == received || (spec.transport != Transport::Rc && received < sent) {
            continue;
        }
        let cause = format!("{sent} messages were sent from {direction} and {received} were received");
        return Err(Fault::new(Stage::Drain, Side::Requester, cause).advise(
            "the device or its driver loses or repeats messages that it acknowledged: do not trust it",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unreliable_transport_may_lose_and_none_may_double() {
        let mut spec = RunSpec::new(Test::Bandwidth);
        let counts = |sent, received| Counts {
            requester_sent: sent,
            responder_received: Some(received),
            ..Counts::default()
        };
        assert!(verify_counts(&spec, &counts(7, 7)).is_ok());
        let text = verify_counts(&spec, &counts(7, 6)).unwrap_err().to_string();
        assert!(text.contains("7 messages") && text.contains("6 were received"), "{text}");
        spec.transport = Transport::Uc;
        assert!(verify_counts(&spec, &counts(7, 6)).is_ok());
        assert!(verify_counts(&spec, &counts(7, 8)).is_err());
        assert!(verify_counts(&spec, &Counts { requester_sent: 9, ..Counts::default() }).is_ok());
    }
}
