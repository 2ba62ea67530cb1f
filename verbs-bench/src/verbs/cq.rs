//! A completion queue.

use std::sync::Arc;

use rdma_sys::ibv_cq;

use super::{CompletionChannel, Context, VerbsError, error::log_destroy, provider::CqInit};

/// What a completion queue is for.
#[derive(Clone, Default)]
pub struct CqKind {
    /// Where its events go, and their completion vector; none for a queue that is only polled.
    pub events: Option<(Arc<CompletionChannel>, u32)>,
    /// Whether it is polled with `ibv_start_poll`.
    pub extended: bool,
    /// Whether its completions carry the device's time.
    pub timestamps: bool,
}

/// A completion queue.
pub struct CompletionQueue {
    // Drop order: `Drop` destroys the CQ, then its channel may go, then the context.
    ptr: *mut ibv_cq,
    kind: CqKind,
    context: Arc<Context>,
}

// SAFETY: verbs guarantee that a CQ may be used from any thread; for the software NIC see `as_ptr`.
unsafe impl Send for CompletionQueue {}
// SAFETY: as above.
unsafe impl Sync for CompletionQueue {}

impl CompletionQueue {
    /// `ibv_create_cq` or `ibv_create_cq_ex`, with room for at least `entries` completions.
    pub fn create(
        context: &Arc<Context>,
        entries: u32,
        kind: CqKind,
    ) -> Result<Arc<CompletionQueue>, VerbsError> {
        let (channel, comp_vector) = match &kind.events {
            Some((channel, vector)) => (channel.as_ptr(), *vector),
            None => (std::ptr::null_mut(), 0),
        };
        let init =
            CqInit { entries, channel, comp_vector, extended: kind.extended, timestamps: kind.timestamps };
        // SAFETY: the context is open as long as the Arc lives, and the channel is kept in `kind`.
        let ptr = unsafe { context.provider().create_cq(context.as_ptr(), &init) }
            .map_err(|source| VerbsError::create_cq(&init, source))?;
        Ok(Arc::new(CompletionQueue { ptr, kind, context: Arc::clone(context) }))
    }

    /// The channel of its events.
    pub fn channel(&self) -> Option<&Arc<CompletionChannel>> {
        self.kind.events.as_ref().map(|(channel, _)| channel)
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
