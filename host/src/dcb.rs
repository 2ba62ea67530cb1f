//! Data centre bridging of a network device: asked of the kernel on a live host, of a recording in a tree.

use std::io;

pub use nic_control::{App, Dcb, Dcbx, Ets, Pfc};

use crate::{recorded, sysroot::Sysroot, value::Value};

/// EINVAL and EOPNOTSUPP, as the kernel would answer.
const INVALID: i32 = 22;
const NOT_SUPPORTED: i32 = 95;

/// Where a tree keeps it.
pub(crate) fn path(netdev: &str) -> String {
    format!("/.recorded/dcb/{netdev}.json")
}

/// All that the device's driver says of it.
pub fn read(sysroot: &Sysroot, netdev: &str) -> Value<Dcb> {
    if sysroot.is_live() {
        recorded::from_kernel(&format!("dcb {netdev}"), nic_control::read_dcb(netdev))
    } else {
        recorded::read(sysroot, &path(netdev))
    }
}

/// Turns priority flow control on for `priorities` (0 to 7) and off for the others. The link may flap.
///
/// # Errors
/// With the kernel's errno: ENODEV for no such device, EOPNOTSUPP for a driver without PFC, EINVAL for a priority above 7
/// or a set the driver refuses, EPERM without CAP_NET_ADMIN. A tree answers as a live host.
pub fn set_pfc(sysroot: &Sysroot, netdev: &str, priorities: &[u8]) -> io::Result<()> {
    if sysroot.is_live() {
        return nic_control::set_pfc(netdev, priorities);
    }
    if priorities.iter().any(|priority| *priority > 7) {
        return Err(io::Error::from_raw_os_error(INVALID));
    }
    recorded::change(sysroot, &path(netdev), |dcb: &mut Dcb| {
        let pfc = dcb.pfc.as_mut().ok_or_else(|| io::Error::from_raw_os_error(NOT_SUPPORTED))?;
        pfc.enabled = (0..8).filter(|priority| priorities.contains(priority)).collect();
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn pfc_of_a_tree_is_set_and_turned_back_byte_for_byte() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = Sysroot::new(dir.path());
        let file = host.path(path("ens1np0"));
        fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        let dcb = Dcb { pfc: Some(Pfc { classes: 8, enabled: vec![3], ..Pfc::default() }), ..Dcb::default() };
        let text = serde_json::to_string_pretty(&dcb).expect("JSON") + "\n";
        fs::write(&file, &text).expect("written");
        set_pfc(&host, "ens1np0", &[5, 3, 5]).expect("set");
        let enabled = |host| read(host, "ens1np0").known().and_then(|dcb| dcb.pfc).map(|pfc| pfc.enabled);
        assert_eq!(enabled(&host), Some(vec![3, 5]));
        set_pfc(&host, "ens1np0", &[3]).expect("turned back");
        assert_eq!(fs::read_to_string(&file).expect("the file"), text);
        assert_eq!(set_pfc(&host, "ens1np0", &[8]).expect_err("no such priority").raw_os_error(), Some(22));
        assert_eq!(set_pfc(&host, "eth9", &[3]).expect_err("no such device").raw_os_error(), Some(19));
    }
}
