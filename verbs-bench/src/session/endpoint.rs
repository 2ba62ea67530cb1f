//! What a side connects: memory, completion queue and queue pairs, made for one spec and torn down in verbs order.

use std::sync::Arc;

use schema::{Bytes, Fabric, RunSpec, Test, record::Granted};

use crate::{
    connect::{Offer, Party, Region},
    engine::{
        bandwidth::Bandwidth,
        lane::{Addresses, Lane, Load},
        latency::{OUTSTANDING, PingPong},
        layout::Layout,
    },
    placement::Buffer,
    softnic::SoftNic,
    verbs::{
        Access, CompletionQueue, Connection, Context, CqKind, MemoryRegion, ProtectionDomain, QpCaps, QpKind,
        QueuePair, RemoteQp, VerbsError,
    },
};

/// One side's verbs objects. Fields drop from top to bottom: QPs, then their CQ, then the memory.
pub struct Endpoint {
    qps: Vec<QueuePair>,
    cq: Arc<CompletionQueue>,
    region: MemoryRegion,
    layout: Layout,
    psns: Vec<u32>,
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
    /// Allocates and registers the buffers on `node`, creates CQ and QPs, moves the QPs to INIT.
    pub fn build(
        context: &Arc<Context>,
        spec: &RunSpec,
        port_num: u8,
        node: Option<u32>,
    ) -> Result<Self, EndpointError> {
        let layout = Layout::of(spec);
        let bytes = layout.region_bytes() as usize;
        let buffer = match context.provider().fabric() {
            Fabric::Verbs => Buffer::anonymous(bytes, node)?,
            Fabric::Soft => Buffer::memfd(bytes, node)?,
        };
        // Completions of the latency test are reaped off the critical path, so more than tx_depth may be outstanding.
        let max_send_wr = match spec.test {
            Test::Bandwidth => spec.tx_depth,
            Test::Latency => spec.tx_depth.max(OUTSTANDING as u32),
        };
        let pd = ProtectionDomain::alloc(context)?;
        // Both tests may be polled in memory by the peer; relaxed ordering could let the last byte land first.
        let region = MemoryRegion::register(&pd, buffer, Access { relaxed_ordering: false })?;
        let cq = CompletionQueue::create(context, max_send_wr * spec.qp_count, CqKind::default())?;
        let caps = QpCaps::sending(max_send_wr, spec.max_inline_bytes);
        let mut qps = Vec::with_capacity(spec.qp_count as usize);
        for _ in 0..spec.qp_count {
            let mut qp = QueuePair::create(&pd, &cq, &cq, QpKind::RC, caps)?;
            qp.to_init(port_num)?;
            qps.push(qp);
        }
        let psns = qps.iter().map(|_| rand::random::<u32>() & 0x00ff_ffff).collect();
        Ok(Endpoint { qps, cq, region, layout, psns })
    }

    /// What the peer must know.
    pub fn offer(&self, party: Party, path: &Path) -> Offer {
        let qps = self.qps.iter().zip(&self.psns).map(|(qp, psn)| RemoteQp {
            qp_num: qp.qp_num(),
            psn: *psn,
            lid: path.lid,
            gid: path.gid,
            soft: self.region.soft_peer(qp),
        });
        Offer {
            party,
            path_mtu: path.path_mtu,
            qps: qps.collect(),
            region: Region {
                addr: self.region.addr(),
                len: self.layout.region_bytes(),
                rkey: self.region.rkey(),
            },
        }
    }

    /// Moves every QP to RTR and RTS against the peer's.
    pub fn connect(&mut self, spec: &RunSpec, path: &Path, peer: &Offer) -> Result<(), VerbsError> {
        for ((qp, psn), remote) in self.qps.iter_mut().zip(&self.psns).zip(&peer.qps) {
            let connection = Connection {
                port_num: path.port_num,
                path_mtu: path.path_mtu,
                local_psn: *psn,
                gid_index: path.gid_index,
                traffic_class: spec.traffic_class,
                service_level: spec.service_level,
                timeout: spec.qp_timeout,
                retry_count: spec.retry_count,
                transport: spec.transport,
                outstanding_reads: spec.outstanding_reads.unwrap_or(1),
                flow_label: spec.flow_label,
                pkey_index: spec.pkey_index,
                remote: remote.clone(),
            };
            qp.to_rtr(&connection)?;
            qp.to_rts(&connection)?;
        }
        Ok(())
    }

    /// What the device granted.
    pub fn granted(&self, spec: &RunSpec, path_mtu: u32) -> Granted {
        let caps = self.qps[0].granted();
        Granted {
            path_mtu,
            max_send_wr: caps.max_send_wr,
            max_inline_bytes: caps.max_inline_bytes,
            cq_entries: self.cq.entries(),
            max_recv_wr: caps.max_recv_wr,
            transport: Some(spec.transport),
            post_api: Some(spec.post_api),
            outstanding_reads: None,
            thread_domains: false,
            slots_per_qp: self.layout.slots as u32,
            working_set_bytes: Bytes(self.layout.half_bytes()),
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

    fn addresses(&self, peer: &Region) -> Addresses {
        Addresses { source: self.region.addr(), lkey: self.region.lkey(), target: peer.addr, rkey: peer.rkey }
    }

    fn load(&self, spec: &RunSpec, msg_bytes: Bytes) -> Load {
        Load {
            // RunSpec::faults refuses sizes above 2^31.
            msg_bytes: msg_bytes.get() as u32,
            inline: msg_bytes.get() <= u64::from(spec.max_inline_bytes),
            tx_depth: spec.tx_depth,
            post_list: spec.post_list,
            signal_interval: spec.signal_interval,
        }
    }

    /// The bandwidth loop of this endpoint for one message size.
    pub fn bandwidth(&self, spec: &RunSpec, msg_bytes: Bytes, peer: &Region) -> Bandwidth {
        let load = self.load(spec, msg_bytes);
        let addresses = self.addresses(peer);
        let lanes = self.qps.iter().enumerate().map(|(index, qp)| {
            // SAFETY: the QP is in RTS and lives in self, as does the memory; callers drop the loop before self.
            unsafe { Lane::new(qp.as_ptr(), index as u32, &load, &self.layout, &addresses) }
        });
        // SAFETY: the CQ is the one every QP was created with.
        unsafe { Bandwidth::new(lanes.collect(), self.cq.as_ptr(), spec) }
    }

    /// The ping-pong of this endpoint for one message size.
    pub fn ping_pong(&self, spec: &RunSpec, msg_bytes: Bytes, peer: &Region) -> PingPong {
        let load = self.load(spec, msg_bytes);
        let addresses = self.addresses(peer);
        let own_region = self.region.buffer().as_ptr();
        // SAFETY: QP, CQ and memory live in self; callers drop the ping-pong before self.
        unsafe {
            PingPong::new(self.qps[0].as_ptr(), self.cq.as_ptr(), &load, &self.layout, &addresses, own_region)
        }
    }
}

/// An endpoint on the raw software NIC that writes into its own target half, and that half: what the loop is timed and tested
/// on without a peer.
pub fn loopback(spec: &RunSpec) -> Result<(Endpoint, Region), EndpointError> {
    let context = Context::open(SoftNic::new(None, None))?;
    let mut endpoint = Endpoint::build(&context, spec, 1, None)?;
    let path = Path { port_num: 1, path_mtu: 4096, gid_index: None, gid: [0; 16], lid: 0 };
    let party = Party {
        fabric: Fabric::Soft,
        link_layer: "Soft".into(),
        active_mtu: path.path_mtu,
        gid: None,
        boot_id: None,
        cpu: None,
    };
    let offer = endpoint.offer(party, &path);
    endpoint.connect(spec, &path, &offer)?;
    Ok((endpoint, offer.region))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use schema::{Nanos, Side, Stage, Stop};

    use super::*;
    use crate::{
        clock::{MonotonicRaw, Scale},
        engine::{pattern, recorder::Recorder, watch::Watch},
    };

    fn spec(change: impl FnOnce(&mut RunSpec)) -> RunSpec {
        let mut spec = RunSpec::new(Test::Bandwidth);
        (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
        (spec.msg_bytes, spec.warmup_ns) = (vec![Bytes(64)], Nanos(0));
        change(&mut spec);
        assert_eq!(spec.faults(), []);
        spec
    }

    fn recorder() -> Recorder {
        Recorder::new(Scale::NANOSECONDS, Nanos(100_000_000))
    }

    fn watch() -> Watch<'static> {
        Watch::new(None, Side::Requester, Stage::Measure, Scale::NANOSECONDS, Nanos(2_000_000_000))
    }

    #[test]
    fn every_slot_of_every_qp_is_written_once_with_its_own_bytes() {
        let spec = spec(|s| (s.post_list, s.qp_count, s.msg_bytes) = (5, 3, vec![Bytes(100)]));
        let (mut endpoint, region) = loopback(&spec).unwrap();
        pattern::fill(endpoint.source());
        let mut bandwidth = endpoint.bandwidth(&spec, Bytes(100), &region);
        let slots = endpoint.layout().slots;
        bandwidth.write_once(MonotonicRaw, slots, &mut recorder(), &mut watch()).unwrap();
        let layout = *endpoint.layout();
        let check = pattern::check(endpoint.target(), &layout, 100);
        assert_eq!((check.checked_bytes, check.wrong_bytes), (Bytes(5 * 3 * 100), Bytes(0)));
    }

    #[test]
    fn a_duration_ends_and_what_it_counts_fits_its_intervals() {
        let spec = spec(|s| s.stop = Stop::DurationNs(Nanos(30_000_000)));
        let (endpoint, region) = loopback(&spec).unwrap();
        let mut kept = recorder();
        let measured = endpoint
            .bandwidth(&spec, Bytes(64), &region)
            .measure(MonotonicRaw, &spec, &mut kept, &mut recorder(), &mut watch())
            .unwrap();
        assert!(measured.messages > 0 && measured.duration >= Nanos(30_000_000));
        assert_eq!(kept.samples().0.len(), measured.messages);
        assert_eq!(kept.intervals().iter().map(|interval| interval.messages).sum::<u64>(), measured.messages);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, max_global_rejects: 4_000, ..ProptestConfig::default() })]
        #[test]
        fn exactly_as_many_messages_as_asked_and_one_sample_a_signal(
            depth in 1u32..80, list in 0u32..80, interval in 0u32..80, qps in 1u32..4, batch in 1u32..20, count in 1u64..2_000,
        ) {
            let mut spec = RunSpec::new(Test::Bandwidth);
            (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
            (spec.tx_depth, spec.post_list, spec.signal_interval) = (depth, list % depth + 1, interval % depth + 1);
            (spec.qp_count, spec.cq_poll_batch, spec.stop) = (qps, batch, Stop::Iterations(count));
            (spec.msg_bytes, spec.warmup_ns) = (vec![Bytes(8)], Nanos(0));
            prop_assume!(spec.faults().is_empty());
            let (endpoint, region) = loopback(&spec).unwrap();
            let mut kept = recorder();
            let measured = endpoint
                .bandwidth(&spec, Bytes(8), &region)
                .measure(MonotonicRaw, &spec, &mut kept, &mut recorder(), &mut watch())
                .map_err(|halt| TestCaseError::fail(format!("{halt:?}")))?;
            prop_assert_eq!(measured.messages, count);
            let quotas = (0..u64::from(qps)).map(|qp| count / u64::from(qps) + u64::from(qp < count % u64::from(qps)));
            let signals: u64 = quotas.map(|quota| quota.div_ceil(u64::from(spec.signal_interval))).sum();
            prop_assert_eq!(kept.samples().0.len(), signals);
        }
    }
}
