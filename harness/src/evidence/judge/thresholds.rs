//! The numbers that are held against the evidence.

/// Where passing ends and warning, then failing, begins. The defaults are ours, except where a source is named.
#[derive(Debug, Clone, PartialEq)]
pub struct Thresholds {
    /// Share of the packets that may be lost, marked or discarded and is only a warning. On an idle link none should be.
    pub loss_warn_share: f64,
    /// Packets that may be missing at the end of a run, because they were under way when the other side stopped counting.
    pub loss_slack_packets: u64,
    /// Share of the time for which sending was paused: below it passes.
    pub pause_pass_share: f64,
    /// Share of the time for which sending was paused: above it fails.
    pub pause_fail_share: f64,
    /// Packets beyond what the messages explain, as a share of it: below passes.
    pub excess_pass_share: f64,
    /// Packets beyond what the messages explain, as a share of it: above fails.
    pub excess_fail_share: f64,
    /// Interrupts of the NIC below which there is nothing to judge: a polled run takes almost none.
    pub interrupts_least: u64,
    /// Share of the interrupts on CPUs that are allowed: above it passes.
    pub interrupts_pass_share: f64,
    /// Share of the interrupts on CPUs that are allowed: below it fails.
    pub interrupts_fail_share: f64,
    /// Involuntary switches of the polling threads in a run: so few are no rate, however short the run.
    pub switches_few: u64,
    /// Involuntary switches of the polling threads a second: up to it passes. What a kernel has to do on every CPU, and the
    /// agent's look once a second, come to a few.
    pub switches_pass_per_sec: f64,
    /// Involuntary switches of the polling threads a second: above it fails. One other thread that never sleeps makes about
    /// 120 (Linux 6.18), and has half of the CPU.
    pub switches_fail_per_sec: f64,
    /// Median frequency of a polling CPU as a share of its base frequency: from it on passes.
    pub frequency_pass_share: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            loss_warn_share: 1e-6,
            loss_slack_packets: 16,
            // A public case lost 21.7 % of a 400G link to 802.3x pause with no packet dropped (NVIDIA/daqiri issue 250).
            pause_pass_share: 0.001,
            pause_fail_share: 0.01,
            excess_pass_share: 0.01,
            excess_fail_share: 0.1,
            interrupts_least: 100,
            interrupts_pass_share: 0.99,
            interrupts_fail_share: 0.95,
            switches_few: 5,
            switches_pass_per_sec: 10.0,
            switches_fail_per_sec: 50.0,
            frequency_pass_share: 0.95,
        }
    }
}
