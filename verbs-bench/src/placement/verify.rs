//! What the kernel says about the calling thread and its limits.

use std::mem::MaybeUninit;

use rustix::process::{Resource, getrlimit};

/// Involuntary context switches of the calling thread so far; none if the kernel does not count them.
pub fn involuntary_switches() -> Option<u64> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: usage is valid for one write of the struct the call fills.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: getrusage returned 0, so it has filled the whole struct.
    let usage = unsafe { usage.assume_init() };
    u64::try_from(usage.ru_nivcsw).ok()
}

/// RLIMIT_MEMLOCK in bytes, the soft limit; none if there is no limit.
pub fn memlock_limit() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_never_gives_way_is_switched_out_once_in_a_while_and_the_count_only_grows() {
        let before = involuntary_switches().expect("Linux counts them");
        std::hint::black_box((0..1_000_000u64).fold(0, |sum, n| sum ^ n));
        assert!(involuntary_switches().expect("Linux counts them") >= before);
    }

    #[test]
    fn the_memlock_limit_is_the_one_the_kernel_shows() {
        let limits = std::fs::read_to_string("/proc/self/limits").expect("procfs");
        let line = limits.lines().find(|line| line.starts_with("Max locked memory")).expect("the limit");
        let soft = line["Max locked memory".len()..].split_whitespace().next().expect("a value");
        assert_eq!(memlock_limit(), soft.parse().ok());
    }
}
