//! Any line is an order, a report or an error; what was understood is written as it was read.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rdma_harness::agent::protocol::{Order, Report};

fuzz_target!(|line: &[u8]| {
    if let Ok(order) = serde_json::from_slice::<Order>(line) {
        let text = serde_json::to_vec(&order).expect("an order is JSON");
        assert_eq!(serde_json::from_slice::<Order>(&text).expect("its own JSON"), order);
    }
    if let Ok(report) = serde_json::from_slice::<Report>(line) {
        let text = serde_json::to_vec(&report).expect("a report is JSON");
        assert_eq!(serde_json::from_slice::<Report>(&text).expect("its own JSON"), report);
    }
});
