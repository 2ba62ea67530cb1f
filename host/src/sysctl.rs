//! Sysctls by their dotted names, read from /proc/sys.
//!
//! A network namespace of its own has some of them read-only and others not at all; both are answers, not faults.

use crate::{sysroot::Sysroot, value::Value};

/// Where a sysctl lies; none for a text that is no sysctl's name. A component that holds a dot itself (an interface such as
/// `eth0.100`) is written as sysctl(8) has it, with slashes between components.
pub fn path(name: &str) -> Option<String> {
    let separator = if name.contains('/') { '/' } else { '.' };
    let is_plain = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.@:".contains(&byte))
    };
    let parts: Vec<&str> = name.split(separator).collect();
    (parts.len() > 1 && parts.iter().all(|part| is_plain(part)))
        .then(|| format!("/proc/sys/{}", parts.join("/")))
}

/// The text of a sysctl, as it would have to be written back.
pub fn read(sysroot: &Sysroot, name: &str) -> Value<String> {
    match path(name) {
        Some(path) => sysroot.read(path),
        None => Value::Unreadable(format!("`{name}` is no name of a sysctl; write it as net.core.rmem_max")),
    }
}

/// A value with single blanks between its words, for comparing: the kernel prints tabs, people write blanks.
pub fn normalised(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dots_become_slashes_and_nothing_leaves_proc_sys() {
        assert_eq!(path("net.core.rmem_max").as_deref(), Some("/proc/sys/net/core/rmem_max"));
        assert_eq!(
            path("net/ipv4/conf/eth0.100/mtu").as_deref(),
            Some("/proc/sys/net/ipv4/conf/eth0.100/mtu")
        );
        for name in ["", "net", "net..x", "../etc/passwd", "net/../../etc", "net.core.a b", "/net/core"] {
            assert_eq!(path(name), None, "{name}");
        }
    }

    #[test]
    fn a_value_is_compared_by_its_words() {
        assert_eq!(normalised("4096\t131072\t33554432\n"), "4096 131072 33554432");
    }

    #[test]
    fn this_host_has_an_open_file_limit_and_no_such_sysctl() {
        let host = Sysroot::new("/");
        assert!(read(&host, "fs.file-max").known().is_some());
        assert_eq!(read(&host, "net.core.no_such_thing"), Value::Absent);
        assert!(matches!(read(&host, "no such"), Value::Unreadable(_)));
    }

    proptest! {
        #[test]
        fn no_name_leads_out(name in "[a-z./]{0,20}") {
            if let Some(path) = path(&name) {
                prop_assert!(path.starts_with("/proc/sys/") && !path.contains("/../") && !path.ends_with("/.."));
            }
        }
    }
}
