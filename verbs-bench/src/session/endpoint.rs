//! What a side connects: memory, completion queue and queue pairs, made for one spec and torn down in verbs order.

use std::sync::Arc;

use schema::{Bytes, Fabric, RunSpec, Side, record::Granted};

use super::queues::Queues;
use crate::{
    clock::Clock,
    cm::Connections,
    connect::{Offer, Party, Region},
    engine::{
        bandwidth::Bandwidth,
        job::{Job, Memory},
        layout::Layout,
    },
    placement::{Backing, Buffer},
    verbs::{Access, Context, MemoryRegion, ProtectionDomain, QueuePair, VerbsError},
};

/// One side's verbs objects. Fields drop from top to bottom: what keeps the QPs connected, the threads' queues, then the
/// memory.
pub struct Endpoint {
    connections: Option<Connections>,
    threads: Vec<Queues>,
    region: MemoryRegion,
    layout: Layout,
}

/// What a connection needs beside the far end.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Our port.
    pub port_num: u8,
    /// Path MTU in bytes, agreed.
    pub path_mtu: u32,
    /// Our GID index; none addresses by LID.
    pub gid_index: Option<u8>,
    /// Our GID; zero where the port needs none.
    pub gid: [u8; 16],
    /// Our LID; 0 on Ethernet.
    pub lid: u16,
    /// Reads and atomics outstanding per QP, agreed; 0 where there are none.
    pub outstanding_reads: u8,
}

/// Why an endpoint could not be made.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// A verb failed.
    #[error(transparent)]
    Verbs(#[from] VerbsError),
    /// The memory could not be had.
    #[error(transparent)]
    Placement(#[from] crate::placement::PlacementError),
}

impl Endpoint {
    /// Allocates and registers the buffers on `node`, creates each thread's queues, moves the QPs to INIT.
    pub fn build(
        context: &Arc<Context>,
        spec: &RunSpec,
        side: Side,
        port_num: u8,
        node: Option<u32>,
    ) -> Result<Self, EndpointError> {
        let layout = Layout::of(spec);
        let bytes = layout.region_bytes() as usize;
        let backing = match context.provider().fabric() {
            Fabric::Verbs => Backing::Anonymous,
            Fabric::Soft => Backing::Memfd,
        };
        let buffer = Buffer::map(bytes, backing, spec.pages, node)?;
        let pd = ProtectionDomain::alloc(context)?;
        let region = MemoryRegion::register(&pd, buffer, Access::of(spec))?;
        let threads = (0..spec.threads).map(|_| Queues::create(context, &pd, spec, side, port_num));
        Ok(Endpoint { connections: None, threads: threads.collect::<Result<_, _>>()?, region, layout })
    }

    /// What the peer must know.
    pub fn offer(&self, party: Party, path: &Path) -> Offer {
        Offer {
            party,
            path_mtu: path.path_mtu,
            outstanding_reads: path.outstanding_reads,
            cm: None,
            qps: self.threads.iter().flat_map(|queues| queues.offer(&self.region, path)).collect(),
            region: Region {
                addr: self.region.addr(),
                len: self.layout.region_bytes(),
                rkey: self.region.rkey(),
            },
        }
    }

    /// Moves every QP to RTR and RTS against the peer's.
    pub fn connect(&mut self, spec: &RunSpec, path: &Path, peer: &Offer) -> Result<(), VerbsError> {
        let peers = peer.qps.chunks(spec.qp_count as usize);
        self.threads.iter_mut().zip(peers).try_for_each(|(queues, peers)| queues.connect(spec, path, peers))
    }

    /// All QPs, thread by thread, for whoever brings them to life instead of [`Endpoint::connect`].
    pub(super) fn qps_mut(&mut self) -> Vec<&mut QueuePair> {
        self.threads.iter_mut().flat_map(Queues::qps_mut).collect()
    }

    /// Keeps what was brought to life by rdma_cm connected for as long as the endpoint lives.
    pub(super) fn keep(&mut self, connections: Connections) {
        self.connections = Some(connections);
    }

    /// What the device granted.
    pub fn granted(&self, spec: &RunSpec, path: &Path) -> Granted {
        let caps = self.threads[0].granted();
        Granted {
            path_mtu: path.path_mtu,
            max_send_wr: caps.max_send_wr,
            max_inline_bytes: caps.max_inline_bytes,
            cq_entries: self.threads[0].cq_entries(),
            max_recv_wr: caps.max_recv_wr,
            transport: Some(spec.transport),
            post_api: Some(spec.post_api),
            outstanding_reads: spec.op.fetches().then_some(path.outstanding_reads),
            thread_domains: self.threads[0].own_domain(),
            slots_per_qp: self.layout.slots as u32,
            working_set_bytes: Bytes(self.layout.half_bytes()),
        }
    }

    /// What the loop of one thread works on, for one message size. The endpoint must outlive every loop made of it, and
    /// only one thread may use the job at a time.
    pub fn job<'a>(&self, thread: usize, spec: &'a RunSpec, msg_bytes: Bytes, peer: &Region) -> Job<'a> {
        let queues = &self.threads[thread];
        Job {
            spec,
            // RunSpec::faults refuses sizes above 2^31.
            msg_bytes: msg_bytes.get() as u32,
            qps: queues.job_qps(thread as u32 * spec.qp_count),
            send_cq: queues.job_send_cq(),
            recv_cq: queues.job_recv_cq(),
            layout: self.layout,
            local: Memory { addr: self.region.addr(), key: self.region.lkey() },
            remote: Memory { addr: peer.addr, key: peer.rkey },
        }
    }

    /// Where messages lie.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The registered buffer.
    pub fn buffer(&self) -> &Buffer {
        self.region.buffer()
    }

    /// The half that is sent from. Call it only while nothing is in flight.
    pub fn source(&mut self) -> &mut [u8] {
        let half = self.layout.half_bytes() as usize;
        // SAFETY: the first half of the mapping, live as long as self; &mut self keeps other users here away, and the
        // NIC only reads it while work requests are in flight.
        unsafe { std::slice::from_raw_parts_mut(self.region.buffer().as_ptr(), half) }
    }

    /// The half that the peer writes to. Call it only while the peer writes nothing.
    pub fn target(&mut self) -> &mut [u8] {
        let half = self.layout.half_bytes() as usize;
        // SAFETY: the second half of the mapping, live as long as self; the protocol keeps the peer's writes away.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.region.buffer().as_ptr().add(self.layout.half_bytes() as usize),
                half,
            )
        }
    }

    /// The bandwidth loop of one thread for one message size.
    pub fn bandwidth<'a>(
        &self,
        spec: &'a RunSpec,
        msg_bytes: Bytes,
        peer: &Region,
        clock: &Clock,
    ) -> Bandwidth<'a> {
        // SAFETY: QPs, queue and memory live in self; callers drop the loop before self.
        unsafe { Bandwidth::new(&self.job(0, spec, msg_bytes, peer), clock) }
    }
}
