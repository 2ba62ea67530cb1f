//! A completion channel: where a thread sleeps until a completion queue has something.

use std::{io, sync::Arc, time::Duration};

use rdma_sys::{ibv_comp_channel, ibv_cq};

use super::{Context, VerbsError, error::log_destroy};

/// A completion channel.
pub struct CompletionChannel {
    ptr: *mut ibv_comp_channel,
    context: Arc<Context>,
}

// SAFETY: verbs guarantee that a channel may be used from any thread.
unsafe impl Send for CompletionChannel {}
// SAFETY: as above.
unsafe impl Sync for CompletionChannel {}

impl CompletionChannel {
    /// `ibv_create_comp_channel`.
    pub fn create(context: &Arc<Context>) -> Result<Arc<CompletionChannel>, VerbsError> {
        // SAFETY: the context is open as long as the Arc lives.
        let ptr = unsafe { context.provider().create_channel(context.as_ptr()) }
            .map_err(|source| VerbsError::CreateChannel { device: context.device_name(), source })?;
        Ok(Arc::new(CompletionChannel { ptr, context: Arc::clone(context) }))
    }

    /// The device it belongs to.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The raw channel, for `ibv_create_cq`.
    pub fn as_ptr(&self) -> *mut ibv_comp_channel {
        self.ptr
    }

    /// Sleeps until `cq`, whose notification was requested, has an event, or `timeout` has passed; false for the latter.
    ///
    /// # Safety
    /// `cq` is live, was created with this channel, and no other thread waits on it.
    pub unsafe fn wait(&self, cq: *mut ibv_cq, timeout: Duration) -> io::Result<bool> {
        // SAFETY: as the caller's; the channel is live as long as self.
        unsafe { self.context.provider().wait_event(self.ptr, cq, timeout) }
    }
}

impl Drop for CompletionChannel {
    fn drop(&mut self) {
        // SAFETY: CQs hold an Arc of self, so none sends its events here any more.
        log_destroy("ibv_destroy_comp_channel", unsafe { self.context.provider().destroy_channel(self.ptr) });
    }
}
