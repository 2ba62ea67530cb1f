//! Sets of nodes as schedulers and parallel shells write them: `node[1-8,11]`, `rack[1-2]n[01-40]`, `127.0.0.[2-9]`.
//!
//! Of the crates for this, nodeset sorts what was written in an order and reads the group files of ClusterShell, which must
//! not decide what is measured here; hostlist panics at a large number, and hostlist-parser knows no underscore. What ranks
//! go by is the order as written.

use std::{collections::BTreeSet, ops::Range};

/// The most nodes of a set; a slip such as `node[1-99999999]` is refused before it is made.
const MOST: u64 = 1 << 14;

/// What is wrong with a set, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The text that is wrong, in bytes of the set.
    pub(super) span: Range<usize>,
    /// What is wrong with it, and what to write.
    pub(super) what: String,
}

/// The names of a set, in the order as written, the last bracket of a name counting fastest.
///
/// # Errors
/// When it is no set, names a node twice, or more than 16,384.
pub(super) fn expand(text: &str) -> Result<Vec<String>, Wrong> {
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    for span in elements(text)? {
        let room = MOST - names.len() as u64;
        for name in expand_element(text, span.clone(), room)? {
            if !seen.insert(name.clone()) {
                return wrong(span, format!("{name} is named twice"));
            }
            names.push(name);
        }
    }
    if names.is_empty() {
        return wrong(0..text.len(), "names no node; write for example node[1-8]");
    }
    Ok(names)
}

fn wrong<T>(span: Range<usize>, what: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { span, what: what.into() })
}

/// What commas and blanks outside of brackets part.
fn elements(text: &str) -> Result<Vec<Range<usize>>, Wrong> {
    let (mut elements, mut start, mut open) = (Vec::new(), 0, None);
    for (at, c) in text.char_indices() {
        match (c, open) {
            ('[', None) => open = Some(at),
            (']', Some(_)) => open = None,
            ('[', Some(_)) => return wrong(at..at + 1, "a bracket within a bracket"),
            (']', None) => return wrong(at..at + 1, "closes a bracket that was not opened"),
            (',' | ' ' | '\t' | '\n', None) => {
                elements.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    if let Some(at) = open {
        return wrong(at..text.len(), "is not closed by `]`");
    }
    elements.push(start..text.len());
    elements.retain(|span| !span.is_empty());
    Ok(elements)
}

fn expand_element(text: &str, span: Range<usize>, room: u64) -> Result<Vec<String>, Wrong> {
    let mut names = vec![String::new()];
    let mut rest = span.clone();
    if text[span.clone()].starts_with('-') {
        return wrong(span, "a name does not begin with a dash"); // ssh would take it for an option
    }
    while !rest.is_empty() {
        let part = &text[rest.clone()];
        let Some(inner) = part.strip_prefix('[') else {
            let length = part.find('[').unwrap_or(part.len());
            let literal = rest.start..rest.start + length;
            check_letters(text, literal.clone())?;
            names.iter_mut().for_each(|name| name.push_str(&text[literal.clone()]));
            rest.start = literal.end;
            continue;
        };
        let end = rest.start + 1 + inner.find(']').unwrap_or(inner.len());
        let indices = indices(text, rest.start + 1..end, room)?;
        if names.len() as u64 * indices.len() as u64 > room {
            return wrong(span, format!("names more than {MOST} nodes with what stands before"));
        }
        names =
            names.iter().flat_map(|name| indices.iter().map(move |index| format!("{name}{index}"))).collect();
        rest.start = end + 1;
    }
    Ok(names)
}

/// Names go to the command lines of ssh and srun.
fn check_letters(text: &str, span: Range<usize>) -> Result<(), Wrong> {
    let name = &text[span.clone()];
    if name.starts_with('@') {
        return wrong(span, "groups of ClusterShell are not read; name the nodes");
    }
    match name.char_indices().find(|(_, c)| !c.is_ascii_alphanumeric() && !"-_.:@%".contains(*c)) {
        None => Ok(()),
        Some((at, c)) => {
            let at = span.start + at;
            wrong(
                at..at + c.len_utf8(),
                format!("`{c}` is in no name of a node; a set is written as node[1-8,11]"),
            )
        }
    }
}

/// What stands in a bracket: numbers and ranges, with the zeros they are written with.
fn indices(text: &str, span: Range<usize>, room: u64) -> Result<Vec<String>, Wrong> {
    let mut indices = Vec::new();
    let mut at = span.start;
    for part in text[span.clone()].split(',') {
        let place = at..at + part.len();
        at = place.end + 1;
        let (range, step) = part.split_once('/').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let numbers = number(first).zip(number(last)).zip(number(step).filter(|step| *step > 0));
        let Some(((from, to), step)) = numbers else {
            return wrong(place, "is not a number or a range such as 1-8");
        };
        if from > to {
            return wrong(place, "begins after its end");
        }
        if (to - from) / step >= room {
            return wrong(place, format!("names more than {MOST} nodes with what stands before"));
        }
        let width = if first.starts_with('0') { first.len() } else { 0 };
        indices.extend((from..=to).step_by(step as usize).map(|index| format!("{index:0width$}")));
    }
    Ok(indices)
}

fn number(digits: &str) -> Option<u64> {
    let fine = (1..=18).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    fine.then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wrongs(text: &str) -> (String, String) {
        let wrong = expand(text).unwrap_err();
        (text[wrong.span].to_owned(), wrong.what)
    }

    #[test]
    fn sets_are_told_in_the_order_they_are_written_in() {
        for (text, names) in [
            ("node7", "node7"),
            ("node[3,1-2]", "node3 node1 node2"),
            ("b,a", "b a"),
            ("n[08-11]", "n08 n09 n10 n11"),
            ("r[1-2]n[1-2]-ib", "r1n1-ib r1n2-ib r2n1-ib r2n2-ib"),
            ("127.0.0.[2-4]", "127.0.0.2 127.0.0.3 127.0.0.4"),
            ("me@far[1-5/2] other", "me@far1 me@far3 me@far5 other"),
        ] {
            assert_eq!(expand(text).unwrap().join(" "), names, "{text}");
        }
    }

    #[test]
    fn what_is_no_set_is_pointed_at() {
        for (text, place, what) in [
            ("node[1-8", "[1-8", "not closed"),
            ("node1-8]", "]", "not opened"),
            ("node[1-]", "1-", "not a number"),
            ("node[8-1]", "8-1", "begins after"),
            ("node[1-3/0]", "1-3/0", "not a number"),
            ("a,b[1-2],b2", "b2", "named twice"),
            ("@rack1", "@rack1", "groups"),
            ("a,node1;reboot", ";", "in no name"),
            ("-oProxyCommand=x", "-oProxyCommand=x", "dash"),
            ("node[1-99999999]", "1-99999999", "more than 16384"),
            ("a[1-200]b[1-200]", "a[1-200]b[1-200]", "more than 16384"),
            (" , ", " , ", "no node"),
        ] {
            let (found, said) = wrongs(text);
            assert_eq!(found, place, "{text}: {said}");
            assert!(said.contains(what), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn a_range_names_every_number_once(from in 0u64..500, count in 1u64..300, zeros in 0usize..3) {
            let first = format!("{}{from}", "0".repeat(zeros));
            let names = expand(&format!("n[{first}-{}]x", from + count - 1)).unwrap();
            prop_assert_eq!(names.len() as u64, count);
            prop_assert_eq!(&names[0], &format!("n{first}x"));
            let numbers = names.iter().map(|name| name.trim_matches(['n', 'x']).parse::<u64>().unwrap());
            prop_assert!(numbers.eq(from..from + count));
        }

        #[test]
        fn no_text_panics_and_what_is_wrong_is_within_it(text in "[a-z0-9\\[\\],/ é-]{0,30}") {
            if let Err(wrong) = expand(&text) {
                prop_assert!(text.get(wrong.span).is_some());
            }
        }
    }
}
