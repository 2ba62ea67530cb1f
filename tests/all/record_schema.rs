//! docs/run-record.schema.json is what the types say, and what the engine prints is what the document says.

use e2e::{
    finish,
    programs::{PATIENCE, repository},
    verbs_bench,
};
use schema::RunRecord;
use serde_json::Value;

fn generated() -> Value {
    serde_json::to_value(schemars::schema_for!(RunRecord)).expect("a schema is JSON")
}

#[test]
fn the_committed_schema_is_the_types() {
    let file = repository().join("docs/run-record.schema.json");
    let text = format!("{:#}\n", generated());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &text).expect("the schema can be written");
    }
    let committed = std::fs::read_to_string(&file).expect("docs/run-record.schema.json is there");
    assert!(
        committed == text,
        "the types changed; look at the change, then UPDATE_GOLDEN=1 cargo test -p e2e record_schema"
    );
}

#[test]
fn what_is_printed_is_valid() {
    let validator = jsonschema::validator_for(&generated()).expect("the schema is one");
    let runs: [(&[&str], i32); 4] = [
        (&["--test", "bandwidth", "--size", "8", "--size", "64Ki", "--duration", "100ms"], 0),
        (
            &[
                "--test",
                "latency",
                "--duration",
                "100ms",
                "--soft-model",
                "latency=5us,jitter=bimodal:0.01:50us",
            ],
            0,
        ),
        (&["--duration", "100ms", "--soft-fault", "error=RETRY_EXC_ERR@100"], 3),
        (&["--peer", "127.0.0.1:1"], 3),
    ];
    for (arguments, code) in runs {
        let record: Value =
            finish(verbs_bench(&["run", "--device", "soft", "--json"]).args(arguments), PATIENCE)
                .expect(code)
                .json();
        let faults: Vec<String> = validator.iter_errors(&record).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{arguments:?}: {faults:#?}");
    }
    let refused: Value = serde_json::json!({"schema_version": "one"});
    assert!(!validator.is_valid(&refused), "a schema that accepts anything proves nothing");
}
