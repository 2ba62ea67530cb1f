//! Completion statuses in words: the name of verbs.h, what it means, and its likely causes.

use std::fmt;

/// `enum ibv_wc_status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum WcStatus {
    /// `IBV_WC_SUCCESS`, and so on in verbs.h's order.
    Success,
    /// A work request longer than the port or the receive allows.
    LocLenErr,
    /// The QP can't do this operation.
    LocQpOpErr,
    /// Unused by current devices.
    LocEecOpErr,
    /// The local key or range does not fit.
    LocProtErr,
    /// Flushed because the QP was in error.
    WrFlushErr,
    /// A memory window was not bound.
    MwBindErr,
    /// The responder's answer made no sense.
    BadRespErr,
    /// A protection error on received data.
    LocAccessErr,
    /// The responder refused the request as invalid.
    RemInvReqErr,
    /// The responder refused the key, the range or the access.
    RemAccessErr,
    /// The responder could not complete the request.
    RemOpErr,
    /// No answer within timeout and retries.
    RetryExcErr,
    /// The responder was not ready for too long.
    RnrRetryExcErr,
    /// Unused by current devices.
    LocRddViolErr,
    /// Unused by current devices.
    RemInvRdReqErr,
    /// The responder aborted the operation.
    RemAbortErr,
    /// Unused by current devices.
    InvEecnErr,
    /// Unused by current devices.
    InvEecStateErr,
    /// The device or transport is broken.
    FatalErr,
    /// A response timed out.
    RespTimeoutErr,
    /// Anything else.
    GeneralErr,
    /// Tag matching failed.
    TmErr,
    /// A tag-matching rendezvous is incomplete.
    TmRndvIncomplete,
    /// A status newer than this program.
    Unknown(u32),
}

/// Name, meaning and likely causes (most likely first) of each status, by its number.
const STATUSES: [(WcStatus, &str, &str, &[&str]); 24] = {
    use WcStatus::*;
    [
        (Success, "SUCCESS", "the work request is done", &[]),
        (
            LocLenErr,
            "LOC_LEN_ERR",
            "local length error: the message is longer than the port or the QP allows",
            &["message size above the port's max_msg_bytes"],
        ),
        (
            LocQpOpErr,
            "LOC_QP_OP_ERR",
            "local QP operation error: the device could not execute the work request",
            &["the QP was not in RTS, or its WQE was corrupted", "a driver or firmware fault; see `dmesg`"],
        ),
        (LocEecOpErr, "LOC_EEC_OP_ERR", "local EE context operation error", &[]),
        (
            LocProtErr,
            "LOC_PROT_ERR",
            "local protection error: the SGE is not inside an MR of this PD",
            &[
                "wrong lkey, or an address range outside the local buffer",
                "the buffer was unmapped while in use",
            ],
        ),
        (
            WrFlushErr,
            "WR_FLUSH_ERR",
            "flushed: the QP was already in error when this work request's turn came",
            &[
                "an earlier work request failed: the first error on the QP is the cause",
                "the QP was moved to ERR to end the run",
            ],
        ),
        (MwBindErr, "MW_BIND_ERR", "memory window bind error", &[]),
        (
            BadRespErr,
            "BAD_RESP_ERR",
            "bad response: the responder's answer had an unexpected opcode",
            &["packets damaged or reordered on the way"],
        ),
        (LocAccessErr, "LOC_ACCESS_ERR", "local access error on incoming data", &[]),
        (
            RemInvReqErr,
            "REM_INV_REQ_ERR",
            "remote invalid request: the responder refused the message as malformed",
            &[
                "the remote QP does not allow this operation, or the message exceeds its limits",
                "the message is longer than the receive it met",
                "different path_mtu on the two sides",
            ],
        ),
        (
            RemAccessErr,
            "REM_ACCESS_ERR",
            "remote access error: the responder refused the rkey, the range or the access",
            &[
                "wrong rkey, or an address range outside the remote buffer",
                "the remote MR was deregistered, or registered without the right to this operation",
            ],
        ),
        (
            RemOpErr,
            "REM_OP_ERR",
            "remote operation error: the responder could not complete the request",
            &["the responder's QP went to error, or its device failed; see its `dmesg`"],
        ),
        (
            RetryExcErr,
            "RETRY_EXC_ERR",
            "transport retries exceeded: the responder did not acknowledge in time",
            &[
                "the peer's process ended or its QP left RTR/RTS",
                "packets do not arrive: GIDs of different type or network, no route, a firewall on UDP 4791",
                "the path's MTU is smaller than path_mtu (switch or VLAN), so large packets are dropped",
                "loss under congestion without PFC or ECN: see the NIC's discards, out_of_sequence and local_ack_timeout_err",
                "the peer's port is down",
            ],
        ),
        (
            RnrRetryExcErr,
            "RNR_RETRY_EXC_ERR",
            "receiver-not-ready retries exceeded",
            &["the peer posted too few receives"],
        ),
        (LocRddViolErr, "LOC_RDD_VIOL_ERR", "local RDD violation", &[]),
        (RemInvRdReqErr, "REM_INV_RD_REQ_ERR", "remote invalid RD request", &[]),
        (
            RemAbortErr,
            "REM_ABORT_ERR",
            "the responder aborted the operation",
            &["the peer's QP was destroyed or reset"],
        ),
        (InvEecnErr, "INV_EECN_ERR", "invalid EE context number", &[]),
        (InvEecStateErr, "INV_EEC_STATE_ERR", "invalid EE context state", &[]),
        (
            FatalErr,
            "FATAL_ERR",
            "fatal error: the device or the transport is unusable",
            &["the device was reset or removed; see `dmesg`"],
        ),
        (RespTimeoutErr, "RESP_TIMEOUT_ERR", "response timeout", &["the peer stopped answering"]),
        (GeneralErr, "GENERAL_ERR", "general transport error", &["see vendor_err and `dmesg`"]),
        (TmErr, "TM_ERR", "tag matching error", &[]),
        (TmRndvIncomplete, "TM_RNDV_INCOMPLETE", "tag matching rendezvous incomplete", &[]),
    ]
};

/// What mlx5 devices put in `vendor_err` beside these statuses, as public reports have them; other devices have other codes.
const VENDOR_SYNDROMES: [(WcStatus, u32, &str); 5] = [
    (WcStatus::LocProtErr, 0x51, "mlx5 0x51: the device could not read the local buffer through its lkey"),
    (WcStatus::WrFlushErr, 0xf9, "mlx5 0xf9: a consequence of an earlier error on this QP, not a cause"),
    (WcStatus::RemAccessErr, 0x88, "mlx5 0x88: the responder's device refused the rkey or the address"),
    (WcStatus::RemOpErr, 0x89, "mlx5 0x89: the responder's device failed while it worked on the request"),
    (
        WcStatus::RetryExcErr,
        0x81,
        "mlx5 0x81: no acknowledgement came at all within retry_count times qp_timeout",
    ),
];

impl From<u32> for WcStatus {
    fn from(code: u32) -> Self {
        STATUSES.get(code as usize).map_or(WcStatus::Unknown(code), |row| row.0)
    }
}

impl WcStatus {
    /// The status of that name, spelled as in verbs.h without `IBV_WC_`.
    pub fn from_name(name: &str) -> Option<Self> {
        STATUSES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Its number in verbs.h.
    pub fn code(self) -> u32 {
        match self {
            WcStatus::Unknown(code) => code,
            known => STATUSES.iter().position(|row| row.0 == known).unwrap_or_default() as u32,
        }
    }

    fn row(self) -> Option<&'static (WcStatus, &'static str, &'static str, &'static [&'static str])> {
        STATUSES.get(self.code() as usize)
    }

    /// Its name in verbs.h without `IBV_WC_`.
    pub fn name(self) -> String {
        self.row().map_or_else(|| format!("status {}", self.code()), |row| row.1.to_owned())
    }

    /// What it means.
    pub fn meaning(self) -> &'static str {
        self.row().map_or("a completion status newer than this program", |row| row.2)
    }

    fn advice(self) -> &'static [&'static str] {
        self.row().map_or(&["look the number up in the installed infiniband/verbs.h"], |row| row.3)
    }

    /// Likely causes, the most likely first: what the vendor's code says of this completion, then what the status says.
    pub fn causes(self, vendor_err: u32) -> Vec<&'static str> {
        let vendor = VENDOR_SYNDROMES.iter().filter(|row| (row.0, row.1) == (self, vendor_err));
        vendor.map(|row| row.2).chain(self.advice().iter().copied()).collect()
    }
}

impl fmt::Display for WcStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (status {}): {}", self.name(), self.code(), self.meaning())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdma_sys::ibv_wc_status as c;

    #[test]
    fn numbers_are_those_of_verbs_h() {
        for (code, status) in [
            (c::IBV_WC_SUCCESS, WcStatus::Success),
            (c::IBV_WC_LOC_PROT_ERR, WcStatus::LocProtErr),
            (c::IBV_WC_WR_FLUSH_ERR, WcStatus::WrFlushErr),
            (c::IBV_WC_REM_ACCESS_ERR, WcStatus::RemAccessErr),
            (c::IBV_WC_RETRY_EXC_ERR, WcStatus::RetryExcErr),
            (c::IBV_WC_GENERAL_ERR, WcStatus::GeneralErr),
            (c::IBV_WC_TM_RNDV_INCOMPLETE, WcStatus::TmRndvIncomplete),
        ] {
            assert_eq!(WcStatus::from(code), status);
            assert_eq!(status.code(), code);
        }
    }

    #[test]
    fn every_fault_a_scenario_may_name_has_a_status() {
        for (at, name) in schema::soft::WC_STATUS_NAMES.iter().enumerate() {
            let status = WcStatus::from_name(name).expect(name);
            assert_eq!(status.code() as usize, at + 1);
            assert_eq!(status.name(), *name);
        }
    }

    #[test]
    fn status_12_says_why_and_an_unknown_one_keeps_its_number() {
        assert!(WcStatus::from(12).to_string().starts_with("RETRY_EXC_ERR (status 12): transport retries"));
        assert!(WcStatus::from(12).causes(0).len() > 3);
        assert_eq!(WcStatus::from(99).name(), "status 99");
    }

    #[test]
    fn a_vendors_code_comes_first_and_only_beside_its_status() {
        let causes = WcStatus::RetryExcErr.causes(0x81);
        assert!(causes[0].starts_with("mlx5 0x81: no acknowledgement"), "{causes:?}");
        assert_eq!(causes[1..], *WcStatus::RetryExcErr.advice());
        assert_eq!(WcStatus::LocProtErr.causes(0x81), WcStatus::LocProtErr.advice());
    }
}
