//! Sysctls that interrupt a CPU now and then, or let sockets spin: what tuned's latency profile turns besides the CPU.

use host::{Value, sysctl};
use schema::{Finding, Matters};

use super::{
    check::{Check, HOST},
    view::View,
};

const CHECK: Check = Check {
    name: "sysctl",
    expected: "this kernel's own value; the profile's where the far tail of a polling thread is what counts",
    authority: "tuned's network-latency and hpc-compute profiles; kernel documentation (admin-guide/sysctl)",
    matters: &[Matters::DataPath],
};

/// A sysctl, what the profile makes of it, and what it costs otherwise.
struct Jitter {
    name: &'static str,
    profile: &'static str,
    costs: &'static str,
    matters: &'static [Matters],
}

const TAIL: &[Matters] = &[Matters::DataPath];
const SOCKETS: &[Matters] = &[Matters::TcpOnly];

const JITTERS: [Jitter; 7] = [
    Jitter {
        name: "kernel.nmi_watchdog",
        profile: "0",
        costs: "an interrupt that nothing masks, on every CPU, seldom",
        matters: TAIL,
    },
    Jitter {
        name: "vm.stat_interval",
        profile: "10",
        costs: "a work item for statistics on each CPU, that often in seconds",
        matters: TAIL,
    },
    Jitter {
        name: "kernel.timer_migration",
        profile: "0",
        costs: "timers that move to CPUs that are awake, as polling ones are",
        matters: TAIL,
    },
    Jitter {
        name: "vm.zone_reclaim_mode",
        profile: "0",
        costs: "cache freed before another node is used",
        matters: TAIL,
    },
    Jitter {
        name: "net.core.busy_poll",
        profile: "50",
        costs: "nothing; poll on sockets sleeps",
        matters: SOCKETS,
    },
    Jitter {
        name: "net.core.busy_read",
        profile: "50",
        costs: "nothing; reads of sockets sleep",
        matters: SOCKETS,
    },
    Jitter {
        name: "net.ipv4.tcp_fastopen",
        profile: "3",
        costs: "nothing; TCP connects in a round trip more",
        matters: SOCKETS,
    },
];

/// One finding each.
pub(super) fn findings(view: &View) -> Vec<Finding> {
    JITTERS.iter().map(|jitter| finding(view, jitter)).collect()
}

/// Only who has taken CPUs from the scheduler is after a tail that these show in.
fn finding(view: &View, jitter: &Jitter) -> Finding {
    let value = sysctl::read(view.sysroot, jitter.name);
    let draft = CHECK
        .about(HOST)
        .named(format!("sysctl.{}", jitter.name))
        .matters(jitter.matters)
        .read(sysctl::path(jitter.name).unwrap_or_default(), &value);
    let value = match &value {
        Value::Known(value) => value,
        Value::Absent => {
            return draft.not_applicable("this kernel (or network namespace) has no such sysctl");
        }
        other => return draft.without(jitter.name, other),
    };
    if value == jitter.profile {
        return draft.fine(format!("{value}, as tuned's profile has it"));
    }
    let summary = format!("{value}: {}; tuned's profile has {}", jitter.costs, jitter.profile);
    if jitter.matters == SOCKETS || view.isolated().is_empty() {
        return draft.fine(summary);
    }
    draft.remedy(format!("sysctl -w {}={}", jitter.name, jitter.profile)).note(summary)
}

#[cfg(test)]
mod tests {
    use schema::Severity::{Fine, NotApplicable, Note};

    use super::{JITTERS, SOCKETS};
    use crate::doctor::planted::Planted;

    #[test]
    fn what_shows_in_the_far_tail_is_a_note_where_cpus_are_isolated_for_it() {
        let mut host = Planted::on("two-socket-mlx5");
        for jitter in &JITTERS {
            host = host.with(&format!("/proc/sys/{}", jitter.name.replace('.', "/")), "1\n");
        }
        let open = Planted::on("two-socket-mlx5").with("/sys/devices/system/cpu/isolated", "\n");
        for jitter in &JITTERS {
            let check = format!("sysctl.{}", jitter.name);
            let (severity, summary) = host.says(&check, "host");
            let wanted = if jitter.matters == SOCKETS { Fine } else { Note };
            assert_eq!(severity, wanted, "{check}: {summary}");
            assert!(matches!(open.says(&check, "host").0, Fine | NotApplicable), "{check}");
        }
        let tuned =
            host.with("/proc/sys/kernel/nmi_watchdog", "0\n").finding("sysctl.kernel.nmi_watchdog", "host");
        assert_eq!((tuned.severity, tuned.summary.as_str()), (Fine, "0, as tuned's profile has it"));
    }
}
