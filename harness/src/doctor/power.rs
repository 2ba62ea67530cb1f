//! How fast the cores run: governor, preference and turbo.

use host::{Value, cpufreq, cpulist};
use schema::{Finding, Matters};

use super::{
    by_cpu::ByCpu,
    check::{Check, HOST},
    view::View,
    words,
};

const GOVERNOR: Check = Check {
    name: "governor",
    expected: "performance on every CPU, not only on those that poll",
    authority: "tuned's latency- and throughput-performance profiles; perftest warns of CPUs below their highest frequency",
    matters: &[Matters::DataPath, Matters::EventMode, Matters::ControlPath],
};

const EPP: Check = Check {
    name: "epp",
    expected: "performance on every CPU",
    authority: "tuned's latency-performance profile",
    matters: &[Matters::DataPath, Matters::EventMode],
};

const TURBO: Check = Check {
    name: "turbo",
    expected: "on for the highest numbers, off for the steadiest: a choice, the same in all runs that are compared",
    authority: "tuned's profiles leave it on; that a fixed frequency repeats better is ours to say",
    matters: &[Matters::DataPath, Matters::EventMode],
};

const GUEST: &str = "this guest has no cpufreq: the hypervisor's host sets the frequency";

/// One finding each.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    vec![governor(view), epp(view), turbo(view)]
}

fn governor(view: &View) -> Finding {
    let cpus = view.topology.online();
    let governors = ByCpu::ask(&cpus, |cpu| cpufreq::governor(view.sysroot, cpu));
    let value = governors.value();
    let draft = GOVERNOR.about(HOST).read(cpufreq_path("scaling_governor"), &value);
    let Value::Known(found) = &value else {
        return if view.is_guest() { draft.not_applicable(GUEST) } else { draft.without("cpufreq", &value) };
    };
    let first = cpus.first().copied().unwrap_or_default();
    let draft = draft.read(cpufreq::path(first, "scaling_driver"), &cpufreq::driver(view.sysroot, first));
    let slow = governors.other_than("performance");
    let capped = capped(view, &cpus);
    let draft = match capped.first() {
        None => draft,
        Some((cpu, allowed, highest)) => draft
            .seen(cpufreq::path(*cpu, "scaling_max_freq"), allowed)
            .seen(cpufreq::path(*cpu, "cpuinfo_max_freq"), highest),
    };
    match (slow.as_slice(), capped.as_slice()) {
        ([], []) => return draft.fine("performance on every CPU"),
        ([], [(cpu, allowed, highest), ..]) => {
            let ids: Vec<u32> = capped.iter().map(|(cpu, ..)| *cpu).collect();
            return draft
                .remedy(format!("cpupower -c {} frequency-set -u {highest}kHz", cpulist::format(&ids)))
                .warning(format!(
                    "performance, but {} may not run at its highest frequency: CPU {cpu} at {allowed} of {highest} kHz",
                    words::cpus(&ids)
                ));
        }
        _ => {}
    }
    let offered = cpufreq::available_governors(view.sysroot, first);
    if matches!(&offered, Value::Known(governors) if !governors.iter().any(|name| name == "performance")) {
        return draft.note(format!("{found}; the driver has no governor performance"));
    }
    draft
        .remedy(format!(
            "for one run, the knob governor of a tuning profile;\nby hand: cpupower -c {} frequency-set -g performance",
            cpulist::format(&slow)
        ))
        .warning(format!("{found}: a core that polls may run below its frequency, and the first messages do"))
}

/// CPUs that policy keeps below their highest frequency, with both in kHz.
fn capped(view: &View, cpus: &[u32]) -> Vec<(u32, u64, u64)> {
    let limits = cpus.iter().filter_map(|cpu| {
        let allowed = cpufreq::max_khz(view.sysroot, *cpu).known()?;
        let highest = cpufreq::hardware_max_khz(view.sysroot, *cpu).known()?;
        Some((*cpu, allowed, highest))
    });
    limits.filter(|(_, allowed, highest)| allowed < highest).collect()
}

fn epp(view: &View) -> Finding {
    let cpus = view.topology.online();
    let preferences = ByCpu::ask(&cpus, |cpu| cpufreq::epp(view.sysroot, cpu));
    let value = preferences.value();
    let draft = EPP.about(HOST).read(cpufreq_path("energy_performance_preference"), &value);
    let Value::Known(found) = &value else {
        return match &value {
            Value::Absent => draft.not_applicable("this cpufreq driver has no energy-performance preference"),
            _ => draft.without("energy-performance preference", &value),
        };
    };
    // A number is what some drivers show for what was written as one; 0 is the word performance.
    let slow: Vec<u32> = match preferences.other_than("performance") {
        slow if slow.is_empty() || preferences.other_than("0").is_empty() => Vec::new(),
        slow => slow,
    };
    if slow.is_empty() {
        return draft.fine("performance on every CPU");
    }
    let offered = cpufreq::available_epps(view.sysroot, slow[0]);
    if matches!(&offered, Value::Known(words) if !words.iter().any(|word| word == "performance")) {
        return draft.note(format!("{found}; the driver has no preference performance"));
    }
    let governed = ByCpu::ask(&slow, |cpu| cpufreq::governor(view.sysroot, cpu));
    if governed.other_than("performance").is_empty() {
        return draft.note(format!("{found}; under the governor performance it weighs little"));
    }
    draft
        .remedy(
            "for one run, the knob epp of a tuning profile;\nby hand: echo performance > each \
             /sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
        )
        .warning(format!("{found}: the CPU weighs saving power against speed"))
}

fn turbo(view: &View) -> Finding {
    let turbo = cpufreq::turbo(view.sysroot);
    let draft = TURBO.about(HOST);
    match &turbo {
        Value::Known(turbo) => {
            let draft = draft.seen(turbo.path, if turbo.on { turbo.word_on } else { turbo.word_off });
            if turbo.on {
                draft.fine("on: the frequency follows heat and the neighbours; off repeats better")
            } else {
                draft.note("off: repeatable, and some percent slower on small messages")
            }
        }
        Value::Absent if view.is_guest() => draft.not_applicable(GUEST),
        Value::Absent => draft.not_applicable("no switch of turbo for the whole host"),
        _ => draft.without("turbo", &turbo),
    }
}

fn cpufreq_path(attribute: &str) -> String {
    format!("/sys/devices/system/cpu/cpu*/cpufreq/{attribute}")
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Note, Warning};

    use crate::doctor::planted::Planted;

    #[test]
    fn one_cpu_in_powersave_is_named_with_the_command_for_it() {
        let host = Planted::on("two-socket-mlx5")
            .with("/sys/devices/system/cpu/cpu5/cpufreq/scaling_governor", "powersave\n");
        let finding = host.finding("governor", "host");
        assert_eq!(finding.severity, Warning);
        assert!(
            finding.summary.starts_with("performance on CPUs 0-4,6-7, powersave on CPU 5"),
            "{}",
            finding.summary
        );
        assert!(finding.remedy.ends_with("cpupower -c 5 frequency-set -g performance"), "{}", finding.remedy);
        assert_eq!(Planted::on("two-socket-mlx5").says("governor", "host").0, Fine);
    }

    #[test]
    fn a_cap_below_the_highest_frequency_is_found_under_the_governor_performance() {
        let folder = "/sys/devices/system/cpu/cpu6/cpufreq";
        let capped = Planted::on("two-socket-mlx5")
            .with(&format!("{folder}/scaling_max_freq"), "2000000\n")
            .with(&format!("{folder}/cpuinfo_max_freq"), "3800000\n")
            .finding("governor", "host");
        assert_eq!(capped.severity, Warning);
        assert!(capped.summary.ends_with("CPU 6 at 2000000 of 3800000 kHz"), "{}", capped.summary);
        assert_eq!(capped.remedy, "cpupower -c 6 frequency-set -u 3800000kHz");
    }

    #[test]
    fn a_driver_without_the_governor_is_told_so_instead_of_a_command_that_fails() {
        let mut host = Planted::on("two-socket-mlx5");
        for cpu in 0..8 {
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
            host = host
                .with(&format!("{folder}/scaling_governor"), "schedutil\n")
                .with(&format!("{folder}/scaling_available_governors"), "ondemand schedutil\n");
        }
        let finding = host.finding("governor", "host");
        assert_eq!((finding.severity, finding.remedy.as_str()), (Note, ""));
    }

    #[test]
    fn preferences_weigh_little_under_the_governor_performance_and_much_otherwise() {
        let odd = host_with_epp("two-socket-mlx5");
        assert_eq!(odd.says("epp", "host").0, Note);
        assert_eq!(Planted::on("counters-odd").says("epp", "host").0, Warning);
        assert_eq!(Planted::on("guest-rxe").says("epp", "host").0, NotApplicable);
    }

    fn host_with_epp(fixture: &str) -> Planted {
        Planted::on(fixture)
            .with("/sys/devices/system/cpu/cpu3/cpufreq/energy_performance_preference", "balance_power\n")
    }

    #[test]
    fn turbo_is_a_choice_and_never_a_warning() {
        let switch = "/sys/devices/system/cpu/cpufreq/boost";
        assert_eq!(Planted::on("two-socket-mlx5").with(switch, "0\n").says("turbo", "host").0, Note);
        assert_eq!(Planted::on("two-socket-mlx5").with(switch, "1\n").says("turbo", "host").0, Fine);
        assert_eq!(Planted::on("guest-rxe").says("governor", "host").0, NotApplicable);
    }
}
