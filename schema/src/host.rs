//! What one host is, as far as a comparison needs to know it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Facts about a host that do not change while a run lasts. What could not be read is null, never zero.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostFacts {
    /// `uname -n`.
    pub hostname: String,
    /// `uname -r`.
    pub kernel: String,
    /// `PRETTY_NAME` of os-release.
    pub os: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// CPUs online, in the kernel's list format.
    pub cpus_online: Option<String>,
    /// CPUs this process may use (affinity mask and cpuset), in the kernel's list format.
    pub cpus_allowed: Option<String>,
    /// CPUs taken from the scheduler by isolcpus or an isolated cpuset partition, in the kernel's list format.
    pub cpus_isolated: Option<String>,
    /// NUMA nodes online, in the kernel's list format.
    pub numa_nodes: Option<String>,
    /// Total memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Hypervisor, if the CPU says it runs under one.
    pub virtualized: Option<bool>,
    /// cpufreq governor of the measuring CPU.
    pub governor: Option<String>,
    /// Kernel command line.
    pub kernel_cmdline: Option<String>,
    /// Boot id: two processes with the same one run on the same kernel.
    pub boot_id: Option<String>,
}
