//! A completion queue.

use std::sync::Arc;

use rdma_sys::ibv_cq;

use super::{Context, VerbsError, error::log_destroy};

/// A completion queue that is polled, without an event channel.
pub struct CompletionQueue {
    ptr: *mut ibv_cq,
    context: Arc<Context>,
}

// SAFETY: verbs guarantee that a CQ may be used from any thread; for the software NIC see `as_ptr`.
unsafe impl Send for CompletionQueue {}
// SAFETY: as above.
unsafe impl Sync for CompletionQueue {}

impl CompletionQueue {
    /// `ibv_create_cq` with room for at least `entries` completions.
    pub fn create(context: &Arc<Context>, entries: u32) -> Result<Arc<CompletionQueue>, VerbsError> {
        // SAFETY: the context is open as long as the Arc lives.
        let ptr = unsafe { context.provider().create_cq(context.as_ptr(), entries) }
            .map_err(|source| VerbsError::CreateCq { entries, source })?;
        Ok(Arc::new(CompletionQueue { ptr, context: Arc::clone(context) }))
    }

    /// The raw CQ, for `ibv_poll_cq`.
    ///
    /// The software NIC takes no lock on its data path: a CQ and the QPs that complete to it may move between threads,
    /// but only one thread at a time may poll, post, modify or destroy any of them.
    pub fn as_ptr(&self) -> *mut ibv_cq {
        self.ptr
    }

    /// Completions it holds; at least what was asked for.
    pub fn entries(&self) -> u32 {
        // SAFETY: the CQ is live as long as self.
        unsafe { (*self.ptr).cqe as u32 }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        // SAFETY: QPs hold an Arc of self, so none completes to it any more.
        log_destroy("ibv_destroy_cq", unsafe { self.context.provider().destroy_cq(self.ptr) });
    }
}
