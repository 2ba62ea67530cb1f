//! The JSON that other programs and older stores hold, pinned literally: a change here is a change of the record format.

#![recursion_limit = "256"]
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
        "transport": "rc",
        "post_api": "classic",
        "connect_by": "tcp",
        "bidirectional": false,
        "pace": { "open": { "rate": { "bits_per_sec": 10_000_000_000_u64 }, "arrivals": "poisson", "seed": 3 } },
        "wait": "hybrid:20us",
        "comp_vector": 0,
        "threads": 1,
        "tx_depth": 1,
        "post_list": 1,
        "signal_interval": 1,
        "cq_poll_batch": 16,
        "qp_count": 1,
        "rx_depth": 512,
        "outstanding_reads": null,
        "working_set_bytes": null,
        "stride_bytes": null,
        "pages": "base",
        "relaxed_ordering": false,
        "completion_timestamps": false,
        "compat": "none",
        "max_inline_bytes": 32,
        "path_mtu": null,
        "traffic_class": 0,
        "service_level": 0,
        "flow_label": 0,
        "pkey_index": 0,
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
fn a_spec_of_the_first_release_reads_as_what_it_meant() {
    let mut old = latency_spec();
    let fields = old.as_object_mut().expect("an object");
    for younger in [
        "data_check",
        "transport",
        "post_api",
        "connect_by",
        "bidirectional",
        "pace",
        "wait",
        "comp_vector",
        "threads",
        "rx_depth",
        "outstanding_reads",
        "working_set_bytes",
        "stride_bytes",
        "pages",
        "relaxed_ordering",
        "completion_timestamps",
        "compat",
        "flow_label",
        "pkey_index",
    ] {
        assert!(fields.remove(younger).is_some(), "{younger}");
    }
    let spec: RunSpec = serde_json::from_value(old).expect("an old spec is a spec");
    let defaults = RunSpec::new(Test::Latency);
    assert!(spec.data_check);
    assert_eq!((spec.threads, spec.rx_depth, spec.wait, spec.pace), (1, 512, defaults.wait, defaults.pace));
    assert_eq!(
        (spec.transport, spec.post_api, spec.pages),
        (defaults.transport, defaults.post_api, defaults.pages)
    );
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
