//! The commands for what only a boot changes, as [`crate::boot`] plans them for this host's distribution.

use super::view::View;
use crate::boot;

/// How to have a word on the kernel's command line; where it cannot be planned, why not.
pub(super) fn remedy(view: &View, item: &str, value: &str, device: Option<&str>) -> String {
    match boot::plan(view.sysroot, item, value, device) {
        Ok(plan) => format!("at boot ({}):\n{}\n{}", plan.by, plan.commands.join("\n"), plan.after_reboot),
        Err(error) => format!("at boot: {error}"),
    }
}
