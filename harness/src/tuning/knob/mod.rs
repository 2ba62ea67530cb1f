//! What a knob's setting means on one host: which targets, and what is to stand in each. One knob a file; nothing is written.

mod checked;
mod cpufreq;
mod cpus;
mod irq_affinity;
mod irqbalance;
mod memory;
mod netdev;
mod pm_qos;
mod sysctl;

use host::{Aspect, Sysroot};
use schema::{Knob, KnobSetting};

use super::{
    form::Form,
    site::Site,
    target::{FileTarget, Target},
};

/// Power saving of PCIe links.
const ASPM: &str = "/sys/module/pcie_aspm/parameters/policy";

/// What is to stand in a target.
pub(super) struct Want {
    /// Where.
    pub(super) target: Target,
    /// What.
    pub(super) new: String,
    /// What it holds once the wants before it are met, where it is not there yet; none where it is.
    pub(super) made_with: Option<String>,
    /// What a reader of the plan should know; empty where there is nothing.
    pub(super) note: String,
}

/// Why there are no targets.
#[derive(Debug)]
pub(super) enum Unfit {
    /// The setting is wrong on any host.
    Value(String),
    /// This host has no such knob, or it can't be turned here.
    Host(String),
    /// There is nothing to do on this host, and that is fine.
    Nothing(String),
    /// It is never turned here: what stands, whether that is what is asked, and what a person would do.
    Checked {
        /// What was looked at.
        at: String,
        /// What stands there; none where it can't be read.
        now: Option<String>,
        /// Whether it is as asked.
        holds: bool,
        /// What to do; empty where it holds.
        remedy: String,
    },
}

impl Want {
    /// A file that is there.
    fn file(path: impl Into<String>, form: Form, new: impl Into<String>) -> Want {
        Want::on(Target::File(FileTarget { path: path.into(), form }), new)
    }

    fn on(target: Target, new: impl Into<String>) -> Want {
        Want { target, new: new.into(), made_with: None, note: String::new() }
    }
}

/// What a setting wants of this host.
pub(super) fn wants(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    match setting.knob {
        Knob::Sysctl => sysctl::wants(setting, site),
        Knob::Irqbalance => irqbalance::wants(setting, site),
        Knob::IrqAffinity => irq_affinity::wants(setting, site),
        Knob::PmQos => pm_qos::wants(setting, site),
        Knob::ResumeLatency => cpus::resume_latency(setting, site),
        Knob::Governor => cpufreq::governor(setting, site),
        Knob::Epp => cpufreq::preference(setting, site),
        Knob::Turbo => cpufreq::turbo(setting, site),
        Knob::NumaBalancing => memory::numa_balancing(setting),
        Knob::Thp => memory::thp(setting, site),
        Knob::HugePages => memory::huge_pages(setting),
        Knob::WorkqueueMask => cpus::work_queues(setting, site),
        Knob::IsolatedPartition => cpus::partition(setting, site),
        Knob::Aspm => memory::bracketed(setting, site, ASPM.to_owned()),
        Knob::Mtu => netdev::mtu(setting, site),
        Knob::GlobalPause => netdev::number(setting, site, Aspect::Pause),
        Knob::Pfc => netdev::pfc(setting, site),
        Knob::Coalescing => netdev::number(setting, site, Aspect::Coalescing),
        Knob::Rings => netdev::number(setting, site, Aspect::Rings),
        Knob::MaxReadRequest => netdev::max_read_request(setting, site),
        Knob::Trust => checked::trust(setting, site),
        Knob::Dcbx => checked::dcbx(setting, site),
        Knob::Boot => checked::boot(setting, site),
    }
}

/// Whether a setting is wrong on any host; the reason. Asked of a host that has nothing, only the value is left to be wrong.
pub fn check_setting(setting: &KnobSetting) -> Result<(), String> {
    let nothing = Site::new(Sysroot::new("/dev/null"));
    match wants(setting, &nothing) {
        Err(Unfit::Value(why)) => Err(why),
        _ => Ok(()),
    }
}

/// One word of what the kernel's files offer.
fn is_word(text: &str) -> bool {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || byte == b'+';
    !text.is_empty() && text.bytes().all(fine)
}

/// A value, and whether it is a least one: `>= 4200`.
fn at_least(text: &str) -> (&str, bool) {
    match text.trim().strip_prefix(">=") {
        Some(rest) => (rest.trim(), true),
        None => (text.trim(), false),
    }
}

#[cfg(test)]
mod tests;
