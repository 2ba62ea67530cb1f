//! What is written to. The journal and recovery know targets alone: how each is found again, read, written and compared.

pub(super) mod cgroup;
mod file;
mod held;
mod irq;
mod netdev;
mod pci_config;
mod process;

use std::{collections::BTreeMap, fs::File, io};

use host::Value;
use serde::{Deserialize, Serialize};

pub(super) use cgroup::{CgroupTarget, GROUP, PRESENT, SUBTREE_CONTROL};
pub(super) use file::FileTarget;
pub(super) use held::HeldTarget;
pub(super) use irq::IrqTarget;
pub(super) use netdev::{NetdevTarget, Setting, format_priorities, parse_priorities};
pub(super) use pci_config::PciConfigTarget;
pub(super) use process::{PAUSED, ProcessTarget};

use super::site::Site;

/// Descriptors that hold a target while they are open, by path.
pub(super) type Held = BTreeMap<String, File>;

/// What every target can do.
pub(super) trait Operate {
    /// Where it is, for people: a path, or a device and its field.
    fn describe(&self) -> String;

    /// Its value now; absent where it is gone.
    fn read(&self, site: &Site, held: &Held) -> Value<String>;

    /// Makes it so. The kernel's answer is not the last word: the value is read back afterwards.
    fn write(&self, site: &Site, held: &mut Held, value: &str) -> io::Result<()>;

    /// Whether it may be written here, told without writing; the reason if not.
    fn probe(&self, site: &Site) -> Result<(), String>;

    /// Whether two values mean the same.
    fn same(&self, a: &str, b: &str) -> bool {
        a == b
    }

    /// Whether `current` is what writing `asked` over `old` can have left.
    fn ours(&self, current: &str, old: &str, asked: &str) -> bool {
        let _ = old;
        self.same(current, asked)
    }
}

/// A target, by an identity that survives renumbering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Target {
    /// One file.
    File(FileTarget),
    /// Where an interrupt is delivered.
    Irq(IrqTarget),
    /// A file that holds a wish while it is open.
    Held(HeldTarget),
    /// A daemon that runs or is paused.
    Process(ProcessTarget),
    /// A setting of a network device.
    Netdev(NetdevTarget),
    /// A register of a PCI function.
    PciConfig(PciConfigTarget),
    /// A cgroup of ours.
    Cgroup {
        /// Which part.
        part: CgroupTarget,
    },
}

impl Target {
    /// Its operations.
    pub(super) fn operate(&self) -> &dyn Operate {
        match self {
            Target::File(target) => target,
            Target::Irq(target) => target,
            Target::Held(target) => target,
            Target::Process(target) => target,
            Target::Netdev(target) => target,
            Target::PciConfig(target) => target,
            Target::Cgroup { part } => part,
        }
    }
}
