//! Where one interrupt of a device is delivered, by the device and the handler's name: the number changes when the driver is
//! reloaded or the channels are set anew.

use std::{io, thread, time::Duration};

use host::{Interrupts, Value};
use serde::{Deserialize, Serialize};

use super::{Held, Operate, file};
use crate::tuning::{form::Form, site::Site};

/// EBUSY: the vector is being moved at this moment.
const BUSY: i32 = 16;
/// How often a busy vector is tried, and how long apart.
const TRIES: u32 = 3;
const APART: Duration = Duration::from_millis(10);

/// One vector of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct IrqTarget {
    /// Folder that lists the device's vectors, below its bus address: `/sys/devices/.../0000:c1:00.0/msi_irqs`.
    pub(crate) vectors: String,
    /// Its handler: `mlx5_comp3@pci:0000:c1:00.0`.
    pub(crate) action: String,
    /// Its number when it was planned; tells two vectors of one handler apart.
    pub(crate) irq: u32,
}

impl Operate for IrqTarget {
    fn describe(&self) -> String {
        format!("/proc/irq/{}/smp_affinity_list ({})", self.irq, self.action)
    }

    fn read(&self, site: &Site, _held: &Held) -> Value<String> {
        self.find(site)
            .and_then(|irq| file::read_text(site, &path(irq)))
            .map(|text| text.trim_end().to_owned())
    }

    fn write(&self, site: &Site, _held: &mut Held, value: &str) -> io::Result<()> {
        let Value::Known(irq) = self.find(site) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the interrupt is gone"));
        };
        let mut last = Ok(());
        for _ in 0..TRIES {
            last = file::write_text(site, &path(irq), Form::CpuList, value);
            match &last {
                Err(error) if error.raw_os_error() == Some(BUSY) => thread::sleep(APART),
                _ => break,
            }
        }
        last
    }

    fn probe(&self, site: &Site) -> Result<(), String> {
        match self.find(site) {
            Value::Known(irq) => file::may_write(site, &path(irq))
                .map_err(|why| format!("{why}; a managed interrupt stays where the kernel placed it")),
            unknown => Err(unknown.why_unknown().unwrap_or_default().to_owned()),
        }
    }

    fn same(&self, a: &str, b: &str) -> bool {
        Form::CpuList.same(a, b)
    }
}

impl IrqTarget {
    /// Its number now; absent where the device or the handler is gone.
    fn find(&self, site: &Site) -> Value<u32> {
        if !self.vectors.starts_with("/sys/devices/") || self.vectors.split('/').any(|part| part == "..") {
            return Value::Unreadable(format!("{} is no folder of a device's vectors", self.vectors));
        }
        let listed = site.sysroot.list(&self.vectors);
        listed.and_then(|names| {
            Interrupts::read(&site.sysroot).and_then(|table| {
                let irqs: Vec<u32> = names
                    .iter()
                    .filter_map(|name| name.parse().ok())
                    .filter(|irq| {
                        table.vector(*irq).is_some_and(|vector| vector.actions.contains(&self.action))
                    })
                    .collect();
                match irqs.as_slice() {
                    [irq] => Value::Known(*irq),
                    several if several.contains(&self.irq) => Value::Known(self.irq),
                    _ => Value::Absent,
                }
            })
        })
    }
}

/// The file of a vector's CPUs.
fn path(irq: u32) -> String {
    format!("/proc/irq/{irq}/smp_affinity_list")
}
