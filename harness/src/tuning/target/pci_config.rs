//! The PCIe device control register of one function: the size of its read requests. The largest payload beside it belongs to the
//! whole path of bridges and is never written.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use host::{Value, memory, pcie};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use super::{Held, Operate, file::may_write};
use crate::tuning::{allow, site::Site};

/// The kernel's lockdown mode: with any but `none`, writes to the configuration space do nothing.
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// MaxReadReq of one function, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PciConfigTarget {
    /// Its address.
    pub(crate) address: String,
}

impl Operate for PciConfigTarget {
    fn describe(&self) -> String {
        format!("PCI {} MaxReadReq", self.address)
    }

    fn read(&self, site: &Site, _held: &Held) -> Value<String> {
        pcie::device_control(&site.sysroot, &self.config())
            .map(|control| control.max_read_request_bytes().to_string())
    }

    fn write(&self, site: &Site, _held: &mut Held, value: &str) -> io::Result<()> {
        let bytes: u32 = value.parse().map_err(io::Error::other)?;
        let now = pcie::device_control(&site.sysroot, &self.config());
        let why = now.why_unknown().map(str::to_owned);
        let Some(control) = now.known() else { return Err(io::Error::other(why.unwrap_or_default())) };
        let wanted = control
            .with_max_read_request(bytes)
            .ok_or_else(|| io::Error::other(format!("{bytes} has no code in the register")))?;
        let ours = allow::resolve(&site.sysroot, &self.config()).map_err(io::Error::other)?;
        let file =
            rustix::fs::open(&ours, OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        File::from(file).write_all_at(&wanted.bits.to_le_bytes(), wanted.offset as u64)
    }

    fn probe(&self, site: &Site) -> Result<(), String> {
        if let Value::Known(text) = site.sysroot.read(LOCKDOWN)
            && let Some(mode) = memory::bracketed(&text).filter(|mode| *mode != "none")
        {
            return Err(format!(
                "{LOCKDOWN} is `{mode}`: the kernel drops writes to the configuration space"
            ));
        }
        may_write(site, &self.config())
    }
}

impl PciConfigTarget {
    fn config(&self) -> String {
        format!("/sys/bus/pci/devices/{}/config", self.address)
    }
}
