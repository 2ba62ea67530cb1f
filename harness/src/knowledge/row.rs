//! The number of a claim: which guide it is from, and its place there.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Where what is told about came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Guide {
    /// A guide to the operating system: kernel parameters, interrupts, isolation, NUMA, verification.
    OperatingSystem,
    /// A guide to troubleshooting RoCE v2: MTU, priority flow control, counters, PCIe, firmware.
    Roce,
    /// A knob that neither guide names.
    Further,
}

impl Guide {
    /// All, in the order of the document.
    pub const ALL: [Guide; 3] = [Guide::OperatingSystem, Guide::Roce, Guide::Further];

    fn letter(self) -> &'static str {
        match self {
            Guide::OperatingSystem => "1",
            Guide::Roce => "2",
            Guide::Further => "x",
        }
    }
}

/// Written `1-18`, `2-5`, `x-9`; a claim that was put in later has a letter: `1-16b`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Row {
    /// The guide.
    pub guide: Guide,
    /// Its number there.
    pub number: u32,
    /// The letter after the number; empty for most.
    pub letter: String,
}

impl Row {
    /// In words: `guide 1, claim 18`, `knob 9`.
    pub fn in_words(&self) -> String {
        let Row { guide, number, letter } = self;
        match guide {
            Guide::Further => format!("knob {number}{letter}, in neither guide"),
            guide => format!("guide {}, claim {number}{letter}", guide.letter()),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}{}", self.guide.letter(), self.number, self.letter)
    }
}

impl From<Row> for String {
    fn from(row: Row) -> String {
        row.to_string()
    }
}

impl TryFrom<String> for Row {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl FromStr for Row {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (guide, rest) = text.split_once('-')?;
            let guide = Guide::ALL.into_iter().find(|known| known.letter() == guide)?;
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let (number, letter) = rest.split_at(end);
            let plain = letter.len() <= 1 && letter.bytes().all(|b| b.is_ascii_lowercase());
            let number = number.parse().ok().filter(|_| plain)?;
            Some(Row { guide, number, letter: letter.to_owned() })
        };
        parse().ok_or_else(|| format!("`{text}` is not the number of a claim, such as 1-18, 1-16b or x-9"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_number_is_read_written_and_said() {
        for (text, words) in [
            ("1-16b", "guide 1, claim 16b"),
            ("2-5", "guide 2, claim 5"),
            ("x-9", "knob 9, in neither guide"),
        ] {
            let row: Row = text.parse().unwrap();
            assert_eq!((row.to_string().as_str(), row.in_words().as_str()), (text, words));
        }
        for wrong in ["", "3-1", "1-", "1-b", "1-1bb", "1-1B", "1"] {
            assert!(wrong.parse::<Row>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            let _ = text.parse::<Row>();
        }
    }
}
