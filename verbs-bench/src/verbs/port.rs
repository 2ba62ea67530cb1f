//! A port's attributes in words and bytes, decoded from the codes of verbs.h.

use std::fmt;

use rdma_sys::ibv_port_attr;
use schema::BitsPerSec;
use serde::Serialize;

use super::ext;

/// `enum ibv_port_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum PortState {
    /// Reserved.
    Nop,
    /// Logical link down.
    Down,
    /// Waiting for the subnet manager.
    Init,
    /// Configured, not yet active.
    Armed,
    /// Carries messages.
    Active,
    /// Active, the physical link recovering.
    ActiveDefer,
    /// A state newer than this program.
    Unknown(u32),
}

impl From<u32> for PortState {
    fn from(code: u32) -> Self {
        match code {
            0 => PortState::Nop,
            1 => PortState::Down,
            2 => PortState::Init,
            3 => PortState::Armed,
            4 => PortState::Active,
            5 => PortState::ActiveDefer,
            other => PortState::Unknown(other),
        }
    }
}

impl fmt::Display for PortState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortState::Nop => f.pad("NOP"),
            PortState::Down => f.pad("DOWN"),
            PortState::Init => f.pad("INIT"),
            PortState::Armed => f.pad("ARMED"),
            PortState::Active => f.pad("ACTIVE"),
            PortState::ActiveDefer => f.pad("ACTIVE_DEFER"),
            PortState::Unknown(code) => f.pad(&format!("unknown port state {code}")),
        }
    }
}

impl From<PortState> for String {
    fn from(state: PortState) -> String {
        state.to_string()
    }
}

/// What runs under the verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum LinkLayer {
    /// InfiniBand: addressed by LID, or by GID where a GRH is required.
    InfiniBand,
    /// Ethernet: RoCE or iWARP, addressed by GID.
    Ethernet,
    /// The software NIC.
    Soft,
    /// The device does not say; verbs.h reads it as InfiniBand.
    Unspecified,
    /// A link layer newer than this program.
    Unknown(u8),
}

impl From<u8> for LinkLayer {
    fn from(code: u8) -> Self {
        match code {
            0 => LinkLayer::Unspecified,
            1 => LinkLayer::InfiniBand,
            2 => LinkLayer::Ethernet,
            other => LinkLayer::Unknown(other),
        }
    }
}

impl fmt::Display for LinkLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkLayer::InfiniBand => f.pad("InfiniBand"),
            LinkLayer::Ethernet => f.pad("Ethernet"),
            LinkLayer::Soft => f.pad("Soft"),
            LinkLayer::Unspecified => f.pad("Unspecified"),
            LinkLayer::Unknown(code) => f.pad(&format!("unknown link layer {code}")),
        }
    }
}

impl From<LinkLayer> for String {
    fn from(layer: LinkLayer) -> String {
        layer.to_string()
    }
}

/// A port as its device describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortAttr {
    /// Logical state.
    pub state: PortState,
    /// Physical state, in the spelling of the InfiniBand specification.
    pub phys_state: String,
    /// What runs under it.
    pub link_layer: LinkLayer,
    /// Active MTU in bytes.
    pub active_mtu: u32,
    /// Largest message in bytes.
    pub max_msg_bytes: u32,
    /// Local identifier; 0 on Ethernet.
    pub lid: u16,
    /// Slots of the GID table, empty ones included.
    pub gid_tbl_len: u32,
    /// Width times lane speed; absent where the device reports no speed.
    pub rate_bits_per_sec: Option<BitsPerSec>,
    /// Every packet needs a GRH, so a GID must be chosen.
    pub grh_required: bool,
}

impl PortAttr {
    /// Whether a QP of this port is addressed by GID.
    pub fn needs_gid(&self) -> bool {
        self.link_layer == LinkLayer::Ethernet || self.grh_required
    }
}

impl From<&ibv_port_attr> for PortAttr {
    fn from(attr: &ibv_port_attr) -> Self {
        PortAttr {
            state: attr.state.into(),
            phys_state: phys_state_name(attr.phys_state),
            link_layer: attr.link_layer.into(),
            active_mtu: mtu_bytes(attr.active_mtu),
            max_msg_bytes: attr.max_msg_sz,
            lid: attr.lid,
            gid_tbl_len: u32::try_from(attr.gid_tbl_len).unwrap_or(0),
            rate_bits_per_sec: rate(attr.active_width, attr.active_speed),
            grh_required: attr.flags & ext::IBV_QPF_GRH_REQUIRED != 0,
        }
    }
}

/// Bytes of an `enum ibv_mtu`; 0 for a code that is none.
fn mtu_bytes(code: u32) -> u32 {
    if (1..=5).contains(&code) { 128 << code } else { 0 }
}

/// The `enum ibv_mtu` of a size in bytes.
pub(crate) fn mtu_code(bytes: u32) -> Option<u32> {
    (1..=5).find(|code| mtu_bytes(*code) == bytes)
}

/// Lanes times nominal lane speed, as the kernel's `rate` file counts them.
fn rate(active_width: u8, active_speed: u8) -> Option<BitsPerSec> {
    let lanes: u64 = match active_width {
        1 => 1,
        2 => 4,
        4 => 8,
        8 => 12,
        16 => 2,
        _ => return None,
    };
    let megabits_a_lane: u64 = match active_speed {
        1 => 2_500,
        2 => 5_000,
        4 | 8 => 10_000,
        16 => 14_000,
        32 => 25_000,
        64 => 50_000,
        128 => 100_000,
        _ => return None,
    };
    Some(BitsPerSec(lanes * megabits_a_lane * 1_000_000))
}

fn phys_state_name(code: u8) -> String {
    let name = match code {
        1 => "SLEEP",
        2 => "POLLING",
        3 => "DISABLED",
        4 => "PORT_CONFIGURATION_TRAINING",
        5 => "LINK_UP",
        6 => "LINK_ERROR_RECOVERY",
        7 => "PHY_TEST",
        other => return format!("unknown physical state {other}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtu_codes_and_bytes_agree() {
        assert_eq!([256, 512, 1024, 2048, 4096].map(mtu_code), [Some(1), Some(2), Some(3), Some(4), Some(5)]);
        assert_eq!([0, 128, 1500, 8192].map(mtu_code), [None; 4]);
        assert_eq!(mtu_bytes(6), 0);
    }

    #[test]
    fn four_lanes_of_edr_are_100_gigabits() {
        assert_eq!(rate(2, 32), Some(BitsPerSec(100_000_000_000)));
        assert_eq!(rate(2, 0), None);
    }

    #[test]
    fn unknown_codes_are_kept() {
        assert_eq!(PortState::from(9).to_string(), "unknown port state 9");
        assert_eq!(LinkLayer::from(7), LinkLayer::Unknown(7));
    }
}
