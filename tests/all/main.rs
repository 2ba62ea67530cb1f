//! End-to-end tests on any machine: the two programs as a user starts them, on the software NIC. One module a subject.
#![forbid(unsafe_code)]

mod agents;
mod arrows;
mod bad_input;
mod bad_scenarios;
mod cluster_plan;
mod doctor;
mod explain;
mod factors;
mod faults;
mod ground_truth;
mod harness_run;
mod history;
mod hlog;
mod hold;
mod hot_loop;
mod import;
mod kill_resume;
mod nightly;
mod open_loop;
mod operations;
mod outputs;
mod perftest_commands;
mod record_schema;
mod shown;
mod snapshot;
mod ssh;
mod start_up;
mod store;
mod strangers;
mod threads;
mod tune;
mod verbs_bench_run;
mod verdicts;
mod when_decided;
