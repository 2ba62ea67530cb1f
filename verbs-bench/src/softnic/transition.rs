//! The state machine of a QP: which state follows which, and the attributes each step demands and allows.

use std::io;

use rdma_sys::{ibv_qp_attr_mask as bits, ibv_qp_state::*};
use schema::Transport;

/// Refuses a step that the state machine does not have, and one with too few or too many attributes, as the kernel does
/// (`qp_state_table` of ib_core).
pub(super) fn check(transport: Transport, from: u32, to: u32, mask: bits) -> io::Result<()> {
    let (required, optional) = match (from, to) {
        (_, IBV_QPS_ERR) => (0, 0),
        (IBV_QPS_RESET, IBV_QPS_INIT) => (init(transport), 0),
        (IBV_QPS_INIT, IBV_QPS_INIT) => (0, init(transport)),
        (IBV_QPS_INIT, IBV_QPS_RTR) => to_rtr(transport),
        (IBV_QPS_RTR, IBV_QPS_RTS) => to_rts(transport),
        (IBV_QPS_RTS, IBV_QPS_RTS) => (0, to_rts(transport).1),
        _ => return Err(io::Error::from_raw_os_error(libc::EINVAL)),
    };
    let required = required | bits::IBV_QP_STATE.0;
    let allowed = required | optional | bits::IBV_QP_CUR_STATE.0;
    let fits = mask.0 & required == required && mask.0 & !allowed == 0;
    if fits { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EINVAL)) }
}

fn init(transport: Transport) -> u32 {
    let rights = match transport {
        Transport::Rc | Transport::Uc => bits::IBV_QP_ACCESS_FLAGS,
        Transport::Ud => bits::IBV_QP_QKEY,
    };
    (bits::IBV_QP_PKEY_INDEX | bits::IBV_QP_PORT | rights).0
}

fn to_rtr(transport: Transport) -> (u32, u32) {
    let path = bits::IBV_QP_AV | bits::IBV_QP_PATH_MTU | bits::IBV_QP_DEST_QPN | bits::IBV_QP_RQ_PSN;
    let connected = bits::IBV_QP_ALT_PATH | bits::IBV_QP_ACCESS_FLAGS | bits::IBV_QP_PKEY_INDEX;
    match transport {
        Transport::Rc => {
            ((path | bits::IBV_QP_MAX_DEST_RD_ATOMIC | bits::IBV_QP_MIN_RNR_TIMER).0, connected.0)
        }
        Transport::Uc => (path.0, connected.0),
        Transport::Ud => (0, (bits::IBV_QP_PKEY_INDEX | bits::IBV_QP_QKEY).0),
    }
}

fn to_rts(transport: Transport) -> (u32, u32) {
    let sequence = bits::IBV_QP_SQ_PSN;
    let patience = bits::IBV_QP_TIMEOUT | bits::IBV_QP_RETRY_CNT | bits::IBV_QP_RNR_RETRY;
    let connected = bits::IBV_QP_ALT_PATH | bits::IBV_QP_ACCESS_FLAGS | bits::IBV_QP_PATH_MIG_STATE;
    match transport {
        Transport::Rc => (
            (sequence | patience | bits::IBV_QP_MAX_QP_RD_ATOMIC).0,
            (connected | bits::IBV_QP_MIN_RNR_TIMER).0,
        ),
        Transport::Uc => (sequence.0, connected.0),
        Transport::Ud => (sequence.0, bits::IBV_QP_QKEY.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Transport; 3] = [Transport::Rc, Transport::Uc, Transport::Ud];

    #[test]
    fn no_state_is_left_out() {
        let all_bits = bits((1 << 21) - 1);
        for transport in ALL {
            for (from, to) in [
                (IBV_QPS_RESET, IBV_QPS_RTR),
                (IBV_QPS_RESET, IBV_QPS_RTS),
                (IBV_QPS_INIT, IBV_QPS_RTS),
                (IBV_QPS_RTS, IBV_QPS_RTR),
                (IBV_QPS_ERR, IBV_QPS_INIT),
            ] {
                assert!(check(transport, from, to, all_bits).is_err(), "{transport} {from} {to}");
            }
        }
    }

    #[test]
    fn each_attribute_that_is_demanded_is_missed_and_a_foreign_one_is_refused() {
        for transport in ALL {
            for (from, to, required) in [
                (IBV_QPS_RESET, IBV_QPS_INIT, init(transport)),
                (IBV_QPS_INIT, IBV_QPS_RTR, to_rtr(transport).0),
                (IBV_QPS_RTR, IBV_QPS_RTS, to_rts(transport).0),
            ] {
                let full = required | bits::IBV_QP_STATE.0;
                assert!(check(transport, from, to, bits(full)).is_ok(), "{transport} {from} {to}");
                for bit in (0..21).map(|bit| 1 << bit).filter(|bit| full & bit != 0) {
                    assert!(
                        check(transport, from, to, bits(full & !bit)).is_err(),
                        "{transport} {to} {bit:#x}"
                    );
                }
                assert!(check(transport, from, to, bits(full) | bits::IBV_QP_CAP).is_err());
            }
        }
    }
}
