//! The audit of a host: everything that is known to change RDMA, read and judged, and nothing written.
//!
//! One file a subject. Each gives its findings whether or not the host has the thing, so that two audits have the same
//! rows: what is missing is not applicable, what could not be seen is unknown, and both say why. It reads files, and of the
//! NIC's driver what has no file; it starts no program.

mod at_boot;
mod by_cpu;
mod ceiling;
mod check;
mod facts;
mod identity;
mod idle;
mod iommu;
mod isolation;
mod jitter;
mod kernel_log;
mod memory;
mod movers;
mod node;
mod numa;
mod pcie;
mod placement;
#[cfg(test)]
mod planted;
mod port;
mod power;
mod qos;
mod queues;
mod surroundings;
pub mod symptom;
mod sysctl;
pub mod text;
mod view;
mod words;

use std::path::PathBuf;

use host::Sysroot;
use schema::{Audit, Finding, SCHEMA_VERSION};

use check::HOST;
pub use node::of_node;
use view::View;

/// Why there is no audit.
#[derive(Debug, thiserror::Error)]
pub enum DoctorError {
    /// The folder is no host.
    #[error("{} holds neither proc nor sys, so there is no host to read; give the root of a recorded tree", .0.display())]
    NoHost(PathBuf),
    /// No such symptom is known.
    #[error("`{name}` is none of the symptoms {known}")]
    NoSymptom {
        /// As it was written.
        name: String,
        /// Those that are known.
        known: String,
    },
    /// The host has no such device.
    #[error("this host has no RDMA device {name}; {}", known_devices(.known))]
    NoDevice {
        /// The one that was asked for.
        name: String,
        /// Those it has.
        known: Vec<String>,
    },
}

fn known_devices(known: &[String]) -> String {
    match known {
        [] => "it has none at all (is the driver loaded? `--symptom driver-load` looks)".into(),
        known => format!("it has {}", known.join(", ")),
    }
}

/// Which of a host's RDMA devices are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Devices {
    /// All of them.
    All,
    /// One.
    One(String),
    /// None: what is measured there is no device of the host.
    None,
}

impl Devices {
    /// All, or the one that is named.
    fn named(name: Option<&str>) -> Devices {
        name.map_or(Devices::All, |name| Devices::One(name.to_owned()))
    }
}

/// Audits a host, with all its RDMA devices or with one.
///
/// # Errors
/// The folder holds no host, or the host has no such device.
pub fn audit(sysroot: &Sysroot, device: Option<&str>) -> Result<Audit, DoctorError> {
    let view = View::of(sysroot, &Devices::named(device))?;
    Ok(Audit {
        schema_version: SCHEMA_VERSION,
        hostname: sysroot.read("/proc/sys/kernel/hostname").known().unwrap_or_default(),
        privileged: sysroot.is_live() && rustix::process::geteuid().is_root(),
        devices: view.devices.iter().map(|device| device.name.clone()).collect(),
        findings: findings(&view),
    })
}

/// All of them, in the order in which a run meets the thing: the NIC first, the kernel's sockets last.
fn findings(view: &View) -> Vec<Finding> {
    let subjects: [fn(&View) -> Vec<Finding>; 17] = [
        port::findings,
        qos::findings,
        pcie::findings,
        iommu::findings,
        identity::findings,
        kernel_log::findings,
        numa::findings,
        placement::findings,
        memory::findings,
        power::findings,
        idle::findings,
        isolation::findings,
        jitter::findings,
        movers::findings,
        surroundings::findings,
        queues::findings,
        sysctl::findings,
    ];
    subjects.iter().flat_map(|subject| subject(view)).collect()
}

#[cfg(test)]
mod tests;
