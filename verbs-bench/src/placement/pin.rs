//! Pinning the calling thread to one CPU, and reading back that it is so.

use std::{io, sync::OnceLock, thread};

use core_affinity::CoreId;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use super::error::PlacementError;

/// CPUs this process was started with (affinity mask within its cpuset), ascending; empty if the kernel does not say.
///
/// Taken once, before the first pin: afterwards a thread's own mask holds one CPU, and its children's too.
pub fn allowed_cpus() -> Vec<u32> {
    static ALLOWED: OnceLock<Vec<u32>> = OnceLock::new();
    ALLOWED.get_or_init(|| affinity().unwrap_or_default()).clone()
}

/// The calling thread's mask now.
fn affinity() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| cpu as u32).collect())
}

/// The CPU the calling thread is on at this moment.
pub fn current_cpu() -> Option<u32> {
    u32::try_from(sched_getcpu()).ok()
}

/// Pins the calling thread to `cpu`, and verifies it by its mask and by where it runs.
pub fn pin(cpu: u32) -> Result<(), PlacementError> {
    let allowed = allowed_cpus();
    if cpu as usize >= CpuSet::MAX_CPU {
        // core_affinity would abort the process on such a number.
        let why = format!("is beyond {}, the largest CPU that can be pinned to", CpuSet::MAX_CPU - 1);
        return Err(PlacementError::Cpu { cpu, why, allowed: host::cpulist::format(&allowed) });
    }
    if !core_affinity::set_for_current(CoreId { id: cpu as usize }) {
        let why = format!(
            "failed: the CPU is offline or not in this process's cpuset ({})",
            host::cpulist::format(&allowed)
        );
        return Err(PlacementError::Pin { cpu, call: "sched_setaffinity", why });
    }
    verify(cpu)
}

fn verify(cpu: u32) -> Result<(), PlacementError> {
    let mask = affinity().map_err(|error| PlacementError::Pin {
        cpu,
        call: "sched_getaffinity",
        why: format!("failed: {error}"),
    })?;
    if mask != [cpu] {
        let why = format!("reads back CPUs {}", host::cpulist::format(&mask));
        return Err(PlacementError::Pin { cpu, call: "sched_getaffinity", why });
    }
    thread::yield_now();
    match current_cpu() {
        Some(seen) if seen == cpu => Ok(()),
        seen => Err(PlacementError::Pin {
            cpu,
            call: "sched_getcpu",
            why: format!("shows the thread on CPU {seen:?}"),
        }),
    }
}

/// Gives the calling thread back every CPU the process was started with; nothing to do if it has them.
pub(super) fn unpin() -> Result<(), PlacementError> {
    let allowed = allowed_cpus();
    if allowed.is_empty() || affinity().is_ok_and(|mask| mask == allowed) {
        return Ok(());
    }
    let mut set = CpuSet::new();
    allowed.iter().for_each(|&cpu| set.set(cpu as usize));
    sched_setaffinity(None, &set).map_err(|errno| PlacementError::Unpin {
        allowed: host::cpulist::format(&allowed),
        source: io::Error::from(errno),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in a thread of its own: a pinned test thread would narrow those the harness starts from it.
    fn in_a_thread<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
        thread::spawn(body).join().expect("the thread ends")
    }

    #[test]
    fn a_thread_pinned_to_each_allowed_cpu_is_there_and_can_be_freed() {
        in_a_thread(|| {
            let allowed = allowed_cpus();
            assert!(!allowed.is_empty());
            for &cpu in &allowed {
                pin(cpu).expect("an allowed CPU");
                assert_eq!(current_cpu(), Some(cpu));
                assert_eq!(affinity().expect("mask"), [cpu]);
                assert_eq!(allowed_cpus(), allowed, "pinning must not narrow what is allowed");
            }
            unpin().expect("the mask it started with");
            assert_eq!(affinity().expect("mask"), allowed);
        });
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_and_the_process_lives() {
        in_a_thread(|| {
            let beyond = allowed_cpus().last().expect("a CPU") + 1;
            for cpu in [beyond, 1023, 1024, u32::MAX] {
                let text = pin(cpu).expect_err("refused").to_string();
                assert!(text.contains("cpu") && text.contains(&cpu.to_string()), "{text}");
            }
            assert_eq!(affinity().expect("mask"), allowed_cpus(), "a refused pin changes nothing");
        });
    }
}
