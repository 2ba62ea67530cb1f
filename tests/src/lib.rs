//! What the end-to-end tests share: finding the two programs, running them under a time limit, and a responder that dies
//! with its test. Drives the programs only; of our crates it sees `schema`, the language they speak.
#![forbid(unsafe_code)]

pub mod cluster;
pub mod paired;
pub mod perftest;
pub mod programs;
pub mod rack;
pub mod scenario;
pub mod serving;

pub use programs::{Finished, finish, rdma_harness, verbs_bench};
pub use rack::Rack;
pub use scenario::Scenario;
pub use serving::Serving;
