//! An entry of a port's GID table, and how it is shown.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use schema::record::GidRecord;
use serde::Serialize;

/// `enum ibv_gid_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum GidType {
    /// InfiniBand.
    Ib,
    /// RoCE v1: its own Ethertype, not routable.
    RoceV1,
    /// RoCE v2: UDP over IP.
    RoceV2,
    /// A type newer than this program.
    Unknown(u32),
}

impl From<u32> for GidType {
    fn from(code: u32) -> Self {
        match code {
            0 => GidType::Ib,
            1 => GidType::RoceV1,
            2 => GidType::RoceV2,
            other => GidType::Unknown(other),
        }
    }
}

impl fmt::Display for GidType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GidType::Ib => f.pad("IB"),
            GidType::RoceV1 => f.pad("RoCE v1"),
            GidType::RoceV2 => f.pad("RoCE v2"),
            GidType::Unknown(code) => f.pad(&format!("unknown GID type {code}")),
        }
    }
}

impl From<GidType> for String {
    fn from(kind: GidType) -> String {
        kind.to_string()
    }
}

/// One valid entry of a GID table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GidEntry {
    /// Index in the port's table.
    pub index: u32,
    /// The GID.
    #[serde(serialize_with = "as_ipv6")]
    pub gid: [u8; 16],
    /// Its type.
    pub gid_type: GidType,
    /// Interface index of its network device, as that device's namespace counts; 0 where there is none.
    pub ifindex: u32,
    /// Its network device, if that lies in our network namespace.
    pub netdev: Option<String>,
}

fn as_ipv6<S: serde::Serializer>(gid: &[u8; 16], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&Ipv6Addr::from(*gid))
}

impl GidEntry {
    /// The GID as the IP address RoCE v2 sends from.
    pub fn ip(&self) -> IpAddr {
        IpAddr::V6(Ipv6Addr::from(self.gid)).to_canonical()
    }

    /// Whether it holds nothing.
    pub fn is_zero(&self) -> bool {
        self.gid == [0; 16]
    }

    /// As it stands in the record, with what there is to say about it.
    pub fn record(&self, note: impl Into<String>) -> GidRecord {
        GidRecord {
            index: self.index,
            gid: Ipv6Addr::from(self.gid).to_string(),
            gid_type: self.gid_type.to_string(),
            netdev: self.netdev.clone(),
            note: note.into(),
        }
    }
}

impl fmt::Display for GidEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let netdev = self.netdev.as_deref().unwrap_or("no network device here");
        write!(f, "{:>4}  {}  {}  {netdev}", self.index, Ipv6Addr::from(self.gid), self.gid_type)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_gid_shows_its_ipv4_address() {
        let gid = "::ffff:172.19.0.60".parse::<Ipv6Addr>().unwrap().octets();
        let entry = GidEntry { index: 5, gid, gid_type: GidType::RoceV2, ifindex: 2, netdev: None };
        assert_eq!(entry.ip().to_string(), "172.19.0.60");
        assert_eq!(entry.to_string(), "   5  ::ffff:172.19.0.60  RoCE v2  no network device here");
        assert!(serde_json::to_string(&entry).unwrap().contains(r#""gid":"::ffff:172.19.0.60""#));
    }
}
