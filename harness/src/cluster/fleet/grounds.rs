//! Whose agent turns what, where several nodes may be on one host: a knob that is there once is turned once.
//!
//! Every node plays both sides, so a host is turned as both sides ask. What there is once a kernel is turned by one agent of
//! that kernel; what belongs to a network namespace or to its devices, by one agent of that namespace.

use std::collections::BTreeMap;

use schema::{KnobSetting, Side, SidesTuning, Tuning};

use super::Rank;
use crate::{
    agent::protocol::{Hello, Part},
    run::shares::{belongs_to_a_namespace, of},
    scenario::Place,
};

/// Where a node stands.
pub(super) struct Standing<'f> {
    pub(super) rank: Rank,
    pub(super) hello: &'f Hello,
    pub(super) place: &'f Place,
    pub(super) device: &'f str,
}

/// Who turns what.
#[derive(Default)]
pub(super) struct Grounds {
    /// What each agent turns that turns for a ground; empty where nothing is to be turned.
    pub(super) shares: BTreeMap<Rank, Vec<Part>>,
    /// Whose agents keep a node as it is to be.
    pub(super) keepers: BTreeMap<Rank, Vec<Rank>>,
}

impl Grounds {
    /// Shares out a tuning.
    pub(super) fn of(standings: &[Standing<'_>], tuning: &SidesTuning, poll_cpus: &[u32]) -> Grounds {
        let mut kernels: BTreeMap<String, Vec<&Standing<'_>>> = BTreeMap::new();
        for standing in standings {
            kernels.entry(kernel(standing)).or_default().push(standing);
        }
        let mut grounds = Grounds::default();
        for nodes in kernels.values() {
            let beside_us = nodes.iter().find(|node| node.place == &Place::Local);
            let first = *beside_us.unwrap_or(&nodes[0]);
            let mut namespaces: BTreeMap<Option<&str>, Vec<&Standing<'_>>> = BTreeMap::new();
            for node in nodes {
                namespaces.entry(node.hello.netns.as_deref()).or_default().push(node);
            }
            for (name, nodes) in namespaces {
                let is_firsts = name == first.hello.netns.as_deref();
                let keeper = if is_firsts { first.rank } else { nodes[0].rank };
                let wanted = |setting: &KnobSetting| is_firsts || belongs_to_a_namespace(setting);
                grounds.shares.insert(keeper, parts(&nodes, tuning, poll_cpus, wanted));
                for node in nodes {
                    let mut keepers = vec![keeper, first.rank];
                    keepers.dedup();
                    grounds.keepers.insert(node.rank, keepers);
                }
            }
        }
        grounds
    }

    /// The other nodes that an agent keeps as they are to be; none where it turns nothing.
    pub(super) fn followers(&self, keeper: Rank) -> Vec<Rank> {
        if self.shares.get(&keeper).is_none_or(Vec::is_empty) {
            return Vec::new();
        }
        let follows = |(rank, keepers): (&Rank, &Vec<Rank>)| {
            (*rank != keeper && keepers.contains(&keeper)).then_some(*rank)
        };
        self.keepers.iter().filter_map(follows).collect()
    }
}

/// What tells kernels apart: the boot, else the place.
fn kernel(standing: &Standing<'_>) -> String {
    match (&standing.hello.boot_id, standing.place) {
        (Some(boot), _) => boot.clone(),
        (None, Place::Local | Place::Netns(_)) => "ours".into(),
        (None, place) => place.to_string(),
    }
}

/// What is turned for these nodes, once for each of their devices.
fn parts(
    nodes: &[&Standing<'_>],
    tuning: &SidesTuning,
    poll_cpus: &[u32],
    wanted: impl Fn(&KnobSetting) -> bool,
) -> Vec<Part> {
    let mut devices: Vec<&str> = nodes.iter().map(|node| node.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let mut parts = Vec::new();
    for side in [Side::Requester, Side::Responder] {
        let tuning = of(tuning, side);
        let knobs: Vec<KnobSetting> =
            tuning.knobs.iter().filter(|setting| wanted(setting)).cloned().collect();
        if knobs.is_empty() {
            continue;
        }
        let tuning = Tuning { knobs, ..tuning.clone() };
        parts.extend(devices.iter().map(|device| Part {
            side,
            device: (*device).to_owned(),
            poll_cpus: poll_cpus.to_vec(),
            tuning: tuning.clone(),
        }));
    }
    parts
}

#[cfg(test)]
mod tests {
    use schema::Knob;

    use super::*;
    use crate::agent::protocol::{PROTOCOL, RELEASE};

    fn hello(boot_id: Option<&str>, netns: &str) -> Hello {
        Hello {
            protocol: PROTOCOL,
            schema_version: schema::SCHEMA_VERSION,
            release: RELEASE.into(),
            boot_id: boot_id.map(str::to_owned),
            netns: Some(netns.into()),
            hostname: None,
            identity: None,
            verbs_bench: Ok(String::new()),
        }
    }

    /// `rank: side@device knobs` of who turns anything, and who keeps whom.
    fn shown(nodes: &[(Hello, Place, &str)]) -> (Vec<String>, Vec<(Rank, Vec<Rank>)>) {
        let setting =
            |knob, item: &str| KnobSetting { knob, item: item.into(), value: "1".into(), optional: false };
        let tuning =
            Tuning { knobs: vec![setting(Knob::Governor, ""), setting(Knob::Mtu, "")], ..Tuning::default() };
        let tuning = SidesTuning { requester: tuning, responder: Tuning::default() };
        let standings: Vec<Standing<'_>> = nodes
            .iter()
            .enumerate()
            .map(|(rank, (hello, place, device))| Standing { rank: rank as Rank, hello, place, device })
            .collect();
        let grounds = Grounds::of(&standings, &tuning, &[2]);
        let part = |rank: Rank, part: &Part| {
            let knobs = part.tuning.knobs.iter().map(|setting| setting.knob.to_string());
            format!("{rank}: {}@{} {}", part.side, part.device, knobs.collect::<Vec<_>>().join("+"))
        };
        let shares = grounds.shares.iter();
        let shares = shares.flat_map(|(rank, parts)| parts.iter().map(|it| part(*rank, it))).collect();
        (shares, grounds.keepers.into_iter().collect())
    }

    #[test]
    fn hosts_of_their_own_turn_their_own() {
        let far = |name: &str| Place::Ssh(name.into());
        let nodes = [
            (hello(Some("a"), "net:[1]"), far("a"), "mlx5_0"),
            (hello(None, "net:[1]"), far("b"), "mlx5_0"),
            (hello(None, "net:[1]"), far("c"), "mlx5_1"),
        ];
        let (shares, keepers) = shown(&nodes);
        assert_eq!(
            shares,
            [
                "0: requester@mlx5_0 governor+mtu",
                "1: requester@mlx5_0 governor+mtu",
                "2: requester@mlx5_1 governor+mtu"
            ]
        );
        assert_eq!(keepers, [(0, vec![0]), (1, vec![1]), (2, vec![2])]);
    }

    #[test]
    fn on_one_host_one_agent_turns_for_all_their_devices() {
        let node = |device| (hello(Some("a"), "net:[1]"), Place::Local, device);
        let (shares, keepers) = shown(&[node("rxe0"), node("rxe1"), node("rxe0")]);
        assert_eq!(shares, ["0: requester@rxe0 governor+mtu", "0: requester@rxe1 governor+mtu"]);
        assert_eq!(keepers, [(0, vec![0]), (1, vec![0]), (2, vec![0])]);
    }

    #[test]
    fn in_namespaces_each_turns_its_own_and_the_one_beside_us_what_there_is_once() {
        let nodes = [
            (hello(None, "net:[2]"), Place::Netns("n2".into()), "rxe0"),
            (hello(None, "net:[1]"), Place::Local, "rxe1"),
            (hello(None, "net:[2]"), Place::Netns("n2".into()), "rxe2"),
        ];
        let (shares, keepers) = shown(&nodes);
        assert_eq!(
            shares,
            ["0: requester@rxe0 mtu", "0: requester@rxe2 mtu", "1: requester@rxe1 governor+mtu"]
        );
        assert_eq!(keepers, [(0, vec![0, 1]), (1, vec![1]), (2, vec![0, 1])]);
    }
}
