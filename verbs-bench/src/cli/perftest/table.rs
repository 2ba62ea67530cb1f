//! perftest's output: its header, its columns at its places, and below them what perftest does not measure.
//!
//! Scripts that cut columns keep working: rows begin with the same columns in the same units. What has no value is a dash.

use std::fmt::Write as _;

use schema::{LatencySummary, Op, Point, RunRecord, Stop, Test, Wait};

use super::print::{Output, Print};

const LINE: &str =
    "---------------------------------------------------------------------------------------\n";
const MIB: f64 = (1 << 20) as f64;

/// Unit of the bandwidth columns.
pub(super) fn unit(gbits: bool) -> &'static str {
    if gbits { "Gb/sec" } else { "MiB/sec" }
}

/// Average bandwidth of both directions in that unit.
pub(super) fn bandwidth(point: &Point, gbits: bool) -> f64 {
    in_unit(point.total_bandwidth_bits_per_sec().unwrap_or_default(), gbits)
}

fn in_unit(bits_per_sec: f64, gbits: bool) -> f64 {
    if gbits { bits_per_sec / 1e9 } else { bits_per_sec / 8.0 / MIB }
}

/// Messages of both directions, millions per second.
pub(super) fn message_rate(point: &Point) -> f64 {
    point.total_messages_per_sec().unwrap_or_default() / 1e6
}

/// The whole text; ends with a newline.
pub(super) fn render(record: &RunRecord, print: &Print, notes: &[String]) -> String {
    let mut text = String::new();
    match print.output {
        Output::Table => full(&mut text, record, print, notes),
        Output::Bandwidth => bare(&mut text, record, |point| bandwidth(point, print.gbits)),
        Output::MessageRate => bare(&mut text, record, message_rate),
        Output::Latency => bare(&mut text, record, |point| point.latency_ns.mean / 1e3),
    }
    text
}

fn bare(text: &mut String, record: &RunRecord, value: impl Fn(&Point) -> f64) {
    for point in &record.points {
        let _ = writeln!(text, "{:.6}", value(point));
    }
}

fn full(text: &mut String, record: &RunRecord, print: &Print, notes: &[String]) {
    header(text, record, notes);
    if record.points.is_empty() {
        return;
    }
    if print.histogram {
        record.points.iter().for_each(|point| histogram(text, point));
    }
    match (record.spec.test, record.spec.stop) {
        (Test::Bandwidth, _) => bandwidth_rows(text, record, print),
        (Test::Latency, Stop::Iterations(_)) => latency_rows(text, &record.points),
        (Test::Latency, Stop::DurationNs(_)) => duration_rows(text, &record.points),
    }
    text.push_str(LINE);
    footer(text, record);
}

fn on_off(on: bool) -> &'static str {
    if on { "ON" } else { "OFF" }
}

fn title(record: &RunRecord) -> String {
    let spec = &record.spec;
    let verb = match spec.op {
        Op::Write => "RDMA_Write",
        Op::WriteImm => "RDMA_Write_imm",
        Op::Read => "RDMA_Read",
        Op::Send => "Send",
        Op::FetchAdd => "Atomic FETCH_AND_ADD",
        Op::CompareSwap => "Atomic CMP_AND_SWAP",
    };
    match spec.test {
        Test::Latency => format!("{verb} Latency Test"),
        Test::Bandwidth => {
            let bidirectional = if spec.bidirectional { "Bidirectional " } else { "" };
            let post_list = if spec.post_list > 1 { "Post List " } else { "" };
            format!("{verb} {bidirectional}{post_list}BW Test")
        }
    }
}

fn header(text: &mut String, record: &RunRecord, notes: &[String]) {
    let spec = &record.spec;
    let side = record.requester.as_ref();
    let granted = record.granted.as_ref();
    let device = side.map_or(spec.requester.device.as_str(), |side| side.device.name.as_str());
    text.push_str(LINE);
    let _ = writeln!(text, "                    {}", title(record));
    if spec.wait != Wait::Poll {
        let _ = writeln!(text, " Test with events. Using {device}_comp{}", spec.comp_vector);
    }
    let _ = writeln!(text, " Dual-port       : OFF\t\tDevice         : {device}");
    let _ = writeln!(text, " Number of qps   : {}\t\tThreads        : {}", spec.qp_count, spec.threads);
    let transport = spec.transport.word().to_uppercase();
    let _ = writeln!(text, " Connection type : {transport}\t\tUsing SRQ      : OFF");
    let domains = granted.map_or("-", |granted| on_off(granted.thread_domains));
    let relaxed = on_off(spec.relaxed_ordering);
    let _ = writeln!(text, " PCIe relax order: {relaxed}\t\tLock-free      : {domains}");
    let extended = on_off(spec.post_api == schema::PostApi::Extended);
    let _ = writeln!(text, " ibv_wr* API     : {extended}");
    let _ = writeln!(text, " TX depth        : {}", spec.tx_depth);
    if spec.post_list > 1 {
        let _ = writeln!(text, " Post List       : {}", spec.post_list);
    }
    if spec.op.consumes_receives() {
        let _ = writeln!(text, " RX depth        : {}", spec.rx_depth);
    }
    if spec.test == Test::Bandwidth {
        let _ = writeln!(text, " CQ Moderation   : {}", spec.signal_interval);
        let _ = writeln!(text, " CQE Poll Batch  : {}", spec.cq_poll_batch);
    }
    if let Some(granted) = granted {
        let _ = writeln!(text, " Mtu             : {}[B]", granted.path_mtu);
    }
    if let Some(side) = side {
        let _ = writeln!(text, " Link type       : {}", side.device.link_layer);
        if let Some(gid) = &side.gid {
            let _ = writeln!(text, " GID index       : {}\t\t{} {}", gid.index, gid.gid, gid.gid_type);
        }
    }
    match (spec.op.fetches(), granted) {
        (true, Some(granted)) => {
            let reads = granted.outstanding_reads.map_or("-".into(), |reads| reads.to_string());
            let _ = writeln!(text, " Outstand reads  : {reads}");
        }
        (true, None) => {}
        (false, _) => {
            let _ = writeln!(text, " Max inline data : {}[B]", spec.max_inline_bytes);
        }
    }
    let cm = spec.connect_by == schema::ConnectBy::RdmaCm;
    let _ = writeln!(text, " rdma_cm QPs\t : {}", on_off(cm));
    let _ = writeln!(text, " Data ex. method : Ethernet");
    if let Some(node) = side.and_then(|side| side.placement.memory_node_bound) {
        let _ = writeln!(text, " NUMA node       : {node}");
    }
    let fabric =
        (record.fabric == schema::Fabric::Soft).then(|| format!("simulated: {}", record.fabric_label));
    for note in fabric.iter().chain(notes) {
        let _ = writeln!(text, " Note            : {note}");
    }
    text.push_str(LINE);
}

fn bandwidth_rows(text: &mut String, record: &RunRecord, print: &Print) {
    let unit = unit(print.gbits);
    let _ =
        writeln!(text, " #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]");
    for point in &record.points {
        bandwidth_row(text, point, bandwidth(point, print.gbits), message_rate(point), print.gbits);
    }
    for point in record.points.iter().filter(|_| print.both) {
        if let Some(back) = &point.reverse {
            let bytes = point.msg_bytes.get();
            let there = in_unit(point.bandwidth_bits_per_sec.unwrap_or_default(), print.gbits);
            let _ = writeln!(text, " {bytes} B requester to responder: {there:.2} {unit}");
            let back = in_unit(back.bandwidth_bits_per_sec, print.gbits);
            let _ = writeln!(text, " {bytes} B responder to requester: {back:.2} {unit}");
        }
    }
}

fn bandwidth_row(text: &mut String, point: &Point, average: f64, rate: f64, gbits: bool) {
    let (bytes, messages) = (point.msg_bytes.get(), point.messages);
    let _ = if gbits && average < 0.1 {
        writeln!(
            text,
            " {bytes:<7}    {messages}           {:<7}            {average:<7.6}            {rate:<7.6}",
            "-"
        )
    } else {
        writeln!(
            text,
            " {bytes:<7}    {messages:<10}       {:<7}            {average:<7.2}\t\t     {rate:<7.6}",
            "-"
        )
    };
}

/// Microseconds with two decimals; a dash where too few samples lie beyond the quantile.
fn us(ns: Option<u64>) -> String {
    ns.map_or("-".into(), |ns| format!("{:.2}", ns as f64 / 1e3))
}

fn latency_rows(text: &mut String, points: &[Point]) {
    let _ = writeln!(
        text,
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
    );
    for point in points {
        let latency = &point.latency_ns;
        let _ = writeln!(
            text,
            " {:<7} {}          {:<7}        {:<7}      {:<7}  \t       {:<7.2}     \t{:<7}\t\t{:<7} \t\t{:<7}",
            point.msg_bytes.get(),
            point.messages,
            us(Some(latency.min)),
            us(Some(latency.max)),
            us(latency.p50),
            latency.mean / 1e3,
            stdev(point),
            us(latency.p99),
            us(latency.p99_9),
        );
    }
}

/// perftest's columns of a run by time, and after them the percentiles, which it does not have then.
fn duration_rows(text: &mut String, points: &[Point]) {
    let _ = writeln!(
        text,
        " #bytes        #iterations       t_avg[usec]    tps average    t_min[usec]    t_max[usec]  t_typical[usec]   99% percentile[usec]   99.9% percentile[usec]"
    );
    for point in points {
        let latency = &point.latency_ns;
        let per_second = point.messages as f64 / (point.duration_ns.get() as f64 / 1e9);
        let _ = writeln!(
            text,
            " {:<7}       {}            {:<7.2}        {per_second:<7.2}        {:<7}        {:<7}      {:<7}           {:<7}                {:<7}",
            point.msg_bytes.get(),
            point.messages,
            latency.mean / 1e3,
            us(Some(latency.min)),
            us(Some(latency.max)),
            us(latency.p50),
            us(latency.p99),
            us(latency.p99_9),
        );
    }
}

fn stdev(point: &Point) -> String {
    point.histogram.decode().map_or("-".into(), |histogram| format!("{:.2}", histogram.stdev() / 1e3))
}

/// Upper bound of each bucket that holds samples, and how many.
fn histogram(text: &mut String, point: &Point) {
    let _ = writeln!(text, "# {} B: usec, samples", point.msg_bytes.get());
    if let Ok(histogram) = point.histogram.decode() {
        for bucket in histogram.iter_recorded() {
            let upper = bucket.value_iterated_to() as f64 / 1e3;
            let _ = writeln!(text, "{upper}, {}", bucket.count_since_last_iteration());
        }
    }
}

/// What perftest has no column for.
fn footer(text: &mut String, record: &RunRecord) {
    if record.spec.test == Test::Bandwidth {
        let _ = writeln!(
            text,
            " BW peak: not measured. It is the extreme of all pairs of messages, and grows with their number."
        );
    }
    for point in &record.points {
        let bytes = point.msg_bytes.get();
        if record.spec.test == Test::Bandwidth {
            let _ = writeln!(text, " {bytes} B latency under this load, {}", summary(&point.latency_ns));
        }
        if let Some(completion) = &point.completion_latency_ns {
            let _ = writeln!(text, " {bytes} B own completions, {}", summary(completion));
        }
        if let Some(pace) = &point.pace {
            let _ = writeln!(
                text,
                " {bytes} B asked {:.0} messages/s, achieved {:.0}; {} posted late, at worst by {} us",
                pace.asked_messages_per_sec,
                pace.achieved_messages_per_sec,
                pace.late_messages,
                us(Some(pace.max_lateness_ns.get()))
            );
        }
        if let Some(lost) = point.counts.and_then(|counts| counts.lost()).filter(|lost| *lost > 0) {
            let _ = writeln!(text, " {bytes} B lost: {lost} messages were sent and never arrived");
        }
    }
}

fn summary(latency: &LatencySummary) -> String {
    format!(
        "{}: p50 {} p99 {} p99.9 {} max {} us",
        latency.kind,
        us(latency.p50),
        us(latency.p99),
        us(latency.p99_9),
        us(Some(latency.max))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample::{self, golden};

    fn column(text: &str, bytes: &str, index: usize) -> String {
        let row = text.lines().find(|line| line.split_whitespace().next() == Some(bytes)).expect("a row");
        row.split_whitespace().nth(index).expect("a column").to_owned()
    }

    #[test]
    fn scripts_that_cut_columns_find_perftests() {
        let print = Print::default();
        let notes = vec!["CQ moderation 1".to_owned()];
        let text = render(&sample::bandwidth(), &print, &notes);
        golden("perftest-bandwidth.txt", &text);
        assert_eq!(column(&text, "64", 1), "10000000");
        assert_eq!(column(&text, "64", 2), "-");
        assert_eq!(column(&text, "64", 3), "610.35", "MiB/s: 64 * 1e7 / 2^20");
        assert_eq!(column(&text, "64", 4), "10.000000");
        let text = render(&sample::bandwidth(), &Print { gbits: true, ..print.clone() }, &[]);
        assert!(text.contains("BW average[Gb/sec]"));
        assert_eq!(column(&text, "64", 3), "5.12");
        let mut record = sample::latency();
        golden("perftest-latency-by-time.txt", &render(&record, &print, &[]));
        record.spec.stop = Stop::Iterations(11_000);
        let text = render(&record, &print, &[]);
        golden("perftest-latency.txt", &text);
        assert_eq!(column(&text, "8", 4), "0.20", "t_typical");
    }

    #[test]
    fn both_directions_are_summed_as_perftest_sums_them() {
        let print = Print { both: true, ..Print::default() };
        let text = render(&sample::everything(), &print, &[]);
        golden("perftest-everything.txt", &text);
        assert_eq!(column(&text, "1024", 4), "0.499000");
    }

    #[test]
    fn one_bare_number_is_one_bare_number() {
        let bare = |output| render(&sample::latency(), &Print { output, ..Print::default() }, &[]);
        assert_eq!(bare(Output::Latency), "0.201800\n");
        let bandwidth = Print { output: Output::MessageRate, ..Print::default() };
        assert_eq!(render(&sample::bandwidth(), &bandwidth, &[]), "10.000000\n0.180000\n");
    }
}
