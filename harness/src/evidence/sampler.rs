//! What is looked at while the run lasts: where the vectors are delivered, and how fast the CPUs are. A thread of ours,
//! asleep but for a few files a period; it takes no part in the run.

use std::{
    collections::BTreeMap,
    sync::mpsc::{self, RecvTimeoutError},
    thread::{self, JoinHandle},
    time::Duration,
};

use host::{Sysroot, cpufreq};
use schema::evidence::FrequencyEvidence;

/// Where a vector may go and goes, as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Affinity {
    /// What each of the two was, each change a new entry; the first is of the start.
    pub(super) allowed: Vec<String>,
    pub(super) effective: Vec<String>,
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    /// By IRQ number.
    pub(super) affinities: BTreeMap<u32, Affinity>,
    /// By CPU, kHz; the start and the end are not in it, because the CPU may have been idle.
    frequencies: BTreeMap<u32, Vec<u64>>,
}

/// The thread.
#[derive(Debug)]
pub(super) struct Sampler {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Seen>,
}

impl Sampler {
    /// Looks now, every `period`, and when it is stopped.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(super) fn start(
        sysroot: Sysroot,
        irqs: Vec<u32>,
        cpus: Vec<u32>,
        period: Duration,
    ) -> std::io::Result<Sampler> {
        let (stop, stopped) = mpsc::channel();
        let mut seen = Seen::default();
        seen.look_at_vectors(&sysroot, &irqs);
        let thread = thread::Builder::new().name("evidence".into()).spawn(move || {
            // A sender that is gone means that nobody will ask: it ends too.
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                seen.look_at_vectors(&sysroot, &irqs);
                seen.look_at_cpus(&sysroot, &cpus);
            }
            seen.look_at_vectors(&sysroot, &irqs);
            seen
        })?;
        Ok(Sampler { stop, thread })
    }

    /// What it saw; none if its thread died.
    pub(super) fn stop(self) -> Option<Seen> {
        // An error means that the thread has ended already.
        let _ = self.stop.send(());
        self.thread.join().ok()
    }
}

impl Seen {
    fn look_at_vectors(&mut self, sysroot: &Sysroot, irqs: &[u32]) {
        for irq in irqs {
            let affinity = self.affinities.entry(*irq).or_default();
            let read = |file: &str| sysroot.read(format!("/proc/irq/{irq}/{file}")).known();
            add_change(&mut affinity.allowed, read("smp_affinity_list"));
            add_change(&mut affinity.effective, read("effective_affinity_list"));
        }
    }

    fn look_at_cpus(&mut self, sysroot: &Sysroot, cpus: &[u32]) {
        for cpu in cpus {
            if let Some(khz) = cpufreq::current_khz(sysroot, *cpu).known() {
                self.frequencies.entry(*cpu).or_default().push(khz);
            }
        }
    }

    /// The samples of each CPU, in short.
    pub(super) fn frequencies(&self, sysroot: &Sysroot) -> Vec<FrequencyEvidence> {
        let of_cpu = |(cpu, samples): (&u32, &Vec<u64>)| {
            let mut sorted = samples.clone();
            sorted.sort_unstable();
            Some(FrequencyEvidence {
                cpu: *cpu,
                samples: u32::try_from(sorted.len()).unwrap_or(u32::MAX),
                lowest_khz: *sorted.first()?,
                median_khz: *sorted.get((sorted.len() - 1) / 2)?,
                highest_khz: *sorted.last()?,
                base_khz: cpufreq::base_khz(sysroot, *cpu).known(),
            })
        };
        self.frequencies.iter().filter_map(of_cpu).collect()
    }
}

/// An interrupt that is not started has an empty effective list: no place, and no change of one.
fn add_change(seen: &mut Vec<String>, now: Option<String>) {
    if let Some(now) = now.filter(|now| !now.is_empty())
        && seen.last() != Some(&now)
    {
        seen.push(now);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(root: &Sysroot, path: &str, text: &str) {
        let file = root.path(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        fs::write(file, text).expect("written");
    }

    #[test]
    fn a_vector_that_moves_is_seen_at_both_places() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = Sysroot::new(dir.path());
        write(&host, "/proc/irq/9/smp_affinity_list", "0-3\n");
        write(&host, "/proc/irq/9/effective_affinity_list", "1\n");
        let long = Duration::from_secs(600);
        let sampler = Sampler::start(host.clone(), vec![9, 10], vec![0], long).expect("a thread");
        write(&host, "/proc/irq/9/effective_affinity_list", "2\n");
        let seen = sampler.stop().expect("seen");
        assert_eq!(
            seen.affinities[&9],
            Affinity { allowed: vec!["0-3".into()], effective: vec!["1".into(), "2".into()] }
        );
        assert_eq!(seen.affinities[&10], Affinity::default(), "there is no such interrupt");
    }

    #[test]
    fn frequencies_are_of_the_middle_of_the_run() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = Sysroot::new(dir.path());
        write(&host, "/sys/devices/system/cpu/cpu2/cpufreq/base_frequency", "2000000\n");
        let mut seen = Seen::default();
        for khz in ["3000000", "1200000", "3100000", "2900000"] {
            write(&host, "/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq", khz);
            seen.look_at_cpus(&host, &[2, 3]);
        }
        let expected = FrequencyEvidence {
            cpu: 2,
            samples: 4,
            lowest_khz: 1_200_000,
            median_khz: 2_900_000,
            highest_khz: 3_100_000,
            base_khz: Some(2_000_000),
        };
        assert_eq!(seen.frequencies(&host), [expected]);
    }

    #[test]
    fn an_empty_effective_list_is_no_move() {
        let mut seen = Vec::new();
        for now in [Some("1"), Some(""), None, Some("1"), Some("2"), Some("1")] {
            add_change(&mut seen, now.map(str::to_owned));
        }
        assert_eq!(seen, ["1", "2", "1"]);
    }
}
