//! A record as a table that a perftest user reads at once.

use std::fmt::Write as _;

use schema::{
    Fabric, LatencySummary, Outcome, Pace, Point, RunRecord, RunSpec, SideRecord, Test, Wait,
    record::{NicTime, PaceReport},
};

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
    let both = if spec.bidirectional { "   both directions" } else { "" };
    let _ = writeln!(
        text,
        "RDMA {} {} over {}   {} verbs{both}   fabric {}",
        spec.op, spec.test, spec.transport, spec.post_api, record.fabric_label
    );
    for side in [&record.requester, &record.responder].into_iter().flatten() {
        side_line(text, side);
    }
    let granted = record.granted.as_ref();
    let mtu = granted.map_or("-".into(), |granted| granted.path_mtu.to_string());
    let inline = granted.map_or("-".into(), |granted| granted.max_inline_bytes.to_string());
    let _ = writeln!(
        text,
        "  tx_depth {}   post_list {}   signal_interval {}   {}   path MTU {mtu} B   inline asked {} granted {inline} B",
        spec.tx_depth,
        spec.post_list,
        spec.signal_interval,
        qps(spec),
        spec.max_inline_bytes
    );
    if spec.op.consumes_receives()
        || spec.op.fetches()
        || spec.wait != Wait::Poll
        || spec.pace != Pace::Closed
    {
        text.push(' ');
        if spec.op.consumes_receives() {
            let _ = write!(text, " rx_depth {}  ", spec.rx_depth);
        }
        if let Some(reads) = granted.and_then(|granted| granted.outstanding_reads) {
            let _ = write!(text, " outstanding reads {reads}  ");
        }
        let _ = writeln!(text, " {}   wait {}", spec.pace, spec.wait);
    }
    if let Some(clock) = record.requester.as_ref().map(|side| &side.clock) {
        let _ = writeln!(text, "  clock {}, {:.1} ns a reading", clock.source, clock.overhead_ns);
    }
}

/// Queue pairs of a side; of several threads, how many each has.
fn qps(spec: &RunSpec) -> String {
    match spec.threads {
        1 => format!("QPs {}", spec.qp_count),
        threads => format!("QPs {} ({threads} threads x {})", spec.total_qps(), spec.qp_count),
    }
}

fn side_line(text: &mut String, side: &SideRecord) {
    let cpus = &side.placement.cpus_pinned;
    let cpu = match (side.placement.cpu_pinned, cpus.len()) {
        (None, _) => "not pinned".into(),
        (Some(cpu), 0 | 1) => format!("CPU {cpu}"),
        (Some(_), _) => {
            format!("CPUs {}", cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(","))
        }
    };
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
        let there = [point.bandwidth_bits_per_sec, point.messages_per_sec].map(Option::unwrap_or_default);
        let size = point.msg_bytes.to_string();
        bandwidth_row(text, &size, Some(point.messages), there, Some(&point.latency_ns));
        if let Some(back) = &point.reverse {
            let rates = [back.bandwidth_bits_per_sec, back.messages_per_sec];
            bandwidth_row(text, "reverse", Some(back.messages), rates, Some(&back.latency_ns));
            let total = [point.total_bandwidth_bits_per_sec(), point.total_messages_per_sec()];
            bandwidth_row(text, "together", None, total.map(Option::unwrap_or_default), None);
        }
    }
    let kind = points[0].latency_ns.kind;
    let _ = writeln!(text, "1 Gb = 1e9 bits. Latencies are {kind}, under this load.");
    points.iter().for_each(|point| bandwidth_notes(text, point));
}

fn bandwidth_row(
    text: &mut String,
    label: &str,
    messages: Option<u64>,
    [bits_per_sec, messages_per_sec]: [f64; 2],
    latency: Option<&LatencySummary>,
) {
    let messages = messages.map_or(String::new(), |messages| messages.to_string());
    let _ = write!(
        text,
        "{label:>10} {messages:>13} {:>15.3} {:>13.6}",
        bits_per_sec / 1e9,
        messages_per_sec / 1e6
    );
    if let Some(latency) = latency {
        for quantile in [latency.p50, latency.p99, latency.p99_9, Some(latency.max)] {
            let _ = write!(text, " {:>11}", us(quantile));
        }
    }
    text.push('\n');
}

/// What concerns one size and has no column.
fn bandwidth_notes(text: &mut String, point: &Point) {
    let size = point.msg_bytes;
    if let Some(pace) = &point.pace {
        pace_lines(text, &size.to_string(), pace);
    }
    if let Some(counts) = &point.counts
        && let Some(lost) = counts.lost()
    {
        let sent = counts.requester_sent + counts.responder_sent;
        let _ = writeln!(text, "{size}: {lost} of {sent} messages lost");
    }
    if let Some(nic) = &point.nic_time {
        nic_line(text, &size.to_string(), nic);
    }
}

fn pace_lines(text: &mut String, size: &str, pace: &PaceReport) {
    let _ = writeln!(
        text,
        "{size}: asked for {:.0} messages/s, achieved {:.0}; {} posted late, at worst by {} us",
        pace.asked_messages_per_sec,
        pace.achieved_messages_per_sec,
        pace.late_messages,
        us(Some(pace.max_lateness_ns.get()))
    );
    for probe in &pace.probes {
        let held = if probe.held { "held" } else { "did not hold" };
        let _ = writeln!(
            text,
            "{size}: tried {:.0} messages/s: achieved {:.0}, p99 {} us, {held}",
            probe.asked_messages_per_sec,
            probe.achieved_messages_per_sec,
            us(probe.p99_ns)
        );
    }
}

fn nic_line(text: &mut String, size: &str, nic: &NicTime) {
    let of = |latency: &LatencySummary| {
        format!("p50 {} p99 {} max {} us", us(latency.p50), us(latency.p99), us(Some(latency.max)))
    };
    let _ = writeln!(
        text,
        "{size}: {}: {}; {}: {}; the clocks compare to {:.0} ns",
        nic.nic_latency_ns.kind,
        of(&nic.nic_latency_ns),
        nic.software_latency_ns.kind,
        of(&nic.software_latency_ns),
        nic.correlation_ns
    );
}

fn latency(text: &mut String, points: &[Point]) {
    let _ = writeln!(
        text,
        "\n{:>10} {:>13} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}",
        "bytes", "exchanges", "min us", "p50 us", "mean us", "p99 us", "p99.9 us", "p99.99 us", "max us"
    );
    let mut has_completions = false;
    for point in points {
        latency_row(text, &point.msg_bytes.to_string(), &point.latency_ns);
        if let Some(completion) = &point.completion_latency_ns {
            latency_row(text, "own CQE", completion);
            has_completions = true;
        }
    }
    let kind = points[0].latency_ns.kind;
    let _ = writeln!(text, "Latencies are {kind}. A dash: too few samples for that percentile.");
    if has_completions {
        let _ = writeln!(text, "own CQE: the same messages, post to completion at the requester.");
    }
}

fn latency_row(text: &mut String, label: &str, latency: &LatencySummary) {
    let _ = writeln!(
        text,
        "{label:>10} {:>13} {:>11} {:>11} {:>11.3} {:>11} {:>11} {:>11} {:>11}",
        latency.count,
        us(Some(latency.min)),
        us(latency.p50),
        latency.mean / 1e3,
        us(latency.p99),
        us(latency.p99_9),
        us(latency.p99_99),
        us(Some(latency.max)),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample::{self, golden};

    #[test]
    fn a_bandwidth_table_has_what_a_loaded_run_measured() {
        golden("run-bandwidth.txt", &render(&sample::bandwidth()));
        golden("run-everything.txt", &render(&sample::everything()));
    }

    #[test]
    fn a_latency_table_has_the_own_completions() {
        golden("run-latency.txt", &render(&sample::latency()));
    }
}
