//! Receives: consumed in order, waited for where the transport is reliable, missed where it is not.

use std::thread;

use rdma_sys::ibv_wc_opcode::IBV_WC_RECV;

use super::*;

fn wr_ids(wcs: &[ibv_wc]) -> Vec<u64> {
    wcs.iter().map(|wc| wc.wr_id).collect()
}

fn statuses(wcs: &[ibv_wc]) -> Vec<(u64, WcStatus)> {
    wcs.iter().map(|wc| (wc.wr_id, WcStatus::from(wc.status))).collect()
}

#[test]
fn without_a_receive_a_reliable_send_waits_and_nothing_overtakes_it() {
    let rig = Rig::receiving(raw_nic(), Transport::Rc);
    rig.fill_source(1);
    assert_eq!(rig.post(&mut rig.send(1, 0, 8, SIGNALED | INLINE)), 0);
    assert_eq!(rig.post(&mut rig.write(2, 1_024, 8, SIGNALED)), 0);
    // The inline payload was taken at the post.
    rig.fill_source(2);
    for _ in 0..3 {
        assert_eq!(rig.poll(), []);
    }
    assert_eq!(rig.target_bytes()[1_024], 0);
    assert_eq!(rig.post_recv(70, 0, 8), 0);
    assert_eq!(wr_ids(&rig.received()), [70]);
    assert_eq!(rig.poll(), [(1, WcStatus::Success), (2, WcStatus::Success)]);
    let bytes = rig.target_bytes();
    assert_eq!((bytes[0], bytes[1_024]), (1, 2));
    // And from here on writes are done at once again.
    rig.post(&mut rig.write(3, 2_048, 8, SIGNALED));
    assert_eq!(rig.target_bytes()[2_048], 2);
}

#[test]
fn what_waits_takes_its_slots_as_anything_outstanding() {
    let rig = Rig::receiving(raw_nic(), Transport::Rc);
    for at in 0..8 {
        assert_eq!(rig.post(&mut rig.send(at, 0, 8, SIGNALED)), 0);
    }
    assert_eq!(rig.post(&mut rig.send(8, 0, 8, SIGNALED)), libc::ENOMEM);
    rig.post_recv(70, 0, 8);
    assert_eq!(rig.poll(), [(0, WcStatus::Success)]);
    assert_eq!(rig.post(&mut rig.write(8, 0, 8, SIGNALED)), 0);
    assert_eq!(rig.post(&mut rig.write(9, 0, 8, SIGNALED)), libc::ENOMEM);
}

#[test]
fn on_a_modelled_link_a_send_that_waited_completes_one_way_back_after_the_receive() {
    let rig = Rig::receiving(modelled_nic("latency=1us,ack_latency=300ns", ""), Transport::Rc);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    wait(5_000);
    assert_eq!(rig.poll(), []);
    rig.post_recv(70, 0, 8);
    assert_eq!(wr_ids(&rig.received()), [70]);
    wait(299);
    assert_eq!(rig.poll(), []);
    wait(1);
    assert_eq!(rig.poll(), [(1, WcStatus::Success)]);
}

#[test]
fn without_a_receive_an_unreliable_send_is_lost_and_its_sender_none_the_wiser() {
    for nic in [raw_nic(), modelled_nic("latency=0ns", "")] {
        let rig = Rig::receiving(nic, Transport::Uc);
        for at in 0..3 {
            rig.post_recv(70 + at, at * 64, 64);
        }
        for at in 0..5 {
            rig.post(&mut rig.send(at, 0, 8, SIGNALED));
        }
        assert_eq!(rig.poll().len(), 5);
        assert_eq!(wr_ids(&rig.received()), [70, 71, 72]);
        // The next one that finds a receive lands in it.
        rig.post_recv(73, 0, 64);
        rig.post(&mut rig.send(5, 0, 8, SIGNALED));
        assert_eq!(rig.poll().len(), 1);
        assert_eq!(wr_ids(&rig.received()), [73]);
    }
}

#[test]
fn a_receive_that_is_too_small_fails_both_ends() {
    use WcStatus::{LocLenErr, RemInvReqErr, Success, WrFlushErr};
    for nic in [raw_nic(), modelled_nic("latency=0ns", "")] {
        let rig = Rig::receiving(nic, Transport::Rc);
        rig.post_recv(70, 0, 64);
        rig.post_recv(71, 64, 63);
        rig.post_recv(72, 128, 64);
        for at in 1..4 {
            rig.post(&mut rig.send(at, 0, 64, 0));
        }
        // Loopback: the QP that fails as receiver is the sender too.
        assert_eq!(rig.poll(), [(2, RemInvReqErr), (3, WrFlushErr)]);
        assert_eq!(statuses(&rig.received()), [(70, Success), (71, LocLenErr), (72, WrFlushErr)]);
    }
}

#[test]
fn an_unreliable_sender_does_not_learn_of_a_receive_that_is_too_small() {
    let rig = Rig::receiving(raw_nic(), Transport::Uc);
    rig.post_recv(70, 0, 7);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    assert_eq!(statuses(&rig.received()), [(70, WcStatus::LocLenErr)]);
    assert_eq!(rig.poll(), [(1, WcStatus::Success)]);
}

#[test]
fn a_receive_outside_registered_memory_fails_when_it_is_used() {
    use WcStatus::{LocProtErr, RemOpErr};
    let rig = Rig::receiving(raw_nic(), Transport::Rc);
    assert_eq!(rig.post_recv(70, BUFFER_BYTES as u64 - 7, 8), 0);
    rig.post(&mut rig.send(1, 0, 8, 0));
    assert_eq!(rig.poll(), [(1, RemOpErr)]);
    assert_eq!(statuses(&rig.received()), [(70, LocProtErr)]);
}

#[test]
fn a_peer_without_a_receive_queue_fails_a_send_instead_of_letting_it_wait() {
    let rig = Rig::new(raw_nic(), 8, 8);
    rig.post(&mut rig.send(1, 0, 8, 0));
    assert_eq!(rig.poll(), [(1, WcStatus::RemInvReqErr)]);
    assert_eq!(rig.post_recv(70, 0, 8), libc::EINVAL);
}

#[test]
fn a_full_receive_queue_refuses_and_a_consumed_slot_is_free_once_polled() {
    let rig = Rig::receiving(raw_nic(), Transport::Rc);
    for at in 0..8 {
        assert_eq!(rig.post_recv(at, 0, 8), 0);
    }
    assert_eq!(rig.post_recv(8, 0, 8), libc::ENOMEM);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    assert_eq!(wr_ids(&rig.received()), [0]);
    assert_eq!(rig.post_recv(8, 0, 8), 0);
    assert_eq!(rig.post_recv(9, 0, 8), libc::ENOMEM);
}

#[test]
fn receives_are_posted_from_init_on_and_flushed_in_error() {
    let rig = Rig::receiving(raw_nic(), Transport::Rc);
    let caps = QpCaps { max_send_wr: 8, max_recv_wr: 8, max_inline_bytes: 0 };
    let qp = QueuePair::create(&rig.pd, &rig.cq, &rig.recv_cq, QpKind::RC, caps).unwrap();
    let mut other = Rig { qp, ..rig };
    assert_eq!(other.post_recv(1, 0, 8), libc::EINVAL);
    other.qp.to_init(1, 0, schema::Op::Send).unwrap();
    assert_eq!(other.post_recv(1, 0, 8), 0);
    other.qp.to_error().unwrap();
    assert_eq!(other.post_recv(2, 0, 8), 0);
    let flushed = [(1, WcStatus::WrFlushErr), (2, WcStatus::WrFlushErr)];
    assert_eq!(statuses(&other.received()), flushed);
}

#[test]
fn polling_the_receives_moves_what_the_same_qp_has_sent() {
    let rig = Rig::receiving(modelled_nic("latency=1us,ack_latency=0ns", ""), Transport::Rc);
    rig.post_recv(70, 0, 8);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    wait(1_000);
    assert_eq!(wr_ids(&rig.received()), [70]);
    assert_eq!(rig.poll().len(), 1);
}

#[test]
fn one_queue_may_take_both() {
    let (pd, cq) = Rig::parts(raw_nic(), 16);
    let (source, target) = (region(&pd), region(&pd));
    let caps = QpCaps { max_send_wr: 8, max_recv_wr: 8, max_inline_bytes: 0 };
    let mut qp = QueuePair::create(&pd, &cq, &cq, QpKind::RC, caps).unwrap();
    Rig::connect(&mut qp, &target, Transport::Rc);
    let rig = Rig { qp, recv_cq: Arc::clone(&cq), cq, source, target, pd };
    rig.post_recv(70, 0, 8);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    let mut both = wr_ids(&rig.poll_raw().unwrap());
    both.sort_unstable();
    assert_eq!(both, [1, 70]);
}

#[test]
fn a_fault_moves_no_message_and_consumes_no_receive() {
    let rig = Rig::receiving(modelled_nic("latency=0ns", "error=RETRY_EXC_ERR@2"), Transport::Rc);
    rig.post_recv(70, 0, 8);
    rig.post_recv(71, 0, 8);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    rig.post(&mut rig.send(2, 0, 8, SIGNALED));
    assert_eq!(rig.poll(), [(1, WcStatus::Success), (2, WcStatus::RetryExcErr)]);
    assert_eq!(statuses(&rig.received()), [(70, WcStatus::Success), (71, WcStatus::WrFlushErr)]);
}

/// Two threads, each with a NIC of its own: the ring between them loses nothing, repeats nothing, and a message is whole
/// when its completion is seen.
#[test]
fn every_message_crosses_once_between_two_threads() {
    const MESSAGES: u64 = 20_000;
    const LEN: u32 = 256;
    let sender = Rig::receiving(raw_nic(), Transport::Rc);
    let mut receiver = Rig::receiving(raw_nic(), Transport::Rc);
    let caps = QpCaps { max_send_wr: 8, max_recv_wr: 8, max_inline_bytes: 0 };
    receiver.qp = QueuePair::create(&receiver.pd, &receiver.cq, &receiver.recv_cq, QpKind::RC, caps).unwrap();
    Rig::connect(&mut receiver.qp, &receiver.target, Transport::Rc);
    let mut qp = QueuePair::create(&sender.pd, &sender.cq, &sender.recv_cq, QpKind::RC, caps).unwrap();
    let path = connection(&receiver.target, &receiver.qp, Transport::Rc);
    qp.to_init(1, 0, schema::Op::Send).unwrap();
    qp.to_rtr(&path).unwrap();
    qp.to_rts(&path).unwrap();
    let sender = Rig { qp, ..sender };
    thread::scope(|scope| {
        scope.spawn(move || {
            let receiver = receiver;
            for at in 0..8 {
                assert_eq!(receiver.post_recv(at, at % 8 * 512, LEN), 0);
            }
            let mut next = 0;
            while next < MESSAGES {
                for wc in receiver.received() {
                    assert_eq!((wc.wr_id, wc.status, wc.opcode, wc.byte_len), (next, 0, IBV_WC_RECV, LEN));
                    let from = receiver.target.buffer().as_ptr().wrapping_add((next % 8 * 512) as usize);
                    // SAFETY: inside the target; the sender writes there again once it is posted again.
                    let bytes = unsafe { std::slice::from_raw_parts(from, LEN as usize) };
                    assert!(bytes.iter().all(|byte| *byte == next as u8), "message {next}");
                    assert_eq!(receiver.post_recv(next + 8, next % 8 * 512, LEN), 0);
                    next += 1;
                }
                thread::yield_now();
            }
        });
        scope.spawn(move || {
            let sender = sender;
            let (mut sent, mut done) = (0, 0);
            while done < MESSAGES {
                while sent < MESSAGES && sent - done < 8 {
                    let from = sender.source.buffer().as_ptr().wrapping_add((sent % 8 * 512) as usize);
                    // SAFETY: inside the source; the message that used it last has completed.
                    unsafe { ptr::write_bytes(from, sent as u8, LEN as usize) };
                    assert_eq!(sender.post(&mut sender.send(sent, sent % 8 * 512, LEN, SIGNALED)), 0);
                    sent += 1;
                }
                for (wr_id, status) in sender.poll() {
                    assert_eq!((wr_id, status), (done, WcStatus::Success));
                    done += 1;
                }
                thread::yield_now();
            }
        });
    });
}
