//! When two texts of a target mean the same: the kernel prints values otherwise than they are written.

use host::{cpulist, cpumask};
use serde::{Deserialize, Serialize};

/// How the text of a file is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Form {
    /// One word or number.
    Word,
    /// Several, with any white space between them: `4096\t131072\t6291456`.
    Words,
    /// CPUs as a list: `2-3` is `2,3`.
    CpuList,
    /// CPUs as a mask: `0000000f` is `f`.
    CpuMask,
    /// The words there are, the one that holds in brackets: `always [madvise] never`. Written as the bare word.
    Bracketed,
    /// A number the kernel may reach only partly: what lies between the old and the asked value is our doing.
    Count,
}

impl Form {
    /// The value in the text of a file.
    pub(super) fn value_of(self, text: &str) -> Result<String, String> {
        let text = text.trim_end();
        if self != Form::Bracketed {
            return Ok(text.to_owned());
        }
        text.split_whitespace()
            .find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
            .map(str::to_owned)
            .ok_or_else(|| format!("`{text}` has no word in brackets"))
    }

    /// Whether two values mean the same.
    pub(super) fn same(self, a: &str, b: &str) -> bool {
        let normal = |text: &str| self.normal(text);
        a == b || normal(a) == normal(b)
    }

    /// Whether a value is what writing `asked` over `old` can have left.
    pub(super) fn ours(self, current: &str, old: &str, asked: &str) -> bool {
        if self.same(current, asked) {
            return true;
        }
        let number = |text: &str| text.trim().parse::<u64>().ok();
        match (self, number(current), number(old), number(asked)) {
            (Form::Count, Some(current), Some(old), Some(asked)) => {
                (old.min(asked)..=old.max(asked)).contains(&current)
            }
            _ => false,
        }
    }

    /// What the text of a file becomes when the kernel takes `value`: for trees, which have no kernel. What follows the
    /// value (a line end) stays, so that writing the old value gives the old bytes.
    pub(super) fn written(self, text: &str, value: &str) -> String {
        let body = text.trim_end();
        let tail = &text[body.len()..];
        if self != Form::Bracketed {
            return format!("{value}{tail}");
        }
        let words: Vec<String> = body
            .split(' ')
            .map(|word| {
                let bare = word.trim_start_matches('[').trim_end_matches(']');
                if bare == value { format!("[{bare}]") } else { bare.to_owned() }
            })
            .collect();
        format!("{}{tail}", words.join(" "))
    }

    fn normal(self, text: &str) -> String {
        let cpus = match self {
            Form::CpuList => cpulist::parse(text).ok(),
            Form::CpuMask => cpumask::parse(text).ok(),
            Form::Word | Form::Words | Form::Bracketed | Form::Count => None,
        };
        match cpus {
            Some(cpus) => cpulist::format(&cpus),
            None => text.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tabs_lists_masks_and_brackets_are_seen_through() {
        assert!(Form::Words.same("4096 131072 6291456", "4096\t131072\t6291456"));
        assert!(Form::CpuList.same("2-3,8", "2,3,8") && !Form::CpuList.same("2", "3"));
        assert!(Form::CpuMask.same("00000000,0000000f", "f"));
        assert_eq!(Form::Bracketed.value_of("always [madvise] never\n"), Ok("madvise".into()));
        assert!(Form::Bracketed.value_of("always never").is_err());
        assert_eq!(Form::Bracketed.written("always [madvise] never\n", "never"), "always madvise [never]\n");
    }

    #[test]
    fn a_count_that_was_reached_partly_is_ours() {
        assert!(Form::Count.ours("700", "0", "1024"));
        assert!(!Form::Count.ours("1025", "0", "1024"));
        assert!(!Form::Word.ours("700", "0", "1024"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(old in "[a-z]{1,5}", new in "[a-z]{1,5}", tail in "\n{0,2}") {
            for form in [Form::Word, Form::Words] {
                let text = format!("{old}{tail}");
                let written = form.written(&text, &new);
                prop_assert_eq!(form.value_of(&written), Ok(new.clone()));
                prop_assert_eq!(form.written(&written, &old), text);
            }
        }

        #[test]
        fn a_bracket_moved_there_and_back_leaves_the_same_bytes(at in 0usize..3, to in 0usize..3) {
            let words = ["always", "madvise", "never"];
            let text: Vec<String> =
                (0..3).map(|n| if n == at { format!("[{}]", words[n]) } else { words[n].to_owned() }).collect();
            let text = format!("{}\n", text.join(" "));
            let moved = Form::Bracketed.written(&text, words[to]);
            prop_assert_eq!(Form::Bracketed.value_of(&moved), Ok(words[to].to_owned()));
            prop_assert_eq!(Form::Bracketed.written(&moved, words[at]), text);
        }

        #[test]
        fn sameness_is_an_equivalence(a in "[0-9,a-f \t-]{0,12}", b in "[0-9,a-f \t-]{0,12}") {
            for form in [Form::Word, Form::Words, Form::CpuList, Form::CpuMask, Form::Bracketed, Form::Count] {
                prop_assert!(form.same(&a, &a));
                prop_assert_eq!(form.same(&a, &b), form.same(&b, &a));
            }
        }
    }
}
