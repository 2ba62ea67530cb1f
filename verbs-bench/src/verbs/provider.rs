//! The seam under the RAII objects: the control-path verbs, offered by libibverbs and by the software NIC.
//!
//! Raw pointers in, raw pointers out; a failure is the errno alone, since the object above knows the call's name and what
//! to advise. The data path does not come through here: it goes through the context's own `ops`, as in C.

use std::{ffi::c_int, io};

use rdma_sys::{ibv_context, ibv_cq, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr};
use schema::Fabric;

use super::{Access, DeviceAttr, GidEntry, PortAttr, QpCaps, VerbsError};
use crate::{placement::buffer::Buffer, softnic::SoftPeer};

/// A device's control path. Pointers are those an earlier call on the same provider returned, not yet destroyed.
pub trait Provider: Send + Sync + 'static {
    /// What carries the messages.
    fn fabric(&self) -> Fabric;

    /// Name of the device.
    fn device_name(&self) -> String;

    /// `ibv_open_device`.
    fn open_device(&self) -> Result<*mut ibv_context, VerbsError>;

    /// `ibv_close_device`.
    ///
    /// # Safety
    /// `context` is open and nothing stands on it any more.
    unsafe fn close_device(&self, context: *mut ibv_context) -> io::Result<()>;

    /// `ibv_query_device`.
    ///
    /// # Safety
    /// `context` is open.
    unsafe fn query_device(&self, context: *mut ibv_context) -> io::Result<DeviceAttr>;

    /// `ibv_query_port`.
    ///
    /// # Safety
    /// `context` is open.
    unsafe fn query_port(&self, context: *mut ibv_context, port_num: u8) -> io::Result<PortAttr>;

    /// `ibv_query_gid_table`, the entries of one port.
    ///
    /// # Safety
    /// `context` is open.
    unsafe fn query_gid_table(&self, context: *mut ibv_context, port_num: u8) -> io::Result<Vec<GidEntry>>;

    /// `ibv_alloc_pd`.
    ///
    /// # Safety
    /// `context` is open.
    unsafe fn alloc_pd(&self, context: *mut ibv_context) -> io::Result<*mut ibv_pd>;

    /// `ibv_dealloc_pd`.
    ///
    /// # Safety
    /// `pd` is live and nothing stands on it any more.
    unsafe fn dealloc_pd(&self, pd: *mut ibv_pd) -> io::Result<()>;

    /// `ibv_reg_mr_iova2` of the whole buffer, at its own address.
    ///
    /// # Safety
    /// `pd` is live; the buffer stays mapped until `dereg_mr`.
    unsafe fn reg_mr(&self, pd: *mut ibv_pd, buffer: &Buffer, access: Access) -> io::Result<*mut ibv_mr>;

    /// `ibv_dereg_mr`.
    ///
    /// # Safety
    /// `mr` is live and no posted work request uses it.
    unsafe fn dereg_mr(&self, mr: *mut ibv_mr) -> io::Result<()>;

    /// How a peer's software NIC finds the registered memory; `None` on hardware, and for memory that can't be shared.
    ///
    /// # Safety
    /// `mr` is live and `buffer` is what it registered.
    unsafe fn soft_peer(&self, _mr: *mut ibv_mr, _buffer: &Buffer) -> Option<SoftPeer> {
        None
    }

    /// `ibv_create_cq`.
    ///
    /// # Safety
    /// `context` is open.
    unsafe fn create_cq(&self, context: *mut ibv_context, entries: u32) -> io::Result<*mut ibv_cq>;

    /// `ibv_destroy_cq`.
    ///
    /// # Safety
    /// `cq` is live and no QP completes to it any more.
    unsafe fn destroy_cq(&self, cq: *mut ibv_cq) -> io::Result<()>;

    /// `ibv_create_qp` of type RC, with the caps the device granted.
    ///
    /// # Safety
    /// `pd` and `cq` are live, of one context, and outlive the QP.
    unsafe fn create_qp(
        &self,
        pd: *mut ibv_pd,
        cq: *mut ibv_cq,
        caps: QpCaps,
    ) -> io::Result<(*mut ibv_qp, QpCaps)>;

    /// `ibv_destroy_qp`.
    ///
    /// # Safety
    /// `qp` is live; no other thread uses it or its CQ meanwhile.
    unsafe fn destroy_qp(&self, qp: *mut ibv_qp) -> io::Result<()>;

    /// Makes the peer's memory reachable from `qp`, before it goes to RTR. Hardware has nothing to do but to refuse a
    /// peer that is a software NIC.
    ///
    /// # Safety
    /// `qp` is live; no other thread uses it meanwhile.
    unsafe fn attach_peer(&self, qp: *mut ibv_qp, peer: Option<&SoftPeer>) -> Result<(), VerbsError>;

    /// `ibv_modify_qp`.
    ///
    /// # Safety
    /// `qp` is live; no other thread uses it or its CQ meanwhile; `attr` is filled as `mask` says.
    unsafe fn modify_qp(&self, qp: *mut ibv_qp, attr: &mut ibv_qp_attr, mask: c_int) -> io::Result<()>;
}
