//! What the kernel says of the CPU itself: model, flags, hypervisor, and the clock source it runs on.

use crate::{sysroot::Sysroot, value::Value};

/// The value of the first `key : value` line of a /proc/cpuinfo text.
fn field<'t>(cpuinfo: &'t str, key: &str) -> Option<&'t str> {
    cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

fn read_field(sysroot: &Sysroot, keys: &[&str]) -> Value<String> {
    sysroot.read("/proc/cpuinfo").and_then(|text| match keys.iter().find_map(|key| field(&text, key)) {
        Some(value) => Value::Known(value.to_owned()),
        None => Value::NotApplicable(format!("/proc/cpuinfo has no `{}` line on this CPU", keys[0])),
    })
}

/// The model name; aarch64 kernels print none.
pub fn model(sysroot: &Sysroot) -> Value<String> {
    read_field(sysroot, &["model name"])
}

/// The words of the flags line (`Features` on aarch64) of the first CPU.
pub fn flags(sysroot: &Sysroot) -> Value<Vec<String>> {
    read_field(sysroot, &["flags", "Features"])
        .map(|line| line.split_whitespace().map(str::to_owned).collect())
}

/// Whether the CPU says it runs under a hypervisor; not applicable where the architecture has no such flag.
pub fn virtualized(sysroot: &Sysroot) -> Value<bool> {
    sysroot.read("/proc/cpuinfo").and_then(|text| match field(&text, "flags") {
        Some(flags) => Value::Known(flags.split_whitespace().any(|flag| flag == "hypervisor")),
        None => Value::NotApplicable("this architecture's cpuinfo has no hypervisor flag".into()),
    })
}

/// The clock source the kernel uses.
pub fn clocksource(sysroot: &Sysroot) -> Value<String> {
    sysroot.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUEST: &str = "processor\t: 0\nmodel name\t: AMD EPYC: 2\nflags\t\t: fpu hypervisor constant_tsc\n\nprocessor\t: 1\nmodel name\t: other\n";

    #[test]
    fn the_first_cpu_speaks_for_all_and_a_colon_in_the_value_stays() {
        assert_eq!(field(GUEST, "model name"), Some("AMD EPYC: 2"));
        assert_eq!(field(GUEST, "Features"), None);
    }

    #[test]
    fn a_host_without_cpuinfo_is_absent_and_one_without_the_line_not_applicable() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Sysroot::new(dir.path());
        assert_eq!(model(&root), Value::Absent);
        std::fs::create_dir(dir.path().join("proc")).expect("mkdir");
        std::fs::write(dir.path().join("proc/cpuinfo"), "processor : 0\nFeatures : fp asimd\n")
            .expect("write");
        assert!(matches!(model(&root), Value::NotApplicable(_)));
        assert!(matches!(virtualized(&root), Value::NotApplicable(_)));
        assert_eq!(flags(&root), Value::Known(vec!["fp".into(), "asimd".into()]));
    }
}
