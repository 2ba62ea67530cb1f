//! Long CSV of nights: one row per run, for R, pandas and spreadsheets.

use std::{collections::HashMap, fmt::Write as _};

use schema::{Configuration, History, Night, NightValue, Series};

use super::series::fabric;
use crate::{export::csv::quoted, render::number};

/// Columns. `value` is in `unit`; `part` says whether the run was made first or again the same night; where no run was valid, one
/// row without run and value says why.
const HEADER: &str = "night,started_at,suite,engine,fabric,scenario,workload,variant,msg_bytes,metric,unit,requester_host,\
                      requester_device,responder_host,responder_device,configuration,failed_runs,failure,part,run,value\n";

/// The runs of these nights (RFC 4180), in the order of nights, then of series.
pub fn long_csv(history: &History) -> String {
    let mut text = HEADER.to_owned();
    let by_night: Vec<HashMap<i64, &NightValue>> = history
        .series
        .iter()
        .map(|series| series.values.iter().map(|value| (value.night, value)).collect())
        .collect();
    for night in &history.nights {
        for (series, values) in history.series.iter().zip(&by_night) {
            if let Some(value) = values.get(&night.id) {
                rows(&mut text, history, night, series, value);
            }
        }
    }
    text
}

fn rows(text: &mut String, history: &History, night: &Night, series: &Series, value: &NightValue) {
    let head = head(history, night, series, value);
    if value.runs.is_empty() && value.confirm_runs.is_empty() {
        let _ = writeln!(text, "{head},,,");
    }
    for (part, runs) in [("first", &value.runs), ("confirm", &value.confirm_runs)] {
        for (i, run) in runs.iter().enumerate() {
            let _ = writeln!(text, "{head},{part},{},{run}", i + 1);
        }
    }
}

fn head(history: &History, night: &Night, series: &Series, value: &NightValue) -> String {
    let key = &series.key;
    [
        night.id.to_string(),
        number::utc_iso(night.started_at_unix_ms),
        quoted(&night.suite),
        quoted(&key.engine),
        fabric(key.fabric).to_owned(),
        quoted(&key.scenario),
        quoted(&key.workload),
        quoted(&key.variant),
        key.msg_bytes.get().to_string(),
        key.metric.to_string(),
        key.metric.unit().to_owned(),
        quoted(&key.requester.host),
        quoted(&key.requester.device),
        quoted(&key.responder.host),
        quoted(&key.responder.device),
        quoted(&history.configurations.get(&value.configuration).map_or_else(String::new, facts)),
        value.failed_runs.to_string(),
        quoted(value.failure.as_deref().unwrap_or_default()),
    ]
    .join(",")
}

/// `kernel=6.1.0 path_mtu=4096`.
fn facts(configuration: &Configuration) -> String {
    configuration.0.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::night_history;

    #[test]
    fn one_row_a_run_and_one_for_a_night_without_any() {
        let history = night_history();
        let text = long_csv(&history);
        let values = || history.series.iter().flat_map(|series| &series.values);
        let runs: usize = values().map(|value| value.runs.len() + value.confirm_runs.len()).sum();
        let none = values().filter(|value| value.runs.is_empty()).count();
        assert_eq!(text.lines().count(), 1 + runs + none);
        assert_eq!(none, 1);
        let refused = "connecting to node1: connection refused (is its agent installed?)";
        assert!(text.lines().any(|line| line.ends_with(&format!(",5,{refused},,,"))), "{text}");
        assert!(text.lines().any(|line| line.contains(",confirm,5,")), "{text}");
    }

    #[test]
    fn nights_that_are_left_out_have_no_rows() {
        let mut history = night_history();
        history.nights.drain(..18);
        let text = long_csv(&history);
        let nights: std::collections::BTreeSet<&str> =
            text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        assert_eq!(nights.into_iter().collect::<Vec<_>>(), ["119", "120"]);
    }

    proptest! {
        #[test]
        fn whatever_things_are_called_a_csv_reader_finds_it(name in any::<String>(), host in any::<String>()) {
            let mut history = night_history();
            history.series.truncate(1);
            history.series[0].key.scenario.clone_from(&name);
            history.series[0].key.requester.host.clone_from(&host);
            let text = long_csv(&history);
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let mut rows = 0;
            for row in reader.records() {
                let row = row.unwrap();
                prop_assert_eq!((&row[5], &row[11]), (&name[..], &host[..]));
                rows += 1;
            }
            prop_assert_eq!(rows, 100);
        }
    }
}
