//! Colours by meaning. A figure is drawn in stand-in colours, which become CSS classes: so it follows the page into dark mode
//! and onto paper.

use plotters::style::RGBColor;

/// What a stroke or a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Ink,
    Muted,
    Grid,
    Simulated,
    Margin,
    Control,
    Baseline,
    /// The n-th candidate, from 0; colours repeat after [`CANDIDATES`].
    Candidate(usize),
    Better,
    Worse,
    Undecided,
    /// A cell of a heat map that is better by this many steps, 1 to 3.
    Cooler(u8),
    /// A cell of a heat map that is worse by this many steps, 1 to 3.
    Warmer(u8),
    /// A cell of a heat map that is not told from noise.
    Still,
}

/// Candidates with a colour of their own.
const CANDIDATES: usize = 4;

const ALL: [Paint; 21] = [
    Paint::Ink,
    Paint::Muted,
    Paint::Grid,
    Paint::Simulated,
    Paint::Margin,
    Paint::Control,
    Paint::Baseline,
    Paint::Candidate(0),
    Paint::Candidate(1),
    Paint::Candidate(2),
    Paint::Candidate(3),
    Paint::Better,
    Paint::Worse,
    Paint::Undecided,
    Paint::Cooler(1),
    Paint::Cooler(2),
    Paint::Cooler(3),
    Paint::Warmer(1),
    Paint::Warmer(2),
    Paint::Warmer(3),
    Paint::Still,
];

impl Paint {
    /// Its stand-in while it is drawn.
    pub(super) fn rgb(self) -> RGBColor {
        let same = match self {
            Paint::Candidate(n) => Paint::Candidate(n % CANDIDATES),
            other => other,
        };
        let index = ALL.iter().position(|paint| *paint == same).unwrap_or(0);
        RGBColor(1, 2, index as u8)
    }

    fn class(self) -> String {
        match self {
            Paint::Candidate(n) => format!("candidate{n}"),
            Paint::Cooler(step) => format!("cooler{step}"),
            Paint::Warmer(step) => format!("warmer{step}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }
}

/// Turns stand-in colours into classes `f-NAME` (fill) and `s-NAME` (stroke), and drops what CSS says better.
pub(super) fn repaint(svg: &str) -> String {
    let mut text = svg.replace(" font-family=\"sans-serif\"", "").replace(" opacity=\"1\"", "");
    for paint in ALL {
        let RGBColor(r, g, b) = paint.rgb();
        let hex = format!("#{r:02X}{g:02X}{b:02X}");
        text = text
            .replace(&format!("fill=\"{hex}\""), &format!("class=\"f-{}\"", paint.class()))
            .replace(&format!("stroke=\"{hex}\""), &format!("class=\"s-{}\"", paint.class()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stand_in_becomes_a_class_of_its_own() {
        let classes: std::collections::BTreeSet<String> = ALL
            .iter()
            .map(|paint| {
                let RGBColor(r, g, b) = paint.rgb();
                repaint(&format!("fill=\"#{r:02X}{g:02X}{b:02X}\""))
            })
            .collect();
        assert_eq!(classes.len(), ALL.len());
        assert!(classes.iter().all(|class| class.starts_with("class=\"f-")), "{classes:?}");
        assert_eq!(Paint::Candidate(5).rgb(), Paint::Candidate(1).rgb());
    }
}
