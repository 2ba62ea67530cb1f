//! Settings in a NIC's non-volatile memory, which take effect when its firmware is reset.
//!
//! They are asked for and set with NVIDIA's `mstconfig` only, which talks to the card through its configuration space; we
//! run no such program, so what holds now is for a person to read.

use host::{Nic, Sysroot};
use schema::finding::Reading;

use super::{BootError, BootPlan};

/// The item's name.
pub(super) const ITEM: &str = "nvconfig";

/// Plans one setting, `NAME=VALUE`, of the card that is `device`.
pub(super) fn plan(sysroot: &Sysroot, value: &str, device: Option<&str>) -> Result<BootPlan, BootError> {
    let (name, set) = parse(value)?;
    let no_device = |why: String| BootError::NoDevice { item: ITEM.into(), why };
    let device = device.ok_or_else(|| no_device("name the RDMA device whose card it is for".into()))?;
    let nic = Nic::new(sysroot, device);
    if !nic.exists() {
        return Err(no_device(format!("there is no RDMA device {device} on this host")));
    }
    let address = nic.bus_address();
    let why = address.why_unknown().unwrap_or_default().to_owned();
    let address = address.known().filter(|address| address.contains(':'));
    let address = address.ok_or_else(|| no_device(format!("{device} has no PCI address {why}")))?;
    let query = format!("mstconfig -d {address} -e query {name}");
    let set_to = |value: &str| format!("mstconfig -y -d {address} set {name}={value}");
    let reset = format!("mstfwreset -y -d {address} reset");
    Ok(BootPlan {
        item: ITEM.into(),
        now: Reading {
            at: query.clone(),
            value: None,
            unknown: Some("only the vendor's tool can ask the card, and it is not run from here".into()),
        },
        wanted: format!("{name}={set}"),
        holds: false,
        by: format!("{device} at {address}: mstconfig"),
        commands: vec![
            format!("{query}   # note the column Current; nothing else remembers it"),
            set_to(set),
            format!("{reset}   # takes the link down; or switch the host off and on"),
        ],
        undo: vec![set_to("CURRENT_AS_NOTED"), reset],
        after_reboot: format!("after the reset `{query}` shows {set} in its column Current"),
    })
}

/// `NAME=VALUE` in the letters that mstconfig's names and values have.
fn parse(value: &str) -> Result<(&str, &str), BootError> {
    let bad = || BootError::bad(ITEM, value, "write NAME=VALUE, for example PCI_WR_ORDERING=1");
    let (name, set) = value.split_once('=').ok_or_else(bad)?;
    let is_name = |text: &str| {
        let plain =
            text.strip_suffix(']').and_then(|text| text.split_once('[')).map_or(text, |(name, _)| name);
        plain.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b"_[].".contains(&b))
    };
    let is_value =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if is_name(name) && is_value(set) { Ok((name, set)) } else { Err(bad()) }
}
