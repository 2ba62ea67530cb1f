use pretty_assertions::assert_eq;
use proptest::prelude::*;
use schema::{Bytes, Metric};

use super::*;
use crate::import::Measurement;

/// A table in duration mode, with a warning between header and row. Addresses are of the ranges for documentation.
const BANDWIDTH: &str = include_str!("samples/write_bw_gbits.txt");
/// A sweep, as releases before 2024 labelled it.
const SWEEP: &str = include_str!("samples/write_bw_sweep.txt");
/// A latency table.
const LATENCY: &str = include_str!("samples/write_lat.txt");
/// What releases before 2024 wrote for JSON.
const BROKEN: &str = include_str!("samples/write_lat_before_2024.json");
/// JSON of a release of today.
const JSON: &str = include_str!("samples/write_bw.json");

fn one(text: &str) -> Measurement {
    let log = read(text).unwrap();
    assert_eq!(log.measurements.len(), 1, "{log:?}");
    log.measurements.into_iter().next().unwrap()
}

fn value(measurement: &Measurement, metric: Metric) -> Option<f64> {
    measurement.values.iter().find(|(of, _)| *of == metric).and_then(|(_, value)| *value)
}

#[test]
fn a_table_in_duration_mode_with_a_warning_inside() {
    let read = one(BANDWIDTH);
    assert_eq!(read.workload, "write_bw");
    assert_eq!(read.variant, "rc-q1-t128-bidirectional");
    assert_eq!(read.msg_bytes, Bytes(65_536));
    assert_eq!(read.requester.device, "mlx5_0");
    assert_eq!(read.line, 21);
    assert_eq!(value(&read, Metric::MessageRate), Some(186_950.0));
    // The rate of messages has more digits than 98.02 Gb/s.
    let bits = value(&read, Metric::Bandwidth).unwrap();
    assert!((bits - 186_950.0 * 65_536.0 * 8.0).abs() < 1.0, "{bits}");
    assert_eq!(read.configuration.0["perftest.mtu"], "4096");
    assert_eq!(read.facts["bw_peak"], "0.00");
    assert_eq!(read.facts["iterations"], "560845");
}

#[test]
fn a_sweep_is_a_measurement_per_size_and_mb_are_mib() {
    let log = read(SWEEP).unwrap();
    let sizes: Vec<u64> = log.measurements.iter().map(|read| read.msg_bytes.get()).collect();
    assert_eq!(sizes, [2, 4096, 65_536]);
    let largest = value(&log.measurements[2], Metric::Bandwidth).unwrap();
    assert_eq!(largest, 11_032.72 * 1_048_576.0 * 8.0);
    assert!(log.remarks.is_empty(), "{:?}", log.remarks);
}

#[test]
fn of_bandwidth_and_rate_the_one_with_more_digits_gives_both() {
    let slow = SWEEP.replace(
        "65536      10000          11032.88           11032.72             0.176524",
        "1048576 10 9.41 9.40 0.000009",
    );
    let log = read(&slow).unwrap();
    let large = &log.measurements[2];
    assert_eq!(value(large, Metric::Bandwidth), Some(9.40 * 1_048_576.0 * 8.0));
    assert_eq!(value(large, Metric::MessageRate), Some(9.40));
    let small = value(&log.measurements[0], Metric::Bandwidth).unwrap();
    assert!((small - 6_978_436.0 * 16.0).abs() < 1e-3, "{small}");
}

#[test]
fn a_percentile_with_too_few_samples_is_left_out_and_said() {
    let log = read(LATENCY).unwrap();
    let read = &log.measurements[0];
    assert_eq!(read.workload, "write_lat");
    assert_eq!(value(read, Metric::P50), Some(1_030.0));
    assert_eq!(value(read, Metric::P99), Some(1_120.0));
    assert_eq!(value(read, Metric::P99_9), None);
    assert!(log.remarks[0].what.starts_with("p99.9 of 3.65 us is left out"), "{:?}", log.remarks);
    assert_eq!(read.facts["t_max_usec"], "3.65");
}

#[test]
fn what_is_no_json_is_read_as_it_was_printed() {
    let read = one(BROKEN);
    assert_eq!(read.workload, "write_lat");
    assert_eq!(read.msg_bytes, Bytes(128));
    assert_eq!(read.requester.device, "rxe0");
    assert_eq!(value(&read, Metric::P50), Some(2_420.0));
    assert_eq!(value(&read, Metric::P99), Some(2_470.0));
    assert_eq!(read.facts["t_max"], "5.39");
    assert_eq!(read.configuration.0["perftest.mtu"], "1024");
}

#[test]
fn json_is_read_with_the_unit_that_its_rate_of_messages_tells() {
    let gigabits = one(JSON);
    let bits = value(&gigabits, Metric::Bandwidth).unwrap();
    assert!((bits / 98.02e9 - 1.0).abs() < 1e-3, "{bits}");
    let mebibytes = one(&JSON.replace("98.02", "11684.81"));
    let same = value(&mebibytes, Metric::Bandwidth).unwrap();
    assert!((same / bits - 1.0).abs() < 1e-3, "{same}");
    let refused = read(&JSON.replace("98.02", "1.5")).unwrap_err();
    assert!(refused.why.contains("in no unit that agrees with MsgRate"), "{refused}");
    // The same document on one line.
    let value: serde_json::Value = serde_json::from_str(JSON).unwrap();
    assert_eq!(one(&value.to_string()).values, gigabits.values);
}

#[test]
fn a_table_and_its_json_are_one_series() {
    let (table, json) =
        (one(BANDWIDTH), one(&JSON.replace("RDMA_Write_BW_Test", "RDMA_Write_Bidirectional_BW_Test")));
    assert_eq!(
        (table.workload, table.variant, table.msg_bytes),
        (json.workload, json.variant, json.msg_bytes)
    );
}

#[test]
fn what_is_no_measurement_is_a_failed_run_and_no_zero() {
    for printed in ["inf", "-nan", "0.00", "-12.30"] {
        let log = read(&BANDWIDTH.replace("98.02", printed)).unwrap();
        let read = &log.measurements[0];
        assert!(read.values.iter().all(|(_, value)| value.is_none()), "{read:?}");
        assert!(read.failure.as_deref().unwrap().contains("which is no measurement"), "{read:?}");
        assert_eq!(log.remarks.len(), 1);
    }
}

#[test]
fn several_tests_in_one_log_and_one_that_did_not_end() {
    let cut: String = BANDWIDTH.lines().take(15).map(|line| format!("{line}\n")).collect();
    let log = read(&format!("+ ib_write_bw -d mlx5_0\n{LATENCY}\n{cut}\n{SWEEP}")).unwrap();
    assert_eq!(log.measurements.len(), 1 + 3);
    assert!(
        log.remarks.iter().any(|remark| remark.what.contains("did not come to its end")),
        "{:?}",
        log.remarks
    );
}

#[test]
fn a_line_that_is_not_understood_refuses_the_file_by_its_number() {
    let refused = |text: &str| read(text).unwrap_err().to_string();
    let torn = BANDWIDTH.replace("98.02  ", "98.02 oops");
    assert!(refused(&torn).starts_with("line 21: `65536"), "{}", refused(&torn));
    let word = BANDWIDTH.replace("560845", "many--");
    assert_eq!(refused(&word), "line 21: `many--` is no number; if the line is not perftest's, take it out");
    assert!(refused("hello\n").starts_with("line 1: no output of perftest is in this file"));
    assert!(refused(" #bytes #iterations\n").starts_with("line 1: a table without a title"));
    assert!(refused("{\ntest_info: {\nwhat is this\n").starts_with("line 3: `what is this`"));
    assert!(refused("{\"a\": {\"b\": 1}}").starts_with("line 1: no `test` in `test_info`"));
    assert!(refused(&BROKEN.replace("t_avg: 2.42", "t_ave: 2.42")).contains("line 24: `t_ave` in results"));
    assert!(
        refused(&BROKEN.replace("t_typical: 2.42", "t_typical: quick"))
            .contains("t_typical: `quick` is no number")
    );
    assert!(refused("").starts_with("line 1"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_at_one_of_its_lines(text in "\\PC{0,200}(\n\\PC{0,60}){0,8}") {
        if let Err(refused) = read(&text) {
            prop_assert!(refused.line >= 1 && refused.line <= text.lines().count().max(1));
        }
    }

    #[test]
    fn a_torn_log_is_read_or_refused(at in 0usize..2_000, with in "[ a-z0-9:{}\\[\\].,#-]{0,12}") {
        for text in [BANDWIDTH, SWEEP, LATENCY, BROKEN, JSON] {
            let at = at.min(text.len());
            if text.is_char_boundary(at) {
                let torn = format!("{}{with}{}", &text[..at], &text[at..]);
                for measurement in read(&torn).map_or(Vec::new(), |log| log.measurements) {
                    let good = |(_, value): &(Metric, Option<f64>)| value.is_none_or(|value| value.is_finite() && value > 0.0);
                    prop_assert!(measurement.values.iter().all(good));
                }
                let _ = read(&text[..at]);
            }
        }
    }
}
