//! The JSON that other programs and older stores hold, pinned literally: a change here is a change of the record format.

use schema::{
    Bytes, CpuChoice, Nanos, NodeChoice, Outcome, RunSpec, SCHEMA_VERSION, Side, Stage, Stop, Test,
};
use serde_json::json;

fn latency_spec() -> serde_json::Value {
    json!({
        "schema_version": 1,
        "test": "latency",
        "op": "write",
        "msg_bytes": [8, 64],
        "stop": { "iterations": 1000 },
        "warmup_ns": 200_000_000,
        "interval_ns": 100_000_000,
        "deadline_ns": 3_000_000_000_u64,
        "tx_depth": 1,
        "post_list": 1,
        "signal_interval": 1,
        "cq_poll_batch": 16,
        "qp_count": 1,
        "max_inline_bytes": 32,
        "path_mtu": null,
        "traffic_class": 0,
        "service_level": 0,
        "qp_timeout": 14,
        "retry_count": 7,
        "data_check": true,
        "requester": { "device": "soft", "port_num": 1, "gid_index": null, "cpu": "2-3", "memory_node": "auto" },
        "responder": { "device": "soft", "port_num": 1, "gid_index": 3, "cpu": "none", "memory_node": "1" },
        "soft_model": {
            "latency_ns": 2000, "ack_latency_ns": 2000, "jitter": { "uniform": { "max_ns": 500 } },
            "rate_bits_per_sec": 100_000_000_000_u64, "messages_per_sec": null,
            "remote_numa_penalty_ns": 0, "near_cpu": null, "seed": 7
        },
        "soft_fault": {
            "error": { "status": "RETRY_EXC_ERR", "at_message": 1000 }, "lost_at_message": null,
            "stall": { "duration_ns": 5_000_000, "period_ns": 100_000_000 }, "peer_death_after_ns": null
        }
    })
}

#[test]
fn a_run_spec_reads_and_writes_as_it_always_did() {
    let spec: RunSpec = serde_json::from_value(latency_spec()).expect("the pinned text is a spec");
    assert_eq!((spec.schema_version, spec.test), (SCHEMA_VERSION, Test::Latency));
    assert_eq!(spec.msg_bytes, [Bytes(8), Bytes(64)]);
    assert_eq!((spec.stop, spec.warmup_ns), (Stop::Iterations(1000), Nanos(200_000_000)));
    assert_eq!(spec.requester.cpu, CpuChoice::List(vec![2, 3]));
    assert_eq!(spec.responder.memory_node, NodeChoice::Node(1));
    let mut written = latency_spec();
    written["requester"]["cpu"] = json!("2,3");
    assert_eq!(serde_json::to_value(&spec).expect("a spec has string keys"), written);
}

#[test]
fn a_spec_written_before_the_data_check_could_be_switched_off_is_checked() {
    let mut old = latency_spec();
    old.as_object_mut().expect("an object").remove("data_check");
    assert!(serde_json::from_value::<RunSpec>(old).expect("the field is optional").data_check);
}

#[test]
fn an_unknown_field_is_refused_by_name() {
    let mut odd = latency_spec();
    odd["tx_dept"] = json!(4);
    assert!(serde_json::from_value::<RunSpec>(odd).unwrap_err().to_string().contains("tx_dept"));
}

#[test]
fn outcomes_carry_their_status_as_a_tag() {
    let failed = Outcome::Failed {
        stage: Stage::WarmUp,
        side: Side::Responder,
        cause: "no ping".into(),
        advice: String::new(),
    };
    assert_eq!(
        serde_json::to_value(&failed).expect("string keys"),
        json!({ "status": "failed", "stage": "warm_up", "side": "responder", "cause": "no ping", "advice": "" })
    );
    assert_eq!(
        serde_json::to_value(Outcome::Completed).expect("string keys"),
        json!({ "status": "completed" })
    );
}
