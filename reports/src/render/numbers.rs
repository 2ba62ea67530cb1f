//! What was measured at each size, over the valid runs of each variant: for tables and for the JSON report.

use schema::{Bytes, Campaign, Metric, Point, Test, Workload};

use super::{number, words};
use crate::{
    compare::{DETAILS, Spread, spread},
    index::Index,
};

/// One number under every variant.
pub(super) struct NumberRow {
    /// Its name in documents: `p50`, `late_messages`.
    pub(super) key: String,
    /// Its name in reports.
    pub(super) name: String,
    /// Its unit in documents.
    pub(super) unit: &'static str,
    /// The metric whose unit it has; none for a plain count.
    like: Option<Metric>,
    /// Per variant; none where it was not published.
    pub(super) variants: Vec<Option<Spread>>,
}

impl NumberRow {
    /// A value of it with its unit.
    pub(super) fn text(&self, value: f64) -> String {
        match self.like {
            Some(metric) => number::value(metric, value),
            None => format!("{} {}", number::grouped(value.round() as u64), self.unit),
        }
    }
}

/// A row per number that some variant has at a size, metrics first.
pub(super) fn rows(
    campaign: &Campaign,
    index: &Index<'_>,
    workload: &Workload,
    test: Test,
    msg_bytes: Bytes,
) -> Vec<NumberRow> {
    let variants = |of: &dyn Fn(&Point) -> Option<f64>| -> Vec<Option<Spread>> {
        let points = campaign.variants.iter().map(|v| index.measured(&workload.name, &v.name, msg_bytes));
        points.map(|points| spread(points.iter().filter_map(|point| of(point)))).collect()
    };
    let metrics = Metric::ALL.into_iter().map(|metric| NumberRow {
        key: metric.to_string(),
        name: words::metric(metric, test),
        unit: metric.unit(),
        like: Some(metric),
        variants: variants(&|point| metric.of(point)),
    });
    let details = DETAILS.iter().map(|detail| NumberRow {
        key: detail.key.to_owned(),
        name: detail.name.to_owned(),
        unit: detail.unit(),
        like: detail.like,
        variants: variants(&|point| detail.of(point)),
    });
    metrics.chain(details).filter(|row| row.variants.iter().any(Option::is_some)).collect()
}
