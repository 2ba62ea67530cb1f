//! Processes by name: the daemons that move interrupts or rewrite settings, and whether they run or are stopped.

use crate::{sysroot::Sysroot, value::Value};

/// The kernel keeps this many bytes of a process's name.
const COMM_BYTES: usize = 15;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name as the kernel keeps it, 15 bytes at most.
    pub name: String,
    /// State letter of /proc/PID/stat: `S` sleeping, `T` stopped.
    pub state: char,
    /// When it started, in clock ticks since boot; with the pid, what tells it from a later process.
    pub started_ticks: u64,
}

impl Process {
    /// Whether a signal has stopped it.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }
}

/// The processes of these names; names are compared as far as the kernel keeps them.
pub fn named(sysroot: &Sysroot, names: &[&str]) -> Value<Vec<Process>> {
    sysroot.list("/proc").map(|entries| {
        let pids = entries.iter().filter_map(|entry| entry.parse::<u32>().ok());
        pids.filter_map(|pid| matching(sysroot, pid, names)).collect()
    })
}

/// A process by number; absent where there is none.
pub fn read(sysroot: &Sysroot, pid: u32) -> Value<Process> {
    sysroot.read(format!("/proc/{pid}/stat")).parse(|text| parse_stat(&text))
}

fn matching(sysroot: &Sysroot, pid: u32, names: &[&str]) -> Option<Process> {
    let comm = sysroot.read(format!("/proc/{pid}/comm")).known()?;
    let is_one = names.iter().any(|name| name.as_bytes().iter().take(COMM_BYTES).eq(comm.as_bytes()));
    // A process that ends between the two reads is none.
    if is_one { read(sysroot, pid).known() } else { None }
}

/// `PID (NAME) STATE ...`: the name may hold blanks and parentheses, so it ends at the last one.
fn parse_stat(text: &str) -> Result<Process, String> {
    let fault = || format!("`{}` is no line of /proc/PID/stat", text.chars().take(80).collect::<String>());
    let (pid, rest) = text.split_once(" (").ok_or_else(fault)?;
    let (name, rest) = rest.rsplit_once(") ").ok_or_else(fault)?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // Fields 3 and 22 of proc_pid_stat(5).
    let state = fields.first().and_then(|field| field.chars().next()).ok_or_else(fault)?;
    let started_ticks = fields.get(19).and_then(|field| field.parse().ok()).ok_or_else(fault)?;
    Ok(Process { pid: pid.trim().parse().map_err(|_| fault())?, name: name.to_owned(), state, started_ticks })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing_tree::tree;

    fn stat(pid: u32, name: &str, state: char) -> String {
        format!("{pid} ({name}) {state} 1 {pid} {pid} 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 1234 100 5\n")
    }

    #[test]
    fn a_stopped_daemon_is_found_by_its_name() {
        let (_dir, host) = tree(&[
            ("/proc/812/comm", "irqbalance\n"),
            ("/proc/812/stat", &stat(812, "irqbalance", 'T')),
            ("/proc/9/comm", "ksoftirqd/0\n"),
            ("/proc/self/comm", "irqbalance\n"),
        ]);
        let found = named(&host, &["irqbalance"]).known().expect("listed");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].pid, found[0].is_stopped(), found[0].started_ticks), (812, true, 1234));
        assert_eq!(named(&host, &["tuned"]), Value::Known(vec![]));
    }

    #[test]
    fn a_long_name_is_compared_as_the_kernel_keeps_it() {
        let (_dir, host) = tree(&[
            ("/proc/7/comm", "systemd-journal\n"),
            ("/proc/7/stat", &stat(7, "systemd-journal", 'S')),
        ]);
        assert_eq!(named(&host, &["systemd-journald"]).known().expect("listed").len(), 1);
    }

    #[test]
    fn a_name_may_hold_anything() {
        let process = parse_stat(&stat(7, "a) S (b", 'R')).expect("a process");
        assert_eq!((process.name.as_str(), process.state), ("a) S (b", 'R'));
        assert!(parse_stat("7 (x").is_err());
    }

    #[test]
    fn this_process_runs() {
        let me = read(&Sysroot::new("/"), std::process::id()).known().expect("myself");
        assert!(!me.is_stopped() && me.started_ticks > 0);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)([0-9]{0,3} \\()?.{0,60}(\\) [A-Z] [0-9 ]{0,60})?") {
            let _ = parse_stat(&text);
        }
    }
}
