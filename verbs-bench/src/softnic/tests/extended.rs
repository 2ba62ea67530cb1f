//! The extended API: the same NIC behind `ibv_wr_*` and `ibv_start_poll`.

use std::ffi::c_void;

use rdma_sys::*;
use schema::Op;

use super::*;
use crate::verbs::QKEY;

/// A rig whose QP posts `op` through `ibv_wr_*` and whose queues are polled with `ibv_start_poll`.
fn rig(nic: Arc<dyn Provider>, transport: Transport, op: Op, timestamps: bool) -> Rig {
    let context = Context::open(nic).unwrap();
    let pd = ProtectionDomain::alloc(&context).unwrap();
    let kind = CqKind { extended: true, timestamps, ..CqKind::default() };
    let cq = CompletionQueue::create(&context, 16, kind.clone()).unwrap();
    let recv_cq = CompletionQueue::create(&context, 16, kind).unwrap();
    let (source, target) = (region(&pd), region(&pd));
    let caps = QpCaps { max_send_wr: 8, max_recv_wr: 8, max_inline_bytes: 64 };
    let mut qp =
        QueuePair::create(&pd, &cq, &recv_cq, QpKind { transport, extended: Some(op) }, caps).unwrap();
    Rig::connect(&mut qp, &target, transport);
    Rig { qp, cq, recv_cq, source, target, pd }
}

/// What an extended poll showed.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    wr_id: u64,
    status: u32,
    opcode: u32,
    byte_len: u32,
    qp_num: u32,
}

fn poll_ex(cq: &CompletionQueue) -> Vec<Shown> {
    let cq = cq.as_ptr().cast::<ibv_cq_ex>();
    let mut shown = Vec::new();
    // SAFETY: a live extended CQ of this thread.
    unsafe {
        let mut attr = ibv_poll_cq_attr { comp_mask: 0 };
        let mut rc = ibv_start_poll(cq, &mut attr);
        if rc == libc::ENOENT {
            return shown;
        }
        while rc == 0 {
            shown.push(Shown {
                wr_id: (*cq).wr_id,
                status: (*cq).status,
                opcode: ibv_wc_read_opcode(cq),
                byte_len: ibv_wc_read_byte_len(cq),
                qp_num: ibv_wc_read_qp_num(cq),
            });
            rc = ibv_next_poll(cq);
        }
        ibv_end_poll(cq);
        assert_eq!(rc, libc::ENOENT);
    }
    shown
}

/// Posts one message of `op` from and to this offset.
///
/// # Safety
/// `qp` was begun with `ibv_wr_start` and posts `op`; the rig is of this thread.
unsafe fn build(rig: &Rig, qp: *mut ibv_qp_ex, op: Op, wr_id: u64, offset: u64) {
    let (addr, rkey) = (rig.target.addr() + offset, rig.target.rkey());
    // SAFETY: as the caller's.
    unsafe {
        (*qp).wr_id = wr_id;
        (*qp).wr_flags = SIGNALED;
        match op {
            Op::Write => ibv_wr_rdma_write(qp, rkey, addr),
            Op::WriteImm => ibv_wr_rdma_write_imm(qp, rkey, addr, 9),
            Op::Read => ibv_wr_rdma_read(qp, rkey, addr),
            Op::Send => ibv_wr_send(qp),
            Op::FetchAdd => ibv_wr_atomic_fetch_add(qp, rkey, addr, 3),
            Op::CompareSwap => ibv_wr_atomic_cmp_swp(qp, rkey, addr, 0, 4),
        }
        ibv_wr_set_sge(qp, rig.source.lkey(), rig.source.addr() + offset, 8);
    }
}

#[test]
fn every_operation_goes_through_it() {
    use ibv_wc_opcode::*;
    for nic in [raw_nic, || modelled_nic("latency=1us,ack_latency=300ns", "")] {
        for (op, opcode, receives) in [
            (Op::Write, IBV_WC_RDMA_WRITE, None),
            (Op::WriteImm, IBV_WC_RDMA_WRITE, Some(IBV_WC_RECV_RDMA_WITH_IMM)),
            (Op::Read, IBV_WC_RDMA_READ, None),
            (Op::Send, IBV_WC_SEND, Some(IBV_WC_RECV)),
            (Op::FetchAdd, IBV_WC_FETCH_ADD, None),
            (Op::CompareSwap, IBV_WC_COMP_SWAP, None),
        ] {
            let rig = rig(nic(), Transport::Rc, op, false);
            rig.fill_source(5);
            rig.post_recv(70, 1_024, 64);
            let qp = rig.qp.as_ex_ptr();
            // SAFETY: an extended QP of this thread that posts `op`.
            unsafe {
                ibv_wr_start(qp);
                build(&rig, qp, op, 7, 64);
                assert_eq!(ibv_wr_complete(qp), 0);
            }
            wait(1_300);
            let qp_num = rig.qp.qp_num();
            let sent = Shown { wr_id: 7, status: 0, opcode, byte_len: 8, qp_num };
            assert_eq!(poll_ex(&rig.cq), [sent], "{op}");
            let received = receives.map(|opcode| Shown { wr_id: 70, status: 0, opcode, byte_len: 8, qp_num });
            assert_eq!(poll_ex(&rig.recv_cq), Vec::from_iter(received), "{op}");
            let expected = match op {
                Op::Read => 0,
                Op::FetchAdd => 3,
                Op::CompareSwap => 4,
                _ => 5,
            };
            let at = if op == Op::Send { 1_024 } else { 64 };
            assert_eq!(rig.target_bytes()[at], expected, "{op}");
        }
    }
}

#[test]
fn a_datagram_needs_its_address() {
    let rig = rig(raw_nic(), Transport::Ud, Op::Send, false);
    rig.post_recv(70, 0, 64);
    let ah = crate::verbs::AddressHandle::create(&rig.pd, &connection(&rig.target, &rig.qp, Transport::Ud))
        .unwrap();
    let qp = rig.qp.as_ex_ptr();
    // SAFETY: an extended QP of this thread that posts sends.
    unsafe {
        ibv_wr_start(qp);
        build(&rig, qp, Op::Send, 7, 0);
        assert_eq!(ibv_wr_complete(qp), libc::EINVAL);
        ibv_wr_start(qp);
        build(&rig, qp, Op::Send, 8, 0);
        ibv_wr_set_ud_addr(qp, ah.as_ptr(), rig.qp.qp_num(), QKEY);
        assert_eq!(ibv_wr_complete(qp), 0);
    }
    assert_eq!(poll_ex(&rig.cq).len(), 1);
    assert_eq!(poll_ex(&rig.recv_cq).iter().map(|wc| wc.byte_len).collect::<Vec<_>>(), [48]);
}

#[test]
fn inline_data_is_taken_as_it_is_set_and_an_abort_posts_nothing() {
    let rig = rig(raw_nic(), Transport::Rc, Op::Write, false);
    let qp = rig.qp.as_ex_ptr();
    let mut payload = [6u8; 64];
    // SAFETY: an extended QP of this thread that posts writes; the payload is readable.
    unsafe {
        ibv_wr_start(qp);
        build(&rig, qp, Op::Write, 7, 0);
        ibv_wr_set_inline_data(qp, payload.as_mut_ptr().cast::<c_void>(), 64);
        ibv_wr_abort(qp);
        assert_eq!(ibv_wr_complete(qp), 0);
        assert!(poll_ex(&rig.cq).is_empty());
        ibv_wr_start(qp);
        build(&rig, qp, Op::Write, 7, 0);
        ibv_wr_set_inline_data(qp, payload.as_mut_ptr().cast::<c_void>(), 64);
        payload.fill(7);
        assert_eq!(ibv_wr_complete(qp), 0);
    }
    assert_eq!(poll_ex(&rig.cq).iter().map(|wc| wc.byte_len).collect::<Vec<_>>(), [64]);
    assert_eq!(rig.target_bytes()[..65], [&[6; 64][..], &[0]].concat());
}

#[test]
fn a_batch_is_posted_whole_or_not_at_all() {
    let rig = rig(raw_nic(), Transport::Rc, Op::Write, false);
    let qp = rig.qp.as_ex_ptr();
    // SAFETY: an extended QP of this thread that posts writes; no payload is longer than it is announced.
    unsafe {
        for (messages, errno) in [(5, 0), (4, libc::ENOMEM), (3, 0), (9, libc::ENOMEM)] {
            ibv_wr_start(qp);
            for at in 0..messages {
                build(&rig, qp, Op::Write, at, 0);
            }
            assert_eq!(ibv_wr_complete(qp), errno, "{messages}");
        }
        assert_eq!(poll_ex(&rig.cq).iter().map(|wc| wc.wr_id).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 0, 1, 2]);
        ibv_wr_start(qp);
        build(&rig, qp, Op::Write, 1, 0);
        ibv_wr_set_inline_data(qp, [0u8; 65].as_mut_ptr().cast::<c_void>(), 65);
        assert_eq!(ibv_wr_complete(qp), libc::EINVAL);
        ibv_wr_start(qp);
        ibv_wr_set_sge(qp, 0, 0, 8);
        assert_eq!(ibv_wr_complete(qp), libc::EINVAL);
    }
    assert!(poll_ex(&rig.cq).is_empty());
}

#[test]
fn classic_calls_work_on_both() {
    let rig = rig(raw_nic(), Transport::Rc, Op::Write, false);
    rig.post(&mut rig.write(1, 0, 8, SIGNALED));
    rig.post(&mut rig.write(2, 0, 8, SIGNALED));
    assert_eq!(poll_ex(&rig.cq).iter().map(|wc| wc.wr_id).collect::<Vec<_>>(), [1, 2]);
    // What an extended poll took is taken: the slots are free.
    for at in 0..8 {
        assert_eq!(rig.post(&mut rig.write(at, 0, 8, SIGNALED)), 0);
    }
    assert_eq!(rig.poll().len(), 8);
}

#[test]
fn only_what_a_qp_was_made_for_can_be_posted_and_what_its_transport_lacks_is_refused() {
    let rig = rig(raw_nic(), Transport::Rc, Op::Read, false);
    // SAFETY: a live extended QP.
    let ex = unsafe { &*rig.qp.as_ex_ptr() };
    assert!(ex.wr_rdma_read.is_some() && ex.wr_rdma_write.is_none() && ex.wr_send.is_none());
    let caps = QpCaps::sending(8, 0);
    let kind = QpKind { transport: Transport::Uc, extended: Some(Op::Read) };
    assert!(QueuePair::create(&rig.pd, &rig.cq, &rig.cq, kind, caps).is_err());
}

fn stamps(cq: &CompletionQueue) -> Vec<u64> {
    let cq = cq.as_ptr().cast::<ibv_cq_ex>();
    let mut stamps = Vec::new();
    // SAFETY: a live extended CQ of this thread, with timestamps.
    unsafe {
        let mut rc = ibv_start_poll(cq, &mut ibv_poll_cq_attr { comp_mask: 0 });
        while rc == 0 {
            stamps.push(ibv_wc_read_completion_ts(cq));
            rc = ibv_next_poll(cq);
        }
    }
    stamps
}

#[test]
fn a_completion_carries_the_time_of_the_model_not_of_the_poll() {
    let rig = rig(modelled_nic("latency=1us,ack_latency=300ns", ""), Transport::Rc, Op::Send, true);
    let context = rig.pd.context();
    assert_eq!(context.query_device().unwrap().timestamp_ticks_per_sec, Some(1_000_000_000));
    let began = TIME.get();
    // SAFETY: an open context.
    assert_eq!(unsafe { context.provider().device_ticks(context.as_ptr()) }.unwrap(), began);
    rig.post_recv(70, 0, 8);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    wait(200);
    rig.post(&mut rig.write(2, 0, 8, SIGNALED));
    wait(50_000);
    assert_eq!(stamps(&rig.cq), [began + 1_300, began + 1_500]);
    assert_eq!(stamps(&rig.recv_cq), [began + 1_000]);
}

#[test]
fn a_completion_after_a_stall_carries_the_time_of_the_clock() {
    let rig =
        rig(modelled_nic("latency=2us,ack_latency=0ns", "stall=4us/10us"), Transport::Rc, Op::Send, true);
    let began = TIME.get();
    rig.post_recv(70, 0, 8);
    wait(5_000);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    wait(100_000);
    // 1 us is left when the stall begins at 6 us; it ends at 10 us.
    assert_eq!(stamps(&rig.cq), [began + 11_000]);
    assert_eq!(stamps(&rig.recv_cq), [began + 11_000]);
}

#[test]
fn a_raw_nic_has_no_clock() {
    let context = Context::open(raw_nic()).unwrap();
    assert_eq!(context.query_device().unwrap().timestamp_ticks_per_sec, None);
    // SAFETY: an open context.
    let refused = unsafe { context.provider().device_ticks(context.as_ptr()) };
    assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
    let kind = CqKind { extended: true, timestamps: true, ..CqKind::default() };
    assert!(CompletionQueue::create(&context, 8, kind).is_err());
}
