//! What the list and a single series have in common in a terminal.

use super::words;
use crate::{history::NightReport, render::terminal::Look};

pub(super) struct Screen<'s> {
    pub(super) report: &'s NightReport,
    pub(super) look: &'s Look,
}

impl Screen<'_> {
    /// The verdict on the night in one sentence, and what is simulated.
    pub(super) fn verdict(&self) -> Vec<String> {
        let badge = words::verdict(self.report.verdict);
        self.look.verdict(&badge, &words::sentence(self.report), words::simulated(self.report))
    }
}
