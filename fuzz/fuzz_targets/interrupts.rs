//! Any text is a table or an error; no line has more counts than the header has CPUs.
#![no_main]

use host::Interrupts;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(table) = Interrupts::parse(text) {
        assert!(table.vectors.iter().all(|vector| (1..=table.cpus.len()).contains(&vector.counts.len())));
    }
});
