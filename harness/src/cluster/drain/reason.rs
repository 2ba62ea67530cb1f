//! The reason that a node is drained for, as Slurm shows it to everyone.

/// What every reason of ours begins with. A node with any other is not touched.
pub const PREFIX: &str = "rdma-harness:";

/// Slurm has no bound; `sinfo -R` and people do.
const LONGEST: usize = 240;

/// The reason for a finding. One line of plain characters: brackets, quotes and backslashes would not come back from scontrol and from
/// shells as they went in.
pub(super) fn reason(cluster: i64, sentence: &str) -> String {
    let plain = |c: char| match c {
        '[' | '{' => '(',
        ']' | '}' => ')',
        '"' | '\'' | '`' | '\\' => ' ',
        c if c.is_control() || c.is_whitespace() => ' ',
        c => c,
    };
    let plain: String = sentence.chars().map(plain).collect();
    let words = plain.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let text = format!("{PREFIX} cluster {cluster}: {words}");
    if text.chars().count() <= LONGEST {
        return text;
    }
    let short: String = text.chars().take(LONGEST - 3).collect();
    format!("{}...", short.trim_end())
}

/// Whether a reason is ours.
pub(super) fn is_ours(reason: &str) -> bool {
    reason.starts_with(PREFIX)
}

/// The number of the cluster that a reason of ours names.
pub(super) fn cluster_of(reason: &str) -> Option<i64> {
    reason.strip_prefix(PREFIX)?.trim_start().strip_prefix("cluster ")?.split_once(':')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sentence_becomes_one_plain_line() {
        let text =
            reason(7, "node7 receives 22\u{a0}% \"less\" in 27 of 31 pairs:\n the host [not a `link`]");
        assert_eq!(
            text,
            "rdma-harness: cluster 7: node7 receives 22 % less in 27 of 31 pairs: the host (not a link )"
        );
        assert_eq!((cluster_of(&text), cluster_of("rdma-harness: by hand")), (Some(7), None));
        assert!(is_ours(&text) && !is_ours("NHC: rdma-harness: x") && !is_ours(""));
        let long = reason(7, &"pair ".repeat(100));
        assert!(long.ends_with("...") && long.chars().count() <= LONGEST, "{long}");
    }

    proptest! {
        #[test]
        fn no_sentence_breaks_the_line(sentence in "\\PC{0,400}") {
            let text = reason(1, &sentence);
            prop_assert!(is_ours(&text) && !text.contains(['[', ']', '"', '\'', '\n', '\\']));
            prop_assert!(text.chars().count() <= LONGEST);
        }
    }
}
