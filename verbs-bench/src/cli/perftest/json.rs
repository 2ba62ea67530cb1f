//! `--out_json`: perftest's keys in a document that is valid JSON, whatever was measured, with its unit; and our record.

use std::{fs, io, path::Path};

use schema::{Point, RunRecord, Test};
use serde_json::{Value, json};

use super::table;

/// Writes the document; an existing file is replaced once, by the whole of it.
pub(super) fn write(file: &Path, record: &RunRecord, gbits: bool) -> io::Result<()> {
    let text = serde_json::to_string_pretty(&document(record, gbits)).map_err(io::Error::other)?;
    fs::write(file, text + "\n")
}

/// `results` is the last size, as perftest leaves it; `all_results` has every size.
fn document(record: &RunRecord, gbits: bool) -> Value {
    let results: Vec<Value> = record.points.iter().map(|point| result(point, gbits)).collect();
    json!({
        "test_info": test_info(record),
        "results": results.last(),
        "all_results": results,
        "record": record,
    })
}

fn test_info(record: &RunRecord) -> Value {
    let spec = &record.spec;
    let device = record.requester.as_ref().map(|side| &side.device);
    json!({
        "test": format!("{}_{}", spec.op, spec.test),
        "Device": device.map_or(&spec.requester.device, |device| &device.name),
        "Number_of_qps": spec.total_qps(),
        "Connection_type": spec.transport.word().to_uppercase(),
        "TX_depth": spec.tx_depth,
        "CQ_Moderation": spec.signal_interval,
        "Mtu": record.granted.as_ref().map(|granted| granted.path_mtu),
        "Link_type": device.map(|device| &device.link_layer),
        "GID_index": record.requester.as_ref().and_then(|side| side.gid.as_ref()).map(|gid| gid.index),
        "Max_inline_data": spec.max_inline_bytes,
        "Outstand_reads": record.granted.as_ref().and_then(|granted| granted.outstanding_reads),
    })
}

fn result(point: &Point, gbits: bool) -> Value {
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    let latency = &point.latency_ns;
    match point.test {
        Test::Bandwidth => json!({
            "MsgSize": point.msg_bytes,
            "n_iterations": point.messages,
            "BW_peak": null,
            "BW_average": table::bandwidth(point, gbits),
            "BW_unit": table::unit(gbits),
            "MsgRate": table::message_rate(point),
        }),
        Test::Latency => json!({
            "MsgSize": point.msg_bytes,
            "n_iterations": point.messages,
            "t_min": us(Some(latency.min)),
            "t_max": us(Some(latency.max)),
            "t_typical": us(latency.p50),
            "t_avg": latency.mean / 1e3,
            "percentile_99": us(latency.p99),
            "percentile_99.9": us(latency.p99_9),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample;

    #[test]
    fn scripts_find_perftests_keys_and_the_unit() {
        let document = document(&sample::bandwidth(), true);
        assert_eq!(document["results"]["MsgSize"], 65_536);
        assert_eq!(document["results"]["BW_unit"], "Gb/sec");
        assert_eq!(document["all_results"].as_array().unwrap().len(), 2);
        let latency = super::document(&sample::latency(), false);
        assert_eq!(latency["results"]["t_typical"], 0.2);
        assert_eq!(latency["record"]["spec"]["test"], "latency");
    }
}
