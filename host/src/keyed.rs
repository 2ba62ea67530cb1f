//! Three files of the kernel that are names beside numbers: /proc/stat, /proc/net/snmp and a NUMA node's numastat.

use crate::{sysroot::Sysroot, value::Value};

/// Names and their numbers, in the order of the file.
pub type Keyed = Vec<(String, u64)>;

/// Events of the whole host since boot: `ctxt`, `intr`, `softirq`, `processes`. Of a line with several numbers, the first
/// is the sum.
pub fn kernel_events(sysroot: &Sysroot) -> Value<Keyed> {
    sysroot.read("/proc/stat").map(|text| {
        let wanted = text.lines().filter(|line| !line.starts_with("cpu"));
        wanted.filter_map(parse_pair).filter(|(name, _)| EVENTS.contains(&name.as_str())).collect()
    })
}

/// The lines of /proc/stat that count events.
const EVENTS: [&str; 4] = ["intr", "ctxt", "processes", "softirq"];

/// Counters of the kernel's own network stack in this network namespace, as `Tcp.RetransSegs`.
pub fn protocols(sysroot: &Sysroot) -> Value<Keyed> {
    sysroot.read("/proc/net/snmp").map(|text| parse_protocols(&text))
}

/// Pages allocated on a NUMA node since boot, by where they were wanted: `numa_hit`, `numa_miss`, `other_node`.
pub fn node_allocations(sysroot: &Sysroot, node: u32) -> Value<Keyed> {
    let text = sysroot.read(format!("/sys/devices/system/node/node{node}/numastat"));
    text.map(|text| text.lines().filter_map(parse_pair).collect())
}

fn parse_pair(line: &str) -> Option<(String, u64)> {
    let mut words = line.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
}

/// Two lines a protocol: names, then numbers. Numbers below zero (`MaxConn`: no limit) are no counters.
fn parse_protocols(text: &str) -> Keyed {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for pair in lines.windows(2) {
        let (Some((protocol, names)), Some((same, numbers))) =
            (pair[0].split_once(':'), pair[1].split_once(':'))
        else {
            continue;
        };
        if protocol != same {
            continue;
        }
        for (name, number) in names.split_whitespace().zip(numbers.split_whitespace()) {
            if let Ok(number) = number.parse() {
                found.push((format!("{protocol}.{name}"), number));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing_tree::tree;

    #[test]
    fn events_of_the_kernel_are_the_sums() {
        let (_dir, host) = tree(&[(
            "/proc/stat",
            "cpu  1 2 3\ncpu0 1 2 3\nintr 8342 0 17 8\nctxt 99120\nbtime 1700000000\nprocesses 7\nsoftirq 55 1 2\n",
        )]);
        let events = kernel_events(&host).known().expect("events");
        let pairs: Vec<(&str, u64)> = events.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        assert_eq!(pairs, [("intr", 8342), ("ctxt", 99_120), ("processes", 7), ("softirq", 55)]);
    }

    #[test]
    fn protocols_pair_names_with_numbers_and_skip_what_is_no_count() {
        let text =
            "Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 42\nUdp: InDatagrams InErrors\nUdp: 5 6\n";
        let found = parse_protocols(text);
        assert!(found.contains(&("Tcp.RetransSegs".to_owned(), 42)));
        assert!(found.contains(&("Udp.InErrors".to_owned(), 6)));
        assert!(found.iter().all(|(name, _)| name != "Tcp.MaxConn"));
    }

    #[test]
    fn a_nodes_allocations_are_by_name() {
        let path = "/sys/devices/system/node/node1/numastat";
        let (_dir, host) = tree(&[(path, "numa_hit 10\nnuma_miss 2\nother_node x\n")]);
        let found = node_allocations(&host, 1).known().expect("pages");
        assert_eq!(found, [("numa_hit".to_owned(), 10), ("numa_miss".to_owned(), 2)]);
        assert_eq!(node_allocations(&host, 0), Value::Absent);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)([A-Za-z]{0,4}:?( -?[0-9]{0,22}){0,3}\n){0,5}.{0,20}") {
            let _ = (parse_protocols(&text), text.lines().filter_map(parse_pair).count());
        }
    }
}
