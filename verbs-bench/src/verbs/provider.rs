//! The seam under the RAII objects: the control-path verbs, offered by libibverbs and by the software NIC.
//!
//! Raw pointers in, raw pointers out; a failure is the errno alone, since the object above knows the call's name and what
//! to advise. The data path does not come through here: it goes through the context's own `ops`, as in C.

use std::{ffi::c_int, io, time::Duration};

use rdma_sys::{
    ibv_ah, ibv_ah_attr, ibv_comp_channel, ibv_context, ibv_cq, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr,
    ibv_qp_ex, ibv_td,
};
use schema::{Fabric, Op, Transport};

use super::{Access, DeviceAttr, GidEntry, PortAttr, QpCaps, VerbsError};
use crate::{placement::buffer::Buffer, softnic::SoftPeer};

/// What a CQ is created with.
#[derive(Debug, Clone, Copy)]
pub struct CqInit {
    /// Least number of completions it shall hold.
    pub entries: u32,
    /// Where its events go; null is nowhere.
    pub channel: *mut ibv_comp_channel,
    /// Completion vector of its events.
    pub comp_vector: u32,
    /// Whether it is an `ibv_cq_ex`, to be polled with `ibv_start_poll`.
    pub extended: bool,
    /// Whether an extended CQ carries completion timestamps.
    pub timestamps: bool,
}

/// What a QP is created with.
#[derive(Debug, Clone, Copy)]
pub struct QpInit {
    /// Its service.
    pub transport: Transport,
    /// Where its sends complete.
    pub send_cq: *mut ibv_cq,
    /// Where its receives complete.
    pub recv_cq: *mut ibv_cq,
    /// Its sizes.
    pub caps: QpCaps,
    /// The operation an extended QP (`ibv_qp_ex`) is to post; none makes a classic QP.
    pub extended: Option<Op>,
}

/// What a device without a capability answers.
fn unsupported<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

/// A device's control path. What not every device can has a default that says so. Pointers are those an earlier call on the same provider returned, not yet destroyed.
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

    /// How a peer's software NIC finds the registered memory and this QP's receive queue; `None` on hardware, and for
    /// memory that can't be shared.
    ///
    /// # Safety
    /// `qp` and `mr` are live and `buffer` is what `mr` registered.
    unsafe fn soft_peer(&self, _qp: *mut ibv_qp, _mr: *mut ibv_mr, _buffer: &Buffer) -> Option<SoftPeer> {
        None
    }

    /// `ibv_alloc_td` and `ibv_alloc_parent_domain`: a PD over `pd` whose QPs and CQs one thread uses, with a doorbell of
    /// their own; `None` where the device has no such thing.
    ///
    /// # Safety
    /// `pd` is live.
    unsafe fn alloc_thread_domain(&self, _pd: *mut ibv_pd) -> io::Result<Option<(*mut ibv_pd, *mut ibv_td)>> {
        Ok(None)
    }

    /// Frees what `alloc_thread_domain` made.
    ///
    /// # Safety
    /// Both are live and nothing stands on them any more.
    unsafe fn dealloc_thread_domain(&self, _domain: *mut ibv_pd, _td: *mut ibv_td) -> io::Result<()> {
        Ok(())
    }

    /// `ibv_create_comp_channel`.
    ///
    /// # Safety
    /// `context` is open.
    unsafe fn create_channel(&self, _context: *mut ibv_context) -> io::Result<*mut ibv_comp_channel> {
        unsupported()
    }

    /// `ibv_destroy_comp_channel`.
    ///
    /// # Safety
    /// `channel` is live and no CQ sends its events to it any more.
    unsafe fn destroy_channel(&self, _channel: *mut ibv_comp_channel) -> io::Result<()> {
        unsupported()
    }

    /// Waits until `cq`, whose notification was requested, has an event on `channel`, and acknowledges it; false when
    /// `timeout` passed first.
    ///
    /// # Safety
    /// `channel` and `cq` are live, the CQ was created with this channel, and no other thread waits on it.
    unsafe fn wait_event(
        &self,
        _channel: *mut ibv_comp_channel,
        _cq: *mut ibv_cq,
        _timeout: Duration,
    ) -> io::Result<bool> {
        unsupported()
    }

    /// The device's raw clock now, in its own ticks (`ibv_query_rt_values_ex`).
    ///
    /// # Safety
    /// `context` is open.
    unsafe fn device_ticks(&self, _context: *mut ibv_context) -> io::Result<u64> {
        unsupported()
    }

    /// `ibv_create_ah`.
    ///
    /// # Safety
    /// `pd` is live and `attr` is filled.
    unsafe fn create_ah(&self, _pd: *mut ibv_pd, _attr: &mut ibv_ah_attr) -> io::Result<*mut ibv_ah> {
        unsupported()
    }

    /// `ibv_destroy_ah`.
    ///
    /// # Safety
    /// `ah` is live and no posted work request uses it.
    unsafe fn destroy_ah(&self, _ah: *mut ibv_ah) -> io::Result<()> {
        unsupported()
    }

    /// `ibv_create_cq`, or `ibv_create_cq_ex` as an `ibv_cq`.
    ///
    /// # Safety
    /// `context` is open, and the channel, if there is one, is live and outlives the CQ.
    unsafe fn create_cq(&self, context: *mut ibv_context, init: &CqInit) -> io::Result<*mut ibv_cq>;

    /// `ibv_destroy_cq`.
    ///
    /// # Safety
    /// `cq` is live and no QP completes to it any more.
    unsafe fn destroy_cq(&self, cq: *mut ibv_cq) -> io::Result<()>;

    /// `ibv_create_qp`, or `ibv_create_qp_ex` as an `ibv_qp`, with the caps the device granted.
    ///
    /// # Safety
    /// `pd` and both CQs are live, of one context, and outlive the QP.
    unsafe fn create_qp(&self, pd: *mut ibv_pd, init: &QpInit) -> io::Result<(*mut ibv_qp, QpCaps)>;

    /// `ibv_qp_to_qp_ex`.
    ///
    /// # Safety
    /// `qp` is live and was created extended.
    unsafe fn qp_ex(&self, _qp: *mut ibv_qp) -> *mut ibv_qp_ex {
        std::ptr::null_mut()
    }

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
