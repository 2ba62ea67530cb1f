//! A wish that holds as long as its file is open: `/dev/cpu_dma_latency`. The kernel drops it when our process dies, however it
//! dies, so a crash leaves nothing to turn back.

use std::{
    fs::File,
    io::{self, Write as _},
    os::unix::fs::FileExt as _,
};

use host::Value;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::{Held, Operate, file::may_write};
use crate::tuning::{allow, site::Site};

/// What it is while we hold nothing.
pub(crate) const RELEASED: &str = "not held";

/// A file that holds a wish while it is open; the value is in us.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldTarget {
    /// As on the host.
    pub(crate) path: String,
}

impl Operate for HeldTarget {
    fn describe(&self) -> String {
        self.path.clone()
    }

    /// The strictest wish of the whole host, as the kernel gives it, while we hold ours.
    fn read(&self, site: &Site, held: &Held) -> Value<String> {
        let Some(file) = held.get(&self.path) else {
            return if site.sysroot.exists(&self.path) {
                Value::Known(RELEASED.into())
            } else {
                Value::Absent
            };
        };
        let mut bytes = [0; 4];
        match file.read_exact_at(&mut bytes, 0) {
            Ok(()) => Value::Known(i32::from_ne_bytes(bytes).to_string()),
            Err(error) => Value::Unreadable(format!("reading {}: {error}", self.path)),
        }
    }

    fn write(&self, site: &Site, held: &mut Held, value: &str) -> io::Result<()> {
        if value == RELEASED {
            held.remove(&self.path);
            return Ok(());
        }
        let latency_us: i32 = value.parse().map_err(io::Error::other)?;
        let mut file = self.open(site)?;
        file.write_all(&latency_us.to_ne_bytes())?;
        held.insert(self.path.clone(), file);
        Ok(())
    }

    fn probe(&self, site: &Site) -> Result<(), String> {
        may_write(site, &self.path)
    }

    /// Another process may wish for less: the host then has the stricter of the two.
    fn same(&self, current: &str, asked: &str) -> bool {
        match (current.parse::<i32>(), asked.parse::<i32>()) {
            (Ok(current), Ok(asked)) => (0..=asked).contains(&current),
            _ => current == asked,
        }
    }
}

impl HeldTarget {
    /// In a tree the wish is a file of no name: the tree's own is opened, to see that it can be, and left alone.
    fn open(&self, site: &Site) -> io::Result<File> {
        let ours = allow::resolve(&site.sysroot, &self.path).map_err(io::Error::other)?;
        let file = rustix::fs::open(&ours, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        if site.sysroot.is_live() { Ok(File::from(file)) } else { tempfile::tempfile() }
    }
}
