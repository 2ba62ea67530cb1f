//! What command lines and files come to, and what contradicts itself.

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
    assert_eq!(nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["node1", "node2", "node3"]);
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
    assert!(wrong(&Ask { nodes: Some("d".into()), ..asked.clone() }).contains("no line in the host file"));
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
