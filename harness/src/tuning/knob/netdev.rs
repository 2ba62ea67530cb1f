//! Settings of the NIC's network device: MTU, pause, PFC, coalescing, rings; and the read requests of its function.

use host::{Aspect, Value, pcie};

use schema::KnobSetting;

use super::{Unfit, Want};
use crate::tuning::{
    site::Site,
    target::{
        Held, NetdevTarget, Operate as _, PciConfigTarget, Setting, Target, format_priorities,
        parse_priorities,
    },
};

/// Below this an interface loses its IPv6 addresses, and its GIDs with them, for good (RFC 8200).
const LEAST_MTU: u32 = 1280;
/// The most that fits the kernel's field.
const MOST_MTU: u32 = 65_535;
/// What a RoCE packet has beside its payload: GRH 40, UDP 8, BTH 12, XRCETH 4, AtomicETH 28, ICRC 4 (the kernel's
/// `iboe_get_mtu`).
const ROCE_HEADERS: u32 = 96;

pub(super) fn mtu(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let (bytes, at_least) = super::at_least(&setting.value);
    let bytes: u32 =
        bytes.parse().ok().filter(|bytes| (LEAST_MTU..=MOST_MTU).contains(bytes)).ok_or_else(|| {
            Unfit::Value(format!("must be bytes from {LEAST_MTU} to {MOST_MTU}, for example 4200"))
        })?;
    let name = device(site)?;
    let target = NetdevTarget::new(site, &name, Setting::Mtu);
    let now = target.read(site, &Held::new()).known().and_then(|text| text.parse::<u32>().ok());
    let bytes = now.filter(|now| at_least && *now > bytes).unwrap_or(bytes);
    let mut want = Want::on(Target::Netdev(target), bytes.to_string());
    let path_mtu = |bytes| roce_mtu(bytes).map_or("none".to_owned(), |mtu| mtu.to_string());
    let before = now.map_or("unknown".to_owned(), path_mtu);
    want.note = format!(
        "RoCE path MTU {before} -> {}; the link is disturbed now and when it is turned back",
        path_mtu(bytes)
    );
    Ok(vec![want])
}

/// The largest MTU of RoCE that fits the MTU of a network device.
fn roce_mtu(bytes: u32) -> Option<u32> {
    [4096, 2048, 1024, 512, 256].into_iter().find(|mtu| mtu + ROCE_HEADERS <= bytes)
}

pub(super) fn number(setting: &KnobSetting, site: &Site, aspect: Aspect) -> Result<Vec<Want>, Unfit> {
    let number = match setting.value.trim() {
        "on" => 1,
        "off" => 0,
        text => {
            text.parse::<u32>().map_err(|_| Unfit::Value("must be a whole number, on or off".to_owned()))?
        }
    };
    if !aspect.is_settable(&setting.item) {
        let fields: Vec<&str> =
            aspect.fields().iter().copied().filter(|field| aspect.is_settable(field)).collect();
        return Err(Unfit::Value(format!("`{}` is not one of {}", setting.item, fields.join(", "))));
    }
    let name = device(site)?;
    let setting = Setting::Number { aspect, field: setting.item.clone() };
    Ok(vec![Want::on(Target::Netdev(NetdevTarget::new(site, &name, setting)), number.to_string())])
}

pub(super) fn pfc(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let priorities = parse_priorities(&setting.value).map_err(Unfit::Value)?;
    let name = device(site)?;
    let target = NetdevTarget::new(site, &name, Setting::Pfc);
    let mut want = Want::on(Target::Netdev(target), format_priorities(&priorities));
    want.note = "the link flaps now and when it is turned back".to_owned();
    Ok(vec![want])
}

pub(super) fn max_read_request(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let bytes: u32 = setting.value.trim().parse().unwrap_or(0);
    if ![128, 256, 512, 1024, 2048, 4096].contains(&bytes) {
        return Err(Unfit::Value("must be 128, 256, 512, 1024, 2048 or 4096 bytes".to_owned()));
    }
    let nic = site.nic().ok_or_else(|| Unfit::Host("no RDMA device of this host is named".to_owned()))?;
    match nic.bus_address() {
        Value::Known(address) if pcie::is_address(&address) => {
            Ok(vec![Want::on(Target::PciConfig(PciConfigTarget { address }), bytes.to_string())])
        }
        _ => Err(Unfit::Host("the device is not on PCI".to_owned())),
    }
}

pub(super) fn device(site: &Site) -> Result<String, Unfit> {
    match site.netdev() {
        Value::Known(name) => Ok(name),
        unknown => {
            Err(Unfit::Host(format!("no network device: {}", unknown.why_unknown().unwrap_or_default())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mtu_of_roce_leaves_room_for_its_headers() {
        assert_eq!((roce_mtu(1500), roce_mtu(4096), roce_mtu(4191)), (Some(1024), Some(2048), Some(2048)));
        assert_eq!((roce_mtu(4192), roce_mtu(9000), roce_mtu(100)), (Some(4096), Some(4096), None));
    }
}
