//! Long CSV: one row per run, point and metric. What R, pandas and spreadsheets like best.

use std::fmt::Write as _;

use schema::{Campaign, CampaignRun, Metric, Outcome, Point, Purpose};

use crate::compare::DETAILS;

/// Columns. `value` is in `unit`; a metric that was not published has no row; a run without points has one row without value.
const HEADER: &str = "campaign_id,scenario,sequence,block,workload,variant,purpose,started_at_unix_ms,fabric,status,test,\
                      op,msg_bytes,messages,duration_ns,metric,value,unit\n";

/// The campaign as long CSV (RFC 4180).
pub fn csv(campaign: &Campaign) -> String {
    let mut text = HEADER.to_owned();
    for run in &campaign.runs {
        let head = run_columns(campaign, run);
        if run.record.points.is_empty() {
            let _ = writeln!(text, "{head},,,,,,,,");
        }
        for point in &run.record.points {
            point_rows(&mut text, &head, point);
        }
    }
    text
}

fn point_rows(text: &mut String, head: &str, point: &Point) {
    let (test, op, size) = (point.test, point.op, point.msg_bytes.get());
    let (messages, duration) = (point.messages, point.duration_ns.get());
    let metrics = Metric::ALL.iter().map(|metric| (metric.to_string(), metric.of(point), metric.unit()));
    let details = DETAILS.iter().map(|detail| (detail.key.to_owned(), detail.of(point), detail.unit()));
    for (name, value, unit) in metrics.chain(details) {
        if let Some(value) = value {
            let _ = writeln!(text, "{head},{test},{op},{size},{messages},{duration},{name},{value},{unit}");
        }
    }
}

fn run_columns(campaign: &Campaign, run: &CampaignRun) -> String {
    let purpose = match run.purpose {
        Purpose::Measure => "measure",
        Purpose::Control => "control",
    };
    let status = match run.record.outcome {
        Outcome::Completed if !run.record.is_valid() => "invalid",
        Outcome::Completed => "completed",
        Outcome::Skipped { .. } => "skipped",
        Outcome::Failed { .. } => "failed",
    };
    [
        campaign.id.to_string(),
        quoted(&campaign.scenario),
        run.sequence.to_string(),
        run.block.to_string(),
        quoted(&run.workload),
        quoted(&run.variant),
        purpose.to_owned(),
        run.record.started_at_unix_ms.to_string(),
        quoted(&run.record.fabric_label),
        status.to_owned(),
    ]
    .join(",")
}

/// A field, in quotes where it holds what ends one.
pub(super) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Sample, fail};

    #[test]
    fn one_row_per_run_and_metric_and_one_for_a_failed_run() {
        let mut campaign = Sample { blocks: 2, ..Sample::default() }.campaign();
        fail(&mut campaign.runs[0]);
        let text = csv(&campaign);
        // Five good runs with all metrics, p99.99 published from 125,000 messages; one failed; the header.
        assert_eq!(text.lines().count(), 5 * Metric::ALL.len() + 1 + 1);
        assert!(text.lines().nth(1).unwrap().ends_with(",failed,,,,,,,,"), "{text}");
        // The fabric's label holds commas.
        assert!(text.contains(",\"soft (model latency=2us,"), "{text}");
    }

    #[test]
    fn what_stands_beside_the_metrics_has_rows_too() {
        let text = csv(&crate::testing::named("loaded").unwrap());
        for row in [",lost_messages,11,messages", ",asked_rate,250000,msg/s", ",late_messages,12,messages"] {
            assert!(text.contains(row), "no {row}");
        }
    }

    #[test]
    fn quotes_are_doubled() {
        assert_eq!(quoted("say \"hi\", twice"), "\"say \"\"hi\"\", twice\"");
        assert_eq!(quoted("plain"), "plain");
    }
}
