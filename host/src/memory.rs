//! Memory as tuning sees it: transparent huge pages, reserved huge pages by node, and how much may be locked.

use crate::{sysroot::Sysroot, topology, value::Value};

const THP: &str = "/sys/kernel/mm/transparent_hugepage";

/// Huge pages of one size on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HugePages {
    /// The node.
    pub node: u32,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// Pages reserved.
    pub reserved: Value<u64>,
    /// Pages reserved and not in use.
    pub free: Value<u64>,
}

/// Where a switch of transparent huge pages lies: `enabled` or `defrag`.
pub fn thp_path(item: &str) -> String {
    format!("{THP}/{item}")
}

/// The chosen word of a switch of transparent huge pages.
pub fn thp(sysroot: &Sysroot, item: &str) -> Value<String> {
    let path = thp_path(item);
    sysroot.read(&path).parse(|text| {
        bracketed(&text).map(str::to_owned).ok_or_else(|| format!("{path}: `{text}` has no word in brackets"))
    })
}

/// The word in brackets of `always [madvise] never`.
pub fn bracketed(text: &str) -> Option<&str> {
    text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

/// Where a count of a node's huge pages lies: `nr_hugepages` or `free_hugepages`.
pub fn huge_pages_path(node: u32, page_bytes: u64, count: &str) -> String {
    format!("/sys/devices/system/node/node{node}/hugepages/hugepages-{}kB/{count}", page_bytes / 1024)
}

/// The huge pages of a node, small ones first; absent where the kernel has none.
pub fn huge_pages(sysroot: &Sysroot, node: u32) -> Value<Vec<HugePages>> {
    sysroot.list(format!("/sys/devices/system/node/node{node}/hugepages")).map(|names| {
        let sizes = names.iter().filter_map(|name| {
            name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()?.checked_mul(1024)
        });
        let mut sizes: Vec<u64> = sizes.collect();
        sizes.sort_unstable();
        let count = |bytes, name| number(sysroot, &huge_pages_path(node, bytes, name));
        let pages = |page_bytes| HugePages {
            node,
            page_bytes,
            reserved: count(page_bytes, "nr_hugepages"),
            free: count(page_bytes, "free_hugepages"),
        };
        sizes.into_iter().map(pages).collect()
    })
}

/// How many bytes this process may lock, by its soft limit; none is no limit.
pub fn memlock_bytes(sysroot: &Sysroot) -> Value<Option<u64>> {
    sysroot.read("/proc/self/limits").parse(|text| parse_memlock(&text))
}

/// Memory of a node that is free, in bytes.
pub fn free_bytes(sysroot: &Sysroot, node: u32) -> Value<u64> {
    let path = format!("/sys/devices/system/node/node{node}/meminfo");
    sysroot.read(path).parse(|text| topology::meminfo_bytes(&text, "MemFree"))
}

/// `Max locked memory  8388608  8388608  bytes`.
fn parse_memlock(limits: &str) -> Result<Option<u64>, String> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    match soft {
        Some("unlimited") => Ok(None),
        Some(bytes) => {
            bytes.parse().map(Some).map_err(|error| format!("Max locked memory `{bytes}`: {error}"))
        }
        None => Err("/proc/self/limits has no line `Max locked memory`".into()),
    }
}

fn number(sysroot: &Sysroot, path: &str) -> Value<u64> {
    sysroot.read(path).parse(|text| text.parse().map_err(|error| format!("{path}: `{text}`: {error}")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing_tree::tree;

    #[test]
    fn the_word_in_brackets_is_the_one_chosen() {
        let (_dir, host) = tree(&[
            (&thp_path("enabled"), "always [madvise] never\n"),
            (&thp_path("defrag"), "always never\n"),
        ]);
        assert_eq!(thp(&host, "enabled"), Value::Known("madvise".into()));
        assert!(matches!(thp(&host, "defrag"), Value::Unreadable(_)));
        assert_eq!(thp(&host, "shmem_enabled"), Value::Absent);
    }

    #[test]
    fn huge_pages_are_counted_by_node_and_size() {
        let (_dir, host) = tree(&[
            (&huge_pages_path(1, 1 << 30, "nr_hugepages"), "2\n"),
            (&huge_pages_path(1, 2 << 20, "nr_hugepages"), "512\n"),
            (&huge_pages_path(1, 2 << 20, "free_hugepages"), "500\n"),
        ]);
        let pages = huge_pages(&host, 1).known().expect("pages");
        assert_eq!((pages[0].page_bytes, &pages[0].reserved), (2 << 20, &Value::Known(512)));
        assert_eq!(pages[0].free, Value::Known(500));
        assert_eq!((pages[1].page_bytes, &pages[1].free), (1 << 30, &Value::Absent));
        assert_eq!(huge_pages(&host, 0), Value::Absent);
    }

    #[test]
    fn the_soft_limit_of_locked_memory_counts() {
        let line = "Max locked memory         8388608              unlimited            bytes     \n";
        assert_eq!(parse_memlock(line), Ok(Some(8_388_608)));
        assert_eq!(parse_memlock("Max locked memory         unlimited unlimited bytes\n"), Ok(None));
        assert!(parse_memlock("Max stack size 1 2 bytes\n").is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s)(Max locked memory)?.{0,60}") {
            let _ = parse_memlock(&text);
            let _ = bracketed(&text);
        }
    }
}
