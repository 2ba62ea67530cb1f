//! How deep the cores sleep: idle states, and the limits that the host and single CPUs have.

use host::{
    Value,
    cpuidle::{self, IdleState, ResumeLatency},
};
use schema::{Finding, Matters};

use super::{
    by_cpu::ByCpu,
    check::{Check, HOST},
    view::View,
};

/// The deepest wake-up latency that tuned's latency profiles allow (`force_latency`, 1 to 3 us).
const SHALLOW_US: u32 = 3;

/// The kernel's default of /dev/cpu_dma_latency, 2000 s (PM_QOS_CPU_LATENCY_DEFAULT_VALUE of linux/pm_qos.h).
const NO_LIMIT_US: i32 = 2_000_000_000;

const C_STATES: Check = Check {
    name: "c-states",
    expected: "no idle state deeper than 3 us where latency is measured by events; a CPU that polls does not sleep",
    authority: "tuned's latency-performance profile (force_latency)",
    matters: &[Matters::EventMode, Matters::DataPath],
};

const PM_QOS: Check = Check {
    name: "pm-qos",
    expected: "held at 1 to 3 us while latency is measured; no limit otherwise",
    authority: "kernel documentation (power/pm_qos_interface.rst); tuned holds it open for as long as its profile is active",
    matters: &[Matters::EventMode, Matters::DataPath],
};

const RESUME_LATENCY: Check = Check {
    name: "resume-latency",
    expected: "no limit of single CPUs, unless one is wanted on those that take interrupts or poll",
    authority: "kernel documentation (ABI/testing/sysfs-devices-power)",
    matters: &[Matters::EventMode, Matters::DataPath],
};

/// One finding each.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    let limit = cpuidle::pm_qos_us(view.sysroot);
    vec![c_states(view, &limit), pm_qos(&limit), resume_latency(view)]
}

fn c_states(view: &View, limit: &Value<i32>) -> Finding {
    let cpu = view.topology.online().first().copied().unwrap_or_default();
    let states = cpuidle::states(view.sysroot, cpu);
    let driver = cpuidle::driver(view.sysroot);
    let draft = C_STATES.about(HOST).read("/sys/devices/system/cpu/cpuidle/current_driver", &driver).read(
        format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state*"),
        &states.as_ref().map(|s| in_words(s)),
    );
    let Value::Known(states) = &states else {
        return if view.is_guest() {
            draft.not_applicable(
                "this guest has no idle states of its own: the hypervisor puts its CPUs to sleep",
            )
        } else {
            draft.without("idle states", &states)
        };
    };
    let enabled = states.iter().filter(|state| state.disabled != Value::Known(true));
    let deepest =
        enabled.filter_map(|state| Some((state.latency_us.as_ref().known().copied()?, &state.name))).max();
    match deepest {
        None => draft.fine("none that is enabled: idle CPUs poll"),
        Some((us, name)) if us <= SHALLOW_US => draft.fine(format!("the deepest enabled is {name}, {us} us")),
        Some((us, name)) => {
            if let Value::Known(limit) = limit
                && (0..=SHALLOW_US as i32).contains(limit)
            {
                return draft.fine(format!(
                    "{name} takes {us} us to leave, and /dev/cpu_dma_latency allows {limit} us"
                ));
            }
            draft
                .remedy("for one run, the knob pm_qos of a tuning profile: the kernel lifts it when the process ends")
                .warning(format!(
                    "{name} takes {us} us to leave: a completion that is waited for by event may come that much later"
                ))
        }
    }
}

fn in_words(states: &[IdleState]) -> String {
    let state = |state: &IdleState| {
        let latency = state.latency_us.as_ref().known().map_or("?".to_owned(), |us| us.to_string());
        let off = if state.disabled == Value::Known(true) { ", off" } else { "" };
        format!("{} ({latency} us{off})", state.name)
    };
    states.iter().map(state).collect::<Vec<_>>().join(", ")
}

fn pm_qos(limit: &Value<i32>) -> Finding {
    let draft = PM_QOS.about(HOST).read(cpuidle::PM_QOS_DEVICE, &limit.as_ref().map(|us| format!("{us} us")));
    match limit {
        Value::Known(NO_LIMIT_US) => draft.fine("no limit: idle states are chosen freely"),
        Value::Known(0) => draft.note("0 us: idle CPUs poll, which costs heat and may cost turbo"),
        Value::Known(us) => draft.note(format!("someone holds it at {us} us")),
        other => draft.remedy("read it as root").without("the host's limit", other),
    }
}

fn resume_latency(view: &View) -> Finding {
    let cpus = view.topology.online();
    let limits =
        ByCpu::ask(&cpus, |cpu| cpuidle::resume_latency(view.sysroot, cpu).map(|limit| limit.to_string()));
    let value = limits.value();
    let draft = RESUME_LATENCY
        .about(HOST)
        .read("/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us", &value);
    match &value {
        Value::Known(_) if limits.other_than(&ResumeLatency::Any.to_string()).is_empty() => {
            draft.fine("no CPU has a limit")
        }
        Value::Known(found) => draft.note(format!("limited: {found}")),
        _ => draft.without("limits of single CPUs", &value),
    }
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Note, Unknown, Warning};

    use crate::doctor::planted::Planted;

    #[test]
    fn a_deep_state_costs_unless_it_is_off_or_limited() {
        let state = "/sys/devices/system/cpu/cpu0/cpuidle/state2/disable";
        assert_eq!(
            Planted::on("two-socket-mlx5").says("c-states", "host"),
            (
                Warning,
                "C2 takes 800 us to leave: a completion that is waited for by event may come that much later"
                    .into()
            )
        );
        assert_eq!(Planted::on("two-socket-mlx5").with(state, "1\n").says("c-states", "host").0, Fine);
        let limit = String::from_utf8(2_i32.to_ne_bytes().to_vec()).expect("small bytes are text");
        let held = Planted::on("two-socket-mlx5").with("/dev/cpu_dma_latency", &limit);
        assert_eq!(held.says("c-states", "host").0, Fine);
        assert_eq!(held.says("pm-qos", "host"), (Note, "someone holds it at 2 us".into()));
    }

    #[test]
    fn a_limit_of_one_cpu_is_named_and_a_limit_that_cannot_be_read_is_unknown() {
        let limited = Planted::on("two-socket-mlx5")
            .with("/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us", "n/a\n");
        let (severity, summary) = limited.says("resume-latency", "host");
        assert_eq!(severity, Note);
        assert!(summary.contains("none on CPU 3"), "{summary}");
        let broken = Planted::on("two-socket-mlx5").with("/dev/cpu_dma_latency", "12345");
        assert_eq!(broken.says("pm-qos", "host").0, Unknown);
        assert_eq!(Planted::on("guest-rxe").says("c-states", "host").0, NotApplicable);
    }
}
