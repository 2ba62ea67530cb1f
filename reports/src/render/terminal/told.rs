//! What views in a terminal have in common: styles where there are colours, and lines broken where somebody looks at them.

use anstyle::Style;

use super::{
    Look,
    layout::{self, Styled},
    style,
};
use crate::render::view::Badge;

/// Most columns of running text: longer lines are hard to read.
const TEXT: usize = 120;

impl Look {
    /// A style, where there are colours.
    pub(in crate::render) fn style(&self, style: Style) -> Style {
        if self.colours { style } else { Style::new() }
    }

    /// What is read only when it is looked for.
    pub(in crate::render) fn quiet(&self, text: &str) -> Vec<String> {
        self.styled(text, 2, style::QUIET)
    }

    /// Lines of a text in a style.
    pub(in crate::render) fn styled(&self, text: &str, indent: usize, as_this: Style) -> Vec<String> {
        let style = self.style(as_this);
        self.broken(text, indent).into_iter().map(|line| Styled::new(line, style).painted()).collect()
    }

    /// Lines of a text: one, where nobody looks at it in a terminal.
    pub(in crate::render) fn broken(&self, text: &str, indent: usize) -> Vec<String> {
        if self.pictures {
            layout::wrapped(text, self.width.min(TEXT), indent)
        } else {
            vec![text.to_owned()]
        }
    }

    /// A badge and what is said right behind it, the badge in its colour.
    pub(in crate::render) fn said(&self, badge: &Badge, text: &str) -> Vec<String> {
        let head = format!("{} {}", badge.sign, badge.word);
        let mut lines = self.broken(&format!("{head}{text}"), 2);
        if let Some(rest) = lines[0].strip_prefix(&head) {
            let painted = Styled::new(head.as_str(), self.style(style::badge(badge))).painted();
            lines[0] = format!("{painted}{rest}");
        }
        lines
    }

    /// The sentence of a verdict behind its badge, and what is simulated.
    pub(in crate::render) fn verdict(
        &self,
        badge: &Badge,
        sentence: &str,
        simulated: Option<String>,
    ) -> Vec<String> {
        let mut lines = self.said(badge, sentence.strip_prefix(badge.word).unwrap_or(sentence));
        if let Some(simulated) = simulated {
            lines.extend(self.styled(&simulated, 2, style::SIMULATED));
        }
        lines
    }
}
