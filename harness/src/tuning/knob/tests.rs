//! Every knob on the fixture trees: what it wants there, or why it wants nothing.

use std::{fs, path::Path};

use host::{Sysroot, testing};
use proptest::prelude::*;
use schema::{Class, KnobState, Tuning};

use super::*;
use crate::{
    scenario::profile,
    tuning::{Plan, apply, plan},
};

fn setting(knob: Knob, item: &str, value: &str) -> KnobSetting {
    KnobSetting { knob, item: item.into(), value: value.into(), optional: false }
}

fn site(root: &Path, poll_cpus: &[u32]) -> Site {
    let mut site = Site::new(Sysroot::new(root));
    site.device = site.sysroot.list("/sys/class/infiniband").known().and_then(|names| names.first().cloned());
    site.poll_cpus = poll_cpus.to_vec();
    site
}

fn planned(site: &Site, knobs: Vec<KnobSetting>) -> Plan {
    plan(site, &Tuning { knobs, allow_disruptive: true, ..Tuning::default() }).unwrap()
}

/// Target, old and new of every step of one knob.
fn steps(fixture: &str, knob: Knob, item: &str, value: &str) -> Vec<(String, String, String)> {
    let tree = testing::copy(fixture);
    let plan = planned(&site(tree.path(), &[6]), vec![setting(knob, item, value)]);
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    plan.steps.into_iter().map(|step| (step.target, step.old, step.new)).collect()
}

fn refusal(fixture: &str, knob: Knob, item: &str, value: &str) -> String {
    let tree = testing::copy(fixture);
    let plan = planned(&site(tree.path(), &[]), vec![setting(knob, item, value)]);
    assert!(plan.steps.is_empty(), "{:?}", plan.steps);
    plan.refusals.into_iter().map(|refusal| refusal.why).collect()
}

#[test]
fn the_targets_of_each_knob_on_bare_metal() {
    let of = |knob, item, value| {
        let found = steps("two-socket-mlx5", knob, item, value);
        found.into_iter().map(|(target, old, new)| format!("{target}: {old} > {new}")).collect::<Vec<_>>()
    };
    let cpu = "/sys/devices/system/cpu";
    assert_eq!(of(Knob::Turbo, "", "off"), [format!("{cpu}/cpufreq/boost: 1 > 0")]);
    assert_eq!(
        of(Knob::ResumeLatency, "poll", "0us"),
        [format!("{cpu}/cpu6/power/pm_qos_resume_latency_us: 0 > n/a")],
        "0 us is n/a to the kernel, and 0 would be no wish at all"
    );
    assert_eq!(of(Knob::Governor, "", "powersave").len(), 8);
    assert_eq!(
        of(Knob::Thp, "enabled", "never"),
        ["/sys/kernel/mm/transparent_hugepage/enabled: madvise > never"]
    );
    assert_eq!(
        of(Knob::HugePages, "1:2Mi", "3000").concat().split(": ").next(),
        Some("/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages")
    );
    assert_eq!(of(Knob::WorkqueueMask, "", "0-1").concat().rsplit(" > ").next(), Some("3"));
    assert_eq!(of(Knob::MaxReadRequest, "", "4096"), ["PCI 0000:c1:00.0 MaxReadReq: 512 > 4096"]);
    assert_eq!(of(Knob::Coalescing, "rx_usecs", "0"), ["ethtool ens1np0 coalescing rx_usecs: 8 > 0"]);
    assert_eq!(of(Knob::Pfc, "", "none"), ["dcb ens1np0 pfc: 3 > none"]);
    assert_eq!(
        of(Knob::IsolatedPartition, "", "poll"),
        [
            "/sys/fs/cgroup/rdma-harness: absent > present",
            "/sys/fs/cgroup/rdma-harness/cpuset.cpus:  > 6",
            "/sys/fs/cgroup/rdma-harness/cpuset.cpus.partition: member > isolated",
        ],
        "the controller is handed down already"
    );
}

#[test]
fn a_buffer_is_raised_to_a_least_value_and_never_lowered() {
    let rmem = |value| steps("two-socket-mlx5", Knob::Sysctl, "net.ipv4.tcp_rmem", value);
    assert_eq!(rmem(">= 1 1 16777216")[0].2, "4096 131072 16777216");
    assert_eq!(rmem(">= 1 1 1"), []);
}

#[test]
fn a_guest_has_no_frequencies_and_says_so() {
    for fixture in ["bare-vm", "guest-rxe"] {
        let why = refusal(fixture, Knob::Governor, "", "performance");
        assert!(why.contains("usual in a VM"), "{fixture}: {why}");
    }
    assert!(refusal("bare-vm", Knob::IrqAffinity, "", "one-to-one").contains("no RDMA device"));
}

#[test]
fn no_fixture_and_no_knob_is_without_an_answer() {
    let all = [
        "two-socket-mlx5",
        "azure-hyperv",
        "guest-rxe",
        "bare-vm",
        "grace-cpuless",
        "managed-irqs",
        "netns-readonly",
        "counters-odd",
        "container-cpuset",
    ];
    for fixture in all {
        let tree = testing::copy(fixture);
        let site = site(tree.path(), &[0]);
        for (name, _) in profile::PROFILES {
            let tuning = profile::load(name, Path::new(".")).unwrap();
            let plan = plan(&site, &Tuning { allow_disruptive: true, ..tuning }).unwrap();
            assert!(plan.refusals.iter().all(|refusal| !refusal.why.is_empty()), "{fixture} {name}");
            assert!(plan.steps.iter().all(|step| step.old != step.new), "{fixture} {name}");
            let unsaid =
                |record: &schema::KnobRecord| record.state == KnobState::Skipped && record.note.is_empty();
            assert!(!plan.others.iter().any(unsaid), "{fixture} {name}");
        }
    }
}

#[test]
fn a_thousand_cpus_are_turned_and_turned_back() {
    let tree = testing::many_cpus(1024);
    let mut site = site(tree.path(), &[320, 321]);
    // In memory, as on a host: thousands of lines are waited for.
    let memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    site.state_dir = memory.path().join("state");
    for vector in site.nic().unwrap().data_vectors().known().unwrap() {
        let folder = tree.path().join(format!("sys/kernel/irq/{}", vector.irq));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("actions"), format!("{}\n", vector.actions.join(","))).unwrap();
    }
    let before = testing::Whole::read(tree.path(), "run/rdma-harness");
    let plan = planned(
        &site,
        vec![setting(Knob::Governor, "", "performance"), setting(Knob::IrqAffinity, "", "one-to-one")],
    );
    assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
    let turned = |knob| plan.steps.iter().filter(move |step| step.knob == knob);
    assert_eq!(turned(Knob::Governor).count(), 1024);
    let places: Vec<&str> = turned(Knob::IrqAffinity).map(|step| step.new.as_str()).collect();
    // Node 5 has the cores from 320 to 383; their second threads are those 512 further on.
    assert!(
        places.iter().all(|cpu| (322..384).contains(&cpu.parse::<u32>().unwrap()) || *cpu == "834"),
        "{places:?}"
    );
    let applied = apply(&site, plan).unwrap();
    assert!(applied.records().iter().all(|record| record.state != KnobState::Drifted));
    assert!(applied.restore().conflicts.is_empty());
    assert_eq!(
        testing::Whole::read(tree.path(), "run/rdma-harness").differences(&before),
        Vec::<String>::new()
    );
}

#[test]
fn what_takes_a_boot_is_planned_with_its_commands_and_written_nowhere() {
    let tree = testing::copy("two-socket-mlx5");
    let plan = planned(&site(tree.path(), &[]), vec![setting(Knob::Boot, "isolcpus", "2-3")]);
    assert!(plan.steps.is_empty() && plan.refusals.is_empty());
    assert_eq!((plan.others[0].class, plan.others[0].state), (Class::Boot, KnobState::Planned));
    assert!(
        plan.others[0].note.contains("isolcpus") && plan.others[0].note.contains("to undo"),
        "{:?}",
        plan.others
    );
}

proptest! {
    #[test]
    fn no_setting_panics(at in 0..Knob::ALL.len(), item in "[a-z0-9:._]{0,12}|.{0,6}", value in "[-a-z0-9,:>= ]{0,12}|.{0,8}") {
        let _ = check_setting(&setting(Knob::ALL[at], &item, &value));
    }

    #[test]
    fn no_sysctl_outside_the_list_has_a_target(item in "[a-z_./]{0,30}") {
        if let Ok(wants) = wants(&setting(Knob::Sysctl, &item, "1"), &Site::new(Sysroot::new("/dev/null"))) {
            prop_assert!(wants.iter().all(|want| crate::tuning::allow::SYSCTLS.contains(&item.as_str()) && !want.new.is_empty()));
        }
    }
}
