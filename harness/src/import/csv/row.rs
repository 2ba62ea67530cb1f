//! A row as a measurement.

use std::collections::BTreeMap;

use csv::StringRecord;
use schema::{Bytes, Configuration, Endpoint, Fabric, Metric};

use super::{columns::Columns, time::moment, unit::factor};
use crate::import::{Measurement, Refusal, refusal::shown};

/// Reads a row; an error names the column.
pub(super) fn measurement(
    columns: &Columns,
    record: &StringRecord,
    line: usize,
) -> Result<Measurement, Refusal> {
    let field = |name: &str| columns.field(name, record);
    let refused = |name: &str, why: String| Refusal::new(line, format!("{name}: {why}"));
    let named = |name: &str| match field(name) {
        "" => Err(refused(name, "it is empty".into())),
        text => Ok(text.to_owned()),
    };
    let metric: Metric = field("metric").parse().map_err(|error| refused("metric", format!("{error}")))?;
    let per_unit = factor(metric, field("unit")).map_err(|why| refused("unit", why))?;
    let value = match field("value") {
        "" => None,
        text => {
            let value: f64 =
                text.parse().map_err(|_| refused("value", format!("`{}` is no number", shown(text))))?;
            let scaled = value * per_unit;
            if !(scaled.is_finite() && scaled > 0.0) {
                return Err(refused(
                    "value",
                    format!("`{}` is no measurement; leave it empty where a run failed", shown(text)),
                ));
            }
            Some(scaled)
        }
    };
    let size = field("msg_bytes");
    let plain = size.parse::<u64>().ok().filter(|bytes| *bytes > 0).map(Bytes);
    let msg_bytes = match plain {
        Some(bytes) => bytes,
        None => size.parse().map_err(|error| refused("msg_bytes", format!("{error}")))?,
    };
    let or = |name: &str, otherwise: &str| match field(name) {
        "" => otherwise.to_owned(),
        text => text.to_owned(),
    };
    let scenario = named("scenario")?;
    let end = |side: &str| Endpoint {
        host: field(&format!("{side}_host")).to_owned(),
        device: field(&format!("{side}_device")).to_owned(),
    };
    let facts = |of: &[(String, usize)]| -> BTreeMap<String, String> {
        let filled =
            of.iter().filter_map(|(name, place)| Some((name.clone(), record.get(*place)?.to_owned())));
        filled.filter(|(_, value)| !value.is_empty()).collect()
    };
    Ok(Measurement {
        line,
        at_unix_ms: Some(moment(field("time")).map_err(|why| refused("time", why))?),
        engine: or("engine", "csv"),
        fabric: Fabric::Verbs,
        workload: or("workload", &scenario),
        scenario: Some(scenario),
        variant: or("variant", "default"),
        msg_bytes,
        requester: end("requester"),
        responder: end("responder"),
        configuration: Configuration(facts(&columns.configuration)),
        values: vec![(metric, value)],
        failure: value.is_none().then(|| "the table has no value".to_owned()),
        facts: facts(&columns.facts),
    })
}
