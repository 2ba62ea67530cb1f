//! Fleets of agents that tune copies of a host.

use std::{fs, path::Path, time::Duration};

use host::Sysroot;
use schema::{Knob, KnobRecord, KnobSetting, KnobState, NodeState, Side, SidesTuning, Tuning};
use tempfile::TempDir;

use super::{
    super::{Crew, Event, Fleet, FleetWishes, Limits},
    measure,
    stand_in::Theatre,
    whys,
};
use crate::{
    agent::{
        Setup,
        testing::{agent, script},
    },
    cluster::Rank,
};

const BACKLOG: &str = "proc/sys/net/core/netdev_max_backlog";

/// Two hosts: node1 and node2 on one, node3 on the other.
struct Bench {
    hosts: [TempDir; 2],
    theatre: Theatre,
    _script: TempDir,
}

impl Bench {
    fn new() -> Bench {
        let hosts = ["a\n", "b\n"].map(|boot| {
            let host = host::testing::copy("bare-vm");
            fs::write(host.path().join("proc/sys/kernel/random/boot_id"), boot).unwrap();
            host
        });
        let (script, program) = script("exit 3");
        let mut theatre = Theatre::new([]);
        for (rank, host) in [&hosts[0], &hosts[0], &hosts[1]].into_iter().enumerate() {
            let sysroot = Sysroot::new(host.path());
            let setup = Setup { sysroot, verbs_bench: Some(program.clone()), ..Setup::live() };
            let link = agent(rank as Rank, setup, theatre.events());
            theatre.muster(Ok(link));
        }
        Bench { hosts, theatre, _script: script }
    }

    fn meet(&mut self, requester: &str, responder: &str) -> Fleet {
        let tuning = |value: &str| Tuning {
            knobs: vec![KnobSetting {
                knob: Knob::Sysctl,
                item: "net.core.netdev_max_backlog".into(),
                value: value.into(),
                optional: false,
            }],
            ..Tuning::default()
        };
        let tuning = SidesTuning { requester: tuning(requester), responder: tuning(responder) };
        let wishes = FleetWishes { device: "soft".into(), tuning, ..FleetWishes::default() };
        // What is turned is looked at here, not how long it takes.
        self.theatre.meet(&wishes, Limits { silence: Duration::from_secs(120), ..Limits::default() })
    }

    fn backlogs(&self) -> [String; 2] {
        [read(self.hosts[0].path()), read(self.hosts[1].path())]
    }
}

fn read(host: &Path) -> String {
    fs::read_to_string(host.join(BACKLOG)).unwrap().trim().to_owned()
}

fn states(records: &[KnobRecord]) -> Vec<KnobState> {
    records.iter().map(|record| record.state).collect()
}

#[test]
fn one_agent_a_kernel_tunes_it_before_the_first_round_and_turns_it_back_at_the_end() {
    let mut bench = Bench::new();
    let mut fleet = bench.meet("5000", "5000");
    assert!(fleet.nodes().iter().all(|node| node.state == NodeState::Present), "{:?}", fleet.nodes());
    assert_eq!(bench.backlogs(), ["1000", "1000"], "meeting turns nothing");
    measure(&mut fleet, &[]);
    assert_eq!(bench.backlogs(), ["5000", "5000"]);
    for rank in 0..3 {
        for side in [Side::Requester, Side::Responder] {
            assert_eq!(states(&fleet.knobs_of(rank, side)), [KnobState::Verified], "{rank} {side}");
        }
    }
    fs::write(bench.hosts[1].path().join(BACKLOG), "7777").unwrap();
    measure(&mut fleet, &[]);
    assert_eq!(states(&fleet.knobs_of(2, Side::Responder)), [KnobState::Drifted]);
    let complaints = fleet.dismiss();
    assert_eq!(bench.backlogs(), ["1000", "7777"], "what someone else has changed is left alone");
    let [complaint] = complaints.as_slice() else { panic!("{complaints:?}") };
    assert!(complaint.starts_with("node3 (local): ") && complaint.contains("tune recover"), "{complaint}");
}

#[test]
fn a_tuning_that_contradicts_itself_is_refused_before_anything_is_turned() {
    let mut bench = Bench::new();
    let fleet = bench.meet("5000", "6000");
    for (node, by) in fleet.nodes().iter().zip(["", " (by node1)", ""]) {
        let NodeState::Absent { why } = &node.state else { panic!("{node:?}") };
        assert!(why.starts_with(&format!("its host can't be made ready{by}: ")), "{why}");
        assert!(why.contains("`5000`") && why.contains("`6000`"), "{why}");
    }
    assert_eq!(fleet.dismiss(), Vec::<String>::new());
    assert_eq!(bench.backlogs(), ["1000", "1000"]);
}

#[test]
fn a_node_whose_host_is_not_kept_tuned_any_more_is_not_measured() {
    let mut bench = Bench::new();
    let mut fleet = bench.meet("5000", "5000");
    measure(&mut fleet, &[]);
    bench.theatre.events().send(Event::Gone(0, "cut off".into())).unwrap();
    let round = measure(&mut fleet, &[(1, 2)]);
    assert!(
        whys(&round)[0].contains("the agent of node1, which keeps its host tuned, is lost"),
        "{:?}",
        whys(&round)
    );
    assert_eq!(fleet.nodes()[2].state, NodeState::Present);
    let complaints = fleet.dismiss();
    let [complaint] = complaints.as_slice() else { panic!("{complaints:?}") };
    assert!(complaint.starts_with("node1 (local): it was lost while its host was tuned"), "{complaint}");
    assert_eq!(bench.backlogs()[1], "1000");
}
