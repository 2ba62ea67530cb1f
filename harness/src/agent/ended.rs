//! Turns how a process ended into words: what happened, what it said last, and what to do.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

/// Exit code of the dynamic linker and of shells for a program that could not be loaded.
const NOT_LOADED: i32 = 127;
/// Exit code of verbs-bench for a spec it refuses.
pub(crate) const REFUSED: i32 = 2;

/// Cause and advice for a process that ended as it should not have.
pub(crate) fn explain(status: ExitStatus, stderr: &str) -> (String, String) {
    let said = last_words(stderr);
    let with = |cause: String| if said.is_empty() { cause } else { format!("{cause}: {said}") };
    if let Some(signal) = status.signal() {
        let name = rustix::process::Signal::from_named_raw(signal).map(|signal| format!(" ({signal:?})"));
        let cause = format!("verbs-bench was killed by signal {signal}{}", name.unwrap_or_default());
        return (with(cause), "look for the out-of-memory killer in `dmesg`, or for who sent it".into());
    }
    match status.code() {
        Some(NOT_LOADED) => (with("verbs-bench could not be loaded".into()), packages(stderr)),
        Some(REFUSED) => (with("verbs-bench refused the run".into()), "correct the scenario".into()),
        Some(0) => (with("verbs-bench ended without a record".into()), SAME_RELEASE.into()),
        code => {
            (with(format!("verbs-bench ended with exit code {}", code.unwrap_or_default())), String::new())
        }
    }
}

/// What to do when the two programs do not understand each other.
pub(crate) const SAME_RELEASE: &str = "use rdma-harness and verbs-bench of the same release";

/// Which packages bring the libraries the linker missed.
fn packages(stderr: &str) -> String {
    let wanted = [("libibverbs", "libibverbs1"), ("libnuma", "libnuma1")];
    let missing: Vec<&str> =
        wanted.iter().filter(|(library, _)| stderr.contains(library)).map(|(_, package)| *package).collect();
    let packages = if missing.is_empty() { "libibverbs1 libnuma1".to_owned() } else { missing.join(" ") };
    format!("install its libraries, on Debian: apt-get install {packages}")
}

/// The last lines a process wrote, on one line, short enough for a message.
pub(crate) fn last_words(stderr: &str) -> String {
    const MOST: usize = 600;
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let text = lines[lines.len().saturating_sub(4)..].join("; ");
    let skip = text.chars().count().saturating_sub(MOST);
    text.chars().skip(skip).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn a_missing_library_names_its_package() {
        let stderr =
            "verbs-bench: error while loading shared libraries: libnuma.so.1: cannot open shared object file";
        let (cause, advice) = explain(code(127), stderr);
        assert!(cause.contains("could not be loaded") && cause.contains("libnuma.so.1"), "{cause}");
        assert!(advice.ends_with("apt-get install libnuma1"), "{advice}");
    }

    #[test]
    fn a_signal_is_named() {
        let (cause, advice) = explain(ExitStatus::from_raw(9), "");
        assert!(cause.contains("signal 9") && cause.to_lowercase().contains("kill"), "{cause}");
        assert!(advice.contains("dmesg"), "{advice}");
    }

    #[test]
    fn last_words_are_bounded() {
        assert_eq!(last_words("a\n\n b \nc\nd\ne\n"), "b; c; d; e");
        assert_eq!(last_words(&"é".repeat(5_000)).chars().count(), 600);
    }
}
