//! A protection domain: what MRs and QPs must share to be used together.

use std::sync::Arc;

use rdma_sys::{ibv_pd, ibv_td};

use super::{Context, VerbsError, error::log_destroy};

/// A protection domain of an open device.
pub struct ProtectionDomain {
    ptr: *mut ibv_pd,
    /// Of a thread's own domain: its `ibv_td`, and the PD it is a view of.
    thread: Option<(*mut ibv_td, Arc<ProtectionDomain>)>,
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
        Ok(Arc::new(ProtectionDomain { ptr, thread: None, context: Arc::clone(context) }))
    }

    /// `ibv_alloc_td` and `ibv_alloc_parent_domain`: a view of `parent` for the QPs of one thread, with a doorbell of
    /// their own; none where the device has no such thing. Memory is registered with the parent.
    pub fn for_thread(parent: &Arc<ProtectionDomain>) -> Result<Option<Arc<ProtectionDomain>>, VerbsError> {
        let context = &parent.context;
        // SAFETY: the parent is live, and the domain holds an Arc of it.
        let made = unsafe { context.provider().alloc_thread_domain(parent.ptr) }
            .map_err(|source| VerbsError::ThreadDomain { device: context.device_name(), source })?;
        Ok(made.map(|(ptr, td)| {
            let thread = Some((td, Arc::clone(parent)));
            Arc::new(ProtectionDomain { ptr, thread, context: Arc::clone(context) })
        }))
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
        let provider = self.context.provider();
        let freed = match &self.thread {
            // SAFETY: MRs and QPs hold an Arc of self, so nothing stands on the PD any more.
            None => unsafe { provider.dealloc_pd(self.ptr) },
            // SAFETY: as above; the parent, which self holds, is dropped after.
            Some((td, _)) => unsafe { provider.dealloc_thread_domain(self.ptr, *td) },
        };
        log_destroy("ibv_dealloc_pd", freed);
    }
}
