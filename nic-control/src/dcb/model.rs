//! What a driver says of data centre bridging, in words instead of bits.

use serde::{Deserialize, Serialize};

/// Traffic classes and priorities there are (IEEE_8021QAZ_MAX_TCS).
pub(super) const CLASSES: usize = 8;

/// Data centre bridging of one network device.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dcb {
    /// Who sets what follows; null where the driver has no DCBX.
    #[serde(default)]
    pub dcbx: Option<Dcbx>,
    /// Priority flow control; null where the driver has none.
    #[serde(default)]
    pub pfc: Option<Pfc>,
    /// How the classes share the link; null where the driver has no ETS.
    #[serde(default)]
    pub ets: Option<Ets>,
    /// What traffic goes to which priority. mlx5 trusts DSCP once there is an entry for one.
    #[serde(default)]
    pub apps: Vec<App>,
}

/// Who negotiates and decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Dcbx {
    /// The host decides. Without it the firmware does, and overrules what is written.
    pub host: bool,
    /// A daemon or the firmware runs the protocol (LLD managed).
    pub lld_managed: bool,
    /// CEE version of the protocol.
    pub cee: bool,
    /// IEEE version of the protocol.
    pub ieee: bool,
    /// Nothing is negotiated.
    #[serde(rename = "static")]
    pub fixed: bool,
}

/// Priority flow control.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pfc {
    /// Classes that may have it at once.
    pub classes: u8,
    /// Priorities that have it, ascending.
    pub enabled: Vec<u8>,
    /// MACsec bypass.
    #[serde(default)]
    pub mbc: bool,
    /// Allowance for the round trip, in bits of the link.
    #[serde(default)]
    pub delay: u16,
    /// Pause frames sent, by priority.
    #[serde(default)]
    pub requests: Vec<u64>,
    /// Pause frames received, by priority.
    #[serde(default)]
    pub indications: Vec<u64>,
}

/// Enhanced transmission selection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Ets {
    /// Traffic class of each priority.
    pub priority_class: Vec<u8>,
    /// Share of each class in percent, where its selection is `ets`.
    pub class_percent: Vec<u8>,
    /// How each class is selected: `strict`, `shaper`, `ets`, `vendor`, or the kernel's number.
    pub class_selection: Vec<String>,
}

/// An entry of the application table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// What `protocol` is: `ethertype`, `stream`, `dgram`, `any`, `dscp`, or the kernel's number.
    pub selector: String,
    /// Ethertype, port or DSCP.
    pub protocol: u16,
    /// The priority it goes to.
    pub priority: u8,
}

impl Dcbx {
    /// From the kernel's flags (DCB_CAP_DCBX_*).
    pub(super) fn from_flags(flags: u8) -> Dcbx {
        let has = |flag: u8| flags & flag != 0;
        Dcbx { host: has(1), lld_managed: has(2), cee: has(4), ieee: has(8), fixed: has(16) }
    }
}

/// The kernel's word for how a class is selected (IEEE_8021QAZ_TSA_*).
pub(super) fn selection(tsa: u8) -> String {
    match tsa {
        0 => "strict".to_owned(),
        1 => "shaper".to_owned(),
        2 => "ets".to_owned(),
        255 => "vendor".to_owned(),
        other => other.to_string(),
    }
}

/// The kernel's word for what an application entry selects by (IEEE_8021QAZ_APP_SEL_*).
pub(super) fn selector(number: u8) -> String {
    match number {
        1 => "ethertype".to_owned(),
        2 => "stream".to_owned(),
        3 => "dgram".to_owned(),
        4 => "any".to_owned(),
        5 => "dscp".to_owned(),
        other => other.to_string(),
    }
}
