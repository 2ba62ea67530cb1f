//! What stands below the charts: which configurations there were, what people said, and by which rules nights are judged.

use std::collections::BTreeMap;

use crate::{
    history::{NightReport, Rules, SeriesReport},
    render::{
        history::words,
        number::{self, counted, counted_as},
    },
};

/// A change of configurations that began in a night.
pub(super) struct ConfigurationRow {
    pub(super) night: String,
    pub(super) changes: Vec<String>,
    pub(super) series: String,
    /// How the levels compare, of the series that moved most.
    pub(super) levels: String,
}

/// The changes of configurations, the latest first; series that changed alike in a night stand together.
pub(super) fn configurations(report: &NightReport) -> Vec<ConfigurationRow> {
    let mut rows: BTreeMap<(i64, Vec<String>), Vec<&SeriesReport>> = BTreeMap::new();
    for series in &report.series {
        for epoch in series.epochs.iter().skip(1) {
            let changes = epoch.changes.iter().map(words::configuration_change).collect();
            rows.entry((epoch.from, changes)).or_default().push(series);
        }
    }
    let row = |((night, changes), series): ((i64, Vec<String>), Vec<&SeriesReport>)| {
        let moved = series.iter().filter_map(|series| {
            let epoch = series.epochs.iter().find(|epoch| epoch.from == night)?;
            Some((*series, epoch.against_the_one_before?))
        });
        let most = moved.max_by(|(_, one), (_, other)| one.change.abs().total_cmp(&other.change.abs()));
        ConfigurationRow {
            night: words::night(report, night),
            changes,
            series: counted_as(series.len() as u32, "series", "series"),
            levels: most.map_or_else(
                || "not known yet".to_owned(),
                |(series, of)| {
                    let margin = report.rules.margin(series.key.metric);
                    format!("{} in {}", words::change(&of, margin), series.key)
                },
            ),
        }
    };
    rows.into_iter().rev().map(row).collect()
}

/// A note, or an acknowledgement.
pub(super) struct Remark {
    pub(super) night: String,
    pub(super) kind: &'static str,
    pub(super) about: String,
    pub(super) text: String,
}

/// What people said, the latest night first.
pub(super) fn remarks(report: &NightReport) -> Vec<Remark> {
    let name = |series: i64| words::series(report, series).map(|series| series.key.to_string());
    let notes = report.notes.iter().map(|note| {
        let about = note.series.and_then(name).unwrap_or_else(|| "all".to_owned());
        (
            note.night,
            Remark { night: words::night(report, note.night), kind: "note", about, text: note.text.clone() },
        )
    });
    let acknowledged = report.acknowledgements.iter().map(|known| {
        let about = name(known.series).unwrap_or_default();
        let night = words::night(report, known.night);
        (known.night, Remark { night, kind: "acknowledged", about, text: known.reason.clone() })
    });
    let mut all: Vec<(i64, Remark)> = notes.chain(acknowledged).collect();
    all.sort_by_key(|(night, _)| std::cmp::Reverse(*night));
    all.into_iter().map(|(_, remark)| remark).collect()
}

/// By what nights are judged.
pub(super) fn rules(report: &NightReport) -> Vec<String> {
    let Rules {
        nights_to_start,
        change_point_p,
        nights_after,
        cv_multiple,
        fence_nights,
        false_discovery_rate,
        smallest_change,
        baseline,
        ..
    } = &report.rules;
    let smallest = match smallest_change {
        Some(share) => format!("{} for every metric", number::margin(*share)),
        None => "2% of bandwidth, 3% of message rate and p50, 5% of p99".to_owned(),
    };
    let mut said = vec![
        "A night's value is the median of its runs; the band around it reaches from the smallest run to the largest.".to_owned(),
        "Limits are absolute: a value short of its limit, or a fault of link or counters, is said at once.".to_owned(),
        format!(
            "The fence holds a night against the last {} of the same configuration. What stands out is measured again the same night, and said to be confirmed only if it stands out again.",
            counted(*fence_nights, "night")
        ),
        format!(
            "A change point is where the level changed and stayed changed: p below {}, at least {smallest} and {} times the noise of the series. It is suspected until {} follow it.",
            number::plain(*change_point_p),
            number::plain(*cv_multiple),
            counted(*nights_after, "night")
        ),
        format!(
            "Nights of different configurations are not compared: a new configuration begins an epoch, whose first {} are for learning.",
            counted(*nights_to_start, "night")
        ),
        format!(
            "Over all series of a night at most {} of what is said may be false (Benjamini-Hochberg). Changes of one night and one place are one finding.",
            number::percent(*false_discovery_rate)
        ),
    ];
    said.extend(
        baseline.as_ref().map(|name| format!("Nights are held against the pinned baseline {name}, too.")),
    );
    said
}
