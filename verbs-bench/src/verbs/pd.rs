//! A protection domain: what MRs and QPs must share to be used together.

use std::sync::Arc;

use rdma_sys::ibv_pd;

use super::{Context, VerbsError, error::log_destroy};

/// A protection domain of an open device.
pub struct ProtectionDomain {
    ptr: *mut ibv_pd,
    context: Arc<Context>,
}

// SAFETY: verbs guarantee that a PD may be used from any thread, several at once.
unsafe impl Send for ProtectionDomain {}
// SAFETY: as above.
unsafe impl Sync for ProtectionDomain {}

impl ProtectionDomain {
    /// `ibv_alloc_pd`.
    pub fn alloc(context: &Arc<Context>) -> Result<Arc<ProtectionDomain>, VerbsError> {
        // SAFETY: the context is open as long as the Arc lives.
        let ptr = unsafe { context.provider().alloc_pd(context.as_ptr()) }
            .map_err(|source| VerbsError::AllocPd { device: context.device_name(), source })?;
        Ok(Arc::new(ProtectionDomain { ptr, context: Arc::clone(context) }))
    }

    /// The device it belongs to.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The raw PD.
    pub fn as_ptr(&self) -> *mut ibv_pd {
        self.ptr
    }
}

impl Drop for ProtectionDomain {
    fn drop(&mut self) {
        // SAFETY: MRs and QPs hold an Arc of self, so nothing stands on the PD any more.
        log_destroy("ibv_dealloc_pd", unsafe { self.context.provider().dealloc_pd(self.ptr) });
    }
}
