//! Which of the wanted nodes one that comes is: by the name of its node where nodes have names, else by its rank.

use std::collections::BTreeMap;

use super::{gate::Seating, wanted::agree};
use crate::{
    agent::protocol::Identity,
    cluster::{Rank, WantedNode},
};

/// Seats of nodes whose names are known: a scheduler's, or those of a host file.
pub(super) struct Named<'w> {
    ranks: BTreeMap<&'w str, Rank>,
}

impl<'w> Named<'w> {
    /// For these nodes, by rank; those that are left out are not waited for.
    pub(super) fn new(wanted: impl IntoIterator<Item = (Rank, &'w WantedNode)>) -> Self {
        Named { ranks: wanted.into_iter().map(|(rank, node)| (node.name.as_str(), rank)).collect() }
    }
}

impl Seating for Named<'_> {
    fn seat(&self, identity: &Identity, hostname: Option<&str>) -> Result<(Rank, String), String> {
        let short = hostname.and_then(|name| name.split('.').next());
        let names = [identity.node.as_deref(), hostname, short];
        // A name that a scheduler tells is the name; a host's own is only looked at where there is none.
        let names = if identity.node.is_some() { &names[..1] } else { &names[1..] };
        let found =
            names.iter().flatten().find_map(|name| Some((*self.ranks.get(name)?, (*name).to_owned())));
        found.ok_or_else(|| {
            let said = names.iter().flatten().next().map_or("a node without a name", |name| name);
            format!("{said} is not one of the nodes that are waited for")
        })
    }

    fn seats(&self) -> usize {
        self.ranks.len()
    }
}

/// Seats that are numbered.
pub(super) struct Numbered {
    /// How many there are.
    pub(super) count: u32,
}

impl Seating for Numbered {
    fn seat(&self, identity: &Identity, hostname: Option<&str>) -> Result<(Rank, String), String> {
        let Identity { rank, size, told_by, .. } = identity;
        if let Some(size) = size.filter(|size| *size != self.count) {
            return Err(format!("{told_by} started {size} agents, and {} are waited for", self.count));
        }
        if *rank >= self.count {
            return Err(format!(
                "its rank is {rank}, and the {} that are waited for count from 0",
                self.count
            ));
        }
        let name =
            identity.node.as_deref().or(hostname).map_or_else(|| format!("node{}", rank + 1), str::to_owned);
        Ok((*rank, name))
    }

    fn seats(&self) -> usize {
        self.count as usize
    }
}

/// Adds to a node what who started its agent says of it.
///
/// # Errors
/// When that contradicts what is known.
pub(super) fn learn(node: &mut WantedNode, identity: &Identity) -> Result<(), String> {
    agree(&node.name, &node.switches, "the files", &identity.switches, &identity.told_by)?;
    if node.switches.len() < identity.switches.len() {
        node.switches.clone_from(&identity.switches);
    }
    node.address = node.address.or(identity.address);
    Ok(())
}

/// Names for nodes that were only numbered: what they say, made unique by their rank where several say the same.
pub(super) fn unique(told: &BTreeMap<Rank, String>) -> BTreeMap<Rank, String> {
    let mut count = BTreeMap::<&str, u32>::new();
    told.values().for_each(|name| *count.entry(name).or_default() += 1);
    let name = |(rank, name): (&Rank, &String)| {
        let unique = if count[name.as_str()] > 1 { format!("{name}.{rank}") } else { name.clone() };
        (*rank, unique)
    };
    told.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, switches: &[&str]) -> WantedNode {
        let switches = switches.iter().map(|name| (*name).to_owned()).collect();
        WantedNode { name: name.into(), host: None, device: None, soft: None, address: None, switches }
    }

    fn identity(rank: u32, size: Option<u32>, node: Option<&str>, switches: &[&str]) -> Identity {
        Identity {
            told_by: "slurm".into(),
            rank,
            size,
            node: node.map(str::to_owned),
            switches: switches.iter().map(|name| (*name).to_owned()).collect(),
            address: Some("10.0.0.5".parse().unwrap()),
        }
    }

    #[test]
    fn a_named_node_has_its_seat_whatever_its_rank() {
        let nodes = [node("node3", &[]), node("node1", &[])];
        let seats = Named::new((0..).zip(&nodes));
        assert_eq!(seats.seats(), 2);
        assert_eq!(seats.seat(&identity(0, None, Some("node1"), &[]), Some("host")), Ok((1, "node1".into())));
        assert_eq!(
            seats.seat(&identity(0, None, None, &[]), Some("node3.site.org")),
            Ok((0, "node3".into()))
        );
        let why = seats.seat(&identity(0, None, Some("node9"), &[]), Some("node3")).unwrap_err();
        assert!(why.contains("node9 is not one"), "{why}");
    }

    #[test]
    fn numbered_seats_are_as_many_as_are_waited_for() {
        let seats = Numbered { count: 2 };
        assert_eq!(seats.seat(&identity(1, Some(2), None, &[]), Some("h")), Ok((1, "h".into())));
        assert_eq!(seats.seat(&identity(1, None, None, &[]), None), Ok((1, "node2".into())));
        assert!(seats.seat(&identity(2, None, None, &[]), None).unwrap_err().contains("count from 0"));
        assert!(seats.seat(&identity(0, Some(8), None, &[]), None).unwrap_err().contains("started 8 agents"));
    }

    #[test]
    fn what_is_learnt_is_added_and_a_contradiction_is_named() {
        let mut plain = node("node3", &[]);
        learn(&mut plain, &identity(0, None, None, &["spine", "leaf2"])).unwrap();
        assert_eq!(plain.switches, ["spine", "leaf2"]);
        assert_eq!(plain.address, Some("10.0.0.5".parse().unwrap()));
        let mut leaf = node("node3", &["leaf2"]);
        learn(&mut leaf, &identity(0, None, None, &["spine", "leaf2"])).unwrap();
        assert_eq!(leaf.switches, ["spine", "leaf2"]);
        let why =
            learn(&mut node("node3", &["leaf1"]), &identity(0, None, None, &["spine", "leaf2"])).unwrap_err();
        assert!(why.contains("node3 is below leaf1") && why.contains("slurm"), "{why}");
    }

    #[test]
    fn several_agents_of_one_host_have_names_of_their_own() {
        let told = BTreeMap::from([(0, "a".to_owned()), (1, "b".to_owned()), (2, "a".to_owned())]);
        assert_eq!(unique(&told).into_values().collect::<Vec<_>>(), ["a.0", "b", "a.2"]);
    }
}
