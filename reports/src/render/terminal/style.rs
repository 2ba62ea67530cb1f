//! The colours of a terminal: what is better is green, what is worse red, what is open yellow; each beside its word and sign.

use anstyle::{AnsiColor, Style};

use crate::render::view::Badge;

/// The style of a verdict.
pub(in crate::render) fn badge(badge: &Badge) -> Style {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    match badge.class {
        "good" => colour(AnsiColor::Green).bold(),
        "bad" => colour(AnsiColor::Red).bold(),
        "open" => colour(AnsiColor::Yellow).bold(),
        "same" => Style::new().bold(),
        _ => Style::new(),
    }
}

/// What must not be missed: the label of simulation.
pub(in crate::render) const SIMULATED: Style =
    Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Magenta))).bold();
/// Names of columns, keys of pictures.
pub(in crate::render) const QUIET: Style = Style::new().dimmed();
