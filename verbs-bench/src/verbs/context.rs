//! An opened device: its attributes, its ports, its GID tables.

use std::sync::Arc;

use rdma_sys::ibv_context;
use schema::Op;
use serde::Serialize;

use super::{
    CompletionQueue, CqKind, GidEntry, PortAttr, PortState, ProtectionDomain, Provider, QpCaps, QpKind,
    QueuePair, VerbsError,
    error::{is_unsupported, log_destroy},
};

/// What `ibv_query_device` says, as far as a run needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceAttr {
    /// Firmware version; absent where the device reports none.
    pub fw_ver: Option<String>,
    /// Vendor id; absent where the device reports none.
    pub vendor_id: Option<u32>,
    /// Vendor part id; absent where the device reports none.
    pub vendor_part_id: Option<u32>,
    /// Most QPs.
    pub max_qp: u32,
    /// Most work requests a queue.
    pub max_qp_wr: u32,
    /// Most entries a CQ.
    pub max_cqe: u32,
    /// Largest memory region in bytes.
    pub max_mr_size: u64,
    /// Ports.
    pub phys_port_cnt: u8,
    /// Reads and atomics of a peer a QP can answer at once (`max_qp_rd_atom`).
    pub max_qp_rd_atom: u8,
    /// Reads and atomics a QP can have outstanding (`max_qp_init_rd_atom`).
    pub max_qp_init_rd_atom: u8,
    /// Whether it does atomics (`atomic_cap`).
    pub atomics: bool,
    /// Completion vectors.
    pub num_comp_vectors: u32,
    /// Whether QPs can be posted to with `ibv_wr_*` and CQs polled with `ibv_start_poll`; libibverbs does not say, so it is
    /// false unless [`Context::query_device_extended`] tried.
    pub extended: bool,
    /// Rate of its clock, where completions can carry its time; absent where they can't.
    pub timestamp_ticks_per_sec: Option<u64>,
}

/// An open device. Closed when the last object that stands on it is gone.
pub struct Context {
    ptr: *mut ibv_context,
    provider: Arc<dyn Provider>,
}

// SAFETY: verbs guarantee that a context may be used from any thread, several at once.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// Opens the provider's device.
    pub fn open(provider: Arc<dyn Provider>) -> Result<Arc<Context>, VerbsError> {
        let ptr = provider.open_device()?;
        Ok(Arc::new(Context { ptr, provider }))
    }

    /// The provider beneath.
    pub fn provider(&self) -> &Arc<dyn Provider> {
        &self.provider
    }

    /// Name of the device.
    pub fn device_name(&self) -> String {
        self.provider.device_name()
    }

    /// The raw context.
    pub fn as_ptr(&self) -> *mut ibv_context {
        self.ptr
    }

    /// The device's attributes.
    pub fn query_device(&self) -> Result<DeviceAttr, VerbsError> {
        // SAFETY: the context is open as long as self lives.
        unsafe { self.provider.query_device(self.ptr) }
            .map_err(|source| VerbsError::QueryDevice { device: self.device_name(), source })
    }

    /// The device's attributes, with the extended API tried out: one CQ and one QP are made in it and destroyed.
    pub fn query_device_extended(self: &Arc<Self>) -> Result<DeviceAttr, VerbsError> {
        let attr = self.query_device()?;
        Ok(DeviceAttr { extended: attr.extended || self.has_extended_api()?, ..attr })
    }

    fn has_extended_api(self: &Arc<Self>) -> Result<bool, VerbsError> {
        let tried = || {
            let pd = ProtectionDomain::alloc(self)?;
            let cq = CompletionQueue::create(self, 1, CqKind { extended: true, ..CqKind::default() })?;
            let kind = QpKind { extended: Some(Op::Write), ..QpKind::RC };
            let qp = QueuePair::create(&pd, &cq, &cq, kind, QpCaps::sending(1, 0))?;
            Ok(!qp.as_ex_ptr().is_null())
        };
        match tried() {
            Err(VerbsError::CreateCq { source, .. } | VerbsError::CreateQp { source, .. })
                if is_unsupported(&source) =>
            {
                Ok(false)
            }
            tried => tried,
        }
    }

    /// The device's clock now, in its own ticks.
    pub fn device_ticks(&self) -> Result<u64, VerbsError> {
        // SAFETY: the context is open as long as self lives.
        unsafe { self.provider.device_ticks(self.ptr) }
            .map_err(|source| VerbsError::QueryDevice { device: self.device_name(), source })
    }

    /// A port's attributes; ports count from 1.
    pub fn query_port(&self, port_num: u8) -> Result<PortAttr, VerbsError> {
        // SAFETY: the context is open as long as self lives.
        unsafe { self.provider.query_port(self.ptr, port_num) }.map_err(|source| VerbsError::QueryPort {
            device: self.device_name(),
            port_num,
            phys_port_cnt: self.query_device().map_or(1, |device| device.phys_port_cnt),
            source,
        })
    }

    /// A port's attributes, or an error if it can't carry messages.
    pub fn active_port(&self, port_num: u8) -> Result<PortAttr, VerbsError> {
        require_active(self.query_port(port_num)?, &self.device_name(), port_num)
    }

    /// The valid entries of a port's GID table.
    pub fn gid_table(&self, port_num: u8) -> Result<Vec<GidEntry>, VerbsError> {
        // SAFETY: the context is open as long as self lives.
        unsafe { self.provider.query_gid_table(self.ptr, port_num) }
            .map_err(|source| VerbsError::QueryGidTable { device: self.device_name(), source })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: every object above holds an Arc of self, so nothing stands on the context any more.
        log_destroy("ibv_close_device", unsafe { self.provider.close_device(self.ptr) });
    }
}

fn require_active(port: PortAttr, device: &str, port_num: u8) -> Result<PortAttr, VerbsError> {
    match port.state {
        PortState::Active | PortState::ActiveDefer => Ok(port),
        state => {
            Err(VerbsError::PortNotActive { device: device.to_owned(), port_num, state: state.to_string() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::softnic::SoftNic;

    #[test]
    fn only_an_active_port_will_do() {
        let port = Context::open(SoftNic::new(None, None)).unwrap().active_port(1).unwrap();
        let down = PortAttr { state: PortState::Down, ..port };
        let text = require_active(down, "rxe0", 1).unwrap_err().to_string();
        assert!(text.contains("port 1 of rxe0 is DOWN, not ACTIVE"), "{text}");
    }
}
