//! The kernel's list format for CPUs and nodes: `0-3,8,10-15`.
//!
//! Also the stepped form (`0-15:2/4`) that the kernel accepts on its command line, since that text is what people copy.

use std::{fmt::Write, ops::RangeInclusive};

/// The largest number a list may name. Far above any kernel's NR_CPUS; it bounds what a hostile text can allocate.
const MAX_ID: u32 = 65_535;

/// Why a text is no list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError(String);

impl std::fmt::Display for ListError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ListError {}

/// The numbers of a list, ascending and each once. An empty text is an empty list: the kernel prints one so.
pub fn parse(text: &str) -> Result<Vec<u32>, ListError> {
    let mut ids = Vec::new();
    if text.trim().is_empty() {
        return Ok(ids);
    }
    for part in text.trim().split(',') {
        parse_part(part.trim(), &mut ids)
            .map_err(|why| ListError(format!("list `{text}`: `{part}` {why}")))?;
        if ids.len() > 2 * MAX_ID as usize {
            ids.sort_unstable();
            ids.dedup();
        }
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// One element: `5`, `5-9`, or `5-9:2/4` (of every 4, the first 2).
fn parse_part(part: &str, ids: &mut Vec<u32>) -> Result<(), &'static str> {
    let (range, step) = match part.split_once(':') {
        None => (part, None),
        Some((range, step)) => (range, Some(step)),
    };
    let range = parse_range(range)?;
    let Some(step) = step else {
        ids.extend(range);
        return Ok(());
    };
    let (used, group) = step.split_once('/').ok_or("has a step that is not of the form used/group")?;
    let (used, group) = (parse_id(used)?, parse_id(group)?);
    if used == 0 || used > group {
        return Err("has a step that uses none, or more than there are, of its group");
    }
    let first = *range.start();
    ids.extend(range.filter(|id| (id - first) % group < used));
    Ok(())
}

fn parse_range(text: &str) -> Result<RangeInclusive<u32>, &'static str> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = parse_id(first)?..=parse_id(last)?;
    if range.is_empty() { Err("goes backwards") } else { Ok(range) }
}

fn parse_id(text: &str) -> Result<u32, &'static str> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let id = text.parse().ok().filter(|_| digits).ok_or("is not a number or a range of numbers")?;
    if id > MAX_ID { Err("is beyond what any kernel numbers") } else { Ok(id) }
}

/// The numbers as the kernel prints them: ascending, runs as `first-last`.
pub fn format(ids: &[u32]) -> String {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    let mut text = String::new();
    for run in ids.chunk_by(|a, b| a + 1 == *b) {
        let comma = if text.is_empty() { "" } else { "," };
        let (first, last) = (run[0], run[run.len() - 1]);
        // Writing to a String cannot fail.
        let _ = if first == last {
            write!(text, "{comma}{first}")
        } else {
            write!(text, "{comma}{first}-{last}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_as_the_kernel_prints_them() {
        assert_eq!(parse("0-3,8,10-11"), Ok(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse("0\n"), Ok(vec![0]));
        assert_eq!(parse("\n"), Ok(vec![]));
        assert_eq!(parse("4,2,2-3"), Ok(vec![2, 3, 4]));
        assert_eq!(parse("0-15:2/4"), Ok(vec![0, 1, 4, 5, 8, 9, 12, 13]));
    }

    #[test]
    fn what_is_no_list_is_named() {
        for text in [
            "3-1",
            "a",
            "1,,2",
            "1-",
            "-1",
            "+1",
            "1-2-3",
            "0-7:0/4",
            "0-7:5/4",
            "0-7:2",
            "0-4294967295",
            ",",
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_set_survives_the_round_trip(ids in proptest::collection::btree_set(0u32..2048, 0..200)) {
            let ids: Vec<u32> = ids.into_iter().collect();
            prop_assert_eq!(parse(&format(&ids)), Ok(ids));
        }

        #[test]
        fn no_text_panics(text in ".*") {
            let _ = parse(&text);
        }

        #[test]
        fn no_list_like_text_panics(text in "[0-9,:/ -]{0,40}") {
            if let Ok(ids) = parse(&text) {
                prop_assert_eq!(parse(&format(&ids)), Ok(ids));
            }
        }
    }
}
