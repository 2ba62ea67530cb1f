//! A record as a table that a perftest user reads at once.

use std::fmt::Write as _;

use schema::{Fabric, LatencyKind, Outcome, Point, RunRecord, SideRecord, Test};

/// The whole text; ends with a newline.
pub(super) fn render(record: &RunRecord) -> String {
    let mut text = String::new();
    header(&mut text, record);
    if !record.points.is_empty() {
        match record.spec.test {
            Test::Bandwidth => bandwidth(&mut text, &record.points),
            Test::Latency => latency(&mut text, &record.points),
        }
    }
    if record.fabric == Fabric::Soft && record.outcome == Outcome::Completed {
        let _ = writeln!(text, "simulated: {}", record.fabric_label);
    }
    text
}

fn header(text: &mut String, record: &RunRecord) {
    let spec = &record.spec;
    let _ = writeln!(text, "RDMA {} {}   fabric {}", spec.op, spec.test, record.fabric_label);
    for side in [&record.requester, &record.responder].into_iter().flatten() {
        side_line(text, side);
    }
    let mtu = record.granted.as_ref().map_or("-".into(), |granted| granted.path_mtu.to_string());
    let inline = record.granted.as_ref().map_or("-".into(), |granted| granted.max_inline_bytes.to_string());
    let _ = writeln!(
        text,
        "  tx_depth {}   post_list {}   signal_interval {}   QPs {}   path MTU {mtu} B   inline asked {} granted {inline} B",
        spec.tx_depth, spec.post_list, spec.signal_interval, spec.qp_count, spec.max_inline_bytes
    );
    if let Some(clock) = record.requester.as_ref().map(|side| &side.clock) {
        let _ = writeln!(text, "  clock {}, {:.1} ns a reading", clock.source, clock.overhead_ns);
    }
}

fn side_line(text: &mut String, side: &SideRecord) {
    let cpu = side.placement.cpu_pinned.map_or("not pinned".into(), |cpu| format!("CPU {cpu}"));
    let node = side.placement.memory_node_bound.map_or("not bound".into(), |node| format!("node {node}"));
    let gid = side
        .gid
        .as_ref()
        .map_or("none".into(), |gid| format!("{} {} ({})", gid.index, gid.gid, gid.gid_type));
    let _ = writeln!(
        text,
        "  {:<9}  {} on {}   {cpu}   memory {node}   GID {gid}",
        side.side, side.device.name, side.host.hostname
    );
}

fn us(ns: Option<u64>) -> String {
    ns.map_or("-".into(), |ns| format!("{:.3}", ns as f64 / 1e3))
}

fn bandwidth(text: &mut String, points: &[Point]) {
    let _ = writeln!(
        text,
        "\n{:>10} {:>13} {:>15} {:>13} {:>11} {:>11} {:>11} {:>11}",
        "bytes", "messages", "Gb/s average", "Mmsg/s", "p50 us", "p99 us", "p99.9 us", "max us"
    );
    for point in points {
        let _ = writeln!(
            text,
            "{:>10} {:>13} {:>15.3} {:>13.6} {:>11} {:>11} {:>11} {:>11}",
            point.msg_bytes,
            point.messages,
            point.bandwidth_bits_per_sec.unwrap_or_default() / 1e9,
            point.messages_per_sec.unwrap_or_default() / 1e6,
            us(point.latency_ns.p50),
            us(point.latency_ns.p99),
            us(point.latency_ns.p99_9),
            us(Some(point.latency_ns.max)),
        );
    }
    let _ = writeln!(text, "1 Gb = 1e9 bits. Latencies are {}.", kind(LatencyKind::PostToCompletion));
}

fn latency(text: &mut String, points: &[Point]) {
    let _ = writeln!(
        text,
        "\n{:>10} {:>13} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "bytes", "round trips", "min us", "p50 us", "mean us", "p99 us", "p99.9 us", "p99.99 us", "max us"
    );
    for point in points {
        let latency = &point.latency_ns;
        let _ = writeln!(
            text,
            "{:>10} {:>13} {:>11} {:>11} {:>11.3} {:>11} {:>11} {:>11} {:>11}",
            point.msg_bytes,
            point.messages,
            us(Some(latency.min)),
            us(latency.p50),
            latency.mean / 1e3,
            us(latency.p99),
            us(latency.p99_9),
            us(latency.p99_99),
            us(Some(latency.max)),
        );
    }
    let _ = writeln!(
        text,
        "Latencies are {}. A dash: too few samples for that percentile.",
        kind(LatencyKind::HalfRoundTrip)
    );
}

fn kind(kind: LatencyKind) -> String {
    match kind {
        LatencyKind::PostToCompletion => format!("{kind}, under this load"),
        kind => kind.to_string(),
    }
}
