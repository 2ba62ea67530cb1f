//! What two QPs must know of each other, and the attributes `ibv_modify_qp` is given for it.

use std::{fmt, net::Ipv6Addr};

use rdma_sys::{ibv_ah_attr, ibv_qp_attr, ibv_qp_attr_mask as bits, ibv_qp_state};
use schema::Transport;
use serde::{Deserialize, Serialize};

use super::{VerbsError, port::mtu_code};
use crate::softnic::SoftPeer;

/// The far end of a connection; it travels in the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteQp {
    /// QP number.
    pub qp_num: u32,
    /// First packet sequence number it sends, 24 bits.
    pub psn: u32,
    /// Local identifier; 0 on Ethernet.
    pub lid: u16,
    /// GID; zero where the port needs none.
    pub gid: [u8; 16],
    /// Its memory, where it is a software NIC.
    pub soft: Option<SoftPeer>,
}

/// Everything RTR and RTS need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Our port.
    pub port_num: u8,
    /// Path MTU in bytes.
    pub path_mtu: u32,
    /// First packet sequence number we send, 24 bits.
    pub local_psn: u32,
    /// Our GID index; `None` addresses by LID.
    pub gid_index: Option<u8>,
    /// GRH traffic class.
    pub traffic_class: u8,
    /// Service level.
    pub service_level: u8,
    /// Local ACK timeout exponent: 4.096 us * 2^n.
    pub timeout: u8,
    /// Retries after a local ACK timeout.
    pub retry_count: u8,
    /// Service of the QPs.
    pub transport: Transport,
    /// Reads and atomics outstanding, both ways.
    pub outstanding_reads: u8,
    /// GRH flow label, 20 bits.
    pub flow_label: u32,
    /// Index in the partition key table.
    pub pkey_index: u16,
    /// The far end.
    pub remote: RemoteQp,
}

/// Attributes and the mask that says which are filled.
pub(super) type AttrMask = (ibv_qp_attr, bits);

/// The RNR timer code for 0.64 ms: how long a sender waits that met no posted receive.
const MIN_RNR_TIMER: u8 = 12;
/// Retry for ever: a slow receiver slows the sender and fails nothing; the loops' deadline ends what never moves.
const RNR_RETRY: u8 = 7;

fn zeroed(state: ibv_qp_state::Type) -> ibv_qp_attr {
    // SAFETY: ibv_qp_attr is plain integers and arrays of them; all zero is a valid value.
    let mut attr: ibv_qp_attr = unsafe { std::mem::zeroed() };
    attr.qp_state = state;
    attr
}

/// To INIT: the port, and remote write.
pub(super) fn init_attr(port_num: u8) -> AttrMask {
    let mut attr = zeroed(ibv_qp_state::IBV_QPS_INIT);
    attr.port_num = port_num;
    attr.qp_access_flags = super::Access::default().flags();
    let mask = bits::IBV_QP_STATE | bits::IBV_QP_PKEY_INDEX | bits::IBV_QP_PORT | bits::IBV_QP_ACCESS_FLAGS;
    (attr, mask)
}

/// To ERR.
pub(super) fn error_attr() -> AttrMask {
    (zeroed(ibv_qp_state::IBV_QPS_ERR), bits::IBV_QP_STATE)
}

impl Connection {
    /// The way to the far end.
    pub(super) fn ah_attr(&self) -> ibv_ah_attr {
        // SAFETY: plain integers; all zero is a valid value.
        let mut attr: ibv_ah_attr = unsafe { std::mem::zeroed() };
        attr.dlid = self.remote.lid;
        attr.sl = self.service_level;
        attr.port_num = self.port_num;
        if let Some(index) = self.gid_index {
            attr.is_global = 1;
            attr.grh.dgid.raw = self.remote.gid;
            attr.grh.sgid_index = index;
            attr.grh.hop_limit = 64;
            attr.grh.traffic_class = self.traffic_class;
            attr.grh.flow_label = self.flow_label;
        }
        attr
    }

    /// To RTR: the path and the far end.
    pub(super) fn rtr_attr(&self) -> Result<AttrMask, VerbsError> {
        let mut attr = zeroed(ibv_qp_state::IBV_QPS_RTR);
        attr.path_mtu = mtu_code(self.path_mtu).ok_or(VerbsError::PathMtu { path_mtu: self.path_mtu })?;
        attr.dest_qp_num = self.remote.qp_num;
        attr.rq_psn = self.remote.psn;
        attr.max_dest_rd_atomic = self.outstanding_reads;
        attr.min_rnr_timer = MIN_RNR_TIMER;
        attr.ah_attr = self.ah_attr();
        let mask = bits::IBV_QP_STATE
            | bits::IBV_QP_AV
            | bits::IBV_QP_PATH_MTU
            | bits::IBV_QP_DEST_QPN
            | bits::IBV_QP_RQ_PSN
            | bits::IBV_QP_MAX_DEST_RD_ATOMIC
            | bits::IBV_QP_MIN_RNR_TIMER;
        Ok((attr, mask))
    }

    /// To RTS: our sequence number and how long to try.
    pub(super) fn rts_attr(&self) -> AttrMask {
        let mut attr = zeroed(ibv_qp_state::IBV_QPS_RTS);
        attr.sq_psn = self.local_psn;
        attr.timeout = self.timeout;
        attr.retry_cnt = self.retry_count;
        attr.rnr_retry = RNR_RETRY;
        attr.max_rd_atomic = self.outstanding_reads;
        let mask = bits::IBV_QP_STATE
            | bits::IBV_QP_SQ_PSN
            | bits::IBV_QP_TIMEOUT
            | bits::IBV_QP_RETRY_CNT
            | bits::IBV_QP_RNR_RETRY
            | bits::IBV_QP_MAX_QP_RD_ATOMIC;
        (attr, mask)
    }
}

/// What an error about RTR or RTS must show.
impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remote = &self.remote;
        write!(f, "port {}, path_mtu {}, ", self.port_num, self.path_mtu)?;
        match self.gid_index {
            Some(index) => write!(f, "our gid_index {index}, remote GID {}, ", Ipv6Addr::from(remote.gid))?,
            None => write!(f, "no GID, remote LID {:#x}, ", remote.lid)?,
        }
        write!(
            f,
            "remote QP {:#x}, remote psn {:#x}, local psn {:#x}, ",
            remote.qp_num, remote.psn, self.local_psn
        )?;
        write!(
            f,
            "traffic_class {}, service_level {}, timeout {}, retry_count {}",
            self.traffic_class, self.service_level, self.timeout, self.retry_count
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(gid_index: Option<u8>) -> Connection {
        let gid = "::ffff:10.0.0.2".parse::<Ipv6Addr>().unwrap().octets();
        Connection {
            port_num: 1,
            path_mtu: 1024,
            local_psn: 7,
            gid_index,
            traffic_class: 106,
            service_level: 3,
            timeout: 14,
            retry_count: 6,
            transport: Transport::Rc,
            outstanding_reads: 1,
            flow_label: 0,
            pkey_index: 0,
            remote: RemoteQp { qp_num: 0x11, psn: 9, lid: 4, gid, soft: None },
        }
    }

    #[test]
    fn rtr_carries_the_path_and_a_grh_only_with_a_gid() {
        let (attr, _) = connection(Some(3)).rtr_attr().unwrap();
        assert_eq!((attr.path_mtu, attr.dest_qp_num, attr.rq_psn), (3, 0x11, 9));
        assert_eq!((attr.ah_attr.is_global, attr.ah_attr.grh.sgid_index), (1, 3));
        assert_eq!((attr.ah_attr.grh.traffic_class, attr.ah_attr.sl), (106, 3));
        let (attr, _) = connection(None).rtr_attr().unwrap();
        assert_eq!((attr.ah_attr.is_global, attr.ah_attr.dlid), (0, 4));
    }

    #[test]
    fn a_foreign_mtu_is_refused() {
        let odd = Connection { path_mtu: 1500, ..connection(None) };
        assert!(odd.rtr_attr().is_err_and(|error| error.to_string().contains("1500")));
    }

    #[test]
    fn rts_carries_our_sequence_number_and_patience() {
        let (attr, _) = connection(None).rts_attr();
        assert_eq!((attr.sq_psn, attr.timeout, attr.retry_cnt, attr.rnr_retry), (7, 14, 6, 7));
    }

    #[test]
    fn the_text_names_the_gid() {
        let text = connection(Some(3)).to_string();
        assert!(text.contains("gid_index 3, remote GID ::ffff:10.0.0.2"), "{text}");
    }
}
