//! A queue pair and its way through the state machine.

use std::{fmt, sync::Arc};

use rdma_sys::{ibv_qp, ibv_qp_ex};
use schema::{Op, Transport};

use super::{
    CompletionQueue, Connection, ProtectionDomain, VerbsError,
    connection::{AttrMask, error_attr, init_attr},
    error::log_destroy,
    provider::QpInit,
};

/// What a QP is created with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QpCaps {
    /// Send work requests outstanding at once.
    pub max_send_wr: u32,
    /// Receives posted at once; 0 for a QP that receives nothing.
    pub max_recv_wr: u32,
    /// Inline limit in bytes.
    pub max_inline_bytes: u32,
}

impl QpCaps {
    /// The sizes of a QP that receives nothing.
    pub fn sending(max_send_wr: u32, max_inline_bytes: u32) -> QpCaps {
        QpCaps { max_send_wr, max_recv_wr: 0, max_inline_bytes }
    }
}

/// What a queue pair is for.
#[derive(Debug, Clone, Copy)]
pub struct QpKind {
    /// Its service.
    pub transport: Transport,
    /// The operation an extended QP is to post; none makes a classic QP.
    pub extended: Option<Op>,
}

impl QpKind {
    /// Reliable connection, classic verbs.
    pub const RC: QpKind = QpKind { transport: Transport::Rc, extended: None };
}

/// A queue pair.
pub struct QueuePair {
    ptr: *mut ibv_qp,
    kind: QpKind,
    granted: QpCaps,
    // Drop order: `Drop` destroys the QP, then the CQs may go, then the PD.
    _send_cq: Arc<CompletionQueue>,
    _recv_cq: Arc<CompletionQueue>,
    pd: Arc<ProtectionDomain>,
}

// SAFETY: verbs guarantee that a QP may be used from any thread; for the software NIC see `CompletionQueue::as_ptr`.
unsafe impl Send for QueuePair {}

impl QueuePair {
    /// `ibv_create_qp` or `ibv_create_qp_ex`, one SGE a work request, signaled as each work request says.
    pub fn create(
        pd: &Arc<ProtectionDomain>,
        send_cq: &Arc<CompletionQueue>,
        recv_cq: &Arc<CompletionQueue>,
        kind: QpKind,
        caps: QpCaps,
    ) -> Result<QueuePair, VerbsError> {
        let init = QpInit {
            transport: kind.transport,
            send_cq: send_cq.as_ptr(),
            recv_cq: recv_cq.as_ptr(),
            caps,
            extended: kind.extended,
        };
        // SAFETY: PD and CQs are live, and the QP holds an Arc of each.
        let (ptr, granted) = unsafe { pd.context().provider().create_qp(pd.as_ptr(), &init) }
            .map_err(|source| VerbsError::create_qp(&pd.context().device_name(), kind, caps, source))?;
        Ok(QueuePair {
            ptr,
            kind,
            granted,
            _send_cq: Arc::clone(send_cq),
            _recv_cq: Arc::clone(recv_cq),
            pd: Arc::clone(pd),
        })
    }

    /// The raw extended QP, for `ibv_wr_*`; null for a classic one.
    pub fn as_ex_ptr(&self) -> *mut ibv_qp_ex {
        match self.kind.extended {
            None => std::ptr::null_mut(),
            // SAFETY: the QP is live as long as self, and was created extended.
            Some(_) => unsafe { self.pd.context().provider().qp_ex(self.ptr) },
        }
    }

    /// What the device granted; may exceed what was asked.
    pub fn granted(&self) -> QpCaps {
        self.granted
    }

    /// QP number.
    pub fn qp_num(&self) -> u32 {
        // SAFETY: the QP is live as long as self.
        unsafe { (*self.ptr).qp_num }
    }

    /// Name of its device.
    pub(crate) fn device_name(&self) -> String {
        self.pd.context().device_name()
    }

    /// The raw QP, for `ibv_post_send`; see [`CompletionQueue::as_ptr`] on threads.
    pub fn as_ptr(&self) -> *mut ibv_qp {
        self.ptr
    }

    /// RESET to INIT: from here on receives may be posted. `op` is what the peer's messages will be.
    pub fn to_init(&mut self, port_num: u8, pkey_index: u16, op: Op) -> Result<(), VerbsError> {
        let transport = self.kind.transport;
        self.modify(
            "INIT",
            init_attr(transport, port_num, pkey_index, op),
            &format_args!("{transport}, port {port_num}, pkey_index {pkey_index}"),
            None,
            "check the port and, if pkey_index is not 0, /sys/class/infiniband/*/ports/*/pkeys",
        )
    }

    /// INIT to RTR: from here on the peer's writes land.
    pub fn to_rtr(&mut self, connection: &Connection) -> Result<(), VerbsError> {
        // SAFETY: the QP is live; &mut self keeps other users of this object away.
        unsafe { self.pd.context().provider().attach_peer(self.ptr, connection.remote.soft.as_ref()) }?;
        let advice = "check that both GIDs are of the same type and network, that the peer answers ping from the GID's \
                      address, and that path_mtu is within both ports' active MTU";
        self.modify("RTR", connection.rtr_attr()?, connection, Some(connection.port_num), advice)
    }

    /// RTR to RTS: from here on it may post.
    pub fn to_rts(&mut self, connection: &Connection) -> Result<(), VerbsError> {
        self.modify(
            "RTS",
            connection.rts_attr(),
            connection,
            Some(connection.port_num),
            "check qp_timeout (0 to 31) and retry_count (0 to 7)",
        )
    }

    /// Any state to ERR: what is outstanding completes with WR_FLUSH_ERR.
    pub fn to_error(&mut self) -> Result<(), VerbsError> {
        self.modify("ERR", error_attr(), &"no attributes", None, "the device may be gone, see `dmesg`")
    }

    /// `ibv_modify_qp`; what fails shows `attributes`, and the GID table of a port where the state needs one.
    pub(crate) fn modify(
        &mut self,
        state: &'static str,
        (mut attr, mask): AttrMask,
        attributes: &dyn fmt::Display,
        gids_of_port: Option<u8>,
        advice: &'static str,
    ) -> Result<(), VerbsError> {
        // SAFETY: the QP is live; attributes and mask were made together.
        unsafe { self.pd.context().provider().modify_qp(self.ptr, &mut attr, mask.0 as i32) }.map_err(
            |source| VerbsError::ModifyQp {
                qp_num: self.qp_num(),
                state,
                attributes: attributes.to_string(),
                advice,
                gid_table: gids_of_port.map(|port_num| self.gid_table_text(port_num)).unwrap_or_default(),
                source,
            },
        )
    }

    /// The port's GID table, one entry a line, or why it is not known.
    fn gid_table_text(&self, port_num: u8) -> String {
        let lines = match self.pd.context().gid_table(port_num) {
            Ok(table) if table.is_empty() => "empty".to_owned(),
            Ok(table) => table.iter().map(|entry| format!("\n{entry}")).collect(),
            Err(error) => error.to_string(),
        };
        format!("; GID table of port {port_num}: {lines}")
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: the QP is live and self is its only handle.
        log_destroy("ibv_destroy_qp", unsafe { self.pd.context().provider().destroy_qp(self.ptr) });
    }
}
