//! Any configuration space is read to its end: a chain of capabilities that goes in circles ends, and sizes are those that
//! three bits can say.
#![no_main]

use host::{Sysroot, Value, pcie};
use libfuzzer_sys::fuzz_target;
use rdma_harness_fuzz::{put, tree};

const CONFIG: &str = "/sys/bus/pci/devices/0000:c1:00.0/config";

thread_local!(static TREE: Sysroot = tree());

fuzz_target!(|space: &[u8]| {
    TREE.with(|tree| {
        put(tree, CONFIG, space);
        if let Value::Known(control) = pcie::device_control(tree, CONFIG) {
            assert!(space.len() > 64, "capabilities lie beyond the header");
            for bytes in [control.max_payload_bytes(), control.max_read_request_bytes()] {
                assert!(bytes.is_power_of_two() && (128..=16_384).contains(&bytes), "{bytes}");
            }
        }
    });
});
