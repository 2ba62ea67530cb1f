//! The daemon that moves interrupts, paused while the tuning lasts. Why by a signal: `docs/adr/0007`.

use host::process;
use schema::KnobSetting;

use super::{Unfit, Want};
use crate::tuning::{
    site::Site,
    target::{PAUSED, ProcessTarget, Target},
};

/// Its name as the kernel has it.
const DAEMON: &str = "irqbalance";

pub(super) fn wants(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    if setting.value.trim() != "pause" {
        return Err(Unfit::Value("must be pause: the daemon is never stopped or disabled".to_owned()));
    }
    let found = process::named(&site.sysroot, &[DAEMON]).known().unwrap_or_default();
    if found.is_empty() {
        return Err(Unfit::Nothing("no irqbalance runs here: there is nothing to pause".to_owned()));
    }
    let target = |process: process::Process| ProcessTarget {
        pid: process.pid,
        started_ticks: process.started_ticks,
        name: process.name,
    };
    Ok(found.into_iter().map(|process| Want::on(Target::Process(target(process)), PAUSED)).collect())
}
