//! What the list and a single series have in common in a terminal: styles where there are colours, and lines broken where
//! somebody looks at them.

use anstyle::Style;

use super::words;
use crate::{
    history::NightReport,
    render::{
        terminal::{
            Look,
            layout::{self, Styled},
            style,
        },
        view::Badge,
    },
};

/// Most columns of running text: longer lines are hard to read.
const TEXT: usize = 120;

pub(super) struct Screen<'s> {
    pub(super) report: &'s NightReport,
    pub(super) look: &'s Look,
}

impl Screen<'_> {
    /// A style, where there are colours.
    pub(super) fn style(&self, style: Style) -> Style {
        if self.look.colours { style } else { Style::new() }
    }

    /// What is read only when it is looked for.
    pub(super) fn quiet(&self, text: &str) -> Vec<String> {
        self.styled(text, 2, style::QUIET)
    }

    fn styled(&self, text: &str, indent: usize, as_this: Style) -> Vec<String> {
        let style = self.style(as_this);
        self.broken(text, indent).into_iter().map(|line| Styled::new(line, style).painted()).collect()
    }

    /// Lines of a text: one, where nobody looks at it in a terminal.
    pub(super) fn broken(&self, text: &str, indent: usize) -> Vec<String> {
        if self.look.pictures {
            layout::wrapped(text, self.look.width.min(TEXT), indent)
        } else {
            vec![text.to_owned()]
        }
    }

    /// A badge and what is said right behind it, the badge in its colour.
    pub(super) fn said(&self, badge: &Badge, text: &str) -> Vec<String> {
        let head = format!("{} {}", badge.sign, badge.word);
        let mut lines = self.broken(&format!("{head}{text}"), 2);
        if let Some(rest) = lines[0].strip_prefix(&head) {
            let painted = Styled::new(head.as_str(), self.style(style::badge(badge))).painted();
            lines[0] = format!("{painted}{rest}");
        }
        lines
    }

    /// The verdict on the night in one sentence, and what is simulated.
    pub(super) fn verdict(&self) -> Vec<String> {
        let badge = words::verdict(self.report.verdict);
        let sentence = words::sentence(self.report);
        let mut lines = self.said(&badge, sentence.strip_prefix(badge.word).unwrap_or(&sentence));
        if let Some(simulated) = words::simulated(self.report) {
            lines.extend(self.styled(&simulated, 2, style::SIMULATED));
        }
        lines
    }
}
