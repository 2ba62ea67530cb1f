//! Any text is a link model, a fault, or an error; what was read prints as a text that reads back as the same.
#![no_main]

use std::{fmt, str::FromStr};

use libfuzzer_sys::fuzz_target;
use schema::{Jitter, SoftFault, SoftModel};

fn round_trip<T: FromStr<Err: fmt::Debug> + fmt::Display + fmt::Debug + PartialEq>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string().parse::<T>().expect("what we print we read"), value);
    }
}

fuzz_target!(|text: &str| {
    round_trip::<SoftModel>(text);
    round_trip::<Jitter>(text);
    let _ = text.parse::<SoftFault>();
});
