//! The receiver on a scripted device: queues of posted receives, and completions that the test makes.

use std::{cell::RefCell, collections::VecDeque, ffi::c_int};

use proptest::prelude::*;
use rdma_sys::{ibv_context, ibv_qp, ibv_recv_wr, imm_data_invalidated_rkey_union_t};
use schema::{Bytes, RunSpec, Side, Stage, Test};

use super::*;
use crate::engine::{
    job::{JobCq, JobQp, Memory},
    layout::Layout,
};

const BASE: u64 = 1 << 20;

/// A receive as it was posted.
#[derive(Debug, Clone, Copy)]
struct Posted {
    wr_id: u64,
    addr: u64,
    length: u32,
}

#[derive(Default)]
struct Script {
    queues: Vec<VecDeque<Posted>>,
    completions: VecDeque<ibv_wc>,
    lists: usize,
}

thread_local! {
    static SCRIPT: RefCell<Script> = RefCell::default();
}

unsafe extern "C" fn post_recv(
    qp: *mut ibv_qp,
    mut wr: *mut ibv_recv_wr,
    _bad: *mut *mut ibv_recv_wr,
) -> c_int {
    SCRIPT.with_borrow_mut(|script| {
        script.lists += 1;
        while !wr.is_null() {
            // SAFETY: the receiver posts a live list with one SGE each on a QP of the device below.
            let (queue, request, sge) = unsafe { ((*qp).qp_num, &*wr, &*(*wr).sg_list) };
            let posted = Posted { wr_id: request.wr_id, addr: sge.addr, length: sge.length };
            script.queues[queue as usize].push_back(posted);
            wr = request.next;
        }
    });
    0
}

unsafe extern "C" fn poll_cq(_cq: *mut ibv_cq, room: c_int, wcs: *mut ibv_wc) -> c_int {
    SCRIPT.with_borrow_mut(|script| {
        let count = script.completions.len().min(room as usize);
        for (at, wc) in script.completions.drain(..count).enumerate() {
            // SAFETY: the receiver offers room for `room` completions.
            unsafe { wcs.add(at).write(wc) };
        }
        count as c_int
    })
}

/// The device's objects, on the heap, since the receiver points to them.
struct Device {
    _context: Box<ibv_context>,
    cq: Box<ibv_cq>,
    qps: Vec<ibv_qp>,
}

impl Device {
    fn new(qps: u32) -> Device {
        SCRIPT.set(Script { queues: vec![VecDeque::new(); qps as usize], ..Script::default() });
        // SAFETY: C structs of integers, pointers, optional functions and unused mutexes; all zeros is a valid value.
        let (mut context, mut cq): (Box<ibv_context>, Box<ibv_cq>) =
            unsafe { (Box::new(std::mem::zeroed()), Box::new(std::mem::zeroed())) };
        context.ops.post_recv = Some(post_recv);
        context.ops.poll_cq = Some(poll_cq);
        cq.context = &raw mut *context;
        let qps = (0..qps).map(|number| {
            // SAFETY: as above.
            let mut qp: ibv_qp = unsafe { std::mem::zeroed() };
            (qp.context, qp.qp_num) = (&raw mut *context, number);
            qp
        });
        let qps = qps.collect();
        Device { _context: context, cq, qps }
    }

    fn job<'a>(&mut self, spec: &'a RunSpec) -> Job<'a> {
        let cq = JobCq { cq: &mut *self.cq, channel: None };
        let qps = self.qps.iter_mut().zip(0..).map(|(qp, index)| JobQp {
            qp,
            qp_ex: std::ptr::null_mut(),
            index,
            ud: None,
        });
        Job {
            spec,
            msg_bytes: spec.msg_bytes[0].get() as u32,
            qps: qps.collect(),
            send_cq: cq.clone(),
            recv_cq: cq,
            layout: Layout::of(spec),
            local: Memory { addr: BASE, key: 7 },
            remote: Memory { addr: 0, key: 0 },
        }
    }
}

/// The completion of the oldest receive of a QP; none if it has none posted.
fn arrive(queue: usize, opcode: ibv_wc_opcode::Type, byte_len: u32, number: u32) -> Option<Posted> {
    SCRIPT.with_borrow_mut(|script| {
        let posted = script.queues[queue].pop_front()?;
        // SAFETY: ibv_wc is a C struct of integers; all zeros is a valid value.
        let mut wc: ibv_wc = unsafe { std::mem::zeroed() };
        (wc.wr_id, wc.opcode, wc.byte_len, wc.qp_num) = (posted.wr_id, opcode, byte_len, queue as u32);
        wc.imm_data_invalidated_rkey_union = imm_data_invalidated_rkey_union_t { imm_data: number.to_be() };
        script.completions.push_back(wc);
        Some(posted)
    })
}

fn posted_on(queue: usize) -> usize {
    SCRIPT.with_borrow(|script| script.queues[queue].len())
}

fn spec(op: Op, change: impl FnOnce(&mut RunSpec)) -> RunSpec {
    let mut spec = RunSpec::with_op(Test::Bandwidth, op);
    spec.msg_bytes = vec![Bytes(64), Bytes(200)];
    change(&mut spec);
    assert_eq!(spec.faults(), []);
    spec
}

fn watch() -> Watch<'static> {
    Watch::new(None, Side::Responder, Stage::Measure, Scale::NANOSECONDS, Nanos(1_000_000_000))
}

fn filled(device: &mut Device, spec: &RunSpec) -> Receiver {
    // SAFETY: the device outlives the receiver in every test here.
    let mut receiver = unsafe { Receiver::new(&device.job(spec), Scale::NANOSECONDS) };
    receiver.fill(&watch()).unwrap();
    receiver
}

/// Makes one message come and says what the receiver has against it.
fn objection(spec: &RunSpec, come: impl FnOnce(&mut Receiver)) -> String {
    let mut device = Device::new(spec.total_qps());
    let mut receiver = filled(&mut device, spec);
    come(&mut receiver);
    assert_eq!(receiver.turn(), FAILED);
    match receiver.trouble(&watch()) {
        Halt::Fault(fault) => fault.cause,
        Halt::PeerSpoke => panic!("nobody spoke"),
    }
}

proptest! {
    #[test]
    fn every_receive_lies_where_the_layout_says_and_the_queues_stay_full(
        batch in 1u32..20, rx_depth in 1u32..70, qps in 1u32..6, list in 1u32..8, ud in any::<bool>(),
        arrivals in prop::collection::vec((0usize..6, any::<bool>()), 1..400),
    ) {
        let spec = spec(Op::Send, |s| {
            (s.cq_poll_batch, s.rx_depth, s.qp_count, s.post_list) = (batch, rx_depth, qps, list);
            s.transport = if ud { Transport::Ud } else { Transport::Rc };
        });
        let (layout, headroom) = (Layout::of(&spec), if ud { 40 } else { 0 });
        let mut device = Device::new(qps);
        let mut receiver = filled(&mut device, &spec);
        let mut came = vec![0u64; qps as usize];
        for (queue, turn) in arrivals {
            let queue = queue % qps as usize;
            if let Some(posted) = arrive(queue, ibv_wc_opcode::IBV_WC_RECV, 64 + headroom, 0) {
                prop_assert_eq!(posted.addr, BASE + layout.receive(queue as u64, came[queue]));
                prop_assert_eq!(posted.length, 200 + headroom);
                came[queue] += 1;
            }
            if turn {
                prop_assert!(receiver.turn() >= 0);
            }
        }
        while receiver.turn() > 0 {}
        prop_assert_eq!(receiver.received(), came.iter().sum::<u64>());
        let by_qp: Vec<_> = receiver.received_by_qp().collect();
        prop_assert_eq!(by_qp, (0..qps).zip(came).collect::<Vec<_>>());
        for queue in 0..qps as usize {
            prop_assert_eq!(posted_on(queue), rx_depth as usize);
        }
    }
}

#[test]
fn receives_go_back_in_lists_and_not_one_by_one() {
    let spec = spec(Op::Send, |s| (s.cq_poll_batch, s.qp_count, s.rx_depth) = (16, 2, 32));
    let mut device = Device::new(2);
    let mut receiver = filled(&mut device, &spec);
    assert_eq!(SCRIPT.with_borrow(|script| script.lists), 4);
    for queue in [0, 1].repeat(8) {
        arrive(queue, ibv_wc_opcode::IBV_WC_RECV, 64, 0);
    }
    assert_eq!(receiver.turn(), 16);
    assert_eq!(SCRIPT.with_borrow(|script| script.lists), 6);
}

#[test]
fn what_is_not_a_message_of_the_point_is_refused() {
    let send = spec(Op::Send, |_| {});
    let short = objection(&send, |_| {
        arrive(0, ibv_wc_opcode::IBV_WC_RECV, 63, 0);
    });
    assert!(short.contains("63 bytes where opcode 128 and 64 bytes were due"), "{short}");
    let other = objection(&send, |_| {
        arrive(0, ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM, 64, 0);
    });
    assert!(other.contains("opcode 129"), "{other}");
    let flushed = objection(&send, |_| {
        arrive(0, ibv_wc_opcode::IBV_WC_RECV, 64, 0);
        SCRIPT.with_borrow_mut(|script| script.completions[0].status = 5);
    });
    assert!(flushed.contains("WR_FLUSH_ERR"), "{flushed}");
    let foreign = objection(&send, |_| {
        arrive(0, ibv_wc_opcode::IBV_WC_RECV, 64, 0);
        SCRIPT.with_borrow_mut(|script| script.completions[0].wr_id = 9);
    });
    assert!(foreign.contains("not posted"), "{foreign}");
}

#[test]
fn the_size_of_the_next_point_is_told() {
    let spec = spec(Op::Send, |_| {});
    let mut device = Device::new(1);
    let mut receiver = filled(&mut device, &spec);
    arrive(0, ibv_wc_opcode::IBV_WC_RECV, 64, 0);
    assert_eq!(receiver.turn(), 1);
    receiver.expect(200);
    arrive(0, ibv_wc_opcode::IBV_WC_RECV, 200, 0);
    assert_eq!(receiver.turn(), 1);
}

fn numbers(transport: Transport, numbers: &[u32]) -> Vec<i32> {
    let spec = spec(Op::WriteImm, |s| s.transport = transport);
    let mut device = Device::new(1);
    let mut receiver = filled(&mut device, &spec);
    let turn = |number: &u32| {
        arrive(0, ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM, 64, *number);
        receiver.turn()
    };
    numbers.iter().map(turn).collect()
}

#[test]
fn rc_misses_no_number_and_uc_none_but_lost_ones() {
    assert_eq!(numbers(Transport::Rc, &[u32::MAX - 1, u32::MAX, 0, 1]), [1; 4]);
    assert_eq!(numbers(Transport::Rc, &[0, 2]), [1, FAILED]);
    assert_eq!(numbers(Transport::Rc, &[4, 4]), [1, FAILED]);
    assert_eq!(numbers(Transport::Uc, &[4, 5, 9, 1_000_000]), [1; 4]);
    assert_eq!(numbers(Transport::Uc, &[4, 3]), [1, FAILED]);
    let skipped = objection(&spec(Op::WriteImm, |_| {}), |receiver| {
        arrive(0, ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM, 64, 0);
        receiver.turn();
        arrive(0, ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM, 64, 2);
    });
    assert!(skipped.contains("received message 2 where 1 was next"), "{skipped}");
}
