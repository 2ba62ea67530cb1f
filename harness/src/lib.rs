//! The orchestrator: reads a scenario, plans its runs, has verbs-bench carry them out, keeps every one, and reports.
//!
//! Links no libibverbs and no libnuma: verbs-bench is a child process of the agents. Data flows one way: scenario, plan, run
//! (through the agents), store.
#![forbid(unsafe_code)]

pub mod agent;
pub mod boot;
pub mod cluster;
pub mod doctor;
mod draw;
pub mod evidence;
pub mod history;
pub mod import;
pub mod interrupt;
pub mod knowledge;
pub mod nightly;
pub mod plan;
pub mod resume;
pub mod run;
pub mod scenario;
pub mod snapshot;
pub mod store;
pub mod suite;
pub mod tuning;
pub mod words;
