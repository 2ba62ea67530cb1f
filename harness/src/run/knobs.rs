//! Has the agents turn the knobs of a variant before its run, and turn them back after it.
//!
//! A run is made on hosts that are tuned as its variant says and no further, or it is not made.

use std::time::{Duration, Instant};

use schema::{KnobRecord, KnobState, Side, Stage, Variant, Workload};

use super::{
    Processes,
    failure::Failure,
    shares::{Ground, Shares, share},
};
use crate::agent::{
    link::Event,
    protocol::{Answer, Order, Report, SideKnob},
};

const SIDES: [Side; 2] = [Side::Requester, Side::Responder];

/// How long an agent may take with its knobs: a link that was taken down may need half a minute to train, and there may be
/// several.
const PATIENCE: Duration = Duration::from_secs(180);

/// What the hosts are to be like for each variant, and what they are like now.
#[derive(Default)]
pub(super) struct Knobs {
    shares: Shares,
    names: Vec<String>,
    /// The variant that is in force.
    in_force: Option<usize>,
}

/// Why the agents can't carry out the tuning of a campaign. Nothing was turned.
#[derive(Debug, thiserror::Error)]
#[error("{agent}: {cause}")]
pub struct PrepareError {
    agent: String,
    cause: String,
}

impl Processes {
    /// Has the agents plan everything the variants turn, and note how their hosts stand.
    ///
    /// # Errors
    /// When a host can't be tuned so, two sides contradict each other, or something is left from before.
    pub fn prepare(&mut self, variants: &[Variant], workloads: &[Workload]) -> Result<(), PrepareError> {
        let hellos = SIDES.map(|side| self.agents.hello(side));
        let places = SIDES.map(|side| self.agents.place(side));
        let shares = share(Ground::of(hellos, places), variants, workloads);
        for side in SIDES {
            let order = Order::Prepare { variants: shares[side as usize].clone() };
            let answer = self.ask(side, &order).map_err(|failure| failure.cause);
            if let Some(cause) = answer.map_or_else(Some, |answer| answer.fault) {
                return Err(PrepareError { agent: self.agents.name(side), cause });
            }
        }
        let names = variants.iter().map(|variant| variant.name.clone()).collect();
        self.knobs = Knobs { shares, names, in_force: None };
        Ok(())
    }

    /// Makes the hosts as a variant wants them; if that fails, they are turned back.
    pub(super) fn make_ready(&mut self, variant: usize) -> Result<(), Failure> {
        if self.knobs.in_force == Some(variant) {
            return Ok(());
        }
        if let Some(failure) = self.turn_back().1 {
            return Err(failure);
        }
        let turns = SIDES.map(|side| self.turns(side, variant));
        self.knobs.in_force = turns.contains(&true).then_some(variant);
        for side in SIDES {
            let order = match turns[side as usize] {
                true => Order::Tune { variant: variant as u32 },
                false if self.looks_after(side) => Order::Prove {},
                false => continue,
            };
            if let Some(fault) = self.ask(side, &order)?.fault {
                let name = &self.knobs.names[variant];
                let mut cause = format!("{}: variant {name}: {fault}", self.agents.name(side));
                if let Some(worse) = self.turn_back().1 {
                    cause.push_str(&format!("; {}", worse.cause));
                }
                let advice = "the run was not made, and nothing is left half tuned".to_owned();
                return Err(Failure { stage: Stage::Tune, side, cause, advice });
            }
        }
        Ok(())
    }

    /// What stands of what was turned.
    pub(super) fn verify(&mut self) -> Vec<SideKnob> {
        self.of_those_in_force(&Order::Verify {}).0
    }

    /// Turns back what was turned. A host that can't be turned back ends the campaign.
    pub(super) fn turn_back(&mut self) -> (Vec<SideKnob>, Option<Failure>) {
        let knobs = self.of_those_in_force(&Order::Restore {});
        self.knobs.in_force = None;
        knobs
    }

    fn of_those_in_force(&mut self, order: &Order) -> (Vec<SideKnob>, Option<Failure>) {
        let Some(variant) = self.knobs.in_force else { return (Vec::new(), None) };
        let mut knobs = Vec::new();
        let mut failed = None;
        for side in SIDES {
            if !self.turns(side, variant) {
                continue;
            }
            match self.ask(side, order) {
                Ok(Answer { knobs: of_side, fault }) => {
                    knobs.extend(of_side);
                    if let Some(fault) = fault {
                        let cause = format!("{}: {fault}", self.agents.name(side));
                        self.lost.get_or_insert_with(|| cause.clone());
                        let failure = Failure { stage: Stage::Tune, side, cause, advice: String::new() };
                        failed.get_or_insert(failure);
                    }
                }
                Err(failure) => {
                    failed.get_or_insert(failure);
                }
            }
        }
        (knobs, failed)
    }

    /// Whether the agent of a side turns anything under a variant.
    fn turns(&self, agent: Side, variant: usize) -> bool {
        self.knobs.shares[agent as usize].get(variant).is_some_and(|parts| !parts.is_empty())
    }

    /// Whether the agent of a side turns anything under any variant.
    fn looks_after(&self, agent: Side) -> bool {
        self.knobs.shares[agent as usize].iter().any(|parts| !parts.is_empty())
    }

    /// Gives an order that is answered, and waits for the answer.
    fn ask(&mut self, side: Side, order: &Order) -> Result<Answer, Failure> {
        if let Some(why) = self.agents_gone[side as usize].clone() {
            return Err(Failure::launch(side, why, ""));
        }
        self.agents.order(side, order);
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.agents.hear(deadline) {
                Ok(Event::Report(from, Report::Answer(answer))) if from == side => return Ok(answer),
                Ok(Event::Gone(gone, why)) => {
                    let failure = self.lose(gone, &why);
                    if gone == side {
                        return Err(failure);
                    }
                }
                // An interrupt stays raised, and is heeded when the hosts are in order.
                Ok(Event::Report(..) | Event::Interrupted) => {}
                Err(_) => {
                    let why = format!("it gave no answer about its knobs within {} s", PATIENCE.as_secs());
                    return Err(self.lose(side, &why));
                }
            }
        }
    }
}

/// What became of a side's targets: what stood after the run, unless it could not be turned back.
pub(super) fn settled(side: Side, stood: &[SideKnob], restored: &[SideKnob]) -> Vec<KnobRecord> {
    let of_side = |knobs: &[SideKnob]| -> Vec<KnobRecord> {
        knobs.iter().filter(|knob| knob.side == side).map(|knob| knob.record.clone()).collect()
    };
    let restored = of_side(restored);
    let mut records = of_side(stood);
    for record in &mut records {
        let conflict = restored.iter().find(|later| {
            later.state == KnobState::Conflict && (later.knob, &later.target) == (record.knob, &record.target)
        });
        if let Some(conflict) = conflict {
            (record.state, record.note) = (KnobState::Conflict, conflict.note.clone());
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs, net::Ipv4Addr, path::Path, thread};

    use host::Sysroot;
    use schema::{Knob, KnobSetting, Role, RunSpec, SidesTuning, Test, Tuning};

    use super::{super::testing, *};
    use crate::agent::Setup;

    const BACKLOG: &str = "proc/sys/net/core/netdev_max_backlog";
    const PLAIN: usize = 0;
    const TUNED: usize = 1;

    /// Two hosts, or one, and a campaign between them.
    struct Bench {
        hosts: Vec<tempfile::TempDir>,
        processes: Processes,
        _script: tempfile::TempDir,
    }

    impl Bench {
        fn new(kernels: usize) -> Self {
            let hosts: Vec<_> = (0..kernels).map(|_| host::testing::copy("bare-vm")).collect();
            if let Some(second) = hosts.get(1) {
                fs::write(second.path().join("proc/sys/kernel/random/boot_id"), "another\n").unwrap();
            }
            let (script, program) = testing::script("exit 3");
            let setup = |host: &tempfile::TempDir| Setup {
                sysroot: Sysroot::new(host.path()),
                verbs_bench: Some(program.clone()),
                ..Setup::live()
            };
            let agents = testing::agents([setup(&hosts[0]), setup(&hosts[kernels - 1])]);
            let processes = Processes::new(agents, Ipv4Addr::LOCALHOST.into());
            Bench { hosts, processes, _script: script }
        }

        /// Prepares a baseline and a variant in which both sides set the backlog.
        fn prepare(&mut self, requester: &str, responder: &str) -> Result<(), PrepareError> {
            let tuning = |value: &str| Tuning {
                knobs: vec![KnobSetting {
                    knob: Knob::Sysctl,
                    item: "net.core.netdev_max_backlog".into(),
                    value: value.into(),
                    optional: false,
                }],
                ..Tuning::default()
            };
            let variant = |name: &str, role, tuning| Variant {
                name: name.into(),
                role,
                settings: BTreeMap::new(),
                tuning,
                factors_on: Vec::new(),
            };
            let both = SidesTuning { requester: tuning(requester), responder: tuning(responder) };
            let variants = [
                variant("plain", Role::Baseline, SidesTuning::default()),
                variant("tuned", Role::Candidate, both),
            ];
            let specs = variants.iter().map(|variant| (variant.name.clone(), RunSpec::new(Test::Latency)));
            let workloads = [Workload { name: "w".into(), specs: specs.collect() }];
            self.processes.prepare(&variants, &workloads)
        }

        fn backlog(&self, host: usize) -> String {
            read(self.hosts[host].path())
        }

        fn someone_writes(&self, host: usize, value: &str) {
            fs::write(self.hosts[host].path().join(BACKLOG), value).unwrap();
        }
    }

    fn read(host: &Path) -> String {
        fs::read_to_string(host.join(BACKLOG)).unwrap().trim().to_owned()
    }

    #[test]
    fn each_side_is_tuned_on_its_own_host_and_turned_back() {
        let mut bench = Bench::new(2);
        bench.prepare("5000", "6000").unwrap();
        let before = [bench.backlog(0), bench.backlog(1)];
        bench.processes.make_ready(PLAIN).unwrap();
        assert_eq!([bench.backlog(0), bench.backlog(1)], before);
        bench.processes.make_ready(TUNED).unwrap();
        assert_eq!([bench.backlog(0), bench.backlog(1)], ["5000", "6000"]);
        let stood = bench.processes.verify();
        for (side, asked) in [(Side::Requester, "5000"), (Side::Responder, "6000")] {
            let records = settled(side, &stood, &[]);
            let [record] = records.as_slice() else { panic!("{records:?}") };
            assert_eq!((record.state, record.asked.as_str()), (KnobState::Verified, asked));
        }
        bench.processes.make_ready(PLAIN).unwrap();
        assert_eq!([bench.backlog(0), bench.backlog(1)], before);
        assert_eq!(bench.processes.lost, None);
    }

    #[test]
    fn on_one_kernel_both_sides_are_one_tuning_and_a_contradiction_is_refused() {
        let mut bench = Bench::new(1);
        let before = bench.backlog(0);
        let refused = bench.prepare("5000", "6000").unwrap_err().to_string();
        assert!(refused.contains("`5000`") && refused.contains("`6000`"), "{refused}");
        bench.prepare("5000", "5000").unwrap();
        bench.processes.make_ready(TUNED).unwrap();
        assert_eq!(bench.backlog(0), "5000");
        let stood = bench.processes.verify();
        assert_eq!(
            (settled(Side::Requester, &stood, &[]).len(), settled(Side::Responder, &stood, &[]).len()),
            (1, 1)
        );
        bench.processes.turn_back();
        assert_eq!(bench.backlog(0), before);

        bench.prepare(&before, &before).unwrap();
        bench.processes.make_ready(TUNED).unwrap();
        let settled = settled(Side::Requester, &bench.processes.verify(), &[]);
        let [record] = settled.as_slice() else { panic!("what stands already is told twice: {settled:?}") };
        assert_eq!(record.state, KnobState::Unchanged);
    }

    #[test]
    fn a_baseline_that_is_not_untuned_is_not_run() {
        let mut bench = Bench::new(2);
        bench.prepare("5000", "6000").unwrap();
        bench.someone_writes(1, "7777");
        for variant in [PLAIN, TUNED] {
            let failure = bench.processes.make_ready(variant).unwrap_err();
            assert_eq!((failure.stage, failure.side), (Stage::Tune, Side::Responder));
            assert!(
                failure.cause.contains("netdev_max_backlog was `1000` and is `7777`"),
                "{}",
                failure.cause
            );
            assert_eq!([bench.backlog(0), bench.backlog(1)], ["1000", "7777"], "nothing is left half tuned");
        }
    }

    #[test]
    fn what_someone_else_has_changed_is_left_alone_and_ends_the_campaign() {
        let mut bench = Bench::new(2);
        bench.prepare("5000", "6000").unwrap();
        bench.processes.make_ready(TUNED).unwrap();
        bench.someone_writes(0, "7777");
        let stood = bench.processes.verify();
        let restored = bench.processes.turn_back().0;
        assert_eq!(settled(Side::Requester, &stood, &restored)[0].state, KnobState::Conflict);
        assert_eq!(settled(Side::Responder, &stood, &restored)[0].state, KnobState::Verified);
        assert_eq!([bench.backlog(0), bench.backlog(1)], ["7777", "1000"]);
        let lost = bench.processes.lost.clone().unwrap();
        assert!(lost.contains("tune recover"), "{lost}");
    }

    #[test]
    fn agents_whose_controller_is_gone_turn_their_hosts_back_alone() {
        let mut bench = Bench::new(2);
        bench.prepare("5000", "6000").unwrap();
        bench.processes.make_ready(TUNED).unwrap();
        let Bench { hosts, processes, _script } = bench;
        drop(processes);
        let deadline = Instant::now() + Duration::from_secs(20);
        while hosts.iter().any(|host| read(host.path()) != "1000") {
            assert!(Instant::now() < deadline, "a host stays tuned");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn what_was_left_before_is_in_the_way() {
        let mut bench = Bench::new(1);
        bench.prepare("5000", "5000").unwrap();
        bench.processes.make_ready(TUNED).unwrap();
        let (script, program) = testing::script("exit 3");
        let setup = Setup {
            sysroot: Sysroot::new(bench.hosts[0].path()),
            verbs_bench: Some(program),
            ..Setup::live()
        };
        let agents = testing::agents([setup.clone(), setup]);
        let second = Processes::new(agents, Ipv4Addr::LOCALHOST.into());
        let first = std::mem::replace(&mut bench.processes, second);
        let refused = bench.prepare("5000", "5000").unwrap_err().to_string();
        assert!(refused.contains("tunes this host now"), "{refused}");
        drop((first, script));
    }

    #[test]
    fn what_stood_as_asked_is_to_stay_so_too() {
        let mut bench = Bench::new(2);
        bench.prepare("1000", "6000").unwrap();
        bench.processes.make_ready(TUNED).unwrap();
        let state = |stood: &[SideKnob]| settled(Side::Requester, stood, &[])[0].state;
        assert_eq!(state(&bench.processes.verify()), KnobState::Unchanged);
        bench.someone_writes(0, "7777");
        assert_eq!(state(&bench.processes.verify()), KnobState::Drifted);
        bench.processes.turn_back();
        assert_eq!([bench.backlog(0), bench.backlog(1)], ["7777", "1000"]);
        let failure = bench.processes.make_ready(PLAIN).unwrap_err();
        assert!(failure.cause.contains("was `1000` and is `7777`"), "{}", failure.cause);
    }

    #[test]
    fn to_stay_and_to_become_otherwise_is_a_contradiction_as_well() {
        let mut bench = Bench::new(1);
        for (requester, responder) in [("1000", "5000"), ("5000", "1000")] {
            let refused = bench.prepare(requester, responder).unwrap_err().to_string();
            assert!(refused.contains("`1000`") && refused.contains("`5000`"), "{refused}");
        }
    }
}
