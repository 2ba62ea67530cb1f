//! Which CPUs a process may be pinned to: its affinity mask, its cpuset, and the isolated CPUs the mask leaves out.

use crate::{sysroot::Sysroot, topology::read_list, value::Value};

/// CPUs of the cpuset of this process's cgroup, v2 or v1. Absent where no cpuset limits it.
pub fn effective_cpus(sysroot: &Sysroot) -> Value<Vec<u32>> {
    let memberships = match sysroot.read("/proc/self/cgroup") {
        Value::Known(text) => text,
        unknown => return unknown.map(|_| Vec::new()),
    };
    for (folder, file) in candidates(&memberships) {
        match read_list(sysroot, &format!("{folder}/{file}")) {
            Value::Absent => {}
            found => return found,
        }
    }
    Value::Absent
}

/// Where the cpuset may be read, most specific first: a v2 cgroup without the controller is limited by its parents, and
/// inside a cgroup namespace the mount's root is the process's own cgroup.
fn candidates(memberships: &str) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for line in memberships.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (mount, files): (_, &[_]) = match controllers {
            "" => ("/sys/fs/cgroup", &["cpuset.cpus.effective"]),
            list if list.split(',').any(|name| name == "cpuset") => {
                ("/sys/fs/cgroup/cpuset", &["cpuset.effective_cpus", "cpuset.cpus"])
            }
            _ => continue,
        };
        for folder in upwards(path) {
            found.extend(files.iter().map(|file| (format!("{mount}{folder}"), *file)));
        }
    }
    found
}

/// `/a/b`, `/a`, and the root. A path with `..` (a cgroup outside the namespace's root) gives the root alone.
fn upwards(path: &str) -> Vec<&str> {
    let mut folders = Vec::new();
    let mut rest = if path.split('/').any(|part| part == "..") { "" } else { path.trim_end_matches('/') };
    while let Some(slash) = rest.rfind('/') {
        folders.push(rest);
        rest = &rest[..slash];
    }
    folders.push("");
    folders
}

/// The CPUs a thread can be pinned to.
///
/// The kernel leaves isolated CPUs out of the mask every process starts with, though pinning to them is what they are
/// for. They are added when the mask was not narrowed on purpose: when it holds all that the cpuset offers but them.
pub fn pinnable(affinity: &[u32], isolated: &[u32], cpuset: Option<&[u32]>, online: &[u32]) -> Vec<u32> {
    let offered: Vec<u32> =
        online.iter().copied().filter(|cpu| cpuset.is_none_or(|set| set.contains(cpu))).collect();
    let narrowed = offered.iter().any(|cpu| !isolated.contains(cpu) && !affinity.contains(cpu));
    let mut cpus: Vec<u32> = affinity.to_vec();
    if !narrowed {
        cpus.extend(offered.iter().filter(|cpu| isolated.contains(cpu)));
    }
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;

    #[test]
    fn a_container_sees_its_own_cpuset_at_the_root() {
        assert_eq!(effective_cpus(&fixture("container-cpuset")), Value::Known(vec![1, 2]));
    }

    #[test]
    fn a_service_without_the_controller_is_limited_by_its_slice() {
        assert_eq!(effective_cpus(&fixture("two-socket-mlx5")), Value::Known((0..8).collect()));
    }

    #[test]
    fn v1_and_v2_paths_are_walked_upwards() {
        let text = "12:cpuset:/docker/abc\n3:cpu,cpuacct:/x\n0::/system.slice\n";
        let folders: Vec<String> =
            candidates(text).into_iter().map(|(folder, file)| format!("{folder}/{file}")).collect();
        assert_eq!(folders[0], "/sys/fs/cgroup/cpuset/docker/abc/cpuset.effective_cpus");
        assert_eq!(folders.last().expect("v2"), "/sys/fs/cgroup/cpuset.cpus.effective");
        assert!(folders.iter().all(|folder| !folder.contains("cpuacct")), "{folders:?}");
        assert_eq!(upwards("/../other"), [""]);
    }

    #[test]
    fn isolated_cpus_come_back_unless_the_mask_was_narrowed() {
        let online = [0, 1, 2, 3];
        assert_eq!(pinnable(&[0, 1], &[2, 3], Some(&online), &online), [0, 1, 2, 3]);
        assert_eq!(pinnable(&[0], &[2, 3], Some(&online), &online), [0], "taskset -c 0 means CPU 0");
        assert_eq!(
            pinnable(&[0, 1], &[2, 3], Some(&[0, 1, 2]), &online),
            [0, 1, 2],
            "the cpuset still holds"
        );
        assert_eq!(pinnable(&[0, 1], &[2, 3], None, &online), [0, 1, 2, 3], "no cpuset, no limit");
    }

    proptest! {
        #[test]
        fn no_membership_panics(text in "([0-9]:(cpuset|,|):[/.a-z]{0,12}\n){0,4}.{0,20}") {
            for (folder, _) in candidates(&text) {
                prop_assert!(folder.starts_with("/sys/fs/cgroup"));
            }
        }
    }
}
