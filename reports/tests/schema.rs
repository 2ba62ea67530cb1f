//! The schemas of docs/ are what the types say, and the documents of every sample are what they say.

use std::{env, fs, path::PathBuf};

use reports::{CompareOptions, compare, render, testing};
use serde_json::Value;

/// Compares with a schema under `docs`; `UPDATE_GOLDEN=1` writes it anew.
fn committed(name: &str, schema: &Value) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let text = format!("{schema:#}\n");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let same = fs::read_to_string(&file).unwrap() == text;
    assert!(
        same,
        "the types behind {name} changed; look at the change, then UPDATE_GOLDEN=1 cargo test -p reports --test schema"
    );
}

#[test]
fn the_committed_schemas_are_the_types() {
    committed("comparison.schema.json", &render::json_schema());
    committed("cluster.schema.json", &render::cluster::json_schema());
}

#[test]
fn every_report_of_a_cluster_is_valid() {
    let validator = jsonschema::validator_for(&render::cluster::json_schema()).unwrap();
    for report in
        [testing::cluster_report(), testing::fine_cluster_report(), testing::awkward_cluster_report()]
    {
        let document: Value = serde_json::from_str(&render::cluster::json(&report)).unwrap();
        let faults: Vec<String> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:#?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({"verdict": "slow"})), "a schema that accepts anything");
}

#[test]
fn every_document_is_valid() {
    let validator = jsonschema::validator_for(&render::json_schema()).unwrap();
    for name in testing::NAMES {
        let campaign = testing::named(name).unwrap();
        let comparison = compare(&campaign, &CompareOptions::default());
        for text in [render::json(&comparison), render::report_json(&campaign, &comparison)] {
            let document: Value = serde_json::from_str(&text).unwrap();
            let faults: Vec<String> =
                validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{name}: {faults:#?}");
        }
    }
    assert!(
        !validator.is_valid(&serde_json::json!({"verdict": "splendid"})),
        "a schema that accepts anything"
    );
}

#[test]
fn the_report_has_the_whole_content() {
    let campaign = testing::named("several_sizes").unwrap();
    let comparison = compare(&campaign, &CompareOptions::default());
    let document: Value = serde_json::from_str(&render::report_json(&campaign, &comparison)).unwrap();
    let report = &document["report"];
    assert_eq!(report["variants"], serde_json::json!(["base", "deep", "deeper"]));
    let numbers = report["numbers"].as_array().unwrap();
    let of = |size: u64, name: &str| {
        numbers
            .iter()
            .find(|row| row["msg_bytes"] == size && row["name"] == name)
            .unwrap_or_else(|| panic!("{name}"))
    };
    assert_eq!(of(4096, "bandwidth")["unit"], "bit/s");
    assert_eq!(of(4096, "p99")["variants"][2]["runs"], 10);
    for part in ["facts", "method", "limits", "settings"] {
        assert!(!report[part].as_array().unwrap().is_empty(), "{part}");
    }
    // What is printed by `--json` is the same without the report.
    let printed: Value = serde_json::from_str(&render::json(&comparison)).unwrap();
    let mut without = document.clone();
    without.as_object_mut().unwrap().remove("report");
    assert_eq!(without, printed);
}
