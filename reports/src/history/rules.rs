//! The numbers by which nights are judged. They are in every report, so that a reader knows what was asked.

use schema::Metric;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What decides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rules {
    /// Nights of an epoch before the fence and change points are asked at all.
    pub nights_to_start: u32,
    /// Nights that a change point is sought in at once.
    pub window_nights: u32,
    /// p below which a split is a change point; one that may yet become one is suspected up to ten times this.
    pub change_point_p: f64,
    /// Nights after a change before it is confirmed.
    pub nights_after: u32,
    /// A change is larger than this many coefficients of variation of the series (docs/adr/0014).
    pub cv_multiple: f64,
    /// Values further than this many median absolute deviations from the median are pulled in to there before change points
    /// are sought. Reports show what was measured.
    pub winsor_mads: f64,
    /// Nights the fence is made of.
    pub fence_nights: u32,
    /// How far the fence is from the upper quartile of the changes from night to night, in interquartile ranges.
    pub fence_iqr: f64,
    /// Share of false findings among all findings of a night that is borne (Benjamini-Hochberg).
    pub false_discovery_rate: f64,
    /// The smallest share that matters, where a suite sets none; null takes [`Rules::margin`]'s own.
    pub smallest_change: Option<f64>,
    /// Name of the pinned baseline that nights are compared with as well; null with none.
    pub baseline: Option<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            nights_to_start: 14,
            window_nights: 50,
            change_point_p: 1e-4,
            nights_after: 2,
            cv_multiple: 2.0,
            winsor_mads: 8.0,
            fence_nights: 30,
            fence_iqr: 3.0,
            false_discovery_rate: 0.05,
            smallest_change: None,
            baseline: None,
        }
    }
}

impl Rules {
    /// A change below this share of a metric does not matter.
    pub fn margin(&self, metric: Metric) -> f64 {
        self.smallest_change.unwrap_or_else(|| metric.default_margin())
    }
}
