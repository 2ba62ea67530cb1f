//! Knobs that are looked at and never turned: what takes a boot, and what the whole network has to agree on.

use host::{Value, dcb};
use schema::KnobSetting;

use super::Unfit;
use crate::{boot, tuning::site::Site};

pub(super) fn trust(setting: &KnobSetting, site: &Site) -> Result<Vec<super::Want>, Unfit> {
    let wanted = one_of(setting, &["dscp", "pcp"])?;
    let name = super::netdev::device(site)?;
    let vendors = format!("/sys/class/net/{name}/qos/trust");
    let (at, now) = match site.sysroot.read(&vendors) {
        Value::Known(text) => (vendors, Some(text)),
        // Upstream mlx5 trusts DSCP once the application table has an entry for one.
        _ => {
            let table = dcb::read(&site.sysroot, &name).known();
            let by_dscp = table.map(|dcb| dcb.apps.iter().any(|app| app.selector == "dscp"));
            (format!("dcb {name} app"), by_dscp.map(|dscp| if dscp { "dscp" } else { "pcp" }.to_owned()))
        }
    };
    let remedy = format!(
        "mlnx_qos -i {name} --trust {wanted} (or `dcb app add dev {name} dscp-prio 26:3` for dscp), on the switch too"
    );
    Err(checked(at, now, wanted, remedy))
}

pub(super) fn dcbx(setting: &KnobSetting, site: &Site) -> Result<Vec<super::Want>, Unfit> {
    let wanted = one_of(setting, &["host", "firmware"])?;
    let name = super::netdev::device(site)?;
    let decides = dcb::read(&site.sysroot, &name).known().and_then(|dcb| dcb.dcbx);
    let now = decides.map(|dcbx| if dcbx.host { "host" } else { "firmware" }.to_owned());
    let remedy =
        "mstconfig: LLDP_NB_DCBX_P1=0 and LLDP_NB_RX_MODE_P1=0 give it to the host after a firmware reset"
            .to_owned();
    Err(checked(format!("dcb {name} dcbx"), now, wanted, remedy))
}

/// Planned as text with the commands for this distribution; asked again after the boot.
pub(super) fn boot(setting: &KnobSetting, site: &Site) -> Result<Vec<super::Want>, Unfit> {
    let plan = boot::plan(&site.sysroot, &setting.item, &setting.value, site.device.as_deref());
    let plan = plan.map_err(|error| match error {
        boot::BootError::NoDevice { .. } => Unfit::Host(error.to_string()),
        _ => Unfit::Value(error.to_string()),
    })?;
    let commands = plan.commands.join("\n");
    let remedy = if plan.holds {
        String::new()
    } else {
        format!("{}:\n{commands}\nto undo:\n{}\n{}", plan.by, plan.undo.join("\n"), plan.after_reboot)
    };
    Err(Unfit::Checked { at: plan.now.at, now: plan.now.value, holds: plan.holds, remedy })
}

fn checked(at: String, now: Option<String>, wanted: &str, remedy: String) -> Unfit {
    let holds = now.as_deref() == Some(wanted);
    Unfit::Checked { at, now, holds, remedy: if holds { String::new() } else { remedy } }
}

fn one_of<'s>(setting: &'s KnobSetting, words: &[&str]) -> Result<&'s str, Unfit> {
    let word = setting.value.trim();
    if words.contains(&word) {
        Ok(word)
    } else {
        Err(Unfit::Value(format!("must be {}", words.join(" or "))))
    }
}
