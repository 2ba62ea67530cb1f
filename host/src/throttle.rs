//! Times a CPU was slowed down because it, or its package, was too hot. x86 alone counts them.

use crate::{sysroot::Sysroot, value::Value};

/// Times since boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttles {
    /// Because of the core.
    pub core: Value<u64>,
    /// Because of the package; the same for all CPUs of it.
    pub package: Value<u64>,
}

/// Reads them for a CPU.
pub fn read(sysroot: &Sysroot, cpu: u32) -> Throttles {
    let count = |whose: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{whose}_throttle_count");
        sysroot.read(&path).parse(|text| text.parse().map_err(|error| format!("{path}: `{text}`: {error}")))
    };
    Throttles { core: count("core"), package: count("package") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_tree::tree;

    #[test]
    fn a_cpu_without_the_counters_was_not_throttled_zero_times() {
        let (_dir, host) = tree(&[
            ("/sys/devices/system/cpu/cpu2/thermal_throttle/core_throttle_count", "3\n"),
            ("/sys/devices/system/cpu/cpu2/thermal_throttle/package_throttle_count", "many\n"),
        ]);
        let hot = read(&host, 2);
        assert_eq!(hot.core, Value::Known(3));
        assert!(matches!(hot.package, Value::Unreadable(_)));
        assert_eq!(read(&host, 0).core, Value::Absent);
    }
}
