//! What two QPs must know of each other, and the attributes `ibv_modify_qp` is given for it.

use std::{fmt, net::Ipv6Addr};

use rdma_sys::{ibv_ah_attr, ibv_qp_attr, ibv_qp_attr_mask as bits, ibv_qp_state};
use schema::{Op, Transport};
use serde::{Deserialize, Serialize};

use super::{Access, VerbsError, port::mtu_code};
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
    /// Reads and atomics outstanding, both ways; RC only.
    pub outstanding_reads: u8,
    /// GRH flow label, 20 bits.
    pub flow_label: u32,
    /// Index in the partition key table, as given to INIT.
    pub pkey_index: u16,
    /// The far end.
    pub remote: RemoteQp,
}

/// Attributes and the mask that says which are filled.
pub(crate) type AttrMask = (ibv_qp_attr, bits);

/// The queue key of our datagram QPs. Its highest bit is clear: with it set, the device would take the sender's own key.
pub const QKEY: u32 = 0x1111_1111;

/// The RNR timer code for 0.64 ms: how long a sender waits that met no posted receive.
const MIN_RNR_TIMER: u8 = 12;
/// Retry for ever: a slow receiver slows the sender and fails nothing; the loops' deadline ends what never moves.
pub(crate) const RNR_RETRY: u8 = 7;

fn zeroed(state: ibv_qp_state::Type) -> ibv_qp_attr {
    // SAFETY: ibv_qp_attr is plain integers and arrays of them; all zero is a valid value.
    let mut attr: ibv_qp_attr = unsafe { std::mem::zeroed() };
    attr.qp_state = state;
    attr
}

/// To INIT: the port, the partition, and what the peer may do; a datagram QP has a queue key instead of rights.
pub(super) fn init_attr(transport: Transport, port_num: u8, pkey_index: u16, op: Op) -> AttrMask {
    let mut attr = zeroed(ibv_qp_state::IBV_QPS_INIT);
    attr.port_num = port_num;
    attr.pkey_index = pkey_index;
    attr.qp_access_flags = Access::for_op(op).qp_flags(transport);
    attr.qkey = QKEY;
    let rights = match transport {
        Transport::Rc | Transport::Uc => bits::IBV_QP_ACCESS_FLAGS,
        Transport::Ud => bits::IBV_QP_QKEY,
    };
    (attr, bits::IBV_QP_STATE | bits::IBV_QP_PKEY_INDEX | bits::IBV_QP_PORT | rights)
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

    /// To RTR: the path and the far end, as far as the transport has them.
    pub(super) fn rtr_attr(&self) -> Result<AttrMask, VerbsError> {
        let mut attr = zeroed(ibv_qp_state::IBV_QPS_RTR);
        attr.path_mtu = mtu_code(self.path_mtu).ok_or(VerbsError::PathMtu { path_mtu: self.path_mtu })?;
        attr.dest_qp_num = self.remote.qp_num;
        attr.rq_psn = self.remote.psn;
        attr.max_dest_rd_atomic = self.outstanding_reads;
        attr.min_rnr_timer = MIN_RNR_TIMER;
        attr.ah_attr = self.ah_attr();
        let path = bits::IBV_QP_AV | bits::IBV_QP_PATH_MTU | bits::IBV_QP_DEST_QPN | bits::IBV_QP_RQ_PSN;
        let mask = match self.transport {
            Transport::Rc => {
                bits::IBV_QP_STATE | path | bits::IBV_QP_MAX_DEST_RD_ATOMIC | bits::IBV_QP_MIN_RNR_TIMER
            }
            Transport::Uc => bits::IBV_QP_STATE | path,
            Transport::Ud => bits::IBV_QP_STATE,
        };
        Ok((attr, mask))
    }

    /// To RTS: our sequence number and, where there are acknowledgements, how long to wait for them.
    pub(super) fn rts_attr(&self) -> AttrMask {
        let mut attr = zeroed(ibv_qp_state::IBV_QPS_RTS);
        attr.sq_psn = self.local_psn;
        attr.timeout = self.timeout;
        attr.retry_cnt = self.retry_count;
        attr.rnr_retry = RNR_RETRY;
        attr.max_rd_atomic = self.outstanding_reads;
        let sending = bits::IBV_QP_STATE | bits::IBV_QP_SQ_PSN;
        let mask = match self.transport {
            Transport::Rc => {
                sending
                    | bits::IBV_QP_TIMEOUT
                    | bits::IBV_QP_RETRY_CNT
                    | bits::IBV_QP_RNR_RETRY
                    | bits::IBV_QP_MAX_QP_RD_ATOMIC
            }
            Transport::Uc | Transport::Ud => sending,
        };
        (attr, mask)
    }
}

/// Every attribute that is set, for an error about RTR or RTS.
impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remote = &self.remote;
        write!(
            f,
            "{}, port {}, pkey_index {}, path_mtu {}, ",
            self.transport, self.port_num, self.pkey_index, self.path_mtu
        )?;
        match self.gid_index {
            Some(index) => write!(
                f,
                "our gid_index {index}, remote GID {}, traffic_class {}, flow_label {:#x}, hop_limit 64, ",
                Ipv6Addr::from(remote.gid),
                self.traffic_class,
                self.flow_label
            )?,
            None => write!(f, "no GRH, ")?,
        }
        write!(
            f,
            "remote LID {:#x}, service_level {}, remote QP {:#x}, remote psn {:#x}, local psn {:#x}",
            remote.lid, self.service_level, remote.qp_num, remote.psn, self.local_psn
        )?;
        match self.transport {
            Transport::Rc => write!(
                f,
                ", outstanding_reads {}, timeout {}, retry_count {}, rnr_retry {RNR_RETRY}, min_rnr_timer {MIN_RNR_TIMER}",
                self.outstanding_reads, self.timeout, self.retry_count
            ),
            Transport::Uc => Ok(()),
            Transport::Ud => write!(f, ", qkey {QKEY:#x}"),
        }
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

    /// The masks that the kernel demands and allows (`qp_state_table` of ib_core), less what is optional.
    #[test]
    fn each_transport_sets_what_its_state_machine_demands_and_nothing_else() {
        use bits as b;
        let path =
            b::IBV_QP_STATE | b::IBV_QP_AV | b::IBV_QP_PATH_MTU | b::IBV_QP_DEST_QPN | b::IBV_QP_RQ_PSN;
        let sending = b::IBV_QP_STATE | b::IBV_QP_SQ_PSN;
        let init = b::IBV_QP_STATE | b::IBV_QP_PKEY_INDEX | b::IBV_QP_PORT;
        for (transport, init, rtr, rts) in [
            (
                Transport::Rc,
                init | b::IBV_QP_ACCESS_FLAGS,
                path | b::IBV_QP_MAX_DEST_RD_ATOMIC | b::IBV_QP_MIN_RNR_TIMER,
                sending
                    | b::IBV_QP_TIMEOUT
                    | b::IBV_QP_RETRY_CNT
                    | b::IBV_QP_RNR_RETRY
                    | b::IBV_QP_MAX_QP_RD_ATOMIC,
            ),
            (Transport::Uc, init | b::IBV_QP_ACCESS_FLAGS, path, sending),
            (Transport::Ud, init | b::IBV_QP_QKEY, b::IBV_QP_STATE, sending),
        ] {
            let connection = Connection { transport, ..connection(Some(0)) };
            let (attr, mask) = init_attr(transport, 1, 5, Op::Send);
            assert_eq!((mask.0, attr.pkey_index), (init.0, 5));
            assert_eq!(connection.rtr_attr().unwrap().1.0, rtr.0);
            assert_eq!(connection.rts_attr().1.0, rts.0);
        }
    }

    #[test]
    fn the_text_shows_every_attribute_that_is_set() {
        assert_eq!(
            connection(Some(3)).to_string(),
            "rc, port 1, pkey_index 0, path_mtu 1024, our gid_index 3, remote GID ::ffff:10.0.0.2, traffic_class 106, \
             flow_label 0x0, hop_limit 64, remote LID 0x4, service_level 3, remote QP 0x11, remote psn 0x9, local psn \
             0x7, outstanding_reads 1, timeout 14, retry_count 6, rnr_retry 7, min_rnr_timer 12"
        );
        let ud = Connection { transport: Transport::Ud, ..connection(None) }.to_string();
        assert!(
            ud.starts_with("ud, port 1") && ud.contains("no GRH") && ud.ends_with("qkey 0x11111111"),
            "{ud}"
        );
    }
}
