//! What one side of a run is asked to use: its device, its place, its memory.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::serde_as_text;
use crate::units::UnitError;

/// Which CPU the polling thread is pinned to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum CpuChoice {
    /// The NIC's node, an isolated core first, a whole physical core, not one that takes the NIC's interrupts.
    #[default]
    Auto,
    /// Not pinned: the scheduler decides.
    None,
    /// These CPUs, in this order; the polling thread takes the first.
    List(Vec<u32>),
}

/// Which NUMA node the message buffers lie on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum NodeChoice {
    /// The node of the pinned CPU, else of the NIC, else as the kernel likes.
    #[default]
    Auto,
    /// Not bound: first touch decides.
    None,
    /// This node.
    Node(u32),
}

impl FromStr for CpuChoice {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim() {
            "auto" => Ok(CpuChoice::Auto),
            "none" => Ok(CpuChoice::None),
            list => parse_cpu_list(list).map(CpuChoice::List),
        }
    }
}

/// Reads the kernel's list format (`0-3,8`), keeping the order as written.
fn parse_cpu_list(list: &str) -> Result<Vec<u32>, UnitError> {
    let bad = || UnitError(format!("CPU list `{list}`: write auto, none, or a list such as `2` or `2-3,8`"));
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().map_err(|_| bad())?;
        let last: u32 = last.trim().parse().map_err(|_| bad())?;
        if first > last || last - first > 4096 {
            return Err(bad());
        }
        for cpu in first..=last {
            if cpus.contains(&cpu) {
                return Err(UnitError(format!("CPU list `{list}` names CPU {cpu} twice")));
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}

impl fmt::Display for CpuChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CpuChoice::Auto => f.pad("auto"),
            CpuChoice::None => f.pad("none"),
            CpuChoice::List(cpus) => f.pad(&cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl FromStr for NodeChoice {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.trim() {
            "auto" => Ok(NodeChoice::Auto),
            "none" => Ok(NodeChoice::None),
            node => node.parse().map(NodeChoice::Node).map_err(|_| {
                UnitError(format!("memory node `{text}`: write auto, none, or a NUMA node number"))
            }),
        }
    }
}

impl fmt::Display for NodeChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeChoice::Auto => f.pad("auto"),
            NodeChoice::None => f.pad("none"),
            NodeChoice::Node(node) => f.pad(&node.to_string()),
        }
    }
}

serde_as_text!(CpuChoice);
serde_as_text!(NodeChoice);

/// What one side of the run is asked to use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideSpec {
    /// `auto` (the first usable RDMA device), `soft` (the software NIC), or a device name such as `mlx5_0`.
    pub device: String,
    /// Port of the device, counted from 1.
    pub port_num: u8,
    /// GID table index; absent lets the side choose by its route to the peer, and record why.
    pub gid_index: Option<u32>,
    /// Where the polling thread runs.
    pub cpu: CpuChoice,
    /// Where the message buffers lie.
    pub memory_node: NodeChoice,
}

impl Default for SideSpec {
    fn default() -> Self {
        SideSpec {
            device: "auto".into(),
            port_num: 1,
            gid_index: None,
            cpu: CpuChoice::Auto,
            memory_node: NodeChoice::Auto,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_keep_their_order() {
        assert_eq!("3,0-1".parse(), Ok(CpuChoice::List(vec![3, 0, 1])));
        assert!("3-1".parse::<CpuChoice>().is_err());
        assert!("1,1".parse::<CpuChoice>().is_err());
        assert!("x".parse::<CpuChoice>().is_err());
        assert_eq!(CpuChoice::List(vec![3, 0, 1]).to_string(), "3,0,1");
    }
}
