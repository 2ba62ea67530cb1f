//! Any text is a quantity or an error; a quantity prints as a text that reads back as the same number.
#![no_main]

use std::{fmt, str::FromStr};

use libfuzzer_sys::fuzz_target;
use schema::{BitsPerSec, Bytes, CpuChoice, Nanos, NodeChoice};

fn round_trip<T: FromStr<Err: fmt::Debug> + fmt::Display + fmt::Debug + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string().parse::<T>().expect("what we print we read"), value);
    }
}

fuzz_target!(|text: &str| {
    round_trip::<Bytes>(text);
    round_trip::<Nanos>(text);
    round_trip::<BitsPerSec>(text);
    round_trip::<CpuChoice>(text);
    round_trip::<NodeChoice>(text);
});
