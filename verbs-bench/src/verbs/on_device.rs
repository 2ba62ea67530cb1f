//! The objects on a real device: what only a kernel can say of masks, rights and layouts. For rxe0 and rxe1 on the two ends
//! of a veth pair, at 10.0.0.1 and 10.0.0.2 (`rxe_pair` of scripts/guest/lib.sh).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use rdma_sys::*;
use schema::{Op, Transport};

use super::*;
use crate::placement::Buffer;

const BYTES: usize = 4096;

/// One side: QPs in INIT on one CQ, and registered memory.
pub(crate) struct End {
    pub(crate) qps: Vec<QueuePair>,
    cq: Arc<CompletionQueue>,
    region: MemoryRegion,
    context: Arc<Context>,
}

impl End {
    pub(crate) fn new(device: &str, kind: QpKind, cq: CqKind, qps: usize) -> End {
        let context = Context::open(open(device).expect("the device")).expect("opened");
        let pd = ProtectionDomain::alloc(&context).expect("a PD");
        let buffer = Buffer::anonymous(BYTES, None).expect("a buffer");
        let access = Access { remote_read: true, ..Access::default() };
        let region = MemoryRegion::register(&pd, buffer, access).expect("registered");
        let cq = CompletionQueue::create(&context, 64, cq).expect("a CQ");
        let caps = QpCaps { max_send_wr: 8, max_recv_wr: 8, max_inline_bytes: 0 };
        let make = |_| {
            let mut qp = QueuePair::create(&pd, &cq, &cq, kind, caps).expect("a QP");
            qp.to_init(1, 0, Op::Write).expect("INIT");
            qp
        };
        let qps = (0..qps).map(make).collect();
        End { qps, cq, region, context }
    }

    fn gid(&self) -> GidEntry {
        let table = self.context.gid_table(1).expect("a GID table");
        table.into_iter().find(|entry| entry.ip().is_ipv4()).expect("an IPv4 GID")
    }

    /// Connects its first QP to that of `peer`, over TCP's part of the work.
    fn connect(&mut self, peer: &End, transport: Transport) {
        let connection = Connection {
            port_num: 1,
            path_mtu: 1024,
            local_psn: 1,
            gid_index: Some(self.gid().index as u8),
            traffic_class: 0,
            service_level: 0,
            timeout: 14,
            retry_count: 7,
            transport,
            outstanding_reads: 1,
            flow_label: 0,
            pkey_index: 0,
            remote: RemoteQp {
                qp_num: peer.qps[0].qp_num(),
                psn: 1,
                lid: 0,
                gid: peer.gid().gid,
                soft: None,
            },
        };
        self.qps[0].to_rtr(&connection).expect("RTR");
        self.qps[0].to_rts(&connection).expect("RTS");
    }

    /// Writes 8 bytes of `value` to the start of the peer's memory.
    pub(crate) fn write(&self, qp: &QueuePair, value: u64, peer: &End) {
        // SAFETY: the buffer is 4096 bytes of our own.
        unsafe { self.region.buffer().as_ptr().cast::<u64>().write_volatile(value) };
        let mut sge = ibv_sge { addr: self.region.addr(), length: 8, lkey: self.region.lkey() };
        // SAFETY: plain integers and pointers; all zero is a valid value.
        let mut wr: ibv_send_wr = unsafe { std::mem::zeroed() };
        (wr.wr_id, wr.sg_list, wr.num_sge) = (value, &mut sge, 1);
        (wr.opcode, wr.send_flags) = (ibv_wr_opcode::IBV_WR_RDMA_WRITE, ibv_send_flags::IBV_SEND_SIGNALED.0);
        wr.wr.rdma.remote_addr = peer.region.addr();
        wr.wr.rdma.rkey = peer.region.rkey();
        let mut bad = std::ptr::null_mut();
        // SAFETY: a QP in RTS, a work request whose memory is registered and outlives it.
        assert_eq!(unsafe { ibv_post_send(qp.as_ptr(), &mut wr, &mut bad) }, 0);
    }

    pub(crate) fn first_word(&self) -> u64 {
        // SAFETY: the buffer is 4096 bytes of our own; the device may write it meanwhile.
        unsafe { self.region.buffer().as_ptr().cast::<u64>().read_volatile() }
    }

    /// Polls for one completion, with a deadline.
    pub(crate) fn completion(&self) -> ibv_wc {
        // SAFETY: plain integers; all zero is a valid value.
        let mut wc: ibv_wc = unsafe { std::mem::zeroed() };
        let deadline = Instant::now() + Duration::from_secs(10);
        // SAFETY: a live classic CQ, and room for one completion.
        while unsafe { ibv_poll_cq(self.cq.as_ptr(), 1, &mut wc) } == 0 {
            assert!(Instant::now() < deadline, "no completion");
        }
        wc
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn every_transport_and_both_apis_reach_rts() {
    let context = Context::open(open("rxe0").expect("rxe0")).expect("opened");
    let attr = context.query_device_extended().expect("attributes");
    println!("{attr:?}");
    assert!(attr.extended && attr.atomics && attr.num_comp_vectors > 0);
    assert_eq!(attr.timestamp_ticks_per_sec, None, "rxe has no clock");
    assert!(context.provider().fabric() == schema::Fabric::Verbs);
    for transport in [Transport::Rc, Transport::Uc, Transport::Ud] {
        let op = if transport == Transport::Ud { Op::Send } else { Op::Write };
        for extended in [None, Some(op)] {
            let kind = QpKind { transport, extended };
            let cq = CqKind { extended: extended.is_some(), ..CqKind::default() };
            let (mut ours, mut theirs) =
                (End::new("rxe0", kind, cq.clone(), 1), End::new("rxe1", kind, cq, 1));
            ours.connect(&theirs, transport);
            theirs.connect(&ours, transport);
            assert_eq!(ours.qps[0].as_ex_ptr().is_null(), extended.is_none());
        }
    }
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn what_the_kernel_refuses_is_told_with_attributes_and_gids() {
    let (mut ours, theirs) = (
        End::new("rxe0", QpKind::RC, CqKind::default(), 1),
        End::new("rxe1", QpKind::RC, CqKind::default(), 1),
    );
    let remote =
        RemoteQp { qp_num: theirs.qps[0].qp_num(), psn: 1, lid: 0, gid: theirs.gid().gid, soft: None };
    let connection = Connection {
        port_num: 1,
        path_mtu: 1024,
        local_psn: 1,
        gid_index: Some(200),
        traffic_class: 0,
        service_level: 0,
        timeout: 14,
        retry_count: 7,
        transport: Transport::Rc,
        outstanding_reads: 1,
        flow_label: 0,
        pkey_index: 0,
        remote,
    };
    let text = ours.qps[0].to_rtr(&connection).expect_err("GID 200 is empty").to_string();
    println!("{text}");
    assert!(text.contains("our gid_index 200") && text.contains("GID table of port 1:"), "{text}");
    assert!(text.contains("::ffff:10.0.0.1  RoCE v2  veth0"), "{text}");
    let timestamps = CqKind { extended: true, timestamps: true, ..CqKind::default() };
    let text = CompletionQueue::create(&ours.context, 8, timestamps).err().expect("rxe has none").to_string();
    assert!(
        text.starts_with("ibv_create_cq_ex(8 entries)") && text.contains("no completion timestamps"),
        "{text}"
    );
}

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn a_thread_that_waits_wakes_for_a_completion_and_not_without() {
    let context = Context::open(open("rxe0").expect("rxe0")).expect("opened");
    let channel = CompletionChannel::create(&context).expect("a channel");
    drop(context);
    let events = CqKind { events: Some((Arc::clone(&channel), 0)), ..CqKind::default() };
    let (mut ours, mut theirs) = (
        End::new("rxe0", QpKind::RC, CqKind::default(), 1),
        End::new("rxe1", QpKind::RC, CqKind::default(), 1),
    );
    ours.cq = CompletionQueue::create(channel.context(), 8, events).expect("a CQ with events");
    let pd = ProtectionDomain::alloc(channel.context()).expect("a PD");
    let region =
        MemoryRegion::register(&pd, Buffer::anonymous(BYTES, None).expect("a buffer"), Access::default());
    ours.region = region.expect("registered");
    let caps = QpCaps::sending(8, 0);
    ours.qps = vec![QueuePair::create(&pd, &ours.cq, &ours.cq, QpKind::RC, caps).expect("a QP")];
    ours.qps[0].to_init(1, 0, Op::Write).expect("INIT");
    ours.connect(&theirs, Transport::Rc);
    theirs.connect(&ours, Transport::Rc);
    let wait = |timeout| {
        // SAFETY: the CQ was made with this channel, and this thread alone waits on it.
        unsafe { channel.wait(ours.cq.as_ptr(), timeout) }.expect("no error")
    };
    // SAFETY: a live CQ with a channel.
    assert_eq!(unsafe { ibv_req_notify_cq(ours.cq.as_ptr(), 0) }, 0);
    assert!(!wait(Duration::from_millis(20)), "nothing was posted");
    ours.write(&ours.qps[0], 42, &theirs);
    assert!(wait(Duration::from_secs(10)), "the completion wakes it");
    assert_eq!((ours.completion().wr_id, theirs.first_word()), (42, 42));
}
