//! Any text is read as a log or refused at one of its lines; what is read is a measurement, and the same text reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rdma_harness::import::{Log, Refusal, csv, perftest};

fn check(text: &str, read: impl Fn(&str) -> Result<Log, Refusal>) {
    let first = read(text);
    assert_eq!(first, read(text));
    match first {
        Ok(log) => {
            let values = log.measurements.iter().flat_map(|read| &read.values);
            assert!(values.filter_map(|(_, value)| *value).all(|value| value.is_finite() && value > 0.0));
            assert!(log.measurements.iter().all(|read| read.line >= 1 && read.msg_bytes.get() > 0));
        }
        Err(refused) => assert!(refused.line >= 1 && !refused.why.is_empty()),
    }
}

fuzz_target!(|text: &str| {
    check(text, perftest::read);
    check(text, |text| csv::read(text, &[]));
});
