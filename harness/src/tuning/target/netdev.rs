//! A setting of a network device, by the device's index: its name may be changed while it is turned.

use std::{
    io, thread,
    time::{Duration, Instant},
};

use host::{Aspect, Nic, Value, dcb, ethtool, gid, netdev::Netdev, nic};

use serde::{Deserialize, Serialize};

use super::{Held, Operate, file};
use crate::tuning::{form::Form, site::Site};

/// How long carrier and GIDs may take to come back after the link was disturbed; ours: links with forward error correction
/// train for some seconds.
const SETTLE: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What stands for an empty list of priorities.
pub(crate) const NONE: &str = "none";

/// Which setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Setting {
    /// MTU in bytes.
    Mtu,
    /// One number of what the driver answers to ethtool.
    Number {
        /// The group.
        aspect: Aspect,
        /// The number's name.
        field: String,
    },
    /// Priorities with priority flow control.
    Pfc,
}

/// A setting of one device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetdevTarget {
    /// Its index, which it keeps as long as it exists; none where the host shows none.
    pub(crate) ifindex: Option<u32>,
    /// Its name when it was planned.
    pub(crate) name: String,
    /// Which setting.
    pub(crate) setting: Setting,
}

impl Operate for NetdevTarget {
    fn describe(&self) -> String {
        match &self.setting {
            Setting::Mtu => Netdev::new(&host::Sysroot::new("/"), &self.name).path("mtu"),
            Setting::Number { aspect, field } => format!("ethtool {} {} {field}", self.name, aspect.name()),
            Setting::Pfc => format!("dcb {} pfc", self.name),
        }
    }

    fn read(&self, site: &Site, _held: &Held) -> Value<String> {
        self.find(site).and_then(|name| match &self.setting {
            Setting::Mtu => file::read_text(site, &mtu_path(&name)).map(|text| text.trim_end().to_owned()),
            Setting::Number { aspect, field } => {
                ethtool::field(&site.sysroot, &name, *aspect, field).map(|number| number.to_string())
            }
            Setting::Pfc => dcb::read(&site.sysroot, &name).and_then(|dcb| match dcb.pfc {
                Some(pfc) => Value::Known(format_priorities(&pfc.enabled)),
                None => Value::NotApplicable(format!("the driver of {name} has no PFC")),
            }),
        })
    }

    fn write(&self, site: &Site, _held: &mut Held, value: &str) -> io::Result<()> {
        let Value::Known(name) = self.find(site) else {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the network device is gone"));
        };
        let before = Standing::of(site, &name);
        match &self.setting {
            Setting::Mtu => file::write_text(site, &mtu_path(&name), Form::Word, value)?,
            Setting::Number { aspect, field } => {
                let number = value.parse().map_err(io::Error::other)?;
                ethtool::set_field(&site.sysroot, &name, *aspect, field, number)?;
            }
            Setting::Pfc => {
                let priorities = parse_priorities(value).map_err(io::Error::other)?;
                dcb::set_pfc(&site.sysroot, &name, &priorities)?;
            }
        }
        before.await_again(site, &name)
    }

    fn probe(&self, site: &Site) -> Result<(), String> {
        match self.find(site) {
            Value::Known(name) if self.setting == Setting::Mtu => file::may_write(site, &mtu_path(&name)),
            Value::Known(name) if site.sysroot.is_live() && !rustix::process::geteuid().is_root() => {
                Err(format!("{name} may not be set; run as root"))
            }
            Value::Known(_) => Ok(()),
            unknown => Err(unknown.why_unknown().unwrap_or_default().to_owned()),
        }
    }
}

impl NetdevTarget {
    /// A setting of the device of this name.
    pub(crate) fn new(site: &Site, name: &str, setting: Setting) -> NetdevTarget {
        NetdevTarget { ifindex: ifindex(site, name), name: name.to_owned(), setting }
    }

    /// Its name now.
    fn find(&self, site: &Site) -> Value<String> {
        let Some(wanted) = self.ifindex else {
            let there = site.sysroot.exists(format!("/sys/class/net/{}", self.name));
            return if there { Value::Known(self.name.clone()) } else { Value::Absent };
        };
        if ifindex(site, &self.name) == Some(wanted) {
            return Value::Known(self.name.clone());
        }
        site.sysroot.list("/sys/class/net").and_then(|names| {
            names
                .into_iter()
                .find(|name| ifindex(site, name) == Some(wanted))
                .map_or(Value::Absent, Value::Known)
        })
    }
}

/// Carrier and GIDs of a device: what others see of it.
#[derive(PartialEq, Eq)]
struct Standing {
    carrier: bool,
    gids: usize,
}

impl Standing {
    fn of(site: &Site, name: &str) -> Standing {
        let devices = nic::names(&site.sysroot).known().unwrap_or_default();
        let of_device = |device: &String| {
            let ports = Nic::new(&site.sysroot, device).ports().known().unwrap_or_default();
            let tables = ports.iter().filter_map(|port| gid::table(&site.sysroot, device, *port).known());
            tables.flatten().filter(|gid| gid.netdev.as_ref().known().is_some_and(|own| own == name)).count()
        };
        let gids = devices.iter().map(of_device).sum();
        Standing { carrier: Netdev::new(&site.sysroot, name).carrier() == Value::Known(true), gids }
    }

    /// Waits until there is again what there was.
    fn await_again(&self, site: &Site, name: &str) -> io::Result<()> {
        let until = Instant::now() + SETTLE;
        loop {
            let now = Standing::of(site, name);
            if (now.carrier || !self.carrier) && now.gids >= self.gids {
                return Ok(());
            }
            if Instant::now() > until {
                let what = if now.carrier { "all of its GIDs" } else { "carrier" };
                let secs = SETTLE.as_secs();
                return Err(io::Error::other(format!("{name} had not got back {what} after {secs} s")));
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

fn ifindex(site: &Site, name: &str) -> Option<u32> {
    site.sysroot.read(format!("/sys/class/net/{name}/ifindex")).known()?.parse().ok()
}

fn mtu_path(name: &str) -> String {
    format!("/sys/class/net/{name}/mtu")
}

/// Priorities as `3,4`, or `none`.
pub(crate) fn format_priorities(priorities: &[u8]) -> String {
    let ids: Vec<u32> = priorities.iter().map(|priority| (*priority).into()).collect();
    if ids.is_empty() { NONE.to_owned() } else { host::cpulist::format(&ids) }
}

/// Priorities 0 to 7 as a list, or `none`.
pub(crate) fn parse_priorities(text: &str) -> Result<Vec<u8>, String> {
    if text.trim() == NONE {
        return Ok(Vec::new());
    }
    let ids = host::cpulist::parse(text).map_err(|error| error.to_string())?;
    let wrong = || "must be priorities from 0 to 7, for example 3, or none".to_owned();
    if ids.is_empty() {
        return Err(wrong());
    }
    ids.into_iter().map(|id| u8::try_from(id).ok().filter(|id| *id < 8).ok_or_else(wrong)).collect()
}
