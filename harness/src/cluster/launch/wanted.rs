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
mod tests {
    use std::io::Write as _;

    use super::*;

    fn ask(kind: LauncherKind, nodes: Option<&str>) -> Ask {
        Ask { nodes: nodes.map(str::to_owned), ..Ask::new(kind) }
    }

    fn allocation() -> Environment {
        let variables = [("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "node[1-3]")];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn wrong(ask: &Ask) -> String {
        let error = within(ask, &allocation()).unwrap_err();
        assert!(error.is_wrong_use());
        error.to_string()
    }

    #[test]
    fn a_number_is_nodes_of_this_host_on_the_software_nic() {
        let nodes = wanted(&ask(LauncherKind::Local, Some("3"))).unwrap();
        assert_eq!(
            nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(),
            ["node1", "node2", "node3"]
        );
        for node in nodes {
            assert_eq!((node.device.as_deref(), node.host), (Some("soft"), Some(SideHost::default())));
            assert_eq!(node.address, Some("127.0.0.1".parse().unwrap()));
        }
    }

    #[test]
    fn a_set_is_hosts_of_ssh_whose_device_and_address_are_found_out() {
        let nodes = wanted(&ask(LauncherKind::Ssh, Some("me@node[1-2]"))).unwrap();
        assert_eq!(nodes[1].host.as_ref().unwrap().at, Place::Ssh("me@node2".into()));
        assert_eq!((&nodes[1].device, nodes[1].address), (&None, None));
        let text = wrong(&ask(LauncherKind::Ssh, Some("8")));
        assert!(text.contains("wants to know which"), "{text}");
        let text = wrong(&ask(LauncherKind::Ssh, Some("node[1-")));
        assert!(text.contains("--nodes:1:5") && text.contains("not closed"), "{text}");
        assert!(wrong(&ask(LauncherKind::Ssh, None)).contains("--nodes node[1-8]"));
        assert!(wrong(&ask(LauncherKind::Local, Some("0"))).contains("from 1 to"));
    }

    #[test]
    fn the_host_file_says_what_is_particular_and_nodes_picks_from_it() {
        let hosts = file("a at=local device=rxe0\nb address=10.0.0.2 leaf=l1\nc\n");
        let asked = Ask { hostfile: Some(hosts.path().into()), ..ask(LauncherKind::Ssh, None) };
        let nodes = wanted(&asked).unwrap();
        assert_eq!(nodes[0].host.as_ref().unwrap().at, Place::Local);
        assert_eq!(
            (nodes[0].device.as_deref(), nodes[0].address),
            (Some("rxe0"), Some("127.0.0.1".parse().unwrap()))
        );
        assert_eq!(
            (nodes[1].address, &nodes[1].switches[..]),
            (Some("10.0.0.2".parse().unwrap()), &["l1".to_owned()][..])
        );
        let picked = wanted(&Ask { nodes: Some("c,a".into()), ..asked.clone() }).unwrap();
        assert_eq!(picked.iter().map(|node| node.name.as_str()).collect::<String>(), "ca");
        assert!(
            wrong(&Ask { nodes: Some("d".into()), ..asked.clone() }).contains("no line in the host file")
        );
        assert!(wrong(&Ask { kind: LauncherKind::Slurm, ..asked }).contains("`at=`"));
        let odd = file("a device=mlx5_0 soft=rate=1Gbps\n");
        let odd = Ask { hostfile: Some(odd.path().into()), ..ask(LauncherKind::Ssh, None) };
        assert!(wrong(&odd).contains("its device is mlx5_0"));
        let missing = Ask { hostfile: Some("/nowhere/hosts".into()), ..ask(LauncherKind::Ssh, None) };
        assert!(wrong(&missing).contains("/nowhere/hosts"));
    }

    #[test]
    fn an_allocation_is_all_of_its_nodes_or_those_that_are_named() {
        let names = |asked: &Ask| {
            let nodes = within(asked, &allocation()).unwrap();
            assert!(nodes.iter().all(|node| node.host.is_none() && node.device.is_none()));
            nodes.into_iter().map(|node| node.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&ask(LauncherKind::Slurm, None)), ["node1", "node2", "node3"]);
        assert_eq!(
            names(&ask(LauncherKind::Slurm, Some("node[3-4]"))),
            ["node3", "node4"],
            "who is absent is told later"
        );
        let outside = within(&ask(LauncherKind::Slurm, None), &Environment::new()).unwrap_err();
        assert!(outside.is_wrong_use() && outside.to_string().contains("salloc"));
    }

    #[test]
    fn two_files_that_disagree_are_refused() {
        let hosts = file("a leaf=l1\nb switches=spine,l2\n");
        let asked = |topology: &tempfile::NamedTempFile| Ask {
            hostfile: Some(hosts.path().into()),
            topology: Some(topology.path().into()),
            ..ask(LauncherKind::Ssh, None)
        };
        let tree = "SwitchName=spine Switches=l1,l2\nSwitchName=l1 Nodes=a\n";
        let same = file(&format!("{tree}SwitchName=l2 Nodes=b"));
        assert_eq!(wanted(&asked(&same)).unwrap()[0].switches, ["spine", "l1"]);
        let other = file("SwitchName=spine Switches=l1,l2\nSwitchName=l2 Nodes=a\nSwitchName=l1 Nodes=b");
        let text = wrong(&asked(&other));
        assert!(
            text.contains("a is below l1 by the host file, and below spine,l2 by the topology file"),
            "{text}"
        );
        let fewer = file("SwitchName=l1 Nodes=a");
        assert!(wrong(&asked(&fewer)).contains("does not tell of b"));
    }
}
