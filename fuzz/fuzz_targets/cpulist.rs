//! Any text is a list or an error; a list prints as a text that reads back as the same list.
#![no_main]

use host::cpulist;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(ids) = cpulist::parse(text) {
        assert_eq!(cpulist::parse(&cpulist::format(&ids)).as_ref(), Ok(&ids));
    }
});
