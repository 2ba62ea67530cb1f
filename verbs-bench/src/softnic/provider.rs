//! The control path of the software NIC: makes and destroys its objects as a kernel would, with a kernel's refusals.
//!
//! Each object is ours with verbs' struct as its first field, so a pointer to one is a pointer to the other.

use std::{ffi::c_int, io, sync::atomic::Ordering::Relaxed, time::Duration};

use rdma_sys::*;
use schema::{Fabric, Transport};

use super::{
    SoftNic, channel,
    context::{SoftContext, busy_unless},
    cq::SoftCq,
    device,
    peer::SoftPeer,
    poll,
    qp::SoftQp,
    raw,
    reach::Remote,
    receive::ReceiveQueue,
    region::{Regions, SoftPd},
    wr,
};
use crate::{
    placement::Buffer,
    verbs::{Access, CqInit, DeviceAttr, GidEntry, PortAttr, Provider, QpCaps, QpInit, VerbsError},
};

/// All-zero bytes of one of verbs' plain structs.
///
/// # Safety
/// All zero must be a valid `T`.
unsafe fn zeroed<T>() -> T {
    // SAFETY: valid as the caller says.
    unsafe { std::mem::zeroed() }
}

fn into_raw<T, V>(object: T) -> *mut V {
    Box::into_raw(Box::new(object)).cast()
}

impl Provider for SoftNic {
    fn fabric(&self) -> Fabric {
        Fabric::Soft
    }

    fn device_name(&self) -> String {
        "soft".into()
    }

    fn open_device(&self) -> Result<*mut ibv_context, VerbsError> {
        Ok(into_raw(SoftContext::new(self.behaviour.as_ref(), raw::PATH)?))
    }

    unsafe fn close_device(&self, context: *mut ibv_context) -> io::Result<()> {
        let context = context.cast::<SoftContext>();
        // SAFETY: one of ours, still open (caller).
        busy_unless(unsafe { (*context).children.load(Relaxed) } == 0)?;
        // SAFETY: as above, from `into_raw`, and nothing points to it any more.
        drop(unsafe { Box::from_raw(context) });
        Ok(())
    }

    unsafe fn query_device(&self, _context: *mut ibv_context) -> io::Result<DeviceAttr> {
        Ok(device::attributes(self.behaviour.as_ref().map(|behaviour| behaviour.clock.scale)))
    }

    unsafe fn query_port(&self, _context: *mut ibv_context, port_num: u8) -> io::Result<PortAttr> {
        device::port(port_num)
    }

    unsafe fn query_gid_table(&self, _context: *mut ibv_context, _port_num: u8) -> io::Result<Vec<GidEntry>> {
        Ok(Vec::new())
    }

    unsafe fn alloc_pd(&self, context: *mut ibv_context) -> io::Result<*mut ibv_pd> {
        let ibv = ibv_pd { context, handle: 0 };
        // SAFETY: one of ours, open (caller).
        unsafe { (*context.cast::<SoftContext>()).children.fetch_add(1, Relaxed) };
        Ok(into_raw(SoftPd { ibv, regions: Regions::new(), children: 0.into() }))
    }

    unsafe fn dealloc_pd(&self, pd: *mut ibv_pd) -> io::Result<()> {
        let soft = pd.cast::<SoftPd>();
        // SAFETY: one of ours, live (caller).
        busy_unless(unsafe { (*soft).regions.is_empty() && (*soft).children.load(Relaxed) == 0 })?;
        // SAFETY: from `into_raw`, and nothing points to it any more; its context is still open.
        unsafe {
            (*(*pd).context.cast::<SoftContext>()).children.fetch_sub(1, Relaxed);
            drop(Box::from_raw(soft));
        }
        Ok(())
    }

    unsafe fn reg_mr(&self, pd: *mut ibv_pd, buffer: &Buffer, _access: Access) -> io::Result<*mut ibv_mr> {
        let addr = buffer.as_ptr();
        // SAFETY: one of ours, live (caller).
        let (context, key) = unsafe {
            let soft = &*pd.cast::<SoftPd>();
            (soft.ibv.context, soft.regions.insert(addr as u64, buffer.len() as u64)?)
        };
        let length = buffer.len();
        Ok(into_raw(ibv_mr { context, pd, addr: addr.cast(), length, handle: 0, lkey: key, rkey: key }))
    }

    unsafe fn dereg_mr(&self, mr: *mut ibv_mr) -> io::Result<()> {
        // SAFETY: from `into_raw`, live and unused (caller); its PD is live.
        unsafe {
            let mr = Box::from_raw(mr);
            (*mr.pd.cast::<SoftPd>()).regions.remove(mr.lkey);
        }
        Ok(())
    }

    unsafe fn soft_peer(&self, qp: *mut ibv_qp, mr: *mut ibv_mr, buffer: &Buffer) -> Option<SoftPeer> {
        // SAFETY: both are ours and live (caller).
        let (qp, rkey) = unsafe { (&*qp.cast::<SoftQp>(), (*mr).rkey) };
        let receives = qp.receives.as_ref().map(|receives| receives.shared(qp.ex.qp_base.qp_num));
        SoftPeer::describe(buffer, rkey, receives)
    }

    unsafe fn create_channel(&self, context: *mut ibv_context) -> io::Result<*mut ibv_comp_channel> {
        // SAFETY: one of ours, open (caller).
        unsafe { (*context.cast::<SoftContext>()).children.fetch_add(1, Relaxed) };
        // No descriptor: there is nothing that would write to it.
        Ok(into_raw(ibv_comp_channel { context, fd: -1, refcnt: 0 }))
    }

    unsafe fn destroy_channel(&self, channel: *mut ibv_comp_channel) -> io::Result<()> {
        // SAFETY: one of ours, live (caller); its context is still open.
        unsafe {
            busy_unless((*channel).refcnt == 0)?;
            (*(*channel).context.cast::<SoftContext>()).children.fetch_sub(1, Relaxed);
            drop(Box::from_raw(channel));
        }
        Ok(())
    }

    unsafe fn wait_event(
        &self,
        _channel: *mut ibv_comp_channel,
        cq: *mut ibv_cq,
        timeout: Duration,
    ) -> io::Result<bool> {
        // SAFETY: one of ours, and no other thread uses it (caller).
        unsafe { channel::wait_event(cq, timeout) }
    }

    unsafe fn device_ticks(&self, context: *mut ibv_context) -> io::Result<u64> {
        // SAFETY: one of ours, open (caller).
        let ticks = unsafe { &*context.cast::<SoftContext>() }.ticks();
        ticks.ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))
    }

    unsafe fn create_ah(&self, pd: *mut ibv_pd, _attr: &mut ibv_ah_attr) -> io::Result<*mut ibv_ah> {
        // SAFETY: one of ours, live (caller).
        let context = unsafe {
            (*pd.cast::<SoftPd>()).children.fetch_add(1, Relaxed);
            (*pd).context
        };
        // There is one way, to the one peer that the QP was attached to.
        Ok(into_raw(ibv_ah { context, pd, handle: 0 }))
    }

    unsafe fn destroy_ah(&self, ah: *mut ibv_ah) -> io::Result<()> {
        // SAFETY: from `into_raw`, live and unused (caller); its PD is live.
        unsafe {
            let ah = Box::from_raw(ah);
            (*ah.pd.cast::<SoftPd>()).children.fetch_sub(1, Relaxed);
        }
        Ok(())
    }

    unsafe fn create_cq(&self, context: *mut ibv_context, init: &CqInit) -> io::Result<*mut ibv_cq> {
        // SAFETY: one of ours, open (caller).
        let soft = unsafe { &*context.cast::<SoftContext>() };
        if init.comp_vector >= device::COMP_VECTORS {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        if init.timestamps && !(init.extended && soft.is_modelled()) {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        let mut cq = SoftCq::new(context, init.entries)?;
        cq.ex.channel = init.channel;
        if init.extended {
            poll::extend(&mut cq, &soft.data_path, init.timestamps);
        }
        soft.children.fetch_add(1, Relaxed);
        // SAFETY: none, or live and of this context (caller).
        if let Some(channel) = unsafe { init.channel.as_mut() } {
            channel.refcnt += 1;
        }
        Ok(into_raw(cq))
    }

    unsafe fn destroy_cq(&self, cq: *mut ibv_cq) -> io::Result<()> {
        let soft = cq.cast::<SoftCq>();
        // SAFETY: one of ours, live (caller).
        busy_unless(unsafe { &*soft }.qps.is_empty())?;
        // SAFETY: from `into_raw`, and no QP points to it any more; its context is still open, and so is its channel.
        unsafe {
            (*(*cq).context.cast::<SoftContext>()).children.fetch_sub(1, Relaxed);
            if let Some(channel) = (*cq).channel.as_mut() {
                channel.refcnt -= 1;
            }
            drop(Box::from_raw(soft));
        }
        Ok(())
    }

    unsafe fn create_qp(&self, pd: *mut ibv_pd, init: &QpInit) -> io::Result<(*mut ibv_qp, QpCaps)> {
        let QpInit { transport, send_cq, recv_cq, caps, extended } = *init;
        SoftQp::check(caps)?;
        if extended.is_some_and(|op| !op.is_carried_by(transport)) {
            return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
        }
        // SAFETY: PD and CQs are ours and live (caller), and so is their context.
        let context = unsafe { &*(*pd).context.cast::<SoftContext>() };
        let receives = match caps.max_recv_wr {
            0 => None,
            entries => Some(ReceiveQueue::new(context.arena()?, entries)?),
        };
        let qp_base = ibv_qp {
            // SAFETY: live (caller).
            context: unsafe { (*pd).context },
            pd,
            send_cq,
            recv_cq,
            qp_num: context.next_qp_num(),
            state: ibv_qp_state::IBV_QPS_RESET,
            qp_type: match transport {
                Transport::Rc => ibv_qp_type::IBV_QPT_RC,
                Transport::Uc => ibv_qp_type::IBV_QPT_UC,
                Transport::Ud => ibv_qp_type::IBV_QPT_UD,
            },
            // SAFETY: ibv_qp is integers, pointers and an unused mutex and condition; all zero is a valid value.
            ..unsafe { zeroed() }
        };
        let mut qp = SoftQp::new(qp_base, transport, caps, receives, context.is_modelled());
        if let Some(op) = extended {
            wr::extend(&mut qp, op);
        }
        let attention = qp.wants_attention();
        let qp: *mut SoftQp = into_raw(qp);
        // SAFETY: PD and CQs are ours and live (caller).
        unsafe {
            (*pd.cast::<SoftPd>()).children.fetch_add(1, Relaxed);
            for cq in queues(qp) {
                (*cq).qps.push(qp);
                (*cq).attention |= attention;
            }
        }
        Ok((qp.cast(), caps))
    }

    unsafe fn qp_ex(&self, qp: *mut ibv_qp) -> *mut ibv_qp_ex {
        // The first field of ours.
        qp.cast()
    }

    unsafe fn destroy_qp(&self, qp: *mut ibv_qp) -> io::Result<()> {
        let qp = qp.cast::<SoftQp>();
        // SAFETY: from `into_raw`, live, and used by this thread alone with its CQs (caller).
        unsafe {
            for cq in queues(qp) {
                (*cq).forget(qp);
            }
            (*(*qp).pd).children.fetch_sub(1, Relaxed);
            drop(Box::from_raw(qp));
        }
        Ok(())
    }

    unsafe fn attach_peer(&self, qp: *mut ibv_qp, peer: Option<&SoftPeer>) -> Result<(), VerbsError> {
        let Some(peer) = peer else {
            return Err(VerbsError::FabricMismatch { ours: "the software NIC", theirs: "an RDMA device" });
        };
        // SAFETY: one of ours, live, and used by this thread alone (caller); its context is open.
        let (qp, context) = unsafe { (&mut *qp.cast::<SoftQp>(), &*(*qp).context.cast::<SoftContext>()) };
        let memory = Remote::new(context.map(peer)?, peer.base_addr, peer.len, peer.rkey);
        qp.reach.attach(memory, peer.map_receives()?);
        Ok(())
    }

    unsafe fn modify_qp(&self, qp: *mut ibv_qp, attr: &mut ibv_qp_attr, mask: c_int) -> io::Result<()> {
        let qp_ptr = qp.cast::<SoftQp>();
        // SAFETY: one of ours, live, and used by this thread alone with its CQs (caller); its context is open.
        let (qp, context) = unsafe { (&mut *qp_ptr, &*(*qp).context.cast::<SoftContext>()) };
        let mask = ibv_qp_attr_mask(mask as u32);
        qp.enter_state(attr.qp_state, mask)?;
        if mask.0 & ibv_qp_attr_mask::IBV_QP_QKEY.0 != 0 {
            qp.reach.qkey = attr.qkey;
            if let Some(receives) = &qp.receives {
                receives.set_qkey(attr.qkey);
            }
        }
        if attr.qp_state == ibv_qp_state::IBV_QPS_RTS {
            qp.flight.penalty = context.placement_penalty();
        }
        let attention = qp.wants_attention();
        // SAFETY: the CQs outlive their QPs, and this thread alone uses them.
        for cq in unsafe { queues(qp_ptr) } {
            // SAFETY: as above.
            unsafe {
                (*cq).attention |= attention;
                if attr.qp_state == ibv_qp_state::IBV_QPS_RTS {
                    (*cq).link_time = context.link_time();
                }
            }
        }
        Ok(())
    }
}

/// The queues of a QP, each once.
///
/// # Safety
/// `qp` is live.
unsafe fn queues(qp: *mut SoftQp) -> impl Iterator<Item = *mut SoftCq> {
    // SAFETY: live (caller).
    let (send, recv) = unsafe { ((*qp).ex.qp_base.send_cq, (*qp).ex.qp_base.recv_cq) };
    [Some(send), (recv != send).then_some(recv)].into_iter().flatten().map(|cq| cq.cast())
}
