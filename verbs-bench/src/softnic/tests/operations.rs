//! Every operation on every transport that carries it, raw and modelled: what moves, and how both ends complete.

use rdma_sys::{ibv_wc_flags, ibv_wc_opcode::*};

use super::*;
use crate::verbs::QKEY;

const GRH: u32 = ibv_wc_flags::IBV_WC_GRH.0;
const WITH_IMM: u32 = ibv_wc_flags::IBV_WC_WITH_IMM.0;

/// Any handle will do: the software NIC has one way.
fn addressed(rig: &Rig, mut request: Request) -> Request {
    request.wr.wr.ud.ah = ptr::NonNull::dangling().as_ptr();
    request.wr.wr.ud.remote_qpn = rig.qp.qp_num();
    request.wr.wr.ud.remote_qkey = QKEY;
    request
}

/// Runs the same on a NIC without a model and on one with, and says how long a message and its completion take there.
fn on_both(run: impl Fn(Arc<dyn Provider>, u64, u64)) {
    run(raw_nic(), 0, 0);
    run(modelled_nic("latency=1us,ack_latency=300ns", ""), 1_000, 300);
}

/// Nothing completes a nanosecond early, and the one completion is this.
fn completes(rig: &Rig, after: u64, opcode: u32, byte_len: u32) {
    if after > 0 {
        wait(after - 1);
        assert_eq!(rig.poll(), []);
        wait(1);
    }
    let wcs = rig.poll_raw().unwrap();
    let seen: Vec<_> = wcs.iter().map(|wc| (wc.wr_id, wc.status, wc.opcode, wc.byte_len)).collect();
    assert_eq!(seen, [(7, 0, opcode, byte_len)]);
    assert_eq!(wcs[0].qp_num, rig.qp.qp_num());
}

fn imm_of(wc: &ibv_wc) -> Option<u32> {
    // SAFETY: both members are 32 plain bits.
    let imm = unsafe { wc.imm_data_invalidated_rkey_union.imm_data };
    (wc.wc_flags & WITH_IMM != 0).then_some(imm)
}

#[test]
fn a_send_lands_in_the_receive_that_was_posted() {
    for transport in [Transport::Rc, Transport::Uc] {
        on_both(|nic, way, ack| {
            let rig = Rig::receiving(nic, transport);
            rig.fill_source(5);
            assert_eq!(rig.post_recv(70, 4_096, 200), 0);
            assert_eq!(rig.post(&mut rig.send(7, 0, 100, SIGNALED)), 0);
            // Only a reliable transport has a way back.
            let ack = if transport == Transport::Rc { ack } else { 0 };
            completes(&rig, way + ack, IBV_WC_SEND, 100);
            let wcs = rig.received();
            let seen: Vec<_> = wcs.iter().map(|wc| (wc.wr_id, wc.status, wc.opcode, wc.byte_len)).collect();
            assert_eq!(seen, [(70, 0, IBV_WC_RECV, 100)]);
            assert_eq!((wcs[0].qp_num, wcs[0].src_qp), (rig.qp.qp_num(), rig.qp.qp_num()));
            assert_eq!(imm_of(&wcs[0]), None);
            let bytes = rig.target_bytes();
            assert!(bytes[4_096..4_196].iter().all(|byte| *byte == 5));
            assert_eq!(bytes.iter().filter(|byte| **byte == 5).count(), 100);
        });
    }
}

#[test]
fn a_datagram_lands_behind_its_header() {
    on_both(|nic, way, _| {
        let rig = Rig::receiving(nic, Transport::Ud);
        rig.fill_source(5);
        // SAFETY: inside the target, which this thread alone uses.
        unsafe { ptr::write_bytes(rig.target.buffer().as_ptr(), 9, 400) };
        assert_eq!(rig.post_recv(70, 100, 200), 0);
        assert_eq!(rig.post(&mut addressed(&rig, rig.send(7, 0, 160, SIGNALED))), 0);
        completes(&rig, way, IBV_WC_SEND, 160);
        let wcs = rig.received();
        let seen: Vec<_> = wcs.iter().map(|wc| (wc.wr_id, wc.status, wc.byte_len, wc.wc_flags)).collect();
        assert_eq!(seen, [(70, 0, 200, GRH)]);
        let bytes = rig.target_bytes();
        assert_eq!([99, 100, 139, 140, 299, 300].map(|at| bytes[at]), [9, 0, 0, 5, 5, 9]);
    });
}

#[test]
fn a_datagram_for_someone_else_is_dropped() {
    let rig = Rig::receiving(raw_nic(), Transport::Ud);
    rig.post_recv(70, 0, 200);
    let mut wrong_qp = addressed(&rig, rig.send(7, 0, 8, SIGNALED));
    wrong_qp.wr.wr.ud.remote_qpn = rig.qp.qp_num() + 1;
    assert_eq!(rig.post(&mut wrong_qp), 0);
    completes(&rig, 0, IBV_WC_SEND, 8);
    let mut wrong_key = addressed(&rig, rig.send(7, 0, 8, SIGNALED));
    wrong_key.wr.wr.ud.remote_qkey = QKEY + 1;
    assert_eq!(rig.post(&mut wrong_key), 0);
    completes(&rig, 0, IBV_WC_SEND, 8);
    assert!(rig.received().is_empty());
    let mut nowhere = addressed(&rig, rig.send(7, 0, 8, SIGNALED));
    nowhere.wr.wr.ud.ah = ptr::null_mut();
    assert_eq!(rig.post(&mut nowhere), libc::EINVAL);
}

#[test]
fn a_write_with_immediate_lands_where_it_says_and_consumes_a_receive() {
    for transport in [Transport::Rc, Transport::Uc] {
        on_both(|nic, way, ack| {
            let rig = Rig::receiving(nic, transport);
            rig.fill_source(5);
            rig.post_recv(70, 0, 0);
            let mut write = rig.write(7, 4_096, 100, SIGNALED);
            write.wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
            write.wr.imm_data_invalidated_rkey_union.imm_data = 0xabcd;
            assert_eq!(rig.post(&mut write), 0);
            let ack = if transport == Transport::Rc { ack } else { 0 };
            completes(&rig, way + ack, IBV_WC_RDMA_WRITE, 100);
            let wcs = rig.received();
            let seen: Vec<_> = wcs.iter().map(|wc| (wc.wr_id, wc.opcode, wc.byte_len)).collect();
            assert_eq!(seen, [(70, IBV_WC_RECV_RDMA_WITH_IMM, 100)]);
            assert_eq!(imm_of(&wcs[0]), Some(0xabcd));
            assert_eq!(rig.target_bytes().iter().filter(|byte| **byte == 5).count(), 100);
        });
    }
}

#[test]
fn a_send_carries_its_immediate() {
    let rig = Rig::receiving(raw_nic(), Transport::Rc);
    rig.post_recv(70, 0, 64);
    let mut send = rig.send(7, 0, 64, SIGNALED | INLINE);
    send.wr.opcode = IBV_WR_SEND_WITH_IMM;
    send.wr.imm_data_invalidated_rkey_union.imm_data = 42;
    rig.post(&mut send);
    assert_eq!(rig.received().iter().map(imm_of).collect::<Vec<_>>(), [Some(42)]);
}

#[test]
fn a_write_crosses_an_unreliable_connection() {
    on_both(|nic, way, _| {
        let rig = Rig::receiving(nic, Transport::Uc);
        rig.fill_source(5);
        rig.post(&mut rig.write(7, 0, 100, SIGNALED));
        completes(&rig, way, IBV_WC_RDMA_WRITE, 100);
        assert_eq!(rig.target_bytes()[99], 5);
    });
}

#[test]
fn a_read_fetches_as_its_request_arrives_and_completes_after_the_way_back() {
    on_both(|nic, way, ack| {
        let rig = Rig::receiving(nic, Transport::Rc);
        let target = rig.target.buffer().as_ptr();
        let mut read = rig.write(7, 64, 100, SIGNALED);
        read.wr.opcode = IBV_WR_RDMA_READ;
        // SAFETY: inside the target, which this thread alone uses.
        unsafe { ptr::write_bytes(target, 1, BUFFER_BYTES) };
        if way == 0 {
            assert_eq!(rig.post(&mut read), 0);
            completes(&rig, 0, IBV_WC_RDMA_READ, 100);
        } else {
            // SAFETY: as above.
            unsafe { ptr::write_bytes(target, 2, BUFFER_BYTES) };
            assert_eq!(rig.post(&mut read), 0);
            wait(way - 1);
            assert_eq!(rig.poll(), []);
            // SAFETY: as above.
            unsafe { ptr::write_bytes(target, 1, BUFFER_BYTES) };
            wait(1);
            assert_eq!(rig.poll(), []);
            // SAFETY: as above.
            unsafe { ptr::write_bytes(target, 3, BUFFER_BYTES) };
            completes(&rig, ack, IBV_WC_RDMA_READ, 100);
        }
        // SAFETY: the source is BUFFER_BYTES long and this thread alone uses it.
        let bytes = unsafe { std::slice::from_raw_parts(rig.source.buffer().as_ptr(), BUFFER_BYTES) };
        assert!(bytes[64..164].iter().all(|byte| *byte == 1));
        assert_eq!(bytes.iter().filter(|byte| **byte != 0).count(), 100);
    });
}

#[test]
fn what_a_transport_does_not_carry_is_refused_at_the_post() {
    let every = [
        IBV_WR_RDMA_WRITE,
        IBV_WR_RDMA_WRITE_WITH_IMM,
        IBV_WR_SEND,
        IBV_WR_RDMA_READ,
        IBV_WR_ATOMIC_FETCH_AND_ADD,
        IBV_WR_ATOMIC_CMP_AND_SWP,
    ];
    for (transport, carried) in [(Transport::Rc, 6), (Transport::Uc, 3), (Transport::Ud, 0)] {
        on_both(|nic, _, _| {
            let rig = Rig::receiving(nic, transport);
            for (at, opcode) in every.into_iter().enumerate() {
                let mut request = rig.write(1, 0, 8, 0);
                request.wr.opcode = opcode;
                // An all-zero UD member has no address handle; with one, sends are carried.
                request.wr.wr = rdma_sys::wr_t { rdma: rdma_sys::rdma_t { remote_addr: 0, rkey: 0 } };
                let expected = if at < carried { 0 } else { libc::EINVAL };
                assert_eq!(rig.post(&mut request), expected, "{transport} {opcode}");
            }
        });
    }
}
