//! The two tick sources of the hot loop, and when the CPU's counter may be trusted.

use rustix::time::{ClockId, clock_gettime};

/// A free-running counter. A reading allocates nothing, locks nothing and divides nothing.
pub trait Ticks: Copy {
    /// The counter now.
    fn now(&self) -> u64;
}

/// The CPU's own counter: `rdtsc`, or `cntvct_el0` on aarch64. Its ticks become time through a [`Scale`](super::Scale).
///
/// The reading is not serialised: a fence would cost more than the reordering can hide, which is bounded by the
/// reorder window, and the loop reads it behind a branch on the completion it times.
#[derive(Debug, Clone, Copy)]
pub struct Tsc;

/// CLOCK_MONOTONIC_RAW; its ticks are nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicRaw;

impl Ticks for Tsc {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn now(&self) -> u64 {
        // SAFETY: every x86_64 CPU has rdtsc, and Linux lets user space execute it unless a process forbids itself.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    #[cfg(target_arch = "aarch64")]
    #[inline(always)]
    fn now(&self) -> u64 {
        let ticks: u64;
        // SAFETY: Linux lets user space read the virtual counter; the instruction touches no memory and no flags.
        unsafe {
            core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
        };
        ticks
    }

    /// Elsewhere no counter is known to us; `Clock::calibrate` refuses this source there.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[inline(always)]
    fn now(&self) -> u64 {
        MonotonicRaw.now()
    }
}

impl Ticks for MonotonicRaw {
    #[inline(always)]
    fn now(&self) -> u64 {
        let time = clock_gettime(ClockId::MonotonicRaw);
        (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
    }
}

/// Either of the two, read through a pointer: a predictable call more, for a loop that reads it once a batch and would
/// otherwise be compiled twice.
#[derive(Debug, Clone, Copy)]
pub struct AnyTicks(pub(super) fn() -> u64);

impl Ticks for AnyTicks {
    #[inline(always)]
    fn now(&self) -> u64 {
        (self.0)()
    }
}

/// What the kernel says about the counter: the CPU's flags and the clock source it uses itself.
pub(super) struct KernelView<'a> {
    /// The words of the `flags` line of /proc/cpuinfo.
    pub(super) cpu_flags: &'a [String],
    /// /sys/devices/system/clocksource/clocksource0/current_clocksource, or why it is not known.
    pub(super) clocksource: Result<&'a str, &'a str>,
}

/// Whether an x86 TSC counts at one rate, on all cores alike, in every sleep state. The error says why not.
///
/// The flags alone are the CPU's promise; the kernel's own choice of clock source is its check of it (a TSC that drifts
/// between sockets is marked unstable and given up). A guest on kvm-clock or Hyper-V's page has no such check, so there
/// both flags are asked for, and the drift over the run is measured in any case.
pub(super) fn judge_tsc(view: &KernelView<'_>) -> Result<(), String> {
    let has = |flag: &str| view.cpu_flags.iter().any(|word| word == flag);
    let source = view.clocksource.map_err(|why| format!("the kernel's clock source is not known: {why}"))?;
    if !has("constant_tsc") {
        return Err("the CPU does not report constant_tsc: its counter changes speed with the core".into());
    }
    match source {
        "tsc" if has("nonstop_tsc") || has("tsc_known_freq") => Ok(()),
        "kvm-clock" | "hyperv_clocksource_tsc_page" if has("nonstop_tsc") => Ok(()),
        "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" => Err(format!(
            "the CPU does not report nonstop_tsc (clock source {source}): its counter may stop in deep idle"
        )),
        other => Err(format!("the kernel itself does not trust it: its clock source is {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(flags: &str, clocksource: Result<&str, &str>) -> Result<(), String> {
        let cpu_flags: Vec<String> = flags.split_whitespace().map(str::to_owned).collect();
        judge_tsc(&KernelView { cpu_flags: &cpu_flags, clocksource })
    }

    #[test]
    fn an_invariant_tsc_the_kernel_uses_is_trusted() {
        assert_eq!(judge("fpu constant_tsc nonstop_tsc", Ok("tsc")), Ok(()));
        assert_eq!(judge("constant_tsc tsc_known_freq", Ok("tsc")), Ok(()));
        assert_eq!(judge("constant_tsc nonstop_tsc", Ok("kvm-clock")), Ok(()));
    }

    #[test]
    fn what_the_kernel_gave_up_is_refused_whatever_the_flags() {
        for source in ["hpet", "acpi_pm", "refined-jiffies", "xen"] {
            let why = judge("constant_tsc nonstop_tsc", Ok(source)).expect_err("refused");
            assert!(why.contains(source), "{why}");
        }
        assert!(judge("constant_tsc nonstop_tsc", Err("no such file")).is_err());
    }

    #[test]
    fn a_missing_flag_is_named() {
        assert!(judge("nonstop_tsc", Ok("tsc")).expect_err("refused").contains("constant_tsc"));
        assert!(judge("constant_tsc", Ok("tsc")).expect_err("refused").contains("nonstop_tsc"));
        assert!(
            judge("constant_tsc tsc_known_freq", Ok("kvm-clock"))
                .expect_err("refused")
                .contains("nonstop_tsc")
        );
    }

    #[test]
    fn both_sources_go_forward() {
        fn forward(clock: impl Ticks) -> bool {
            let (first, then) = (clock.now(), std::time::Instant::now());
            while then.elapsed().as_millis() < 2 {}
            clock.now() > first
        }
        assert!(forward(Tsc) && forward(MonotonicRaw));
    }
}
