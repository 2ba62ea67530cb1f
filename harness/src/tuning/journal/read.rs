//! A journal that was left: what was planned, and how far each step had come when its writer ended.

use super::entry::{Entry, FORMAT, Header, Progress, StepEntry};

/// What a journal says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Past {
    /// None if the writer died before the first line was whole.
    pub(crate) header: Option<Header>,
    /// In the order they were made.
    pub(crate) steps: Vec<PastStep>,
    /// Whether the owner left the host tuned on purpose.
    pub(crate) left: bool,
    /// Whether everything was turned back.
    pub(crate) closed: bool,
    /// Bytes of whole lines; what follows is the torn end of a line whose write was never made.
    pub(crate) whole_bytes: usize,
    /// The first line in the middle that can't be read: its number from 1, and why.
    pub(crate) damage: Option<(usize, String)>,
}

/// One step of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PastStep {
    /// As planned.
    pub(crate) entry: StepEntry,
    /// How far it had come; none: planned, and perhaps written.
    pub(crate) progress: Option<Progress>,
    /// What was read back when it was applied, where it was not what was asked.
    pub(crate) found: Option<String>,
}

impl Past {
    /// Reads a journal's bytes. A torn end is no damage: the line was not on disk, so what it says was not begun.
    pub(crate) fn parse(bytes: &[u8]) -> Past {
        let mut past = Past::default();
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate().peekable();
        while let Some((n, line)) = lines.next() {
            let taken = line
                .strip_suffix(b"\n")
                .ok_or_else(|| "it has no end".to_owned())
                .and_then(Entry::parse)
                .and_then(|entry| past.take(entry));
            match taken {
                Ok(()) => past.whole_bytes += line.len(),
                Err(_) if lines.peek().is_none() => break,
                Err(why) => {
                    past.damage = Some((n + 1, why));
                    break;
                }
            }
        }
        past
    }

    fn take(&mut self, entry: Entry) -> Result<(), String> {
        if self.header.is_none() != matches!(entry, Entry::Header(_)) {
            return Err("a journal starts with one header".to_owned());
        }
        match entry {
            Entry::Header(header) if header.format != FORMAT => {
                return Err(format!("format {} is not the {FORMAT} of this program", header.format));
            }
            Entry::Header(header) => self.header = Some(header),
            Entry::Step(entry) if entry.step == self.steps.len() => {
                self.steps.push(PastStep { entry, progress: None, found: None });
            }
            Entry::Step(entry) => return Err(format!("step {} does not follow the one before", entry.step)),
            Entry::Progress { step, progress, found } => {
                let step = self.steps.get_mut(step).ok_or_else(|| format!("there is no step {step}"))?;
                step.progress = Some(progress);
                // What a conflict found is someone else's, and never becomes ours.
                if matches!(progress, Progress::Applied | Progress::Verified) {
                    step.found = found;
                }
            }
            Entry::Left => self.left = true,
            Entry::Closed => self.closed = true,
        }
        Ok(())
    }

    /// Whether anything may still have to be turned back.
    pub(crate) fn is_done(&self) -> bool {
        self.closed || self.steps.iter().all(|step| step.progress.is_some_and(Progress::is_done))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::{Class, Knob};

    use super::*;
    use crate::tuning::{
        form::Form,
        journal::Owner,
        target::{FileTarget, Target},
    };

    fn entries() -> Vec<Entry> {
        let header = Header {
            format: FORMAT,
            boot_id: "b".into(),
            netns: "tree".into(),
            host: "h".into(),
            kernel: "6.1".into(),
            tool: "0".into(),
            profile: None,
            owner: Owner { pid: 7, started_ticks: 9 },
        };
        let step = |step| {
            Entry::Step(StepEntry {
                step,
                knob: Knob::Sysctl,
                item: "net.core.rmem_max".into(),
                class: Class::Instant,
                target: Target::File(FileTarget {
                    path: "/proc/sys/net/core/rmem_max".into(),
                    form: Form::Words,
                }),
                old: "212992\té".into(),
                new: "1".into(),
            })
        };
        let progress = |step, progress| Entry::Progress { step, progress, found: None };
        vec![
            Entry::Header(header),
            step(0),
            progress(0, Progress::Applied),
            progress(0, Progress::Verified),
            step(1),
            progress(1, Progress::Applied),
            Entry::Left,
            progress(1, Progress::Restored),
            progress(0, Progress::Restored),
            Entry::Closed,
        ]
    }

    fn text(entries: &[Entry]) -> String {
        entries.iter().map(Entry::line).collect()
    }

    #[test]
    fn a_journal_is_read_as_written() {
        let past = Past::parse(text(&entries()).as_bytes());
        assert_eq!((past.steps.len(), past.left, past.closed, &past.damage), (2, true, true, &None));
        assert_eq!(past.steps[0].progress, Some(Progress::Restored));
        assert_eq!(past.steps[0].entry.old, "212992\té");
        assert!(past.is_done());
    }

    #[test]
    fn a_tail_torn_at_any_byte_loses_the_last_line_and_nothing_else() {
        let entries = entries();
        let whole = text(&entries);
        let mut ends: Vec<usize> = vec![0];
        for entry in &entries {
            ends.push(ends[ends.len() - 1] + entry.line().len());
        }
        for cut in 0..=whole.len() {
            let past = Past::parse(&whole.as_bytes()[..cut]);
            let lines = ends.iter().filter(|end| **end <= cut).count() - 1;
            let wanted = Past::parse(text(&entries[..lines]).as_bytes());
            assert_eq!(past, wanted, "cut at {cut}");
            assert_eq!((past.whole_bytes, past.damage), (ends[lines], None), "cut at {cut}");
        }
    }

    #[test]
    fn a_byte_changed_in_the_middle_is_damage_with_its_line() {
        let entries = entries();
        let mut bytes = text(&entries).into_bytes();
        let at = entries[0].line().len() + 40;
        bytes[at] ^= 1;
        let past = Past::parse(&bytes);
        assert_eq!(past.damage.map(|(line, _)| line), Some(2));
    }

    #[test]
    fn steps_out_of_order_and_a_second_header_are_damage() {
        let mut wrong = entries();
        wrong.swap(1, 4);
        assert!(Past::parse(text(&wrong).as_bytes()).damage.is_some());
        let mut twice = entries();
        twice.insert(3, twice[0].clone());
        assert_eq!(Past::parse(text(&twice).as_bytes()).damage.map(|(line, _)| line), Some(4));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Past::parse(&bytes);
        }

        #[test]
        fn no_changed_journal_panics_or_invents_a_step(at in 0usize..2000, byte in any::<u8>(), cut in 0usize..2000) {
            let mut bytes = text(&entries()).into_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(cut.max(1));
            let past = Past::parse(&bytes);
            let all = Past::parse(text(&entries()).as_bytes());
            for (step, wanted) in past.steps.iter().zip(&all.steps) {
                prop_assert_eq!(&step.entry, &wanted.entry);
            }
        }
    }
}
