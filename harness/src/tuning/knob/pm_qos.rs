//! The longest wake-up latency the host may have, held by an open file. It ends with our process, however it ends.

use schema::KnobSetting;

use super::{Unfit, Want};
use crate::tuning::{
    site::Site,
    target::{HeldTarget, Target},
};

/// The kernel's wish for all CPUs.
const FILE: &str = "/dev/cpu_dma_latency";

pub(super) fn wants(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    let latency_us = micros(&setting.value)?;
    if !site.sysroot.exists(FILE) {
        return Err(Unfit::Host(format!("{FILE} is not there: a container, or a kernel without PM QoS")));
    }
    let mut want = Want::on(Target::Held(HeldTarget { path: FILE.to_owned() }), latency_us.to_string());
    if latency_us == 0 {
        want.note = "0 us is idle by polling: heat, and less turbo for the neighbours".to_owned();
    }
    Ok(vec![want])
}

/// Whole microseconds, as `2us`.
pub(super) fn micros(text: &str) -> Result<i32, Unfit> {
    let number = text.trim().strip_suffix("us").unwrap_or_default().trim();
    match number.parse::<i32>() {
        Ok(us) if us >= 0 => Ok(us),
        _ => Err(Unfit::Value("must be whole microseconds, for example 2us".to_owned())),
    }
}
