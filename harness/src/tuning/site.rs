//! Where tuning works: one host seen through a root folder, the journal's folder, and what must not be disturbed there.

use std::{net::IpAddr, path::PathBuf, sync::Arc};

use host::{Nic, Sysroot, Value};

/// Told of every point at which a crash would leave a different state behind; see [`Site::observe`].
pub type Observer = Arc<dyn Fn(&str) + Send + Sync>;

/// One host to be tuned.
#[derive(Clone)]
pub struct Site {
    /// The host.
    pub sysroot: Sysroot,
    /// Folder of the journal, as seen by this process.
    pub state_dir: PathBuf,
    /// The RDMA device whose vectors, function and network device are meant by knobs of the NIC.
    pub device: Option<String>,
    /// Its network device; found from the device where none is given.
    pub netdev: Option<String>,
    /// CPUs that will poll: interrupts are kept away from them.
    pub poll_cpus: Vec<u32>,
    /// `$SSH_CONNECTION` of the session we run in: its interface is not disturbed.
    pub ssh_connection: Option<String>,
    /// The far end of the connection to the other agent or the controller: the interface towards it is not disturbed.
    pub control_peer: Option<IpAddr>,
    /// Told of every step; none outside tests.
    observer: Option<Observer>,
}

impl Site {
    /// A host; its journal lies in `/run/rdma-harness` of it. `/run` is in memory: it goes with the boot, as what is tuned
    /// does.
    pub fn new(sysroot: Sysroot) -> Site {
        Site {
            state_dir: sysroot.path("/run/rdma-harness"),
            sysroot,
            device: None,
            netdev: None,
            poll_cpus: Vec::new(),
            ssh_connection: None,
            control_peer: None,
            observer: None,
        }
    }

    /// Has `observer` called before and after every write to the journal and to the host, with the name of the point.
    /// It is how the tests kill the process at each of them.
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// The device that is meant: the RDMA device, or the one of the network device alone.
    pub(super) fn nic(&self) -> Option<Nic<'_>> {
        let rdma = self.device.as_deref().map(|name| Nic::new(&self.sysroot, name)).filter(Nic::exists);
        rdma.or_else(|| {
            self.netdev.as_deref().map(|name| Nic::of_netdev(&self.sysroot, name)).filter(Nic::exists)
        })
    }

    /// The network device: as given, or the RDMA device's.
    pub(super) fn netdev(&self) -> Value<String> {
        if let Some(name) = &self.netdev {
            return Value::Known(name.clone());
        }
        let Some(nic) = self.nic() else {
            return Value::NotApplicable("no RDMA device of this host is named".into());
        };
        if let Value::Known(parent) = nic.parent() {
            return Value::Known(parent);
        }
        let by_gid =
            nic.ports().and_then(|ports| ports.first().map_or(Value::Absent, |port| nic.netdevs(*port)));
        by_gid.and_then(|names| match names.as_slice() {
            [] => Value::NotApplicable("the device's port has no network device".into()),
            [name] => Value::Known(name.clone()),
            // VLANs and macvlans have GIDs too; the device itself is the one below the same bus device.
            names => own_netdev(&self.sysroot, self.device.as_deref().unwrap_or_default(), names),
        })
    }

    /// Marks a point at which a crash would leave a different state behind.
    pub(super) fn point(&self, name: &str) {
        if let Some(observer) = &self.observer {
            observer(name);
        }
    }
}

/// The one of several network devices that lies below the RDMA device's own bus device.
fn own_netdev(sysroot: &Sysroot, device: &str, names: &[String]) -> Value<String> {
    let listed = sysroot.list(format!("/sys/class/infiniband/{device}/device/net"));
    listed.and_then(|own| match own.iter().find(|name| names.contains(name)) {
        Some(name) => Value::Known(name.clone()),
        None => Value::NotApplicable(format!("several network devices: {}; name one", names.join(", "))),
    })
}
