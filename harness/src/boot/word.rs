//! The words of the kernel's command line that a host is tuned by: what values they take, and where their effect is read.

use host::{Sysroot, Value, cpulist};
use schema::finding::Reading;

use super::{BootError, cmdline};

/// One word.
pub(super) struct Word {
    /// Its name as profiles write it.
    pub(super) name: &'static str,
    takes: Takes,
    /// Where the kernel says what came of it; the command line where it says nothing.
    effect: Option<&'static str>,
}

enum Takes {
    /// CPUs, after flags for the word that has some.
    Cpus { flags: &'static [&'static str] },
    /// One of these.
    One(&'static [&'static str]),
    /// A number up to this.
    UpTo(u32),
}

/// Every word there is; the kernel's `admin-guide/kernel-parameters.txt` says what each does.
pub(super) const WORDS: [Word; 10] = [
    Word {
        name: "isolcpus",
        takes: Takes::Cpus { flags: &["domain", "managed_irq", "nohz"] },
        effect: Some("/sys/devices/system/cpu/isolated"),
    },
    Word {
        name: "nohz_full",
        takes: Takes::Cpus { flags: &[] },
        effect: Some("/sys/devices/system/cpu/nohz_full"),
    },
    Word { name: "rcu_nocbs", takes: Takes::Cpus { flags: &[] }, effect: None },
    Word { name: "irqaffinity", takes: Takes::Cpus { flags: &[] }, effect: None },
    Word { name: "iommu", takes: Takes::One(&["pt", "off"]), effect: None },
    Word {
        name: "intel_idle.max_cstate",
        takes: Takes::UpTo(9),
        effect: Some("/sys/module/intel_idle/parameters/max_cstate"),
    },
    Word { name: "processor.max_cstate", takes: Takes::UpTo(9), effect: None },
    Word { name: "pcie_aspm", takes: Takes::One(&["off"]), effect: None },
    Word { name: "skew_tick", takes: Takes::One(&["0", "1"]), effect: None },
    Word { name: "tsc", takes: Takes::One(&["reliable", "nowatchdog"]), effect: None },
];

/// A word with a value that was found good.
pub(super) struct Wanted {
    name: String,
    value: String,
    /// The CPUs named, where it names some.
    cpus: Option<Vec<u32>>,
    flags: Vec<String>,
}

impl Wanted {
    /// The name it has on this host's command line.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// As it stands on the command line.
    pub(super) fn text(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

impl Word {
    /// Holds a value against the word's grammar and the host's CPUs.
    pub(super) fn check(&self, sysroot: &Sysroot, value: &str) -> Result<Wanted, BootError> {
        let bad = |why: String| BootError::bad(self.name, value, why);
        let mut wanted =
            Wanted { name: self.name.into(), value: value.into(), cpus: None, flags: Vec::new() };
        match &self.takes {
            Takes::One(words) if words.contains(&value) => {}
            Takes::One(words) => return Err(bad(format!("write one of {}", words.join(", ")))),
            Takes::UpTo(most) => {
                let number = value.parse::<u32>().ok().filter(|number| number <= most);
                number.ok_or_else(|| bad(format!("write a number from 0 to {most}")))?;
            }
            Takes::Cpus { flags } => {
                let (given, list) = split_flags(value, flags);
                let cpus = cpulist::parse(list).map_err(|why| bad(why.to_string()))?;
                self.check_cpus(sysroot, &cpus).map_err(bad)?;
                wanted.value =
                    given.iter().cloned().chain([cpulist::format(&cpus)]).collect::<Vec<_>>().join(",");
                (wanted.flags, wanted.cpus) = (given, Some(cpus));
            }
        }
        // `iommu=pt` is x86's spelling; other machines know the general one only.
        if self.name == "iommu" && value == "pt" && !is_x86(sysroot) {
            (wanted.name, wanted.value) = ("iommu.passthrough".into(), "1".into());
        }
        Ok(wanted)
    }

    fn check_cpus(&self, sysroot: &Sysroot, cpus: &[u32]) -> Result<(), String> {
        if cpus.is_empty() {
            return Err("names no CPU; write a list such as 2-3,8".into());
        }
        if self.name == "nohz_full" && cpus.contains(&0) {
            return Err("the boot CPU, 0, keeps the time and cannot be without its tick; leave it out".into());
        }
        let present = sysroot.read("/sys/devices/system/cpu/present").known();
        let present = present.or_else(|| sysroot.read("/sys/devices/system/cpu/online").known());
        let Some(present) = present.and_then(|text| cpulist::parse(&text).ok()) else { return Ok(()) };
        if let Some(missing) = cpus.iter().find(|cpu| !present.contains(cpu)) {
            let there = cpulist::format(&present);
            return Err(format!("this host has no CPU {missing}; it has {there}"));
        }
        if self.name != "irqaffinity" && present.iter().all(|cpu| cpus.contains(cpu)) {
            return Err("names every CPU; the rest of the host needs one".into());
        }
        Ok(())
    }

    /// What holds now. With a device, the IOMMU's mode is that of the device.
    pub(super) fn now(&self, sysroot: &Sysroot, wanted: &Wanted, device: Option<&str>) -> Reading {
        if let ("iommu", Some(device)) = (self.name, device) {
            return iommu_of(sysroot, device);
        }
        // Flags are seen nowhere but on the command line.
        if let (Some(path), true) = (self.effect, wanted.flags.is_empty()) {
            return reading(path.to_owned(), sysroot.read(path).map(|text| none_as_empty(&text)));
        }
        let line = cmdline::read(sysroot);
        let value = line.and_then(|line| match line.value(&wanted.name) {
            Some(value) => Value::Known(value),
            None => Value::NotApplicable("not on the command line".into()),
        });
        reading(format!("/proc/cmdline: {}", wanted.name), value)
    }

    /// Whether what was read is what is wanted.
    pub(super) fn holds(&self, now: &Reading, wanted: &Wanted) -> bool {
        let Some(value) = &now.value else { return now.unknown.as_deref() == Some(NO_IOMMU) };
        let Some(cpus) = &wanted.cpus else { return *value == self.expected_reading(now, wanted) };
        let known: Vec<&str> = wanted.flags.iter().map(String::as_str).collect();
        let (flags, list) = split_flags(value, &known);
        flags == wanted.flags && cpulist::parse(list).as_ref() == Ok(cpus)
    }

    /// What [`Word::now`] reads once `wanted` holds.
    pub(super) fn expected_reading(&self, now: &Reading, wanted: &Wanted) -> String {
        match &wanted.cpus {
            Some(cpus) if self.effect.is_some() && wanted.flags.is_empty() => cpulist::format(cpus),
            _ if now.at.ends_with("/iommu_group/type") && wanted.value != "off" => "identity".into(),
            _ if now.at.ends_with("/iommu_group/type") => "nothing: the link is gone".into(),
            _ => wanted.value.clone(),
        }
    }
}

/// Without a group no IOMMU stands between the device and memory, which is what either value asks for.
const NO_IOMMU: &str = "no IOMMU group: no IOMMU translates for this device";

/// The leading words of a list that are flags, and the rest.
fn split_flags<'v>(value: &'v str, known: &[&str]) -> (Vec<String>, &'v str) {
    let mut flags = Vec::new();
    let mut rest = value;
    while let Some((word, after)) = rest.split_once(',') {
        if !known.contains(&word) {
            break;
        }
        flags.push(word.to_owned());
        rest = after;
    }
    (flags, rest)
}

/// A kernel that isolates nothing prints an empty line, or `(null)` where it never made the mask.
fn none_as_empty(text: &str) -> String {
    if text.trim() == "(null)" { String::new() } else { text.trim().to_owned() }
}

fn iommu_of(sysroot: &Sysroot, device: &str) -> Reading {
    let group = format!("/sys/class/infiniband/{device}/device/iommu_group");
    let at = format!("{group}/type");
    match sysroot.read(&at) {
        Value::Absent
            if sysroot.exists(format!("/sys/class/infiniband/{device}/device"))
                && !sysroot.exists(&group) =>
        {
            Reading { at, value: None, unknown: Some(NO_IOMMU.into()) }
        }
        value => reading(at, value),
    }
}

fn is_x86(sysroot: &Sysroot) -> bool {
    // Only x86 names a vendor; where cpuinfo can't be read the common case is assumed, and the plan shows the word.
    sysroot.read("/proc/cpuinfo").known().is_none_or(|text| text.contains("vendor_id"))
}

/// A value as a reading.
pub(super) fn reading(at: String, value: Value<String>) -> Reading {
    let unknown = value.why_unknown().map(str::to_owned);
    Reading { at, value: value.known(), unknown }
}
