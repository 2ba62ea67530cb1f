//! The provider over libibverbs: one device of the kernel.
//!
//! Each function is one call of verbs.h and its error convention; nothing is decided here.

use std::{
    ffi::{CStr, c_int},
    fs, io,
    os::fd::BorrowedFd,
    path::{Path, PathBuf},
    ptr,
    time::Duration,
};

use rdma_sys::*;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};
use schema::Fabric;

use super::{
    Access, CqInit, DeviceAttr, GidEntry, GidType, PortAttr, Provider, QpCaps, QpInit, VerbsError, create,
    devices::DeviceList,
    ext::{self, check, non_null},
};
use crate::{placement::buffer::Buffer, softnic::SoftPeer};

/// A device that libibverbs lists.
pub struct Libibverbs {
    name: String,
}

/// Ports times slots beyond which a GID table is not believed.
const MAX_GID_ENTRIES: usize = 1 << 16;

impl Libibverbs {
    pub(super) fn new(name: String) -> Self {
        Libibverbs { name }
    }

    /// The name of `entry`'s network device if it lies in our network namespace. Interface indices repeat across
    /// namespaces, so the name by our index must be the one the device itself reports.
    fn netdev_here(&self, entry: &ibv_gid_entry) -> Option<String> {
        let here = rustix::net::netdevice::index_to_name(&socket().ok()?, entry.ndev_ifindex).ok()?;
        match fs::read_to_string(self.ndev_path(entry)) {
            Ok(reported) => (reported.trim() == here).then_some(here),
            Err(_) => Some(here),
        }
    }

    fn ndev_path(&self, entry: &ibv_gid_entry) -> PathBuf {
        Path::new("/sys/class/infiniband")
            .join(&self.name)
            .join(format!("ports/{}/gid_attrs/ndevs/{}", entry.port_num, entry.gid_index))
    }

    fn gid_entry(&self, entry: &ibv_gid_entry) -> GidEntry {
        GidEntry {
            index: entry.gid_index,
            // SAFETY: every bit pattern is 16 valid bytes.
            gid: unsafe { entry.gid.raw },
            gid_type: GidType::from(entry.gid_type),
            ifindex: entry.ndev_ifindex,
            netdev: (entry.ndev_ifindex != 0).then(|| self.netdev_here(entry)).flatten(),
        }
    }
}

/// Any socket will do to ask for an interface name.
fn socket() -> io::Result<std::net::UdpSocket> {
    std::net::UdpSocket::bind((std::net::Ipv4Addr::LOCALHOST, 0))
}

/// Ticks per second of completion timestamps; the core clock is given in kHz.
fn timestamp_rate(attr: ibv_device_attr_ex) -> Option<u64> {
    (attr.completion_timestamp_mask != 0 && attr.hca_core_clock != 0).then(|| attr.hca_core_clock * 1_000)
}

fn unsigned(value: c_int) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

impl Provider for Libibverbs {
    fn fabric(&self) -> Fabric {
        Fabric::Verbs
    }

    fn device_name(&self) -> String {
        self.name.clone()
    }

    fn open_device(&self) -> Result<*mut ibv_context, VerbsError> {
        let list = DeviceList::get()?;
        let device = list.find(&self.name)?;
        // SAFETY: the device is of a list that is not yet freed.
        non_null(unsafe { ibv_open_device(device) })
            .map_err(|source| VerbsError::OpenDevice { device: self.name.clone(), source })
    }

    unsafe fn close_device(&self, context: *mut ibv_context) -> io::Result<()> {
        // SAFETY: open and unused (caller).
        check(unsafe { ibv_close_device(context) })
    }

    unsafe fn query_device(&self, context: *mut ibv_context) -> io::Result<DeviceAttr> {
        // SAFETY: plain integers and arrays of them; all zero is a valid value.
        let mut attr: ibv_device_attr = unsafe { std::mem::zeroed() };
        // SAFETY: open context (caller), and a struct of the size the compat symbol fills.
        check(unsafe { ibv_query_device(context, &mut attr) })?;
        // SAFETY: the struct was zeroed and libibverbs writes a terminated string of at most 63 bytes.
        let fw_ver = unsafe { CStr::from_ptr(attr.fw_ver.as_ptr()) }.to_string_lossy().into_owned();
        Ok(DeviceAttr {
            // rxe and siw have no firmware and say 0.0.0.
            fw_ver: Some(fw_ver).filter(|text| !text.is_empty() && text != "0.0.0"),
            vendor_id: Some(attr.vendor_id).filter(|id| *id != 0),
            vendor_part_id: Some(attr.vendor_part_id).filter(|id| *id != 0),
            max_qp: unsigned(attr.max_qp),
            max_qp_wr: unsigned(attr.max_qp_wr),
            max_cqe: unsigned(attr.max_cqe),
            max_mr_size: attr.max_mr_size,
            phys_port_cnt: attr.phys_port_cnt,
            max_qp_rd_atom: u8::try_from(attr.max_qp_rd_atom).unwrap_or(0),
            max_qp_init_rd_atom: u8::try_from(attr.max_qp_init_rd_atom).unwrap_or(0),
            atomics: attr.atomic_cap != ibv_atomic_cap::IBV_ATOMIC_NONE,
            // SAFETY: open context (caller).
            num_comp_vectors: unsigned(unsafe { (*context).num_comp_vectors }),
            extended: false,
            // SAFETY: open context (caller).
            timestamp_ticks_per_sec: unsafe { ext::query_device_ex(context) }.ok().and_then(timestamp_rate),
        })
    }

    unsafe fn query_port(&self, context: *mut ibv_context, port_num: u8) -> io::Result<PortAttr> {
        // SAFETY: open context (caller).
        unsafe { ext::query_port(context, port_num) }.map(|attr| PortAttr::from(&attr))
    }

    unsafe fn query_gid_table(&self, context: *mut ibv_context, port_num: u8) -> io::Result<Vec<GidEntry>> {
        // SAFETY: open context (caller).
        let ports = unsafe { self.query_device(context) }?.phys_port_cnt;
        let mut slots = 0;
        for port in 1..=ports {
            // SAFETY: open context (caller).
            slots += unsafe { self.query_port(context, port) }?.gid_tbl_len as usize;
        }
        // SAFETY: open context (caller).
        let entries = unsafe { ext::query_gid_table(context, slots.clamp(1, MAX_GID_ENTRIES)) }?;
        let ours = entries.iter().filter(|entry| entry.port_num == u32::from(port_num));
        Ok(ours.map(|entry| self.gid_entry(entry)).collect())
    }

    unsafe fn alloc_pd(&self, context: *mut ibv_context) -> io::Result<*mut ibv_pd> {
        // SAFETY: open context (caller).
        non_null(unsafe { ibv_alloc_pd(context) })
    }

    unsafe fn dealloc_pd(&self, pd: *mut ibv_pd) -> io::Result<()> {
        // SAFETY: live and unused (caller).
        check(unsafe { ibv_dealloc_pd(pd) })
    }

    unsafe fn reg_mr(&self, pd: *mut ibv_pd, buffer: &Buffer, access: Access) -> io::Result<*mut ibv_mr> {
        let addr = buffer.as_ptr();
        // SAFETY: live PD, and a buffer that stays mapped until dereg_mr (caller).
        non_null(unsafe { ibv_reg_mr_iova2(pd, addr.cast(), buffer.len(), addr as u64, access.flags()) })
    }

    unsafe fn dereg_mr(&self, mr: *mut ibv_mr) -> io::Result<()> {
        // SAFETY: live and unused (caller).
        check(unsafe { ibv_dereg_mr(mr) })
    }

    unsafe fn alloc_thread_domain(&self, pd: *mut ibv_pd) -> io::Result<Option<(*mut ibv_pd, *mut ibv_td)>> {
        // SAFETY: live (caller).
        unsafe { ext::alloc_thread_domain(pd) }
    }

    unsafe fn dealloc_thread_domain(&self, domain: *mut ibv_pd, td: *mut ibv_td) -> io::Result<()> {
        // SAFETY: live (caller), and the context outlives it.
        let context = unsafe { (*domain).context };
        // SAFETY: live and unused (caller).
        check(unsafe { ibv_dealloc_pd(domain) })?;
        // SAFETY: as above; the PD that stood on it is gone.
        unsafe { ext::dealloc_td(context, td) }
    }

    unsafe fn create_channel(&self, context: *mut ibv_context) -> io::Result<*mut ibv_comp_channel> {
        // SAFETY: open context (caller).
        let channel = non_null(unsafe { ibv_create_comp_channel(context) })?;
        // SAFETY: just made, so its descriptor is open as long as it is not destroyed.
        let fd = unsafe { BorrowedFd::borrow_raw((*channel).fd) };
        let nonblocking = fcntl_getfl(fd).and_then(|flags| fcntl_setfl(fd, flags | OFlags::NONBLOCK));
        if let Err(errno) = nonblocking {
            // SAFETY: just made, and no CQ knows it.
            check(unsafe { ibv_destroy_comp_channel(channel) })?;
            return Err(errno.into());
        }
        Ok(channel)
    }

    unsafe fn wait_event(
        &self,
        channel: *mut ibv_comp_channel,
        _cq: *mut ibv_cq,
        timeout: Duration,
    ) -> io::Result<bool> {
        // SAFETY: live (caller).
        let fd = unsafe { BorrowedFd::borrow_raw((*channel).fd) };
        let limit = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            other => other?,
        };
        let (mut cq, mut cq_context) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live channel and two out pointers.
        if unsafe { ibv_get_cq_event(channel, &mut cq, &mut cq_context) } != 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(false) } else { Err(error) };
        }
        // SAFETY: the CQ of the event, live because one with unacknowledged events can't be destroyed.
        unsafe { ibv_ack_cq_events(cq, 1) };
        Ok(true)
    }

    unsafe fn device_ticks(&self, context: *mut ibv_context) -> io::Result<u64> {
        // SAFETY: open context (caller).
        unsafe { ext::query_raw_clock(context) }
    }

    unsafe fn destroy_channel(&self, channel: *mut ibv_comp_channel) -> io::Result<()> {
        // SAFETY: live and unused (caller).
        check(unsafe { ibv_destroy_comp_channel(channel) })
    }

    unsafe fn create_ah(&self, pd: *mut ibv_pd, attr: &mut ibv_ah_attr) -> io::Result<*mut ibv_ah> {
        // SAFETY: live PD, attributes filled (caller).
        non_null(unsafe { ibv_create_ah(pd, attr) })
    }

    unsafe fn destroy_ah(&self, ah: *mut ibv_ah) -> io::Result<()> {
        // SAFETY: live and unused (caller).
        check(unsafe { ibv_destroy_ah(ah) })
    }

    unsafe fn create_cq(&self, context: *mut ibv_context, init: &CqInit) -> io::Result<*mut ibv_cq> {
        // SAFETY: as the caller's.
        unsafe { create::cq(context, init) }
    }

    unsafe fn destroy_cq(&self, cq: *mut ibv_cq) -> io::Result<()> {
        // SAFETY: live and unused (caller).
        check(unsafe { ibv_destroy_cq(cq) })
    }

    unsafe fn create_qp(&self, pd: *mut ibv_pd, init: &QpInit) -> io::Result<(*mut ibv_qp, QpCaps)> {
        // SAFETY: as the caller's.
        unsafe { create::qp(pd, init) }
    }

    unsafe fn qp_ex(&self, qp: *mut ibv_qp) -> *mut ibv_qp_ex {
        // SAFETY: live, and created extended (caller).
        unsafe { ibv_qp_to_qp_ex(qp) }
    }

    unsafe fn destroy_qp(&self, qp: *mut ibv_qp) -> io::Result<()> {
        // SAFETY: live (caller).
        check(unsafe { ibv_destroy_qp(qp) })
    }

    unsafe fn attach_peer(&self, _qp: *mut ibv_qp, peer: Option<&SoftPeer>) -> Result<(), VerbsError> {
        match peer {
            None => Ok(()),
            Some(_) => Err(VerbsError::FabricMismatch { ours: "an RDMA device", theirs: "the software NIC" }),
        }
    }

    unsafe fn modify_qp(&self, qp: *mut ibv_qp, attr: &mut ibv_qp_attr, mask: c_int) -> io::Result<()> {
        // SAFETY: live QP, attributes filled as the mask says (caller).
        check(unsafe { ibv_modify_qp(qp, attr, mask) })
    }
}
