//! What one flag of perftest is here: where it is allowed, and what it sets, or why it is not to be had.

use super::{draft::Draft, tool::Tool};

/// Writes a flag's value into the draft, or says what is wrong with it.
pub(super) type Apply = fn(&mut Draft, &str) -> Result<(), String>;

/// What becomes of a flag.
#[derive(Clone, Copy)]
pub(super) enum Answer {
    /// It sets this field of the plan; both sides may say it, and are compared.
    Field(&'static str, Apply),
    /// It concerns this side only: where it runs, or what is printed.
    Here(Apply),
    /// It is taken and changes nothing, because.
    Always(&'static str),
    /// It is refused, because.
    Not(&'static str),
}

/// One flag.
#[derive(Clone, Copy)]
pub(super) struct Flag {
    /// perftest's long name, as perftest spells it; `_` and `-` are the same here.
    pub(super) long: &'static str,
    /// Other long names for the same.
    pub(super) also: &'static [&'static str],
    /// perftest's letter.
    pub(super) letter: Option<char>,
    /// Name of the value; none for a switch.
    pub(super) value: Option<&'static str>,
    /// Which programs have it.
    pub(super) on: fn(Tool) -> bool,
    /// What becomes of it.
    pub(super) answer: Answer,
    /// One line of help; empty where the answer says it all.
    pub(super) help: &'static str,
}

impl Flag {
    /// A switch that every program has, refused until something else is said.
    pub(super) const fn new(long: &'static str) -> Self {
        Flag { long, also: &[], letter: None, value: None, on: |_| true, answer: Answer::Not(""), help: "" }
    }

    pub(super) const fn also(self, also: &'static [&'static str]) -> Self {
        Flag { also, ..self }
    }

    pub(super) const fn letter(self, letter: char) -> Self {
        Flag { letter: Some(letter), ..self }
    }

    pub(super) const fn value(self, name: &'static str) -> Self {
        Flag { value: Some(name), ..self }
    }

    pub(super) const fn on(self, on: fn(Tool) -> bool) -> Self {
        Flag { on, ..self }
    }

    pub(super) const fn field(self, field: &'static str, help: &'static str, apply: Apply) -> Self {
        Flag { answer: Answer::Field(field, apply), help, ..self }
    }

    pub(super) const fn here(self, help: &'static str, apply: Apply) -> Self {
        Flag { answer: Answer::Here(apply), help, ..self }
    }

    pub(super) const fn always(self, why: &'static str) -> Self {
        Flag { answer: Answer::Always(why), ..self }
    }

    pub(super) const fn not(self, why: &'static str) -> Self {
        Flag { answer: Answer::Not(why), ..self }
    }

    /// As a user types it: `-s, --size`.
    pub(super) fn typed(&self) -> String {
        match self.letter {
            Some(letter) => format!("-{letter}, --{}", self.long),
            None => format!("--{}", self.long),
        }
    }

    /// Every other spelling of the long names.
    pub(super) fn spellings(&self) -> Vec<String> {
        let mut all = Vec::new();
        for name in std::iter::once(&self.long).chain(self.also) {
            for spelling in [name.to_string(), name.replace('_', "-"), name.replace('-', "_")] {
                if spelling != self.long && !all.contains(&spelling) {
                    all.push(spelling);
                }
            }
        }
        all
    }
}
