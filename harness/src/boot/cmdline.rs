//! The kernel's command line as the kernel takes it apart.
//!
//! Words are divided by white space outside double quotes; what follows `--` belongs to init; in a name `-` and `_` are the
//! same letter.

use host::{Sysroot, Value};

/// The words of a command line that the kernel itself reads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct CommandLine(Vec<String>);

/// Reads the running kernel's.
pub(super) fn read(sysroot: &Sysroot) -> Value<CommandLine> {
    sysroot.read("/proc/cmdline").map(|text| CommandLine::parse(&text))
}

impl CommandLine {
    fn parse(text: &str) -> Self {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut quoted = false;
        for letter in text.chars() {
            match letter {
                '"' => {
                    quoted = !quoted;
                    word.push(letter);
                }
                letter if letter.is_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
                letter => word.push(letter),
            }
        }
        words.push(word);
        let kernels = words.into_iter().filter(|word| !word.is_empty()).take_while(|word| word != "--");
        CommandLine(kernels.collect())
    }

    /// The words with this name, whole and as written: `isolcpus=2-3`.
    pub(super) fn words_of(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|word| same_name(split(word).0, name)).cloned().collect()
    }

    /// The value of the last word with this name, without its quotes; empty for a word that has none.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        let last = self.0.iter().rev().map(|word| split(word)).find(|(found, _)| same_name(found, name));
        last.map(|(_, value)| value.replace('"', ""))
    }
}

fn split(word: &str) -> (&str, &str) {
    word.split_once('=').unwrap_or((word, ""))
}

fn same_name(a: &str, b: &str) -> bool {
    let letters = |name: &str| name.trim_matches('"').replace('-', "_");
    letters(a) == letters(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotes_hold_a_word_together_and_two_dashes_end_the_kernels_part() {
        let line = CommandLine::parse(
            "BOOT_IMAGE=/vmlinuz root=UUID=a-b ro dyndbg=\"file a.c +p; file b.c +p\" isolcpus=1 -- isolcpus=7",
        );
        assert_eq!(line.value("dyndbg").as_deref(), Some("file a.c +p; file b.c +p"));
        assert_eq!(line.value("root").as_deref(), Some("UUID=a-b"));
        assert_eq!(line.value("ro").as_deref(), Some(""), "a word without a value");
        assert_eq!(line.words_of("isolcpus"), ["isolcpus=1"]);
        assert_eq!(line.value("isolcpu"), None);
    }

    #[test]
    fn the_last_of_several_counts_and_dashes_are_underscores() {
        let line = CommandLine::parse("intel_idle.max-cstate=4 intel-idle.max_cstate=1");
        assert_eq!(line.value("intel_idle.max_cstate").as_deref(), Some("1"));
        assert_eq!(line.words_of("intel_idle.max_cstate").len(), 2);
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_letter_is_lost(text in "[a-z=\" \\n-]{0,60}") {
            let line = CommandLine::parse(&text);
            let letters = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).count();
            if !text.contains("--") {
                prop_assert_eq!(line.0.iter().map(|word| letters(word)).sum::<usize>(), letters(&text));
            }
        }
    }
}
