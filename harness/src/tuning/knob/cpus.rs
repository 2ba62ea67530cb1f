//! Knobs whose item or value is a list of CPUs: resume latency, work queues, an isolated partition.

use host::{Topology, cpulist, cpumask};
use schema::KnobSetting;

use super::{Unfit, Want, pm_qos};
use crate::tuning::{
    form::Form,
    site::Site,
    target::{CgroupTarget, GROUP, PRESENT, SUBTREE_CONTROL, Target},
};

/// Says the CPUs that poll, whichever they are.
const POLL: &str = "poll";
/// The kernel's words for no idle state at all, and for any.
const NO_IDLE: &str = "n/a";
const ANY_IDLE: &str = "0";

pub(super) fn resume_latency(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    // The kernel takes 0 for `no wish` and n/a for `no latency at all`.
    let word = match setting.value.trim() {
        "any" => ANY_IDLE.to_owned(),
        text => match pm_qos::micros(text)? {
            0 => NO_IDLE.to_owned(),
            us => us.to_string(),
        },
    };
    let path = |cpu: u32| format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
    let cpus = named(&setting.item, site)?;
    Ok(cpus.into_iter().map(|cpu| Want::file(path(cpu), Form::Word, word.clone())).collect())
}

pub(super) fn work_queues(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let cpus = named(&setting.value, site)?;
    Ok(vec![Want::file("/sys/devices/virtual/workqueue/cpumask", Form::CpuMask, cpumask::format(&cpus))])
}

/// In the order the kernel asks for: the controller, the group, its CPUs, and only then the partition.
pub(super) fn partition(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let cpus = named(&setting.value, site)?;
    let controllers = site.sysroot.read("/sys/fs/cgroup/cgroup.controllers").known().unwrap_or_default();
    if !controllers.split_whitespace().any(|word| word == "cpuset") {
        return Err(Unfit::Host(format!("{SUBTREE_CONTROL}: no cpuset controller of cgroup v2 here")));
    }
    if site.sysroot.exists(GROUP) {
        return Err(Unfit::Host(format!("{GROUP} is there already, and not from us; `rmdir` removes it")));
    }
    let made = |name: &str, form, new: &str, first: &str| {
        let mut want = Want::file(format!("{GROUP}/{name}"), form, new);
        want.made_with = Some(first.to_owned());
        want
    };
    Ok(vec![
        Want::on(Target::Cgroup { part: CgroupTarget::Controller }, PRESENT),
        Want::on(Target::Cgroup { part: CgroupTarget::Group }, PRESENT),
        made("cpuset.cpus", Form::CpuList, &cpulist::format(&cpus), ""),
        made("cpuset.cpus.partition", Form::Words, "isolated", "member"),
    ])
}

/// The CPUs of a list, or those that poll.
fn named(text: &str, site: &Site) -> Result<Vec<u32>, Unfit> {
    let cpus = if text.trim() == POLL {
        site.poll_cpus.clone()
    } else {
        let cpus = cpulist::parse(text)
            .map_err(|error| Unfit::Value(format!("{error}; write CPUs, for example 2-3, or {POLL}")))?;
        if cpus.is_empty() {
            return Err(Unfit::Value("names no CPU".to_owned()));
        }
        cpus
    };
    if cpus.is_empty() {
        return Err(Unfit::Host(
            "which CPUs poll is not said: give --poll-cpus, or `cpu` in a scenario".to_owned(),
        ));
    }
    let topology = Topology::read(&site.sysroot);
    let offline: Vec<u32> = cpus.iter().copied().filter(|cpu| topology.cpu(*cpu).is_none()).collect();
    if offline.is_empty() {
        Ok(cpus)
    } else {
        Err(Unfit::Host(format!("CPU {} is not online", cpulist::format(&offline))))
    }
}
