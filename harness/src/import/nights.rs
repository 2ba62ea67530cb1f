//! Measurements of many logs as nights: those of one day (UTC) and one series are its runs.

use std::collections::{BTreeMap, btree_map::Entry};

use reports::compare::median;
use schema::{Configuration, Endpoint, SeriesKey};

use super::{Log, Measurement};
use crate::store::{ForeignNight, ForeignRun, NewValue};

const DAY_MS: u64 = 86_400_000;

/// A log, and what is known about it from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
    /// When it was written, ms since 1970 UTC: the time of measurements that tell none.
    pub at_unix_ms: u64,
    /// What was read of it.
    pub log: Log,
}

/// What the logs do not tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// Name of the suite.
    pub suite: String,
    /// Name of the scenario, for logs that know none.
    pub scenario: String,
    /// The host that posted, for logs that do not tell.
    pub requester: String,
    /// The host that was written to, for logs that do not tell.
    pub responder: String,
}

/// The nights of these logs, in time order.
pub fn nights(files: &[File], naming: &Naming) -> Vec<ForeignNight> {
    let mut days: BTreeMap<u64, Vec<(u64, &File, &Measurement)>> = BTreeMap::new();
    for file in files {
        for measurement in &file.log.measurements {
            let at = measurement.at_unix_ms.unwrap_or(file.at_unix_ms);
            days.entry(at / DAY_MS).or_default().push((at, file, measurement));
        }
    }
    days.into_values()
        .map(|mut day| {
            day.sort_by_key(|(at, ..)| *at);
            let runs = day.iter().map(|(_, file, measurement)| foreign_run(file, measurement)).collect();
            let measured = day.iter().map(|(.., measurement)| *measurement);
            ForeignNight {
                suite: naming.suite.clone(),
                started_at_unix_ms: day[0].0,
                runs,
                values: values(measured, naming),
            }
        })
        .collect()
}

fn foreign_run(file: &File, measurement: &Measurement) -> ForeignRun {
    ForeignRun {
        engine: measurement.engine.clone(),
        source: file.name.clone(),
        sha256: file.sha256.clone(),
        line: u32::try_from(measurement.line).unwrap_or(u32::MAX),
        facts: serde_json::json!(measurement.facts),
    }
}

/// Every series of a day once, with the median of its runs, in the order they were first measured.
fn values<'m>(measured: impl Iterator<Item = &'m Measurement>, naming: &Naming) -> Vec<NewValue> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut values: Vec<NewValue> = Vec::new();
    for measurement in measured {
        for (metric, value) in &measurement.values {
            let key = key(measurement, *metric, naming);
            let place = match places.entry(format!("{:?} {key}", key.fabric)) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    values.push(nothing_yet(key, &measurement.configuration));
                    *new.insert(values.len() - 1)
                }
            };
            let of_day = &mut values[place];
            match value {
                Some(value) => of_day.runs.push(*value),
                None => {
                    of_day.failed_runs += 1;
                    of_day.failure = of_day.failure.take().or_else(|| measurement.failure.clone());
                }
            }
            mix(&mut of_day.configuration, &measurement.configuration);
        }
    }
    values.iter_mut().for_each(|of_day| of_day.value = median(&of_day.runs));
    values
}

fn key(measurement: &Measurement, metric: schema::Metric, naming: &Naming) -> SeriesKey {
    let end = |told: &Endpoint, host: &str| Endpoint {
        host: if told.host.is_empty() { host.to_owned() } else { told.host.clone() },
        device: told.device.clone(),
    };
    SeriesKey {
        engine: measurement.engine.clone(),
        fabric: measurement.fabric,
        scenario: measurement.scenario.clone().unwrap_or_else(|| naming.scenario.clone()),
        workload: measurement.workload.clone(),
        variant: measurement.variant.clone(),
        msg_bytes: measurement.msg_bytes,
        metric,
        requester: end(&measurement.requester, &naming.requester),
        responder: end(&measurement.responder, &naming.responder),
    }
}

fn nothing_yet(key: SeriesKey, configuration: &Configuration) -> NewValue {
    NewValue {
        key,
        configuration: configuration.clone(),
        value: None,
        runs: Vec::new(),
        failed_runs: 0,
        failure: None,
        confirm_runs: Vec::new(),
        limit: None,
        faults: Vec::new(),
    }
}

/// A fact that differs among the runs of a day is told with all its values.
fn mix(all: &mut Configuration, one: &Configuration) {
    for (name, value) in &one.0 {
        match all.0.get_mut(name) {
            Some(known) if known.split(" | ").all(|part| part != value) => {
                known.push_str(" | ");
                known.push_str(value);
            }
            Some(_) => {}
            None => {
                all.0.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::csv;

    fn file(rows: &str) -> File {
        let text = format!("time,scenario,msg_bytes,metric,value,unit,configuration.mtu\n{rows}");
        File {
            name: "log.csv".into(),
            sha256: "ab".into(),
            at_unix_ms: 0,
            log: csv::read(&text, &[]).unwrap(),
        }
    }

    fn naming() -> Naming {
        Naming {
            suite: "old".into(),
            scenario: "perftest".into(),
            requester: "node1".into(),
            responder: "node2".into(),
        }
    }

    #[test]
    fn a_day_is_a_night_and_its_measurements_are_runs() {
        let files = [
            file(
                "2026-03-02T01:00:00Z,s,8,p50,3,us,1024\n2026-03-02T03:00:00Z,s,8,p50,1,us,4096\n2026-03-02,s,8,p50,,us,1024\n",
            ),
            file(
                "2026-03-01T23:59:59Z,s,8,p50,5,us,1024\n2026-03-02T02:00:00Z,s,8,p50,2,us,1024\n2026-03-02,s,64,p50,9,us,1024\n",
            ),
        ];
        let nights = nights(&files, &naming());
        assert_eq!(nights.len(), 2);
        let second = &nights[1];
        assert_eq!((second.suite.as_str(), second.runs.len(), second.values.len()), ("old", 5, 2));
        let small = second.values.iter().find(|value| value.key.msg_bytes.get() == 8).unwrap();
        assert_eq!(small.runs, [3_000.0, 2_000.0, 1_000.0]);
        assert_eq!(small.value, Some(2_000.0));
        assert_eq!((small.failed_runs, small.failure.as_deref()), (1, Some("the table has no value")));
        assert_eq!(small.configuration.0["mtu"], "1024 | 4096");
        assert_eq!(small.key.requester.host, "node1");
    }
}
