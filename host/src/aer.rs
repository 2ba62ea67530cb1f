//! Errors of a PCIe function since boot, as advanced error reporting counts them.

use crate::{sysroot::Sysroot, value::Value};

/// The classes of errors, mildest first, as the files are called.
pub const CLASSES: [&str; 3] = ["correctable", "nonfatal", "fatal"];

/// Where the errors of a class lie.
pub fn path(folder: &str, class: &str) -> String {
    format!("{folder}/aer_dev_{class}")
}

/// The errors of a class that have happened, by name; empty if none has. Absent where the function does not report.
pub fn errors(sysroot: &Sysroot, folder: &str, class: &str) -> Value<Vec<(String, u64)>> {
    let path = path(folder, class);
    sysroot.read(&path).parse(|text| parse(&text).map_err(|why| format!("{path}: {why}")))
}

/// Lines of a name and a count; the total is left out.
fn parse(text: &str) -> Result<Vec<(String, u64)>, String> {
    let mut errors = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let counted = line.trim().rsplit_once(char::is_whitespace);
        let (name, count) = counted.ok_or_else(|| format!("`{line}` is no name and count"))?;
        let count: u64 = count.parse().map_err(|error| format!("`{line}`: {error}"))?;
        if count > 0 && !name.starts_with("TOTAL_") {
            errors.push((name.trim().to_owned(), count));
        }
    }
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_happened_is_named_and_the_total_is_not_counted_twice() {
        let text = "RxErr 0\nBadTLP 3\nRollover 0\nTOTAL_ERR_COR 3\n";
        assert_eq!(parse(text), Ok(vec![("BadTLP".into(), 3)]));
        assert_eq!(parse(""), Ok(vec![]));
        assert!(parse("BadTLP many").is_err() && parse("BadTLP").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,80}") {
            let _ = parse(&text);
        }
    }
}
