//! Any bytes are a histogram or an error; a histogram that was read encodes again with the same count and maximum.
#![no_main]

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use libfuzzer_sys::fuzz_target;
use schema::EncodedHistogram;

fuzz_target!(|bytes: &[u8]| {
    let stored = EncodedHistogram { hdr_v2_deflate_base64: BASE64.encode(bytes), saturated: 0 };
    if let Ok(histogram) = stored.decode() {
        let again = EncodedHistogram::encode(&histogram, 0).decode().expect("what we encode we decode");
        assert_eq!((again.len(), again.max()), (histogram.len(), histogram.max()));
    }
});
