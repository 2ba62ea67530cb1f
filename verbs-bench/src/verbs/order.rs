//! Pins the order in which verbs objects are destroyed, with a provider that writes down what it is asked.

use std::{
    ffi::c_int,
    fs, io,
    os::fd::AsRawFd,
    sync::{Arc, Mutex},
};

use rdma_sys::{ibv_context, ibv_cq, ibv_mr, ibv_pd, ibv_qp, ibv_qp_attr};
use schema::Fabric;

use super::*;
use crate::{
    placement::Buffer,
    softnic::{SoftNic, SoftPeer},
};

/// The software NIC, with a log of every destruction and of whether the buffer was mapped at it.
struct Recording {
    nic: Arc<dyn Provider>,
    log: Arc<Mutex<Vec<String>>>,
    /// Inode of the buffer's memfd; mappings are looked up by it.
    inode: u64,
}

impl Recording {
    fn note(&self, call: &str, result: io::Result<()>) -> io::Result<()> {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let inode = self.inode.to_string();
        let mapped = maps
            .lines()
            .any(|line| line.contains("/memfd:") && line.split_whitespace().nth(4) == Some(inode.as_str()));
        let buffer = if mapped { "buffer mapped" } else { "buffer gone" };
        self.log.lock().unwrap().push(match &result {
            Ok(()) => format!("{call}, {buffer}"),
            Err(error) => format!("{call}, {buffer}: {error}"),
        });
        result
    }
}

// What the caller vouches for is handed on as it is.
impl Provider for Recording {
    fn fabric(&self) -> Fabric {
        self.nic.fabric()
    }
    fn device_name(&self) -> String {
        self.nic.device_name()
    }
    fn open_device(&self) -> Result<*mut ibv_context, VerbsError> {
        self.nic.open_device()
    }
    unsafe fn close_device(&self, context: *mut ibv_context) -> io::Result<()> {
        // SAFETY: handed on.
        self.note("close_device", unsafe { self.nic.close_device(context) })
    }
    unsafe fn query_device(&self, context: *mut ibv_context) -> io::Result<DeviceAttr> {
        // SAFETY: handed on.
        unsafe { self.nic.query_device(context) }
    }
    unsafe fn query_port(&self, context: *mut ibv_context, port_num: u8) -> io::Result<PortAttr> {
        // SAFETY: handed on.
        unsafe { self.nic.query_port(context, port_num) }
    }
    unsafe fn query_gid_table(&self, context: *mut ibv_context, port_num: u8) -> io::Result<Vec<GidEntry>> {
        // SAFETY: handed on.
        unsafe { self.nic.query_gid_table(context, port_num) }
    }
    unsafe fn alloc_pd(&self, context: *mut ibv_context) -> io::Result<*mut ibv_pd> {
        // SAFETY: handed on.
        unsafe { self.nic.alloc_pd(context) }
    }
    unsafe fn dealloc_pd(&self, pd: *mut ibv_pd) -> io::Result<()> {
        // SAFETY: handed on.
        self.note("dealloc_pd", unsafe { self.nic.dealloc_pd(pd) })
    }
    unsafe fn reg_mr(&self, pd: *mut ibv_pd, buffer: &Buffer, access: Access) -> io::Result<*mut ibv_mr> {
        // SAFETY: handed on.
        unsafe { self.nic.reg_mr(pd, buffer, access) }
    }
    unsafe fn dereg_mr(&self, mr: *mut ibv_mr) -> io::Result<()> {
        // SAFETY: handed on.
        self.note("dereg_mr", unsafe { self.nic.dereg_mr(mr) })
    }
    unsafe fn create_cq(&self, context: *mut ibv_context, init: &CqInit) -> io::Result<*mut ibv_cq> {
        // SAFETY: handed on.
        unsafe { self.nic.create_cq(context, init) }
    }
    unsafe fn destroy_cq(&self, cq: *mut ibv_cq) -> io::Result<()> {
        // SAFETY: handed on.
        self.note("destroy_cq", unsafe { self.nic.destroy_cq(cq) })
    }
    unsafe fn create_qp(&self, pd: *mut ibv_pd, init: &QpInit) -> io::Result<(*mut ibv_qp, QpCaps)> {
        // SAFETY: handed on.
        unsafe { self.nic.create_qp(pd, init) }
    }
    unsafe fn destroy_qp(&self, qp: *mut ibv_qp) -> io::Result<()> {
        // SAFETY: handed on.
        self.note("destroy_qp", unsafe { self.nic.destroy_qp(qp) })
    }
    unsafe fn attach_peer(&self, qp: *mut ibv_qp, peer: Option<&SoftPeer>) -> Result<(), VerbsError> {
        // SAFETY: handed on.
        unsafe { self.nic.attach_peer(qp, peer) }
    }
    unsafe fn modify_qp(&self, qp: *mut ibv_qp, attr: &mut ibv_qp_attr, mask: c_int) -> io::Result<()> {
        // SAFETY: handed on.
        unsafe { self.nic.modify_qp(qp, attr, mask) }
    }
}

struct Objects {
    qp: QueuePair,
    cq: Arc<CompletionQueue>,
    mr: MemoryRegion,
    pd: Arc<ProtectionDomain>,
    context: Arc<Context>,
}

fn objects() -> (Objects, Arc<Mutex<Vec<String>>>) {
    let buffer = Buffer::memfd(4096, None).unwrap();
    let fd = buffer.memfd_fd().unwrap().as_raw_fd();
    let inode = rustix::fs::stat(format!("/proc/self/fd/{fd}")).unwrap().st_ino;
    let log = Arc::default();
    let provider = Recording { nic: SoftNic::new(None, None), log: Arc::clone(&log), inode };
    let context = Context::open(Arc::new(provider)).unwrap();
    let pd = ProtectionDomain::alloc(&context).unwrap();
    let mr = MemoryRegion::register(&pd, buffer, Access::default()).unwrap();
    let cq = CompletionQueue::create(&context, 16, CqKind::default()).unwrap();
    let qp = QueuePair::create(&pd, &cq, &cq, QpKind::RC, QpCaps::sending(4, 0)).unwrap();
    (Objects { qp, cq, mr, pd, context }, log)
}

const ORDER: [&str; 5] = [
    "destroy_qp, buffer mapped",
    "destroy_cq, buffer mapped",
    "dereg_mr, buffer mapped",
    "dealloc_pd, buffer gone",
    "close_device, buffer gone",
];

#[test]
fn objects_go_before_what_they_stand_on() {
    let (objects, log) = objects();
    drop(objects);
    assert_eq!(*log.lock().unwrap(), ORDER);
}

#[test]
fn handles_dropped_in_the_wrong_order_keep_things_alive() {
    let (Objects { qp, cq, mr, pd, context }, log) = objects();
    drop((context, pd, cq));
    assert!(log.lock().unwrap().is_empty());
    drop(qp);
    assert_eq!(*log.lock().unwrap(), ORDER[..2]);
    drop(mr);
    assert_eq!(*log.lock().unwrap(), ORDER);
}
