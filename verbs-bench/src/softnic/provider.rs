//! The control path of the software NIC: makes and destroys its objects as a kernel would, with a kernel's refusals.
//!
//! Each object is ours with verbs' struct as its first field, so a pointer to one is a pointer to the other.

use std::{ffi::c_int, io, sync::atomic::Ordering::Relaxed};

use rdma_sys::*;
use schema::{Fabric, Transport};

use super::{
    SoftNic,
    context::{SoftContext, busy_unless},
    cq::{MAX_CQE, SoftCq},
    peer::SoftPeer,
    qp::{MAX_QP_WR, SoftQp},
    reach::Remote,
    receive::ReceiveQueue,
    region::{Regions, SoftPd},
};
use crate::{
    placement::Buffer,
    verbs::{
        Access, CqInit, DeviceAttr, GidEntry, LinkLayer, PortAttr, PortState, Provider, QpCaps, QpInit,
        VerbsError,
    },
};

/// MTU of the port in bytes. The link has no packets; a path MTU is accepted and changes nothing.
const MTU_BYTES: u32 = 4096;

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
        Ok(into_raw(SoftContext::new(self.behaviour.as_ref())?))
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
        Ok(DeviceAttr {
            fw_ver: None,
            vendor_id: None,
            vendor_part_id: None,
            max_qp: 1 << 17,
            max_qp_wr: MAX_QP_WR,
            max_cqe: MAX_CQE,
            max_mr_size: 1 << 40,
            phys_port_cnt: 1,
            max_qp_rd_atom: 16,
            max_qp_init_rd_atom: 16,
            atomics: true,
            num_comp_vectors: 1,
            extended: false,
            timestamp_ticks_per_sec: None,
        })
    }

    unsafe fn query_port(&self, _context: *mut ibv_context, port_num: u8) -> io::Result<PortAttr> {
        if port_num != 1 {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(PortAttr {
            state: PortState::Active,
            phys_state: "LINK_UP".into(),
            link_layer: LinkLayer::Soft,
            active_mtu: MTU_BYTES,
            max_msg_bytes: u32::MAX,
            lid: 0,
            gid_tbl_len: 0,
            rate_bits_per_sec: None,
            grh_required: false,
        })
    }

    unsafe fn query_gid_table(&self, _context: *mut ibv_context, _port_num: u8) -> io::Result<Vec<GidEntry>> {
        Ok(Vec::new())
    }

    unsafe fn alloc_pd(&self, context: *mut ibv_context) -> io::Result<*mut ibv_pd> {
        let ibv = ibv_pd { context, handle: 0 };
        // SAFETY: one of ours, open (caller).
        unsafe { (*context.cast::<SoftContext>()).children.fetch_add(1, Relaxed) };
        Ok(into_raw(SoftPd { ibv, regions: Regions::new(), qp_count: 0.into() }))
    }

    unsafe fn dealloc_pd(&self, pd: *mut ibv_pd) -> io::Result<()> {
        let soft = pd.cast::<SoftPd>();
        // SAFETY: one of ours, live (caller).
        busy_unless(unsafe { (*soft).regions.is_empty() && (*soft).qp_count.load(Relaxed) == 0 })?;
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

    unsafe fn create_cq(&self, context: *mut ibv_context, init: &CqInit) -> io::Result<*mut ibv_cq> {
        let cq = SoftCq::new(context, init.entries)?;
        // SAFETY: one of ours, open (caller).
        unsafe { (*context.cast::<SoftContext>()).children.fetch_add(1, Relaxed) };
        Ok(into_raw(cq))
    }

    unsafe fn destroy_cq(&self, cq: *mut ibv_cq) -> io::Result<()> {
        let soft = cq.cast::<SoftCq>();
        // SAFETY: one of ours, live (caller).
        busy_unless(unsafe { &*soft }.qps.is_empty())?;
        // SAFETY: from `into_raw`, and no QP points to it any more; its context is still open.
        unsafe {
            (*(*cq).context.cast::<SoftContext>()).children.fetch_sub(1, Relaxed);
            drop(Box::from_raw(soft));
        }
        Ok(())
    }

    unsafe fn create_qp(&self, pd: *mut ibv_pd, init: &QpInit) -> io::Result<(*mut ibv_qp, QpCaps)> {
        let QpInit { transport, send_cq, recv_cq, caps, .. } = *init;
        SoftQp::check(caps)?;
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
        let qp = SoftQp::new(qp_base, transport, caps, receives, context.is_modelled());
        let attention = qp.wants_attention();
        let qp: *mut SoftQp = into_raw(qp);
        // SAFETY: PD and CQs are ours and live (caller).
        unsafe {
            (*pd.cast::<SoftPd>()).qp_count.fetch_add(1, Relaxed);
            for cq in queues(qp) {
                (*cq).qps.push(qp);
                (*cq).attention |= attention;
            }
        }
        Ok((qp.cast(), caps))
    }

    unsafe fn destroy_qp(&self, qp: *mut ibv_qp) -> io::Result<()> {
        let qp = qp.cast::<SoftQp>();
        // SAFETY: from `into_raw`, live, and used by this thread alone with its CQs (caller).
        unsafe {
            for cq in queues(qp) {
                (*cq).forget(qp);
            }
            (*(*qp).pd).qp_count.fetch_sub(1, Relaxed);
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
        let memory = Remote::new(context.map(peer)?, peer.base_addr, peer.rkey);
        qp.reach.attach(memory, peer.map_receives()?);
        Ok(())
    }

    unsafe fn modify_qp(&self, qp: *mut ibv_qp, attr: &mut ibv_qp_attr, mask: c_int) -> io::Result<()> {
        let qp_ptr = qp.cast::<SoftQp>();
        // SAFETY: one of ours, live, and used by this thread alone with its CQs (caller); its context is open.
        let (qp, context) = unsafe { (&mut *qp_ptr, &*(*qp).context.cast::<SoftContext>()) };
        qp.enter_state(attr.qp_state)?;
        if mask as u32 & ibv_qp_attr_mask::IBV_QP_QKEY.0 != 0 {
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
