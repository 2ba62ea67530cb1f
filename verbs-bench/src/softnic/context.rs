//! The open device: what verbs sees of it, and what its objects share.

use std::{
    io,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, Weak,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

use memmap2::MmapRaw;
use rdma_sys::ibv_context;

use super::{
    Behaviour, arena::Arena, channel::req_notify_cq, fault::Faults, link::Link, path::DataPath,
    peer::SoftPeer, post_recv::post_recv, stall::LinkTime,
};
use crate::{placement::current_cpu, verbs::VerbsError};
use schema::SoftFault;

/// An open software NIC. Its first field is what verbs sees.
#[repr(C)]
pub(super) struct SoftContext {
    ibv: ibv_context,
    /// Our direction of the link; none on a raw NIC.
    pub(super) link: Option<Mutex<Link>>,
    behaviour: Option<Behaviour>,
    pub(super) data_path: DataPath,
    /// When the first QP came to RTS, which the periods of stalls count from.
    connected: OnceLock<u64>,
    /// QPs of one peer share one mapping of its memory. Their receive queues are not part of the key.
    mappings: Mutex<Vec<(SoftPeer, Weak<MmapRaw>)>>,
    /// Where the receive queues of its QPs lie; made with the first.
    arena: OnceLock<Arc<Arena>>,
    last_qp_num: AtomicU32,
    /// PDs, CQs and channels that stand on it.
    pub(super) children: AtomicU32,
}

impl SoftContext {
    /// A context whose data path is that of its behaviour, or the raw one.
    pub(super) fn new(behaviour: Option<&Behaviour>, raw: DataPath) -> Result<SoftContext, VerbsError> {
        let (link, data_path) = match behaviour {
            None => (None, raw),
            Some(Behaviour { model, fault, clock }) => {
                let link = Link::new(model, Faults::new(fault)?, clock.scale);
                (Some(Mutex::new(link)), clock.data_path)
            }
        };
        // SAFETY: ibv_context is integers, pointers, optional functions and an unused mutex; all zero is a valid value.
        let mut ibv: ibv_context = unsafe { std::mem::zeroed() };
        (ibv.cmd_fd, ibv.async_fd) = (-1, -1);
        ibv.num_comp_vectors = 1;
        ibv.ops.post_send = Some(data_path.post_send);
        ibv.ops.poll_cq = Some(data_path.poll_cq);
        ibv.ops.req_notify_cq = Some(req_notify_cq);
        ibv.ops.post_recv = Some(post_recv);
        Ok(SoftContext {
            ibv,
            link,
            behaviour: behaviour.cloned(),
            data_path,
            connected: OnceLock::new(),
            mappings: Mutex::default(),
            arena: OnceLock::new(),
            last_qp_num: AtomicU32::new(0),
            children: AtomicU32::new(0),
        })
    }

    pub(super) fn is_modelled(&self) -> bool {
        self.behaviour.is_some()
    }

    /// The clock that completions carry, now; none on a raw NIC.
    pub(super) fn ticks(&self) -> Option<u64> {
        self.behaviour.as_ref().map(|behaviour| (behaviour.clock.now)())
    }

    pub(super) fn next_qp_num(&self) -> u32 {
        (self.last_qp_num.fetch_add(1, Relaxed) + 1) & 0xff_ffff
    }

    /// Where receive queues lie.
    pub(super) fn arena(&self) -> io::Result<&Arc<Arena>> {
        match self.arena.get() {
            Some(arena) => Ok(arena),
            // Of two threads here at once the second's file is closed again.
            None => Arena::new().map(|arena| self.arena.get_or_init(|| arena)),
        }
    }

    /// The peer's memory, mapped once for all QPs that reach it.
    pub(super) fn map(&self, peer: &SoftPeer) -> Result<Arc<MmapRaw>, VerbsError> {
        let mut mappings = self.mappings.lock().unwrap_or_else(PoisonError::into_inner);
        mappings.retain(|(_, mapping)| mapping.strong_count() > 0);
        let peer = SoftPeer { receives: None, ..peer.clone() };
        let known =
            mappings.iter().find(|(known, _)| *known == peer).and_then(|(_, mapping)| mapping.upgrade());
        if let Some(mapping) = known {
            return Ok(mapping);
        }
        let mapping = Arc::new(peer.map()?);
        mappings.push((peer, Arc::downgrade(&mapping)));
        Ok(mapping)
    }

    /// Time on the link from the first connection on.
    pub(super) fn link_time(&self) -> LinkTime {
        match &self.behaviour {
            Some(Behaviour { fault: SoftFault { stall: Some(stall), .. }, clock, .. }) => {
                let connected = *self.connected.get_or_init(clock.now);
                LinkTime::stalling(*stall, clock.scale, connected)
            }
            _ => LinkTime::EVEN,
        }
    }

    /// What a QP connected on the present CPU pays per message, in ticks.
    pub(super) fn placement_penalty(&self) -> u64 {
        match &self.behaviour {
            Some(Behaviour { model, clock, .. })
                if model.near_cpu.is_some() && model.near_cpu != current_cpu() =>
            {
                clock.scale.ticks(model.remote_numa_penalty_ns.get())
            }
            _ => 0,
        }
    }
}

/// What the kernel says to an object that others still stand on.
pub(super) fn busy_unless(unused: bool) -> io::Result<()> {
    if unused { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EBUSY)) }
}
