//! Which agent turns what: each side its own host, unless both sides are on one kernel.
//!
//! On one kernel, what both want is joined, so that nothing is turned twice and a contradiction is seen before anything is
//! turned. In one network namespace the requester's agent turns all of it. In two, each agent turns what belongs to its
//! namespace and its device, and one of them what there is once a kernel.

use schema::{Knob, KnobSetting, Side, SidesTuning, Tuning, Variant, Workload};

use crate::{
    agent::{
        protocol::{Hello, Part},
        serve::named_cpus,
    },
    scenario::Place,
};

/// What each agent turns, by side and variant.
pub(super) type Shares = [Vec<Vec<Part>>; 2];

/// How close the two agents are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// Two kernels.
    Apart,
    /// One kernel, and one network namespace.
    Shared,
    /// One kernel, and two network namespaces; the agent of this side turns what there is once a kernel.
    TwoNamespaces(Side),
}

impl Ground {
    /// Of two agents, the requester's first.
    pub(super) fn of(hellos: [&Hello; 2], places: [&Place; 2]) -> Self {
        let [requester, responder] = hellos;
        let far = |place: &&Place| matches!(place, Place::Ssh(_));
        let one_kernel = match (&requester.boot_id, &responder.boot_id) {
            (Some(one), Some(other)) => one == other,
            _ => places[0] == places[1] || !places.iter().any(far),
        };
        if !one_kernel {
            Ground::Apart
        } else if requester.netns == responder.netns {
            Ground::Shared
        } else if places[1] == &Place::Local {
            Ground::TwoNamespaces(Side::Responder)
        } else {
            Ground::TwoNamespaces(Side::Requester)
        }
    }

    /// Whose agent turns a setting that a side asks for.
    fn agent(self, asks: Side, setting: &KnobSetting) -> Side {
        match self {
            Ground::Apart => asks,
            Ground::Shared => Side::Requester,
            Ground::TwoNamespaces(_) if belongs_to_a_namespace(setting) => asks,
            Ground::TwoNamespaces(first) => first,
        }
    }
}

/// Shares out what the variants turn.
pub(super) fn share(ground: Ground, variants: &[Variant], workloads: &[Workload]) -> Shares {
    [Side::Requester, Side::Responder].map(|agent| {
        let parts = |variant: &Variant| {
            let asked =
                [Side::Requester, Side::Responder].map(|side| parts(ground, agent, side, variant, workloads));
            asked.into_iter().flatten().collect()
        };
        variants.iter().map(parts).collect()
    })
}

/// What an agent turns of what a side asks for under a variant: once for each device its workloads use.
fn parts(ground: Ground, agent: Side, asks: Side, variant: &Variant, workloads: &[Workload]) -> Vec<Part> {
    let tuning = of(&variant.tuning, asks);
    let knobs: Vec<KnobSetting> =
        tuning.knobs.iter().filter(|setting| ground.agent(asks, setting) == agent).cloned().collect();
    if knobs.is_empty() {
        return Vec::new();
    }
    let tuning = Tuning { knobs, ..tuning.clone() };
    let mut parts: Vec<Part> = Vec::new();
    for spec in workloads.iter().filter_map(|workload| workload.specs.get(&variant.name)) {
        let side = if asks == Side::Requester { &spec.requester } else { &spec.responder };
        let cpus = named_cpus(&side.cpu);
        match parts.iter_mut().find(|part| part.device == side.device) {
            Some(part) => part.poll_cpus.extend(cpus),
            None => parts.push(Part {
                side: asks,
                device: side.device.clone(),
                poll_cpus: cpus,
                tuning: tuning.clone(),
            }),
        }
    }
    for part in &mut parts {
        part.poll_cpus.sort_unstable();
        part.poll_cpus.dedup();
    }
    parts
}

/// What a side turns.
pub(crate) fn of(tuning: &SidesTuning, side: Side) -> &Tuning {
    match side {
        Side::Requester => &tuning.requester,
        Side::Responder => &tuning.responder,
    }
}

/// Whether each network namespace, or each device, has its own; what else there is, there is once a kernel.
pub(crate) fn belongs_to_a_namespace(setting: &KnobSetting) -> bool {
    match setting.knob {
        // Measured on Linux 6.18: these have a copy in each namespace; net.core's buffers have not.
        Knob::Sysctl => setting.item.starts_with("net.ipv") || setting.item == "net.core.somaxconn",
        Knob::Mtu
        | Knob::GlobalPause
        | Knob::Pfc
        | Knob::Coalescing
        | Knob::Rings
        | Knob::IrqAffinity
        | Knob::MaxReadRequest => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schema::{Role, RunSpec, Test, spec::CpuChoice};

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

    fn setting(knob: Knob, item: &str) -> KnobSetting {
        KnobSetting { knob, item: item.into(), value: "1".into(), optional: false }
    }

    fn tuned() -> (Vec<Variant>, Vec<Workload>) {
        let tuning = Tuning {
            knobs: vec![
                setting(Knob::Governor, ""),
                setting(Knob::Mtu, ""),
                setting(Knob::Sysctl, "net.core.rmem_max"),
                setting(Knob::Sysctl, "net.ipv4.tcp_rmem"),
            ],
            ..Tuning::default()
        };
        let variants = vec![
            Variant {
                name: "plain".into(),
                role: Role::Baseline,
                settings: BTreeMap::new(),
                tuning: SidesTuning::default(),
                factors_on: Vec::new(),
            },
            Variant {
                name: "tuned".into(),
                role: Role::Candidate,
                settings: BTreeMap::new(),
                tuning: SidesTuning { requester: tuning.clone(), responder: tuning },
                factors_on: Vec::new(),
            },
        ];
        let spec = |cpus: &[u32]| {
            let mut spec = RunSpec::new(Test::Bandwidth);
            (spec.requester.device, spec.responder.device) = ("mlx5_0".into(), "mlx5_1".into());
            spec.requester.cpu = CpuChoice::List(cpus.to_vec());
            spec
        };
        let workload = |name: &str, cpus: &[u32]| Workload {
            name: name.into(),
            specs: ["plain", "tuned"].map(|variant| (variant.to_owned(), spec(cpus))).into(),
        };
        (variants, vec![workload("a", &[4, 2]), workload("b", &[2])])
    }

    /// `agent: side/knob knob` of the tuned variant.
    fn shown(ground: Ground) -> [Vec<String>; 2] {
        let (variants, workloads) = tuned();
        share(ground, &variants, &workloads).map(|by_variant| {
            assert!(by_variant[0].is_empty(), "the baseline turns nothing");
            let parts = by_variant[1].iter();
            parts
                .map(|part| {
                    let knobs = part.tuning.knobs.iter().map(|knob| format!("{} {}", knob.knob, knob.item));
                    format!("{}@{}: {}", part.side, part.device, knobs.collect::<Vec<_>>().join(", "))
                })
                .collect()
        })
    }

    const ALL: &str = "governor , mtu , sysctl net.core.rmem_max, sysctl net.ipv4.tcp_rmem";

    #[test]
    fn two_hosts_each_turn_their_own() {
        let two = [hello(Some("a"), "net:[1]"), hello(Some("b"), "net:[1]")];
        let ground = Ground::of([&two[0], &two[1]], [&Place::Local, &Place::Ssh("far".into())]);
        assert_eq!(ground, Ground::Apart);
        let [requester, responder] = shown(ground);
        assert_eq!(requester, [format!("requester@mlx5_0: {ALL}")]);
        assert_eq!(responder, [format!("responder@mlx5_1: {ALL}")]);
    }

    #[test]
    fn on_one_host_one_agent_turns_all_of_it() {
        let one = hello(Some("a"), "net:[1]");
        let ground = Ground::of([&one, &one], [&Place::Local, &Place::Local]);
        let [requester, responder] = shown(ground);
        assert_eq!(requester, [format!("requester@mlx5_0: {ALL}"), format!("responder@mlx5_1: {ALL}")]);
        assert!(responder.is_empty());
    }

    #[test]
    fn in_two_namespaces_what_there_is_once_is_turned_by_one() {
        let two = [hello(None, "net:[1]"), hello(None, "net:[2]")];
        let ground = Ground::of([&two[0], &two[1]], [&Place::Netns("n".into()), &Place::Local]);
        let [requester, responder] = shown(ground);
        assert_eq!(requester, ["requester@mlx5_0: mtu , sysctl net.ipv4.tcp_rmem"]);
        let once = "governor , sysctl net.core.rmem_max";
        assert_eq!(responder, [format!("requester@mlx5_0: {once}"), format!("responder@mlx5_1: {ALL}")]);
    }

    #[test]
    fn the_polling_cpus_of_all_workloads_are_kept_free() {
        let (variants, workloads) = tuned();
        let shares = share(Ground::Apart, &variants, &workloads);
        assert_eq!(shares[0][1][0].poll_cpus, [2, 4]);
    }
}
