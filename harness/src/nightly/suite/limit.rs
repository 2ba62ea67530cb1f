//! What a value must reach whatever the history says: as written, and whether it can be meant.

use schema::{BitsPerSec, Bytes, Direction, Metric, Nanos, spec::Rate};

use super::{Entry, Kept};
use crate::scenario::{At, Fault, Section, percent};

/// A limit as written, on every series it fits.
#[derive(Debug, Clone)]
pub struct WrittenLimit {
    /// Name of the scenario; absent is every scenario.
    pub scenario: Option<At<String>>,
    /// Name of the variant; absent is every variant.
    pub variant: Option<At<String>>,
    /// Name of the workload; absent is every workload.
    pub workload: Option<At<String>>,
    /// Message size; absent is every size.
    pub size: Option<At<Bytes>>,
    /// What must reach it.
    pub metric: At<Metric>,
    /// The worst that is still right.
    pub worst: Worst,
}

/// The worst value that is still right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Worst {
    /// A share of the payload rate that link and host can carry.
    OfExpected(f64),
    /// A value in the metric's unit.
    Value(f64),
}

impl WrittenLimit {
    /// Whether it is on this series of an entry.
    pub fn fits(&self, entry: &Entry, kept: &Kept) -> bool {
        self.metric.value == kept.metric
            && self.scenario.as_ref().is_none_or(|name| name.value == entry.scenario.name)
            && self.variant.as_ref().is_none_or(|name| name.value == entry.variant)
            && self.workload.as_ref().is_none_or(|name| name.value == kept.workload)
            && self.size.as_ref().is_none_or(|size| size.value == kept.msg_bytes)
    }
}

/// One table of `[[limits]]`.
pub(super) fn read(section: &Section<'_>) -> Option<WrittenLimit> {
    let (scenario, variant) = (section.text("scenario"), section.text("variant"));
    let (workload, size) = (section.text("workload"), section.parsed("size"));
    let metric = section.parsed("metric");
    if metric.is_none() && section.raw("metric").is_none() {
        section.fault("metric", section.span(), "is missing; write for example \"bandwidth\" or \"p99\"");
    }
    let (least, most) = (section.text("at_least"), section.text("at_most"));
    section.finish();
    let metric: At<Metric> = metric?;
    let worst = read_worst(section, metric.value, least, most)?;
    Some(WrittenLimit { scenario, variant, workload, size, metric, worst })
}

fn read_worst(
    section: &Section<'_>,
    metric: Metric,
    least: Option<At<String>>,
    most: Option<At<String>>,
) -> Option<Worst> {
    let (right, other, key, wrong) = match metric.direction() {
        Direction::HigherIsBetter => (least, most, "at_least", "at_most"),
        Direction::LowerIsBetter => (most, least, "at_most", "at_least"),
    };
    if let Some(other) = other {
        let better = if key == "at_least" { "higher" } else { "lower" };
        let what = format!("says nothing of {metric}, of which {better} is better; write {key}");
        section.fault(wrong, other.span, what);
        return None;
    }
    let Some(text) = right else {
        let what = format!("is missing; write for example {key} = {}", example(metric));
        section.fault(key, section.span(), what);
        return None;
    };
    match worst(metric, &text.value) {
        Ok(worst) => Some(worst),
        Err(why) => {
            section.fault(key, text.span, why);
            None
        }
    }
}

fn example(metric: Metric) -> &'static str {
    match metric {
        Metric::Bandwidth => "\"93 %\" (of the payload that the link can carry) or \"180Gbps\"",
        Metric::MessageRate => "\"5M/s\"",
        _ => "\"2.5us\"",
    }
}

fn worst(metric: Metric, text: &str) -> Result<Worst, String> {
    if text.trim().ends_with('%') {
        let share = percent(text.trim()).filter(|share| *share > 0.0 && *share <= 1.0);
        return match (metric, share) {
            (Metric::Bandwidth, Some(share)) => Ok(Worst::OfExpected(share)),
            (Metric::Bandwidth, None) => Err(format!("`{text}` must be above 0 % and at most 100 %")),
            _ => Err(format!(
                "a share is of the payload rate, and {metric} is none; write {}",
                example(metric)
            )),
        };
    }
    let value = match metric {
        Metric::Bandwidth => text.parse::<BitsPerSec>().map(|rate| rate.get() as f64),
        Metric::MessageRate => match text.parse::<Rate>() {
            Ok(Rate::MessagesPerSec(rate)) => Ok(rate as f64),
            _ => {
                return Err(format!(
                    "`{text}` is no rate of messages; write for example {}",
                    example(metric)
                ));
            }
        },
        _ => text.parse::<Nanos>().map(|time| time.get() as f64),
    };
    value.map(Worst::Value).map_err(|error| error.to_string())
}

/// Every limit must be on something, and no series may have two.
pub(super) fn check(limits: &[(Section<'_>, WrittenLimit)], entries: &[Entry]) {
    for (n, (section, limit)) in limits.iter().enumerate() {
        let mut fitting = entries
            .iter()
            .flat_map(|entry| entry.points.iter().map(move |kept| (entry, kept)))
            .filter(|(entry, kept)| limit.fits(entry, kept))
            .peekable();
        if fitting.peek().is_none() {
            let what = "is on nothing that the suite measures";
            section.push(Fault::new(section.path(), section.span(), what).advice(kept_in_words(entries)));
        }
        let earlier =
            |entry: &Entry, kept: &Kept| limits[..n].iter().find(|(_, other)| other.fits(entry, kept));
        let twice =
            fitting.find_map(|(entry, kept)| earlier(entry, kept).map(|(first, _)| (entry, kept, first)));
        if let Some((entry, kept, first)) = twice {
            let Kept { workload, msg_bytes, metric } = kept;
            let what = format!("{}/{workload} at {msg_bytes} has a limit on {metric} already", entry.name());
            section.push(
                Fault::new(section.path(), section.span(), what)
                    .beside(first.span(), "set here")
                    .advice("name scenario, variant, workload or size so that each series has one limit"),
            );
        }
    }
}

fn kept_in_words(entries: &[Entry]) -> String {
    let words = entries.iter().flat_map(|entry| {
        entry.points.iter().map(|Kept { workload, msg_bytes, metric }| {
            format!("{metric} of {}/{workload} at {msg_bytes}", entry.name())
        })
    });
    format!("measured are {}", words.collect::<Vec<_>>().join(", "))
}
