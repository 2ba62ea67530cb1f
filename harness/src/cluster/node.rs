//! A node as it is asked for, and as it came.

use std::net::IpAddr;

use schema::SoftModel;

use crate::{
    agent::{link::Link, protocol::Identity},
    scenario::SideHost,
};

/// Number of a node in its cluster, from 0.
pub type Rank = u32;

/// A node that is to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct WantedNode {
    /// Its name, unique in the cluster: the scheduler's, else that of the host file.
    pub name: String,
    /// Where its agent is started, and what the agent is; none where someone else starts it.
    pub host: Option<SideHost>,
    /// Its RDMA device; none is what the suite says.
    pub device: Option<String>,
    /// What its end of every link is on the software NIC, see [`super::soft_link`]; none is what the workload says.
    pub soft: Option<SoftModel>,
    /// Address by which other nodes reach it; none is found out when its agent comes.
    pub address: Option<IpAddr>,
    /// The switches above it, the outermost first; empty where nobody told.
    pub switches: Vec<String>,
}

/// What came of starting the agent of a node.
pub struct Mustered {
    /// The node, with what was learnt of it.
    pub node: WantedNode,
    /// The link to its agent, or why there is none.
    pub came: Result<Link<Rank>, String>,
    /// What whoever started it calls it; none where nobody did.
    pub identity: Option<Identity>,
}
