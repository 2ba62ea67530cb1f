//! What a knob's setting means on one host: which targets, and what is to stand in each. One knob a file; nothing is written.

mod irq_affinity;
mod pm_qos;
mod sysctl;

use schema::{Knob, KnobSetting};

use super::{
    form::Form,
    site::Site,
    target::{FileTarget, Target},
};

/// What is to stand in a target.
pub(super) struct Want {
    /// Where.
    pub(super) target: Target,
    /// What.
    pub(super) new: String,
    /// What it holds once the wants before it are met, where it is not there yet; none where it is.
    pub(super) made_with: Option<String>,
    /// What a reader of the plan should know; empty where there is nothing.
    pub(super) note: String,
}

/// Why there are no targets.
#[derive(Debug)]
pub(super) enum Unfit {
    /// The setting is wrong on any host.
    Value(String),
    /// This host has no such knob, or it can't be turned here.
    Host(String),
    /// There is nothing to do on this host, and that is fine.
    Nothing(String),
}

impl Want {
    /// A file that is there.
    fn file(path: impl Into<String>, form: Form, new: impl Into<String>) -> Want {
        Want::on(Target::File(FileTarget { path: path.into(), form }), new)
    }

    fn on(target: Target, new: impl Into<String>) -> Want {
        Want { target, new: new.into(), made_with: None, note: String::new() }
    }
}

/// What a setting wants of this host.
pub(super) fn wants(setting: &KnobSetting, site: &Site) -> Result<Vec<Want>, Unfit> {
    match setting.knob {
        Knob::Sysctl => sysctl::wants(setting),
        Knob::IrqAffinity => irq_affinity::wants(setting, site),
        Knob::PmQos => pm_qos::wants(setting, site),
        other => Err(Unfit::Host(format!("{other} can't be turned yet"))),
    }
}
