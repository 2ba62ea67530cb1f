//! The requests whose answer is a row of 32-bit numbers: which words they have, in the kernel's order.
//!
//! Names are those of `ethtool`'s own options. A change is made on the row as the driver gave it, so that what we have no
//! name for is handed back as it was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The named numbers of one answer; switches are 0 and 1.
pub type Fields = BTreeMap<String, u32>;

/// A group of settings that a driver answers for in one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aspect {
    /// 802.3x pause of the whole link: `autoneg`, `rx`, `tx`.
    Pause,
    /// Descriptors of the network device's queues: `rx`, `tx` and what the device bears, `rx_max`, `tx_max`.
    Rings,
    /// When the network device raises an interrupt: `rx_usecs`, `rx_frames`, `adaptive_rx` and so on.
    Coalescing,
    /// Queues of the network device: `combined`, `max_combined` and so on. Read only here.
    Channels,
}

/// struct ethtool_pauseparam without its command.
const PAUSE: [&str; 3] = ["autoneg", "rx", "tx"];
/// struct ethtool_ringparam without its command.
const RINGS: [&str; 8] =
    ["rx_max", "rx_mini_max", "rx_jumbo_max", "tx_max", "rx", "rx_mini", "rx_jumbo", "tx"];
/// struct ethtool_coalesce without its command.
const COALESCING: [&str; 22] = [
    "rx_usecs",
    "rx_frames",
    "rx_usecs_irq",
    "rx_frames_irq",
    "tx_usecs",
    "tx_frames",
    "tx_usecs_irq",
    "tx_frames_irq",
    "stats_block_usecs",
    "adaptive_rx",
    "adaptive_tx",
    "pkt_rate_low",
    "rx_usecs_low",
    "rx_frames_low",
    "tx_usecs_low",
    "tx_frames_low",
    "pkt_rate_high",
    "rx_usecs_high",
    "rx_frames_high",
    "tx_usecs_high",
    "tx_frames_high",
    "sample_interval",
];
/// struct ethtool_channels without its command.
const CHANNELS: [&str; 8] =
    ["max_rx", "max_tx", "max_other", "max_combined", "rx", "tx", "other", "combined"];

impl Aspect {
    /// All of them.
    pub const ALL: [Aspect; 4] = [Aspect::Pause, Aspect::Rings, Aspect::Coalescing, Aspect::Channels];

    /// Its name in a recording.
    pub fn name(self) -> &'static str {
        match self {
            Aspect::Pause => "pause",
            Aspect::Rings => "rings",
            Aspect::Coalescing => "coalescing",
            Aspect::Channels => "channels",
        }
    }

    /// Its numbers in the kernel's order.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Aspect::Pause => &PAUSE,
            Aspect::Rings => &RINGS,
            Aspect::Coalescing => &COALESCING,
            Aspect::Channels => &CHANNELS,
        }
    }

    /// Whether `field` is one of its numbers that can be set: not what the device bears, and nothing of the channels.
    pub fn is_settable(self, field: &str) -> bool {
        self != Aspect::Channels && !field.ends_with("_max") && self.fields().contains(&field)
    }

    /// ETHTOOL_GPAUSEPARAM, _GRINGPARAM, _GCOALESCE, _GCHANNELS.
    pub(crate) fn get_command(self) -> u32 {
        match self {
            Aspect::Pause => 0x12,
            Aspect::Rings => 0x10,
            Aspect::Coalescing => 0x0e,
            Aspect::Channels => 0x3c,
        }
    }

    /// ETHTOOL_SPAUSEPARAM, _SRINGPARAM, _SCOALESCE.
    pub(crate) fn set_command(self) -> Option<u32> {
        match self {
            Aspect::Pause => Some(0x13),
            Aspect::Rings => Some(0x11),
            Aspect::Coalescing => Some(0x0f),
            Aspect::Channels => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_driver_lets_one_set_is_settable() {
        assert!(Aspect::Rings.is_settable("rx") && !Aspect::Rings.is_settable("rx_max"));
        assert!(Aspect::Coalescing.is_settable("adaptive_rx") && !Aspect::Coalescing.is_settable("rx"));
        assert!(!Aspect::Channels.is_settable("combined"));
        assert!(
            Aspect::ALL
                .iter()
                .all(|a| a.set_command().is_some() == a.fields().iter().any(|f| a.is_settable(f)))
        );
    }
}
