//! How deep CPUs may sleep: idle states, the wake-up latency single CPUs are limited to, and the limit of the whole host.

use crate::{sysroot::Sysroot, value::Value};

const CPUS: &str = "/sys/devices/system/cpu";

/// The device whose open descriptor limits the wake-up latency of the whole host.
pub const PM_QOS_DEVICE: &str = "/dev/cpu_dma_latency";

/// One idle state of a CPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// Its name, for example `C6`.
    pub name: String,
    /// Wake-up latency in microseconds.
    pub latency_us: Value<u32>,
    /// Whether it was switched off.
    pub disabled: Value<bool>,
}

/// The longest wake-up latency a CPU may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResumeLatency {
    /// Any: the file says `0`.
    Any,
    /// None, so that no idle state is entered: the file says `n/a`.
    None,
    /// So many microseconds.
    Micros(u32),
}

impl std::fmt::Display for ResumeLatency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ResumeLatency::Any => f.write_str("any"),
            ResumeLatency::None => f.write_str("none"),
            ResumeLatency::Micros(us) => write!(f, "{us} us"),
        }
    }
}

/// The cpuidle driver, for example `intel_idle`.
pub fn driver(sysroot: &Sysroot) -> Value<String> {
    sysroot.read(format!("{CPUS}/cpuidle/current_driver"))
}

/// The idle states of a CPU, shallow first.
pub fn states(sysroot: &Sysroot, cpu: u32) -> Value<Vec<IdleState>> {
    let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
    sysroot.list(&folder).map(|names| {
        let states = names.iter().filter(|name| name.starts_with("state"));
        states.map(|name| state(sysroot, &format!("{folder}/{name}"))).collect()
    })
}

fn state(sysroot: &Sysroot, folder: &str) -> IdleState {
    let disabled = format!("{folder}/disable");
    IdleState {
        name: sysroot.read(format!("{folder}/name")).known().unwrap_or_else(|| folder.to_owned()),
        latency_us: number(sysroot, &format!("{folder}/latency")),
        disabled: number::<u64>(sysroot, &disabled).map(|flags| flags != 0),
    }
}

/// Where the limit of a CPU's wake-up latency lies.
fn resume_latency_path(cpu: u32) -> String {
    format!("{CPUS}/cpu{cpu}/power/pm_qos_resume_latency_us")
}

/// The limit of a CPU's wake-up latency.
pub fn resume_latency(sysroot: &Sysroot, cpu: u32) -> Value<ResumeLatency> {
    let path = resume_latency_path(cpu);
    sysroot.read(&path).parse(|text| match text.as_str() {
        "n/a" => Ok(ResumeLatency::None),
        "0" => Ok(ResumeLatency::Any),
        other => {
            other.parse().map(ResumeLatency::Micros).map_err(|error| format!("{path}: `{other}`: {error}"))
        }
    })
}

/// The limit of the whole host's wake-up latency in microseconds; the kernel's default, about 2000 s, is no limit.
pub fn pm_qos_us(sysroot: &Sysroot) -> Value<i32> {
    sysroot.read_bytes(PM_QOS_DEVICE).parse(|bytes| match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(binary) => Ok(i32::from_ne_bytes(binary)),
        Err(_) => Err(format!("{PM_QOS_DEVICE}: {} bytes where four are expected", bytes.len())),
    })
}

fn number<T: std::str::FromStr<Err = std::num::ParseIntError>>(sysroot: &Sysroot, path: &str) -> Value<T> {
    sysroot.read(path).parse(|text| text.parse().map_err(|error| format!("{path}: `{text}`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing_tree::tree;

    #[test]
    fn zero_means_any_latency_and_not_applicable_means_none() {
        let (_dir, host) = tree(&[
            (&resume_latency_path(0), "0\n"),
            (&resume_latency_path(1), "n/a\n"),
            (&resume_latency_path(2), "30\n"),
            (&resume_latency_path(3), "thirty\n"),
        ]);
        assert_eq!(resume_latency(&host, 0), Value::Known(ResumeLatency::Any));
        assert_eq!(resume_latency(&host, 1), Value::Known(ResumeLatency::None));
        assert_eq!(resume_latency(&host, 2), Value::Known(ResumeLatency::Micros(30)));
        assert!(matches!(resume_latency(&host, 3), Value::Unreadable(_)));
        assert_eq!(resume_latency(&host, 4), Value::Absent);
    }

    #[test]
    fn states_come_in_order_and_a_switch_that_is_missing_is_absent() {
        let folder = "/sys/devices/system/cpu/cpu0/cpuidle";
        let (_dir, host) = tree(&[
            (&format!("{folder}/state1/name"), "C1\n"),
            (&format!("{folder}/state1/latency"), "2\n"),
            (&format!("{folder}/state1/disable"), "0\n"),
            (&format!("{folder}/state10/name"), "C10\n"),
            (&format!("{folder}/state10/latency"), "890\n"),
        ]);
        let states = states(&host, 0).known().expect("states");
        assert_eq!(states[0].name, "C1");
        assert_eq!((&states[0].latency_us, &states[0].disabled), (&Value::Known(2), &Value::Known(false)));
        assert_eq!((states[1].name.as_str(), &states[1].disabled), ("C10", &Value::Absent));
    }

    #[test]
    fn the_hosts_limit_is_a_binary_number_of_four_bytes() {
        let (dir, host) = tree(&[(PM_QOS_DEVICE, "")]);
        assert!(matches!(pm_qos_us(&host), Value::Unreadable(_)), "empty");
        std::fs::write(dir.path().join("dev/cpu_dma_latency"), 3_i32.to_ne_bytes()).expect("write");
        assert_eq!(pm_qos_us(&host), Value::Known(3));
    }
}
