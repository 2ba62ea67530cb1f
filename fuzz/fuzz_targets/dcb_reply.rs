//! Any bytes that the kernel might answer to a request over netlink are an answer or an error; priorities are those there are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use nic_control::fuzzing::dcb_reply;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some(dcb)) = dcb_reply(bytes) {
        let enabled = dcb.pfc.map(|pfc| pfc.enabled).unwrap_or_default();
        assert!(enabled.iter().all(|priority| *priority < 8), "{enabled:?}");
    }
});
