//! Any bytes are a RunSpec or an error; one that was read survives the way to the peer and back, and its faults can be told.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schema::RunSpec;

fuzz_target!(|json: &[u8]| {
    if let Ok(spec) = serde_json::from_slice::<RunSpec>(json) {
        let sent = serde_json::to_vec(&spec).expect("a RunSpec is always JSON");
        let received: RunSpec = serde_json::from_slice(&sent).expect("what we send we receive");
        assert_eq!(received, spec);
        let _ = spec.faults();
    }
});
