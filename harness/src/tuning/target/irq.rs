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
        // As a rule the number is still the one it was; the table of a large host is long.
        let actions = site.sysroot.read(format!("/sys/kernel/irq/{}/actions", self.irq)).known();
        let still = actions.is_some_and(|actions| actions.split(',').any(|action| action == self.action));
        if still && site.sysroot.exists(format!("{}/{}", self.vectors, self.irq)) {
            return Value::Known(self.irq);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use host::Sysroot;

    use super::*;

    #[test]
    fn a_vector_is_found_again_under_another_number() {
        let dir = tempfile::tempdir().unwrap();
        let file = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let vectors = "sys/devices/pci0000:00/0000:01:00.0/msi_irqs";
        file(&format!("{vectors}/41"), "msix\n");
        file("proc/irq/41/smp_affinity_list", "2\n");
        file("sys/kernel/irq/41/actions", "mlx5_comp0@pci:0000:01:00.0\n");
        let site = Site::new(Sysroot::new(dir.path()));
        let target = IrqTarget {
            vectors: format!("/{vectors}"),
            action: "mlx5_comp0@pci:0000:01:00.0".into(),
            irq: 41,
        };
        let mut held = Held::new();
        assert_eq!(target.read(&site, &held), Value::Known("2".into()));
        // The driver is reloaded: another device has the number now.
        fs::remove_file(dir.path().join(vectors).join("41")).unwrap();
        file("sys/kernel/irq/41/actions", "nvme0q1\n");
        file(&format!("{vectors}/77"), "msix\n");
        file("proc/irq/77/smp_affinity_list", "5\n");
        file(
            "proc/interrupts",
            "  CPU0\n 41: 1 PCI-MSI 0-edge nvme0q1\n 77: 1 PCI-MSI 0-edge mlx5_comp0@pci:0000:01:00.0\n",
        );
        assert_eq!(target.read(&site, &held), Value::Known("5".into()));
        target.write(&site, &mut held, "3").unwrap();
        assert_eq!(fs::read_to_string(dir.path().join("proc/irq/41/smp_affinity_list")).unwrap(), "2\n");
        assert_eq!(fs::read_to_string(dir.path().join("proc/irq/77/smp_affinity_list")).unwrap(), "3\n");
        fs::remove_file(dir.path().join(vectors).join("77")).unwrap();
        assert_eq!(target.read(&site, &held), Value::Absent, "the device is gone");
        assert_eq!(target.write(&site, &mut held, "3").unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
