//! One Linux host, seen through a root directory: `/`, or a fixture tree with the same shape.
//!
//! Small readers, one noun a file, each returning a [`Value`]: known, absent, not applicable or unreadable. Nothing here
//! caches or guesses, and no parser panics on any text. Two files can write, what no path leads to: [`ethtool::set_field`]
//! and [`dcb::set_pfc`]; when to, and how to turn it back, is the tuner's. Pinning and binding are the engine's
//! (`verbs-bench`), which decides with what it reads here.
#![forbid(unsafe_code)]

pub mod aer;
pub mod counters;
pub mod cpufreq;
pub mod cpuidle;
pub mod cpuinfo;
pub mod cpulist;
pub mod cpumask;
pub mod cpuset;
pub mod dcb;
pub mod ethtool;
pub mod facts;
pub mod gid;
pub mod interrupts;
pub mod kernel_log;
pub mod keyed;
pub mod memory;
pub mod netdev;
pub mod nic;
pub mod pcie;
pub mod pick;
pub mod process;
pub mod recorded;
pub mod softirqs;
pub mod softnet;
pub mod sysctl;
pub mod sysroot;
#[cfg(feature = "testing")]
pub mod testing;
pub mod throttle;
pub mod topology;
pub mod value;

pub use facts::facts;
pub use interrupts::Interrupts;
pub use nic::Nic;
pub use nic_control::{Aspect, Fields, Statistic};
pub use pick::{Choice, Situation};
pub use sysroot::Sysroot;
pub use topology::Topology;
pub use value::Value;

#[cfg(test)]
mod testing_tree;

#[cfg(test)]
use testing::fixture;
