//! An id of rdma_cm: one connection, or a listener; and the connections of a session, kept until its traffic is over.

use std::{
    ffi::{CStr, c_int},
    fmt, io,
    net::{Ipv6Addr, SocketAddr},
    ptr,
};

use rdma_sys::*;

use super::{CmError, Terms, event::EventChannel};
use crate::verbs::QueuePair;

/// One id; disconnected if it was connected, and destroyed, when dropped.
pub(super) struct Id {
    ptr: *mut rdma_cm_id,
    connected: bool,
}

/// The live connections of a session. Keep it as long as the QPs carry traffic: dropped, it disconnects them, and the
/// other side's QPs need it no less.
pub struct Connections {
    // Drop order: ids before the channel their events come on.
    ids: Vec<Id>,
    _listener: Option<Id>,
    _channel: EventChannel,
}

impl Connections {
    pub(super) fn new(ids: Vec<Id>, listener: Option<Id>, channel: EventChannel) -> Connections {
        Connections { ids, _listener: listener, _channel: channel }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.ids.len()
    }
}

// SAFETY: librdmacm lets ids and channels be used from any thread; ours are used by one at a time.
unsafe impl Send for Connections {}

impl Id {
    /// `rdma_create_id` in the connected port space.
    pub(super) fn create(channel: &EventChannel) -> Result<Id, CmError> {
        let mut id = ptr::null_mut();
        // SAFETY: a live channel and an out pointer.
        let rc = unsafe {
            rdma_create_id(channel.as_ptr(), &mut id, ptr::null_mut(), rdma_port_space::RDMA_PS_TCP)
        };
        checked(rc, "rdma_create_id", "", "raise `ulimit -n`, or use fewer QPs")?;
        Ok(Id::adopt(id))
    }

    /// Takes over an id that came with a request.
    pub(super) fn adopt(ptr: *mut rdma_cm_id) -> Id {
        Id { ptr, connected: false }
    }

    /// The raw id.
    pub(super) fn as_ptr(&self) -> *mut rdma_cm_id {
        self.ptr
    }

    /// From now on dropping it disconnects first.
    pub(super) fn mark_connected(&mut self) {
        self.connected = true;
    }

    /// Refuses a device or port that is not the QPs'.
    pub(super) fn check_device(&self, qp: &QueuePair, port_num: u8, address: &str) -> Result<(), CmError> {
        // SAFETY: the id is live; `verbs` is null until an address is bound, and then an open context.
        let (context, port) = unsafe { ((*self.ptr).verbs, (*self.ptr).port_num) };
        let theirs = match context.is_null() {
            true => "no device".to_owned(),
            false => {
                // SAFETY: an open context of librdmacm; its device has a terminated name.
                let name = unsafe { CStr::from_ptr(ibv_get_device_name((*context).device)) };
                format!("port {port} of {}", name.to_string_lossy())
            }
        };
        let ours = format!("port {port_num} of {}", qp.device_name());
        match theirs == ours {
            true => Ok(()),
            false => Err(CmError::Device { address: address.to_owned(), theirs, ours }),
        }
    }

    /// Moves `qp` to RTR and RTS with what rdma_cm knows of the far end and what `terms` say.
    pub(super) fn bring_up(&self, qp: &mut QueuePair, terms: &Terms) -> Result<(), CmError> {
        for (state, name) in [(ibv_qp_state::IBV_QPS_RTR, "RTR"), (ibv_qp_state::IBV_QPS_RTS, "RTS")] {
            // SAFETY: ibv_qp_attr is plain integers and arrays of them; all zero is a valid value.
            let mut attr: ibv_qp_attr = unsafe { std::mem::zeroed() };
            let mut mask: c_int = 0;
            attr.qp_state = state;
            // SAFETY: a live id and two out pointers, the state wanted set in the first.
            let rc = unsafe { rdma_init_qp_attr(self.ptr, &mut attr, &mut mask) };
            checked(rc, "rdma_init_qp_attr", name, "see `dmesg`")?;
            terms.lay_over(&mut attr, mask as u32)?;
            let shown = Shown(&attr).to_string();
            qp.modify(
                name,
                (attr, ibv_qp_attr_mask(mask as u32)),
                &shown,
                Some(terms.port_num),
                "rdma_cm chose the GID and the far end: see that the address belongs to the port of the QPs",
            )?;
        }
        Ok(())
    }

    /// `conn_param` for our QP.
    pub(super) fn param(qp: &QueuePair, terms: &Terms, private_data: &[u8]) -> rdma_conn_param {
        rdma_conn_param {
            private_data: private_data.as_ptr().cast(),
            private_data_len: private_data.len() as u8,
            responder_resources: terms.outstanding_reads,
            initiator_depth: terms.outstanding_reads,
            flow_control: 1,
            retry_count: terms.retry_count,
            rnr_retry_count: crate::verbs::RNR_RETRY,
            srq: 0,
            qp_num: qp.qp_num(),
        }
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        if self.connected {
            // SAFETY: a live id. It fails where the peer was faster, which is no matter.
            unsafe { rdma_disconnect(self.ptr) };
        }
        // SAFETY: a live id, and every event of it was acknowledged.
        if unsafe { rdma_destroy_id(self.ptr) } != 0 {
            eprintln!("verbs-bench: rdma_destroy_id: {}", io::Error::last_os_error());
        }
    }
}

/// The convention of librdmacm: 0, or -1 with errno set.
pub(super) fn checked(
    rc: c_int,
    call: &'static str,
    with: impl fmt::Display,
    advice: &'static str,
) -> Result<(), CmError> {
    match rc {
        0 => Ok(()),
        _ => Err(CmError::Call { call, with: with.to_string(), advice, source: io::Error::last_os_error() }),
    }
}

/// What RTR and RTS were given, for their error.
struct Shown<'a>(&'a ibv_qp_attr);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attr = self.0;
        // SAFETY: every bit pattern is 16 valid bytes.
        let gid = Ipv6Addr::from(unsafe { attr.ah_attr.grh.dgid.raw });
        write!(
            f,
            "rdma_cm, our gid_index {}, remote GID {gid}, remote LID {:#x}, service_level {}, traffic_class {}, \
             remote QP {:#x}, remote psn {:#x}, local psn {:#x}, path_mtu code {}, timeout {}, retry_count {}",
            attr.ah_attr.grh.sgid_index,
            attr.ah_attr.dlid,
            attr.ah_attr.sl,
            attr.ah_attr.grh.traffic_class,
            attr.dest_qp_num,
            attr.rq_psn,
            attr.sq_psn,
            attr.path_mtu,
            attr.timeout,
            attr.retry_cnt
        )
    }
}

/// A socket address in C's form.
pub(super) fn raw_address(address: SocketAddr) -> libc::sockaddr_storage {
    // SAFETY: plain integers; all zero is a valid value.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let place = &raw mut storage;
    match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                sin_zero: [0; 8],
            };
            // SAFETY: sockaddr_storage is as large and as aligned as every address.
            unsafe { place.cast::<libc::sockaddr_in>().write(raw) };
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { place.cast::<libc::sockaddr_in6>().write(raw) };
        }
    }
    storage
}
