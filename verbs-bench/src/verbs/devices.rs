//! The devices of this host: finding one by name, and listing them all.

use std::{
    ffi::{CStr, c_int},
    io,
    sync::Arc,
};

use rdma_sys::{ibv_device, ibv_free_device_list, ibv_get_device_list, ibv_get_device_name};
use serde::Serialize;

use super::{Context, DeviceAttr, GidEntry, Libibverbs, PortAttr, Provider, VerbsError};

/// The array of `ibv_get_device_list`, never empty, freed on drop.
pub(super) struct DeviceList {
    list: *mut *mut ibv_device,
    count: usize,
}

impl DeviceList {
    pub(super) fn get() -> Result<DeviceList, VerbsError> {
        let mut count: c_int = 0;
        // SAFETY: the count is a valid out pointer.
        let list = unsafe { ibv_get_device_list(&mut count) };
        if list.is_null() {
            return Err(VerbsError::NoDevices {
                why: format!("ibv_get_device_list: {}", io::Error::last_os_error()),
            });
        }
        let list = DeviceList { list, count: usize::try_from(count).unwrap_or(0) };
        match list.count {
            0 => Err(VerbsError::NoDevices { why: "ibv_get_device_list: empty".into() }),
            _ => Ok(list),
        }
    }

    fn devices(&self) -> impl Iterator<Item = *mut ibv_device> {
        // SAFETY: libibverbs returned an array of `count` devices, not yet freed.
        (0..self.count).map(|at| unsafe { *self.list.add(at) })
    }

    fn names(&self) -> Vec<String> {
        self.devices().map(name_of).collect()
    }

    pub(super) fn find(&self, name: &str) -> Result<*mut ibv_device, VerbsError> {
        self.devices()
            .find(|device| name_of(*device) == name)
            .ok_or_else(|| VerbsError::NoSuchDevice { name: name.to_owned(), present: self.names() })
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: the list is ours and no device pointer of it is kept; open contexts do not need it.
        unsafe { ibv_free_device_list(self.list) };
    }
}

fn name_of(device: *mut ibv_device) -> String {
    // SAFETY: the device is of a live list; its name is a terminated string inside it.
    let name = unsafe { ibv_get_device_name(device) };
    // SAFETY: as above; libibverbs returns the array inside the device, never NULL.
    unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
}

/// A libibverbs device by name. `auto` is the first with an active port, else the first, whose port then says what is
/// wrong with it.
pub fn open(name: &str) -> Result<Arc<dyn Provider>, VerbsError> {
    let list = DeviceList::get()?;
    let name = match name {
        "auto" => {
            let names = list.names();
            names.iter().find(|name| has_active_port(name)).unwrap_or(&names[0]).clone()
        }
        name => list.find(name).map(|_| name.to_owned())?,
    };
    Ok(Arc::new(Libibverbs::new(name)))
}

fn has_active_port(name: &str) -> bool {
    let active = || -> Result<bool, VerbsError> {
        let context = Context::open(Arc::new(Libibverbs::new(name.to_owned())))?;
        let ports = context.query_device()?.phys_port_cnt;
        Ok((1..=ports).any(|port| context.active_port(port).is_ok()))
    };
    active().unwrap_or(false)
}

/// A device of this host, as far as it lets itself be asked.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceSummary {
    /// Its name.
    pub name: String,
    /// Its attributes; absent when it could not be asked.
    pub attr: Option<DeviceAttr>,
    /// Its ports.
    pub ports: Vec<PortSummary>,
    /// Why it could not be asked.
    pub error: Option<String>,
}

/// A port of a device.
#[derive(Debug, Clone, Serialize)]
pub struct PortSummary {
    /// Its number, from 1.
    pub port_num: u8,
    /// Its attributes.
    pub attr: PortAttr,
    /// The valid entries of its GID table.
    pub gids: Vec<GidEntry>,
}

/// Every device libibverbs lists. One that can't be opened is in the list, with the reason.
pub fn list_devices() -> Result<Vec<DeviceSummary>, VerbsError> {
    Ok(DeviceList::get()?.names().into_iter().map(summary).collect())
}

fn summary(name: String) -> DeviceSummary {
    match describe(&name) {
        Ok((attr, ports)) => DeviceSummary { name, attr: Some(attr), ports, error: None },
        Err(error) => DeviceSummary { name, attr: None, ports: Vec::new(), error: Some(error.to_string()) },
    }
}

fn describe(name: &str) -> Result<(DeviceAttr, Vec<PortSummary>), VerbsError> {
    let context = Context::open(Arc::new(Libibverbs::new(name.to_owned())))?;
    let attr = context.query_device_extended()?;
    let port = |port_num| {
        Ok(PortSummary { port_num, attr: context.query_port(port_num)?, gids: context.gid_table(port_num)? })
    };
    let ports = (1..=attr.phys_port_cnt).map(port).collect::<Result<_, VerbsError>>()?;
    Ok((attr, ports))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_no_device_has_is_refused_with_what_there_is() {
        let text = open("no-such-device").err().expect("refused").to_string();
        assert!(text.contains("no RDMA device"), "{text}");
    }
}
