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
    softnic::SoftNic,
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

/// An endpoint on the raw software NIC that writes into its own target half, and that half: what the loop is timed and tested
/// on without a peer.
pub fn loopback(spec: &RunSpec) -> Result<(Endpoint, Region), EndpointError> {
    let context = Context::open(SoftNic::new(None, None))?;
    // It talks to itself, so it receives what it sends.
    let mut endpoint = Endpoint::build(&context, spec, Side::Responder, 1, None)?;
    let outstanding_reads = spec.outstanding_reads.unwrap_or(u8::from(spec.op.fetches()) * 16);
    let path = Path { port_num: 1, path_mtu: 4096, gid_index: None, gid: [0; 16], lid: 0, outstanding_reads };
    let party = Party {
        fabric: Fabric::Soft,
        link_layer: "Soft".into(),
        active_mtu: path.path_mtu,
        gid: None,
        boot_id: None,
        cpus: Vec::new(),
        max_qp_rd_atom: 16,
        max_qp_init_rd_atom: 16,
    };
    let offer = endpoint.offer(party, &path);
    endpoint.connect(spec, &path, &offer)?;
    Ok((endpoint, offer.region))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::{Nanos, Op, Stage, Stop, Test, Transport};

    use super::*;
    use crate::engine::{
        bandwidth::{End, Measured, Phases},
        kept::Kept,
        pattern,
        watch::Watch,
    };

    fn spec(change: impl FnOnce(&mut RunSpec)) -> RunSpec {
        let mut spec = RunSpec::new(Test::Bandwidth);
        (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
        (spec.msg_bytes, spec.warmup_ns) = (vec![Bytes(64)], Nanos(0));
        change(&mut spec);
        assert_eq!(spec.faults(), []);
        spec
    }

    fn clock() -> Clock {
        static CLOCK: std::sync::OnceLock<Clock> = std::sync::OnceLock::new();
        CLOCK.get_or_init(Clock::calibrate).clone()
    }

    fn watch(clock: &Clock) -> Watch<'static> {
        Watch::new(None, Side::Requester, Stage::Measure, clock.scale(), Nanos(2_000_000_000))
    }

    /// Runs a spec against itself.
    fn measure(spec: &RunSpec) -> (Measured, Kept) {
        let clock = clock();
        let (endpoint, region) = loopback(spec).unwrap();
        let mut kept = Kept::new(clock.scale(), spec.interval_ns, None);
        let mut bandwidth = endpoint.bandwidth(spec, spec.msg_bytes[0], &region, &clock);
        let now = clock.source().now();
        let end = match spec.stop {
            Stop::DurationNs(duration) => End::At(now + clock.scale().ticks(duration.get())),
            Stop::Iterations(count) => End::After(count),
        };
        let phases = Phases { warm_until: now, end, messages_per_sec: None };
        let measured = bandwidth.measure(phases, None, &mut kept, &mut watch(&clock)).unwrap();
        (measured, kept)
    }

    #[test]
    fn every_slot_of_every_qp_is_written_once_with_its_own_bytes() {
        let spec = spec(|s| (s.post_list, s.qp_count, s.msg_bytes) = (5, 3, vec![Bytes(100)]));
        let clock = clock();
        let (mut endpoint, region) = loopback(&spec).unwrap();
        pattern::fill(endpoint.source(), 0);
        let mut bandwidth = endpoint.bandwidth(&spec, Bytes(100), &region, &clock);
        assert_eq!(bandwidth.send_each_slot_once(None, &mut watch(&clock)).unwrap(), 15);
        let layout = *endpoint.layout();
        let check = pattern::check_in_place(endpoint.target(), &layout, 100, 0, Transport::Rc);
        assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(5 * 3 * 100), Bytes(0)));
    }

    #[test]
    fn a_working_set_is_walked_to_its_last_slot() {
        let spec = spec(|s| {
            (s.post_list, s.qp_count, s.msg_bytes) = (3, 2, vec![Bytes(100)]);
            (s.working_set_bytes, s.stride_bytes) = (Some(Bytes(16 << 10)), Some(Bytes(256)));
        });
        let clock = clock();
        let (mut endpoint, region) = loopback(&spec).unwrap();
        pattern::fill(endpoint.source(), 0);
        let mut bandwidth = endpoint.bandwidth(&spec, Bytes(100), &region, &clock);
        bandwidth.send_each_slot_once(None, &mut watch(&clock)).unwrap();
        let layout = *endpoint.layout();
        let check = pattern::check_in_place(endpoint.target(), &layout, 100, 0, Transport::Rc);
        assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(64 * 2 * 100), Bytes(0)));
    }

    #[test]
    fn a_duration_ends_and_what_it_counts_fits_its_intervals() {
        let (measured, kept) = measure(&spec(|s| s.stop = Stop::DurationNs(Nanos(30_000_000))));
        assert!(measured.messages > 0 && measured.duration(clock().scale()) >= Nanos(29_000_000));
        let latency = &kept.latency;
        assert_eq!(latency.samples().0.len(), measured.messages);
        assert_eq!(
            latency.intervals().iter().map(|interval| interval.messages).sum::<u64>(),
            measured.messages
        );
    }

    /// Open files, mappings and resident memory of this process.
    fn traces() -> (usize, usize, u64) {
        let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mappings = maps.lines().filter(|line| line.contains("memfd:")).count();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        (files, mappings, resident.trim().trim_end_matches(" kB").parse().unwrap())
    }

    #[test]
    fn a_thousand_qps_come_and_go_and_leave_nothing() {
        let spec = spec(|s| {
            (s.op, s.threads, s.qp_count) = (Op::Send, 2, 500);
            (s.tx_depth, s.rx_depth) = (2, 2);
        });
        // The first round fills the allocator's own stock.
        drop(loopback(&spec).unwrap());
        let (files, mappings, resident_kib) = traces();
        for _ in 0..3 {
            let (endpoint, _) = loopback(&spec).unwrap();
            assert_eq!(endpoint.threads.iter().map(|queues| queues.job_qps(0).len()).sum::<usize>(), 1_000);
            let (_, mapped, _) = traces();
            assert!(mapped > mappings, "the endpoint's memory is a memfd");
        }
        let after = traces();
        assert_eq!((after.0, after.1), (files, mappings));
        // A leak of one page a QP would be 12,000 KiB.
        assert!(after.2 < resident_kib + 6_000, "{} KiB became {} KiB", resident_kib, after.2);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, max_global_rejects: 4_000, ..ProptestConfig::default() })]
        #[test]
        fn exactly_as_many_messages_as_asked_and_one_sample_a_signal(
            depth in 1u32..80, list in 0u32..80, interval in 0u32..80, qps in 1u32..4, batch in 1u32..20, count in 1u64..2_000,
            walk: bool,
        ) {
            let mut spec = RunSpec::new(Test::Bandwidth);
            (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
            (spec.tx_depth, spec.post_list, spec.signal_interval) = (depth, list % depth + 1, interval % depth + 1);
            (spec.qp_count, spec.cq_poll_batch, spec.stop) = (qps, batch, Stop::Iterations(count));
            (spec.msg_bytes, spec.warmup_ns) = (vec![Bytes(8)], Nanos(0));
            spec.working_set_bytes = walk.then_some(Bytes(64 << 10));
            prop_assume!(spec.faults().is_empty());
            let (measured, kept) = measure(&spec);
            prop_assert_eq!(measured.messages, count);
            let quotas = (0..u64::from(qps)).map(|qp| count / u64::from(qps) + u64::from(qp < count % u64::from(qps)));
            let signals: u64 = quotas.map(|quota| quota.div_ceil(u64::from(spec.signal_interval))).sum();
            prop_assert_eq!(kept.latency.samples().0.len(), signals);
        }
    }
}
