//! Which nodes are wanted: what the command line, the host file and the topology file say, put together and checked against
//! each other before anything is started.

use std::{
    collections::BTreeMap,
    fs,
    net::{IpAddr, Ipv4Addr},
    path::Path,
};

use schema::LauncherKind;

use super::{
    Ask, LaunchError, host_file,
    host_file::Entry,
    node_set, slurm,
    topology::{self, Topology},
};
use crate::{
    agent::identity::{self, Environment},
    cluster::WantedNode,
    scenario::{Fault, FaultReport, Place, SideHost},
};

/// The device of a node of this host where nothing else is said: what is rehearsed here needs no hardware.
const LOCAL_DEVICE: &str = "soft";
/// The most nodes that are numbered here.
const MOST: u32 = 1 << 14;

/// The nodes that are wanted, by rank.
///
/// # Errors
/// When files can't be read or say what can't be meant, sets are none, or what is asked contradicts itself.
pub fn wanted(ask: &Ask) -> Result<Vec<WantedNode>, LaunchError> {
    within(ask, &identity::of_this_process())
}

fn within(ask: &Ask, environment: &Environment) -> Result<Vec<WantedNode>, LaunchError> {
    let allocated = match ask.kind {
        LauncherKind::Slurm => Some(slurm::nodes(environment).map_err(LaunchError::Wrong)?),
        _ => None,
    };
    let listed = ask.hostfile.as_deref().map(|file| read(file, "host file", host_file::parse)).transpose()?;
    let entries = match (&ask.nodes, listed) {
        (None, None) if allocated.is_some() => allocated.into_iter().flatten().map(named).collect(),
        (None, None) => return Err(LaunchError::Wrong(nobody(ask.kind))),
        (None, Some(entries)) => entries,
        (Some(nodes), None) => names(ask.kind, nodes)?.into_iter().map(named).collect(),
        (Some(nodes), Some(entries)) => pick(ask.kind, nodes, entries)?,
    };
    let topology =
        ask.topology.as_deref().map(|file| read(file, "topology file", topology::parse)).transpose()?;
    entries.into_iter().map(|entry| node(ask, entry, topology.as_ref())).collect()
}

fn read<T>(
    file: &Path,
    what: &'static str,
    parse: impl FnOnce(&Path, &str) -> Result<T, FaultReport>,
) -> Result<T, LaunchError> {
    let source =
        fs::read_to_string(file).map_err(|cause| LaunchError::Read { what, file: file.to_owned(), cause })?;
    parse(file, &source).map_err(LaunchError::Faults)
}

fn nobody(kind: LauncherKind) -> String {
    let example = match kind {
        LauncherKind::Local | LauncherKind::Join => "--nodes 8",
        LauncherKind::Ssh | LauncherKind::Slurm => "--nodes node[1-8]",
    };
    format!(
        "the launcher {kind} is told no nodes; name them, for example {example}, or in a file with --hostfile"
    )
}

fn named(name: String) -> Entry {
    Entry { name, ..Entry::default() }
}

/// The names that `--nodes` gives: those of a set, or node1 to nodeN for a number.
fn names(kind: LauncherKind, text: &str) -> Result<Vec<String>, LaunchError> {
    let wrong = |span, what: String, advice: &str| {
        let faults = vec![Fault::new("", span, what).advice(advice)];
        LaunchError::Faults(FaultReport { file: "--nodes".into(), source: text.to_owned(), faults })
    };
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match (kind, text.parse::<u32>()) {
            (LauncherKind::Local | LauncherKind::Join, Ok(count @ 1..=MOST)) => {
                Ok((1..=count).map(|number| format!("node{number}")).collect())
            }
            (LauncherKind::Local | LauncherKind::Join, _) => {
                Err(wrong(0..text.len(), format!("is not a number of nodes from 1 to {MOST}"), ""))
            }
            _ => Err(wrong(
                0..text.len(),
                format!("is a number, and the launcher {kind} wants to know which"),
                "name them: node[1-8]",
            )),
        };
    }
    node_set::expand(text).map_err(|found| wrong(found.span, found.what, ""))
}

/// The lines of the host file that `--nodes` names, in its order.
fn pick(kind: LauncherKind, nodes: &str, entries: Vec<Entry>) -> Result<Vec<Entry>, LaunchError> {
    let mut entries =
        entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect::<BTreeMap<_, _>>();
    let pick = |name: String| {
        entries.remove(&name).ok_or_else(|| {
            LaunchError::Wrong(format!(
                "--nodes names {name}, which has no line in the host file; give it one"
            ))
        })
    };
    names(kind, nodes)?.into_iter().map(pick).collect()
}

fn node(ask: &Ask, entry: Entry, topology: Option<&Topology>) -> Result<WantedNode, LaunchError> {
    let switches = switches(&entry, topology)?;
    let Entry { name, at, device, soft, address, agent, .. } = entry;
    if let (Some(device), Some(_)) = (device.as_deref().filter(|device| *device != LOCAL_DEVICE), &soft) {
        return Err(LaunchError::Wrong(format!(
            "{name}: `soft=` in the host file is of the software NIC, and its device is {device}; leave one of them out"
        )));
    }
    let mut node = WantedNode { name, host: None, device, soft, address, switches };
    match ask.kind {
        LauncherKind::Local | LauncherKind::Ssh => {
            let default = match ask.kind {
                LauncherKind::Ssh => format!("ssh:{}", node.name).parse().map_err(LaunchError::Wrong)?,
                _ => Place::Local,
            };
            let at = at.unwrap_or(default);
            if at == Place::Local {
                node.address.get_or_insert(IpAddr::V4(Ipv4Addr::LOCALHOST));
            }
            if ask.kind == LauncherKind::Local {
                node.device.get_or_insert_with(|| LOCAL_DEVICE.to_owned());
            }
            node.host = Some(SideHost { at, agent });
        }
        LauncherKind::Slurm | LauncherKind::Join => {
            if let Some(key) = at.map(|_| "at").or(agent.map(|_| "agent")) {
                return Err(LaunchError::Wrong(format!(
                    "{}: `{key}=` in the host file means nothing to the launcher {}, which starts no agent by itself; leave it out",
                    node.name, ask.kind
                )));
            }
        }
    }
    Ok(node)
}

/// The switches above a node by both files.
fn switches(entry: &Entry, topology: Option<&Topology>) -> Result<Vec<String>, LaunchError> {
    let Some(topology) = topology else { return Ok(entry.switches.clone()) };
    let name = &entry.name;
    let Some(way) = topology.get(name) else {
        return Err(LaunchError::Wrong(format!(
            "the topology file does not tell of {name}; add it below a switch"
        )));
    };
    agree(name, &entry.switches, "the host file", way, "the topology file").map_err(LaunchError::Wrong)?;
    Ok(way.clone())
}

/// Whether two say the same of the switches above a node: one may name fewer, from the leaf up.
pub(super) fn agree(
    name: &str,
    one: &[String],
    says: &str,
    other: &[String],
    told: &str,
) -> Result<(), String> {
    if other.ends_with(one) || one.ends_with(other) {
        return Ok(());
    }
    let (one, other) = (one.join(","), other.join(","));
    Err(format!(
        "{name} is below {one} by {says}, and below {other} by {told}; correct one of them, or leave it out"
    ))
}

#[cfg(test)]
mod tests;
