//! From when on nights are shown: `30d`, `2026-10-01`, `night 12`.

use std::{str::FromStr, time::Duration};

use reports::history::NightReport;

use crate::import;

/// A place in a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// So long before the night that is judged.
    Before(Duration),
    /// A moment, ms since 1970 UTC.
    Moment(u64),
    /// A night, by its number.
    Night(i64),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(number) = text.strip_prefix("night") {
            let number =
                number.trim().parse().map_err(|_| format!("`{text}` names no night: write night 12"))?;
            return Ok(Since::Night(number));
        }
        // A bare number could be a night, a day or a second.
        let whole = text.bytes().all(|byte| byte.is_ascii_digit());
        if let Ok(span) = humantime::parse_duration(text)
            && !whole
        {
            return Ok(Since::Before(span));
        }
        match import::csv::moment(text) {
            Ok(moment) if !whole => Ok(Since::Moment(moment)),
            _ => {
                Err(format!("`{text}` is no time to show nights from: write 30d, 2026-10-01 or \"night 12\""))
            }
        }
    }
}

impl Since {
    /// Leaves the nights from there on, their points, and what was said about them. What was judged stays as it was judged, by
    /// all nights.
    pub fn apply(self, report: &mut NightReport) {
        let first = match self {
            Since::Night(id) => {
                report.nights.iter().find(|night| night.id == id).map(|night| night.started_at_unix_ms)
            }
            Since::Moment(moment) => Some(moment),
            Since::Before(span) => Some(
                report
                    .night
                    .started_at_unix_ms
                    .saturating_sub(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)),
            ),
        };
        let Some(first) = first else { return };
        report.nights.retain(|night| night.started_at_unix_ms >= first);
        let shown: std::collections::HashSet<i64> = report.nights.iter().map(|night| night.id).collect();
        for series in &mut report.series {
            series.points.retain(|point| shown.contains(&point.night));
            series.change_points.retain(|change| shown.contains(&change.night));
            // An epoch that reaches into what is shown stays with the beginning it had.
            series.epochs.retain(|epoch| shown.contains(&epoch.to));
        }
        report.notes.retain(|note| shown.contains(&note.night));
        report.acknowledgements.retain(|known| shown.contains(&known.night));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reports::testing::night_report;

    #[test]
    fn three_ways_to_say_since_when() {
        assert_eq!("30d".parse(), Ok(Since::Before(Duration::from_secs(30 * 86_400))));
        assert_eq!("1970-01-02".parse(), Ok(Since::Moment(86_400_000)));
        assert_eq!("night 12".parse(), Ok(Since::Night(12)));
        for wrong in ["", "12", "yesterday", "night", "night x"] {
            assert!(wrong.parse::<Since>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn earlier_nights_are_not_shown_and_what_was_judged_stays() {
        let (whole, mut report) = (night_report(), night_report());
        Since::Night(115).apply(&mut report);
        assert_eq!(report.nights.len(), 6);
        assert!(report.series.iter().all(|series| series.points.iter().all(|point| point.night >= 115)));
        assert_eq!((report.verdict, report.findings), (whole.verdict, whole.findings));
        let mut lately = night_report();
        Since::Before(Duration::from_secs(5 * 86_400)).apply(&mut lately);
        assert_eq!(lately.nights, report.nights);
    }
}
