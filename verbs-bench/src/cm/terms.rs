//! What both sides agreed on over TCP, laid over the attributes rdma_cm proposes, and what travels in a request.

use rdma_sys::{ibv_qp_attr, ibv_qp_attr_mask as bits};

use super::CmError;
use crate::verbs::{RNR_RETRY, VerbsError, mtu_code};

/// Random bytes that only the two sides of a session know.
pub type Nonce = [u8; 32];

/// The attributes rdma_cm does not decide: they are the plan's, as with QPs connected over TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Port of the QPs.
    pub port_num: u8,
    /// Path MTU in bytes, agreed.
    pub path_mtu: u32,
    /// GRH traffic class.
    pub traffic_class: u8,
    /// GRH flow label, 20 bits.
    pub flow_label: u32,
    /// Service level; 0 leaves what the route has.
    pub service_level: u8,
    /// Local ACK timeout exponent: 4.096 us * 2^n.
    pub timeout: u8,
    /// Retries after a local ACK timeout.
    pub retry_count: u8,
    /// Reads and atomics outstanding, both ways, agreed.
    pub outstanding_reads: u8,
}

impl Terms {
    /// Puts the plan's values in the place of rdma_cm's, where the mask says that they are set at all.
    pub(super) fn lay_over(&self, attr: &mut ibv_qp_attr, mask: u32) -> Result<(), CmError> {
        let sets = |bit: bits| mask & bit.0 != 0;
        if sets(bits::IBV_QP_PATH_MTU) {
            let path_mtu = self.path_mtu;
            attr.path_mtu = mtu_code(path_mtu).ok_or(VerbsError::PathMtu { path_mtu })?;
        }
        if sets(bits::IBV_QP_AV) {
            if attr.ah_attr.is_global != 0 {
                attr.ah_attr.grh.traffic_class = self.traffic_class;
                attr.ah_attr.grh.flow_label = self.flow_label;
            }
            if self.service_level != 0 {
                attr.ah_attr.sl = self.service_level;
            }
        }
        if sets(bits::IBV_QP_MAX_DEST_RD_ATOMIC) {
            attr.max_dest_rd_atomic = self.outstanding_reads;
        }
        if sets(bits::IBV_QP_MAX_QP_RD_ATOMIC) {
            attr.max_rd_atomic = self.outstanding_reads;
        }
        if sets(bits::IBV_QP_TIMEOUT) {
            attr.timeout = self.timeout;
        }
        if sets(bits::IBV_QP_RETRY_CNT) {
            attr.retry_cnt = self.retry_count;
        }
        if sets(bits::IBV_QP_RNR_RETRY) {
            attr.rnr_retry = RNR_RETRY;
        }
        Ok(())
    }
}

/// The private data of the request for one QP: whose session, and which QP. 36 of the 56 bytes a request has.
pub(super) fn request(nonce: &Nonce, index: u32) -> [u8; 36] {
    let mut bytes = [0; 36];
    bytes[..32].copy_from_slice(nonce);
    bytes[32..].copy_from_slice(&index.to_be_bytes());
    bytes
}

/// The index of a request of this session; none for a stranger's. The transport may have padded it.
pub(super) fn index_of(private_data: &[u8], nonce: &Nonce) -> Option<usize> {
    let (theirs, rest) = private_data.split_first_chunk::<32>()?;
    let index = rest.first_chunk::<4>()?;
    (theirs == nonce).then(|| u32::from_be_bytes(*index) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_reads_back_padded_and_a_strangers_does_not() {
        let nonce = [7; 32];
        let mut padded = request(&nonce, 300).to_vec();
        padded.resize(56, 0);
        assert_eq!(index_of(&padded, &nonce), Some(300));
        assert_eq!(index_of(&padded, &[8; 32]), None);
        assert_eq!(index_of(&padded[..35], &nonce), None);
        assert_eq!(index_of(&[], &nonce), None);
    }

    #[test]
    fn the_plan_wins_where_the_mask_sets_something_and_nowhere_else() {
        let terms = Terms {
            port_num: 1,
            path_mtu: 1024,
            traffic_class: 104,
            flow_label: 5,
            service_level: 0,
            timeout: 10,
            retry_count: 3,
            outstanding_reads: 4,
        };
        // SAFETY: plain integers; all zero is a valid value.
        let mut attr: ibv_qp_attr = unsafe { std::mem::zeroed() };
        (attr.ah_attr.is_global, attr.ah_attr.sl, attr.timeout) = (1, 2, 19);
        let rtr = bits::IBV_QP_AV | bits::IBV_QP_PATH_MTU | bits::IBV_QP_MAX_DEST_RD_ATOMIC;
        terms.lay_over(&mut attr, rtr.0).unwrap();
        assert_eq!((attr.path_mtu, attr.max_dest_rd_atomic, attr.timeout), (3, 4, 19));
        assert_eq!(
            (attr.ah_attr.grh.traffic_class, attr.ah_attr.grh.flow_label, attr.ah_attr.sl),
            (104, 5, 2)
        );
        let rts = bits::IBV_QP_TIMEOUT | bits::IBV_QP_RETRY_CNT | bits::IBV_QP_RNR_RETRY;
        terms.lay_over(&mut attr, rts.0).unwrap();
        assert_eq!((attr.timeout, attr.retry_cnt, attr.rnr_retry, attr.max_rd_atomic), (10, 3, 7, 0));
        let odd = Terms { path_mtu: 1500, ..terms };
        assert!(odd.lay_over(&mut attr, rtr.0).is_err());
    }
}
