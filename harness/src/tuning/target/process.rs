//! Whether a daemon runs or is paused. It is stopped by a signal and goes on by another: its service stays active and enabled, and
//! nothing has to be started again.

use std::{
    fs, io,
    os::unix::fs::FileExt as _,
    thread,
    time::{Duration, Instant},
};

use host::{Value, process};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal, test_kill_process};
use serde::{Deserialize, Serialize};

use super::{Held, Operate, file::may_write};
use crate::tuning::{allow, site::Site};

/// Its two values.
pub(crate) const RUNNING: &str = "running";
pub(crate) const PAUSED: &str = "paused";

/// How long a process may take to stop: one that waits for a disk does so first.
const OBEYS_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// A process, by its number and its start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessTarget {
    /// Its number.
    pub(crate) pid: u32,
    /// Its start in clock ticks since boot.
    pub(crate) started_ticks: u64,
    /// Its name.
    pub(crate) name: String,
}

impl Operate for ProcessTarget {
    fn describe(&self) -> String {
        format!("process {} ({})", self.pid, self.name)
    }

    fn read(&self, site: &Site, _held: &Held) -> Value<String> {
        process::read(&site.sysroot, self.pid).and_then(|process| {
            if !self.is(&process) {
                return Value::Absent;
            }
            Value::Known(if process.is_stopped() { PAUSED } else { RUNNING }.to_owned())
        })
    }

    fn write(&self, site: &Site, _held: &mut Held, value: &str) -> io::Result<()> {
        if site.sysroot.is_live() { self.signal(site, value) } else { self.rewrite(site, value) }
    }

    fn probe(&self, site: &Site) -> Result<(), String> {
        if !site.sysroot.is_live() {
            return may_write(site, &self.stat());
        }
        let pid = self.number().map_err(|error| error.to_string())?;
        test_kill_process(pid)
            .map_err(|error| format!("{} may not be paused: {error}; run as root", self.describe()))
    }
}

impl ProcessTarget {
    fn is(&self, process: &process::Process) -> bool {
        process.started_ticks == self.started_ticks && process.name == self.name
    }

    fn stat(&self) -> String {
        format!("/proc/{}/stat", self.pid)
    }

    fn number(&self) -> io::Result<Pid> {
        let raw = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        raw.ok_or_else(|| io::Error::other("it is no number of a process"))
    }

    /// The descriptor is opened before the process is looked at, so that the signal goes to the one that was looked at.
    fn signal(&self, site: &Site, value: &str) -> io::Result<()> {
        let process = pidfd_open(self.number()?, PidfdFlags::empty())?;
        if !process::read(&site.sysroot, self.pid).known().is_some_and(|process| self.is(&process)) {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the process has ended"));
        }
        let signal = if value == PAUSED { Signal::STOP } else { Signal::CONT };
        pidfd_send_signal(&process, signal)?;
        // It stops when it is next scheduled, which is not yet.
        let until = Instant::now() + OBEYS_WITHIN;
        while self.read(site, &Held::new()).known().is_some_and(|now| now != value) && Instant::now() < until
        {
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// In a tree a process is paused by the letter of its state; one that goes on sleeps, as daemons do.
    fn rewrite(&self, site: &Site, value: &str) -> io::Result<()> {
        let file = allow::resolve(&site.sysroot, &self.stat()).map_err(io::Error::other)?;
        let text = fs::read_to_string(&file)?;
        let at = text.rfind(") ").ok_or_else(|| io::Error::other("it is no line of /proc/PID/stat"))? + 2;
        let letter = if value == PAUSED { b"T" } else { b"S" };
        fs::OpenOptions::new().write(true).open(&file)?.write_all_at(letter, at as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use host::Sysroot;

    use super::*;

    struct Sleeper(Child);

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_of_ours_is_paused_and_goes_on() {
        let sleeper = Sleeper(Command::new("sleep").arg("60").spawn().unwrap());
        let site = Site::new(Sysroot::new("/"));
        let found = process::read(&site.sysroot, sleeper.0.id()).known().unwrap();
        let target =
            ProcessTarget { pid: found.pid, started_ticks: found.started_ticks, name: found.name.clone() };
        let mut held = Held::new();
        // The child is the test's own name until it has become `sleep`.
        let target = ProcessTarget { name: "sleep".into(), ..target };
        while target.read(&site, &held) == Value::Absent {
            std::thread::yield_now();
        }
        assert_eq!((target.read(&site, &held), target.probe(&site)), (Value::Known(RUNNING.into()), Ok(())));
        target.write(&site, &mut held, PAUSED).unwrap();
        assert_eq!(target.read(&site, &held), Value::Known(PAUSED.into()));
        target.write(&site, &mut held, RUNNING).unwrap();
        assert_eq!(target.read(&site, &held), Value::Known(RUNNING.into()));
        let later = ProcessTarget { started_ticks: target.started_ticks + 1, ..target };
        assert_eq!(later.read(&site, &held), Value::Absent, "another process of that number is none");
        assert_eq!(later.write(&site, &mut held, PAUSED).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
