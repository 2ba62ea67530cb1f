//! A cgroup of ours at the top of the hierarchy, and the controller it needs there.

use std::{fs, io, os::unix::fs::DirBuilderExt as _, path::Path};

use host::{Sysroot, Value};
use serde::{Deserialize, Serialize};

use super::{Held, Operate, file};
use crate::tuning::{allow, form::Form, site::Site};

/// The group.
pub(crate) const GROUP: &str = "/sys/fs/cgroup/rdma-harness";
/// What the top hands to the groups below it.
pub(crate) const SUBTREE_CONTROL: &str = "/sys/fs/cgroup/cgroup.subtree_control";
/// The controller of CPUs.
const CONTROLLER: &str = "cpuset";

/// Values of both.
pub(crate) const ABSENT: &str = "absent";
pub(crate) const PRESENT: &str = "present";

/// Files that the kernel makes in a new group, with what they hold; for trees, which have no kernel.
const NEW_FILES: [(&str, &str); 3] =
    [("cgroup.procs", ""), ("cpuset.cpus", "\n"), ("cpuset.cpus.partition", "member\n")];

/// Part of the hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CgroupTarget {
    /// Whether the top hands the controller down.
    Controller,
    /// Whether our group is there.
    Group,
}

impl Operate for CgroupTarget {
    fn describe(&self) -> String {
        match self {
            CgroupTarget::Controller => format!("{SUBTREE_CONTROL} {CONTROLLER}"),
            CgroupTarget::Group => GROUP.to_owned(),
        }
    }

    fn read(&self, site: &Site, _held: &Held) -> Value<String> {
        let is = |there: bool| Value::Known(if there { PRESENT } else { ABSENT }.to_owned());
        match self {
            CgroupTarget::Controller => file::read_text(site, SUBTREE_CONTROL)
                .and_then(|text| is(text.split_whitespace().any(|word| word == CONTROLLER))),
            CgroupTarget::Group => match allow::resolve(&site.sysroot, GROUP) {
                Ok(ours) => is(ours.is_dir()),
                Err(_) => Value::Absent,
            },
        }
    }

    fn write(&self, site: &Site, _held: &mut Held, value: &str) -> io::Result<()> {
        match self {
            CgroupTarget::Controller => hand_down(site, value == PRESENT),
            CgroupTarget::Group => {
                let ours = allow::resolve(&site.sysroot, GROUP).map_err(io::Error::other)?;
                if value == PRESENT { make(site, &ours) } else { remove(site, &ours) }
            }
        }
    }

    fn probe(&self, site: &Site) -> Result<(), String> {
        file::may_write(site, SUBTREE_CONTROL)
    }
}

fn hand_down(site: &Site, on: bool) -> io::Result<()> {
    if site.sysroot.is_live() {
        let sign = if on { '+' } else { '-' };
        return file::write_text(site, SUBTREE_CONTROL, Form::Words, &format!("{sign}{CONTROLLER}"));
    }
    let text = file::read_text(site, SUBTREE_CONTROL).known().unwrap_or_default();
    // The kernel prints it first of all controllers.
    let first = on.then_some(CONTROLLER);
    let others = text.split_whitespace().filter(|word| *word != CONTROLLER);
    let words: Vec<&str> = first.into_iter().chain(others).collect();
    file::write_text(site, SUBTREE_CONTROL, Form::Words, &words.join(" "))
}

fn make(site: &Site, ours: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o755).create(ours)?;
    if site.sysroot.is_live() {
        return Ok(());
    }
    NEW_FILES.iter().try_for_each(|(name, text)| fs::write(ours.join(name), text))
}

/// The group of the hierarchy that this process is in, as a path of the host.
pub(crate) fn own(sysroot: &Sysroot) -> Option<String> {
    let text = sysroot.read("/proc/self/cgroup").known()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(format!("/sys/fs/cgroup{}", path.trim_end_matches('/')))
}

/// Moves this process into a group.
pub(crate) fn enter(sysroot: &Sysroot, group: &str) -> io::Result<()> {
    let file = sysroot.path(group).join("cgroup.procs");
    fs::write(&file, std::process::id().to_string())
        .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
}

/// A group that still holds processes is not removed: the kernel says so.
fn remove(site: &Site, ours: &Path) -> io::Result<()> {
    if !site.sysroot.is_live() {
        for (name, _) in NEW_FILES {
            fs::remove_file(ours.join(name))?;
        }
    }
    fs::remove_dir(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_group_is_the_line_of_the_one_hierarchy() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        let own_of = |text: &str| {
            fs::write(dir.path().join("proc/self/cgroup"), text).unwrap();
            own(&Sysroot::new(dir.path()))
        };
        assert_eq!(
            own_of("1:cpuset:/x\n0::/user.slice/a.scope\n").as_deref(),
            Some("/sys/fs/cgroup/user.slice/a.scope")
        );
        assert_eq!(own_of("0::/\n").as_deref(), Some("/sys/fs/cgroup"));
        assert_eq!(own_of("1:cpuset:/x\n"), None);
    }
}
