//! cpufreq: governor, preference and frequencies of each CPU, and whether cores may run above their base frequency.
//!
//! Virtual machines usually have none of it, which is absent and not a fault.

use crate::{sysroot::Sysroot, value::Value};

const CPUS: &str = "/sys/devices/system/cpu";

/// Files that say whether turbo is on, and the word that says so: intel_pstate has the opposite of the others' switch.
const TURBO_FILES: [(&str, &str, &str); 2] = [
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "0", "1"),
    ("/sys/devices/system/cpu/cpufreq/boost", "1", "0"),
];

/// The switch of turbo (Intel) or boost (others).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turbo {
    /// The file.
    pub path: &'static str,
    /// Whether cores may run above their base frequency.
    pub on: bool,
    /// What to write to switch it on.
    pub word_on: &'static str,
    /// What to write to switch it off.
    pub word_off: &'static str,
}

/// Where an attribute of a CPU's cpufreq lies.
pub fn path(cpu: u32, attribute: &str) -> String {
    format!("{CPUS}/cpu{cpu}/cpufreq/{attribute}")
}

/// The driver that sets its frequency, for example `intel_pstate` or `amd-pstate-epp`.
pub fn driver(sysroot: &Sysroot, cpu: u32) -> Value<String> {
    sysroot.read(path(cpu, "scaling_driver"))
}

/// Its governor.
pub fn governor(sysroot: &Sysroot, cpu: u32) -> Value<String> {
    sysroot.read(path(cpu, "scaling_governor"))
}

/// The governors it can have.
pub fn available_governors(sysroot: &Sysroot, cpu: u32) -> Value<Vec<String>> {
    words(sysroot, &path(cpu, "scaling_available_governors"))
}

/// Its energy-performance preference: a word, or a number where the driver was given one.
pub fn epp(sysroot: &Sysroot, cpu: u32) -> Value<String> {
    sysroot.read(path(cpu, "energy_performance_preference"))
}

/// The preferences it can have.
pub fn available_epps(sysroot: &Sysroot, cpu: u32) -> Value<Vec<String>> {
    words(sysroot, &path(cpu, "energy_performance_available_preferences"))
}

/// Its frequency now, as the kernel last saw it; kHz.
pub fn current_khz(sysroot: &Sysroot, cpu: u32) -> Value<u64> {
    khz(sysroot, &path(cpu, "scaling_cur_freq"))
}

/// The highest frequency policy allows; kHz.
pub fn max_khz(sysroot: &Sysroot, cpu: u32) -> Value<u64> {
    khz(sysroot, &path(cpu, "scaling_max_freq"))
}

/// The highest frequency the CPU has; kHz.
pub fn hardware_max_khz(sysroot: &Sysroot, cpu: u32) -> Value<u64> {
    khz(sysroot, &path(cpu, "cpuinfo_max_freq"))
}

/// What the platform calls its base frequency; kHz. Few drivers say.
pub fn base_khz(sysroot: &Sysroot, cpu: u32) -> Value<u64> {
    khz(sysroot, &path(cpu, "base_frequency"))
}

/// The switch of turbo; absent where the host has none that is for all CPUs.
pub fn turbo(sysroot: &Sysroot) -> Value<Turbo> {
    for (path, word_on, word_off) in TURBO_FILES {
        match sysroot.read(path) {
            Value::Absent => {}
            text => {
                return text.parse(|text| match text.as_str() {
                    word if word == word_on => Ok(Turbo { path, on: true, word_on, word_off }),
                    word if word == word_off => Ok(Turbo { path, on: false, word_on, word_off }),
                    other => Err(format!("{path}: `{other}` is neither 0 nor 1")),
                });
            }
        }
    }
    Value::Absent
}

fn words(sysroot: &Sysroot, path: &str) -> Value<Vec<String>> {
    sysroot.read(path).map(|text| text.split_whitespace().map(str::to_owned).collect())
}

fn khz(sysroot: &Sysroot, path: &str) -> Value<u64> {
    sysroot.read(path).parse(|text| text.parse().map_err(|error| format!("{path}: `{text}`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_tree::tree;

    #[test]
    fn the_switch_of_intel_means_the_opposite_of_the_others() {
        let (_dir, intel) = tree(&[("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n")]);
        let off = turbo(&intel).known().expect("a switch");
        assert_eq!((off.on, off.word_on), (false, "0"));
        let (_dir, amd) = tree(&[("/sys/devices/system/cpu/cpufreq/boost", "1\n")]);
        assert!(turbo(&amd).known().expect("a switch").on);
        let (_dir, odd) = tree(&[("/sys/devices/system/cpu/cpufreq/boost", "maybe\n")]);
        assert!(matches!(turbo(&odd), Value::Unreadable(_)));
        let (_dir, none) = tree(&[]);
        assert_eq!(turbo(&none), Value::Absent);
    }

    #[test]
    fn a_frequency_that_is_no_number_is_unreadable() {
        let (_dir, host) = tree(&[
            (&path(3, "scaling_cur_freq"), "<unknown>\n"),
            (&path(3, "scaling_max_freq"), "3800000\n"),
            (&path(3, "scaling_available_governors"), "performance powersave \n"),
        ]);
        assert!(matches!(current_khz(&host, 3), Value::Unreadable(_)));
        assert_eq!(max_khz(&host, 3), Value::Known(3_800_000));
        assert_eq!(hardware_max_khz(&host, 3), Value::Absent);
        assert_eq!(
            available_governors(&host, 3),
            Value::Known(vec!["performance".into(), "powersave".into()])
        );
        assert_eq!(governor(&host, 3), Value::Absent);
    }
}
