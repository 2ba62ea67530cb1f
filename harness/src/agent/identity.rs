//! Which of many agents this one is: by its command line, else by what the launcher that started it left in the environment.
//!
//! The innermost launcher decides the rank: what mpirun starts within an allocation of Slurm inherits the allocation's
//! variables, which then tell of mpirun's own daemon. The name of the node and its switches are Slurm's wherever it tells them.

use std::{collections::BTreeMap, net::IpAddr};

use super::protocol::Identity;

/// Variables of a process, by name.
pub type Environment = BTreeMap<String, String>;

/// Who tells a rank, by which variable, and how many there are by which; the innermost launcher first.
const RANKS: [(&str, &str, Option<&str>); 5] = [
    ("openmpi", "OMPI_COMM_WORLD_RANK", Some("OMPI_COMM_WORLD_SIZE")),
    ("pmix", "PMIX_RANK", None),
    ("pmi", "PMI_RANK", Some("PMI_SIZE")),
    ("slurm", "SLURM_PROCID", Some("SLURM_NTASKS")),
    ("kubernetes", "JOB_COMPLETION_INDEX", None),
];

/// What the command line says of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// Its rank.
    pub rank: Option<u32>,
    /// The name of its node.
    pub node_name: Option<String>,
    /// Address by which other nodes reach it.
    pub address: Option<IpAddr>,
}

/// What this process was started with; what is no text tells nothing here.
pub fn of_this_process() -> Environment {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// The variables whose inheritance would make an agent of one launcher take itself for another's.
pub fn variables_of_others(launcher: &str) -> impl Iterator<Item = &'static str> {
    let others = RANKS.into_iter().filter(move |(told_by, ..)| *told_by != launcher);
    others.flat_map(|(_, rank, size)| [Some(rank), size]).flatten()
}

/// This agent's identity.
///
/// # Errors
/// When nothing tells a rank, or what tells it is no number.
pub fn discover(flags: &Flags, environment: &Environment) -> Result<Identity, String> {
    let said = |name: &str| environment.get(name).map(String::as_str).filter(|text| !text.is_empty());
    let number = |name: &str| match said(name) {
        None => Ok(None),
        Some(text) => text
            .parse::<u32>()
            .map(Some)
            .map_err(|_| format!("{name} is `{text}`, which is no number from 0")),
    };
    let (told_by, rank, size) = match flags.rank {
        Some(rank) => ("flags", rank, None),
        None => {
            let told = RANKS.iter().find(|(_, rank, _)| said(rank).is_some());
            let (told_by, rank, size) = told.ok_or_else(nothing_tells)?;
            let rank = number(rank)?.ok_or_else(nothing_tells)?;
            (*told_by, rank, size.map_or(Ok(None), number)?)
        }
    };
    let node = flags.node_name.clone().or_else(|| said("SLURMD_NODENAME").map(str::to_owned));
    let switches = said("SLURM_TOPOLOGY_ADDR").zip(said("SLURM_TOPOLOGY_ADDR_PATTERN"));
    let switches = switches.map_or_else(Vec::new, |(address, pattern)| switches_of(address, pattern));
    let address = flags.address.or_else(|| said("SSH_CONNECTION").and_then(server_of));
    Ok(Identity { told_by: told_by.to_owned(), rank, size, node, switches, address })
}

fn nothing_tells() -> String {
    let variables = RANKS.map(|(_, rank, _)| rank).join(", ");
    format!("nothing tells which agent this is: none of {variables} is set; say --rank N")
}

/// The switches of Slurm's `spine.leaf1.node1` by its pattern `switch.switch.node`; none where they do not fit each other.
fn switches_of(address: &str, pattern: &str) -> Vec<String> {
    let (parts, kinds) = (address.split('.').collect::<Vec<_>>(), pattern.split('.').collect::<Vec<_>>());
    if parts.len() != kinds.len() {
        return Vec::new();
    }
    let switches = parts.iter().zip(kinds).filter(|(_, kind)| *kind == "switch");
    switches.map(|(name, _)| (*name).to_owned()).collect()
}

/// The address at which ssh reached this host: `CLIENT PORT SERVER PORT`.
fn server_of(connection: &str) -> Option<IpAddr> {
    connection.split_whitespace().nth(2)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(text: &str) -> Environment {
        let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn told(text: &str) -> Identity {
        discover(&Flags::default(), &environment(text)).unwrap()
    }

    #[test]
    fn slurm_tells_rank_size_name_and_switches() {
        let identity = told(
            "SLURM_PROCID=2 SLURM_NTASKS=4 SLURMD_NODENAME=node3 SLURM_TOPOLOGY_ADDR=spine.leaf2.node3 SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node",
        );
        let wanted = Identity {
            told_by: "slurm".into(),
            rank: 2,
            size: Some(4),
            node: Some("node3".into()),
            switches: vec!["spine".into(), "leaf2".into()],
            address: None,
        };
        assert_eq!(identity, wanted);
    }

    #[test]
    fn what_starts_within_an_allocation_decides_the_rank_and_the_allocation_the_name() {
        let identity = told(
            "SLURM_PROCID=0 SLURM_NTASKS=1 SLURMD_NODENAME=node3 PMIX_RANK=5 OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8",
        );
        assert_eq!((&*identity.told_by, identity.rank, identity.size), ("openmpi", 5, Some(8)));
        assert_eq!(identity.node.as_deref(), Some("node3"));
    }

    #[test]
    fn the_other_launchers_are_known_and_the_command_line_comes_first() {
        let by = |text: &str| {
            let identity = told(text);
            (identity.told_by, identity.rank, identity.size)
        };
        assert_eq!(by("PMIX_RANK=3"), ("pmix".into(), 3, None));
        assert_eq!(by("PMI_RANK=3 PMI_SIZE=4"), ("pmi".into(), 3, Some(4)));
        assert_eq!(by("JOB_COMPLETION_INDEX=1"), ("kubernetes".into(), 1, None));
        let flags = Flags { rank: Some(7), node_name: Some("n".into()), address: None };
        let identity =
            discover(&flags, &environment("SLURM_PROCID=0 SLURM_NTASKS=9 SLURMD_NODENAME=node1")).unwrap();
        assert_eq!((&*identity.told_by, identity.rank, identity.size), ("flags", 7, None));
        assert_eq!(identity.node.as_deref(), Some("n"));
    }

    #[test]
    fn nothing_told_and_no_number_are_errors_that_say_what_to_do() {
        let error = |text: &str| discover(&Flags::default(), &environment(text)).unwrap_err();
        assert!(error("PATH=/bin").contains("--rank N"));
        assert!(error("SLURM_PROCID=").contains("--rank N"));
        assert!(error("PMIX_RANK=-1").contains("PMIX_RANK is `-1`"));
        assert!(error("SLURM_PROCID=1 SLURM_NTASKS=x").contains("SLURM_NTASKS is `x`"));
    }

    #[test]
    fn ssh_tells_the_address_and_odd_forms_tell_nothing() {
        let flags = Flags { rank: Some(0), ..Flags::default() };
        let mut environment = Environment::new();
        environment.insert("SSH_CONNECTION".into(), "10.0.0.1 4711 10.0.0.2 22".into());
        let identity = discover(&flags, &environment).unwrap();
        assert_eq!(identity.address, Some("10.0.0.2".parse().unwrap()));
        assert_eq!(server_of("10.0.0.1 4711 fe80::1%eth0 22"), None);
        assert!(switches_of("a.b.node1.site", "switch.switch.node").is_empty());
        assert!(switches_of("node1", "node").is_empty());
    }

    #[test]
    fn variables_of_other_launchers_are_listed() {
        let others = variables_of_others("slurm").collect::<Vec<_>>();
        assert!(others.contains(&"PMIX_RANK") && others.contains(&"OMPI_COMM_WORLD_SIZE"));
        assert!(!others.contains(&"SLURM_PROCID"));
    }
}
