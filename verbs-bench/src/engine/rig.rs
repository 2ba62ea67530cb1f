//! Two ends on the software NIC in one process, each with one QP: what the loops' tests run on.

use std::sync::Arc;

use schema::{Op, PostApi, RunSpec, Test, Transport, Wait};

use super::{
    job::{Job, JobCq, JobQp, Memory, UdAddress},
    layout::Layout,
};
use crate::{
    placement::Buffer,
    softnic::SoftNic,
    verbs::{
        Access, AddressHandle, CompletionChannel, CompletionQueue, Connection, Context, CqKind, MemoryRegion,
        ProtectionDomain, QKEY, QpCaps, QpKind, QueuePair, RemoteQp,
    },
};

/// Sends a QP holds.
const MAX_SEND_WR: u32 = 64;

/// One end. Field order is drop order.
pub(crate) struct End {
    qp: QueuePair,
    address: Option<AddressHandle>,
    send_cq: Arc<CompletionQueue>,
    recv_cq: Arc<CompletionQueue>,
    region: MemoryRegion,
    pd: Arc<ProtectionDomain>,
    layout: Layout,
    peer: Memory,
    peer_qp_num: u32,
}

/// A spec for the software NIC, changed as the test needs.
pub(crate) fn spec(test: Test, op: Op, change: impl FnOnce(&mut RunSpec)) -> RunSpec {
    let mut spec = RunSpec::with_op(test, op);
    (spec.requester.device, spec.responder.device) = ("soft".into(), "soft".into());
    (spec.warmup_ns, spec.cq_poll_batch) = (schema::Nanos(0), 4);
    change(&mut spec);
    assert_eq!(spec.faults(), []);
    spec
}

/// Requester and responder, connected.
pub(crate) fn pair(spec: &RunSpec) -> (End, End) {
    let (mut one, mut other) = (End::new(spec), End::new(spec));
    let (first, second) = (one.offer(), other.offer());
    one.connect(spec, second);
    other.connect(spec, first);
    (one, other)
}

impl End {
    fn new(spec: &RunSpec) -> End {
        let context = Context::open(SoftNic::new(spec.soft_model.clone(), None)).unwrap();
        let layout = Layout::of(spec);
        let pd = ProtectionDomain::alloc(&context).unwrap();
        let buffer = Buffer::memfd(layout.region_bytes() as usize, None).unwrap();
        let region = MemoryRegion::register(&pd, buffer, Access::of(spec)).unwrap();
        let extended = spec.post_api == PostApi::Extended;
        let events = || (spec.wait != Wait::Poll).then(|| (CompletionChannel::create(&context).unwrap(), 0));
        let kind = CqKind { events: events(), extended, timestamps: false };
        let send_cq = CompletionQueue::create(&context, MAX_SEND_WR, kind).unwrap();
        let kind = CqKind { events: events(), ..CqKind::default() };
        let recv_cq = CompletionQueue::create(&context, spec.rx_depth, kind).unwrap();
        let caps = QpCaps { max_send_wr: MAX_SEND_WR, max_recv_wr: spec.rx_depth, max_inline_bytes: 64 };
        let kind = QpKind { transport: spec.transport, extended: extended.then_some(spec.op) };
        let mut qp = QueuePair::create(&pd, &send_cq, &recv_cq, kind, caps).unwrap();
        qp.to_init(1, 0, spec.op).unwrap();
        let peer = Memory { addr: 0, key: 0 };
        End { qp, address: None, send_cq, recv_cq, region, pd, layout, peer, peer_qp_num: 0 }
    }

    fn offer(&self) -> (RemoteQp, Memory) {
        let soft = self.region.soft_peer(&self.qp);
        let remote = RemoteQp { qp_num: self.qp.qp_num(), psn: 0, lid: 0, gid: [0; 16], soft };
        (remote, Memory { addr: self.region.addr(), key: self.region.rkey() })
    }

    fn connect(&mut self, spec: &RunSpec, (remote, memory): (RemoteQp, Memory)) {
        (self.peer, self.peer_qp_num) = (memory, remote.qp_num);
        let connection = Connection {
            port_num: 1,
            path_mtu: 4096,
            local_psn: 0,
            gid_index: None,
            traffic_class: 0,
            service_level: 0,
            timeout: 14,
            retry_count: 7,
            transport: spec.transport,
            outstanding_reads: 1,
            flow_label: 0,
            pkey_index: 0,
            remote,
        };
        self.qp.to_rtr(&connection).unwrap();
        self.qp.to_rts(&connection).unwrap();
        if spec.transport == Transport::Ud {
            self.address = Some(AddressHandle::create(&self.pd, &connection).unwrap());
        }
    }

    /// What a loop of this end works on. The end must outlive the loop.
    pub(crate) fn job<'a>(&self, spec: &'a RunSpec) -> Job<'a> {
        let cq = |cq: &Arc<CompletionQueue>| JobCq { cq: cq.as_ptr(), channel: cq.channel().cloned() };
        let ud = self.address.as_ref().map(|address| UdAddress {
            ah: address.as_ptr(),
            qp_num: self.peer_qp_num,
            qkey: QKEY,
        });
        Job {
            spec,
            msg_bytes: spec.msg_bytes[0].get() as u32,
            qps: vec![JobQp { qp: self.qp.as_ptr(), qp_ex: self.qp.as_ex_ptr(), index: 0, ud }],
            send_cq: cq(&self.send_cq),
            recv_cq: cq(&self.recv_cq),
            layout: self.layout,
            local: Memory { addr: self.region.addr(), key: self.region.lkey() },
            remote: self.peer,
        }
    }

    /// Where messages lie.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The source half and the target half. Nothing may be in flight.
    pub(crate) fn halves(&mut self) -> (&mut [u8], &mut [u8]) {
        let half = self.layout.half_bytes() as usize;
        // SAFETY: the mapping of both halves lives in self; &mut self keeps other users here away, and nothing is in flight.
        let region = unsafe { std::slice::from_raw_parts_mut(self.region.buffer().as_ptr(), 2 * half) };
        region.split_at_mut(half)
    }
}
