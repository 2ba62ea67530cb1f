//! The orchestrator: reads a scenario, plans its runs, has verbs-bench carry them out, keeps every one, and reports.
//!
//! Links no libibverbs and no libnuma: verbs-bench is a child process. Data flows one way, in the order of the modules.
#![forbid(unsafe_code)]

pub mod boot;
pub mod plan;
pub mod resume;
pub mod run;
pub mod scenario;
pub mod store;
pub mod words;
