//! An address handle: where a datagram goes.

use std::sync::Arc;

use rdma_sys::ibv_ah;

use super::{Connection, ProtectionDomain, VerbsError, error::log_destroy};

/// An address handle.
pub struct AddressHandle {
    ptr: *mut ibv_ah,
    pd: Arc<ProtectionDomain>,
}

// SAFETY: verbs guarantee that an AH may be used from any thread.
unsafe impl Send for AddressHandle {}
// SAFETY: shared access reads the pointer only.
unsafe impl Sync for AddressHandle {}

impl AddressHandle {
    /// `ibv_create_ah` towards the far end of `connection`.
    pub fn create(pd: &Arc<ProtectionDomain>, connection: &Connection) -> Result<AddressHandle, VerbsError> {
        let mut attr = connection.ah_attr();
        // SAFETY: the PD is live and the attributes are filled.
        let ptr = unsafe { pd.context().provider().create_ah(pd.as_ptr(), &mut attr) }
            .map_err(|source| VerbsError::CreateAh { attributes: connection.to_string(), source })?;
        Ok(AddressHandle { ptr, pd: Arc::clone(pd) })
    }

    /// The raw handle, for work requests.
    pub fn as_ptr(&self) -> *mut ibv_ah {
        self.ptr
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        // SAFETY: the AH is live; who posts a work request vouches that the AH outlives it.
        log_destroy("ibv_destroy_ah", unsafe { self.pd.context().provider().destroy_ah(self.ptr) });
    }
}
