//! The raw NIC: done when posted.

use std::{
    sync::atomic::{AtomicU8, AtomicU64, Ordering::*},
    thread,
};

use rdma_sys::ibv_wc_opcode::IBV_WC_RDMA_WRITE;

use super::*;

fn rig() -> Rig {
    Rig::new(raw_nic(), 8, 16)
}

#[test]
fn a_write_lands_whole_and_completes() {
    let rig = rig();
    rig.fill_source(0xa5);
    assert_eq!(rig.post(&mut rig.write(77, 100, 1_000, SIGNALED)), 0);
    let wcs = rig.poll_raw().unwrap();
    assert_eq!(wcs.len(), 1);
    let wc = &wcs[0];
    assert_eq!((wc.wr_id, wc.status, wc.opcode, wc.qp_num), (77, 0, IBV_WC_RDMA_WRITE, rig.qp.qp_num()));
    let bytes = rig.target_bytes();
    assert!(bytes[100..1_100].iter().all(|byte| *byte == 0xa5));
    assert!(bytes[..100].iter().chain(&bytes[1_100..]).all(|byte| *byte == 0));
}

#[test]
fn one_byte_and_no_byte_are_messages_too() {
    let rig = rig();
    rig.fill_source(1);
    assert_eq!(rig.post_list(&mut [rig.write(1, 5, 1, SIGNALED), rig.write(2, 9, 0, SIGNALED)]), Ok(()));
    assert_eq!(rig.poll(), [(1, WcStatus::Success), (2, WcStatus::Success)]);
    assert_eq!(rig.target_bytes().iter().filter(|byte| **byte == 1).count(), 1);
}

#[test]
fn unsignaled_requests_complete_in_silence_and_free_their_slots_with_the_next_signaled() {
    let rig = rig();
    for round in 0..5 {
        for at in 0..7 {
            assert_eq!(rig.post(&mut rig.write(at, 0, 8, 0)), 0, "round {round}, request {at}");
        }
        assert_eq!(rig.poll(), []);
        assert_eq!(rig.post(&mut rig.write(round, 0, 8, SIGNALED)), 0);
        assert_eq!(rig.post(&mut rig.write(99, 0, 8, SIGNALED)), libc::ENOMEM);
        assert_eq!(rig.poll(), [(round, WcStatus::Success)]);
    }
}

#[test]
fn a_list_that_does_not_fit_is_done_up_to_bad_wr() {
    let rig = rig();
    let mut list: Vec<Request> = (0..10).map(|at| rig.write(at, 0, 8, SIGNALED)).collect();
    assert_eq!(rig.post_list(&mut list), Err((libc::ENOMEM, 8)));
    assert_eq!(rig.poll().len(), 8);
    assert_eq!(rig.post_list(&mut list[8..]), Ok(()));
}

#[test]
fn what_it_can_not_do_is_refused_at_the_post() {
    let rig = rig();
    let mut unknown = rig.write(1, 0, 8, SIGNALED);
    unknown.wr.opcode = IBV_WR_TSO;
    let mut two = rig.write(1, 0, 8, SIGNALED);
    two.wr.num_sge = 2;
    let mut long_inline = rig.write(1, 0, 65, SIGNALED | INLINE);
    for request in [&mut unknown, &mut two, &mut long_inline] {
        assert_eq!(rig.post(request), libc::EINVAL);
    }
    assert_eq!(rig.poll(), []);
}

#[test]
fn inline_needs_no_local_key() {
    let rig = rig();
    let mut request = rig.write(1, 0, 64, SIGNALED | INLINE);
    request.sge.lkey = 0;
    assert_eq!(rig.post(&mut request), 0);
    assert_eq!(rig.poll(), [(1, WcStatus::Success)]);
}

/// Posts the bad request between two good ones, and says how they completed.
fn around(change: impl Fn(&mut Request)) -> (Vec<WcStatus>, Vec<u8>) {
    let rig = rig();
    rig.fill_source(7);
    let mut bad = rig.write(2, 0, 8, 0);
    change(&mut bad);
    assert_eq!(rig.post_list(&mut [rig.write(1, 64, 8, 0), bad, rig.write(3, 128, 8, 0)]), Ok(()));
    let statuses = rig.poll().into_iter().map(|(_, status)| status).collect();
    (statuses, rig.target_bytes())
}

#[test]
fn a_failure_shows_unasked_and_flushes_what_follows() {
    use WcStatus::{LocProtErr, RemAccessErr, WrFlushErr};
    type Case = (&'static str, WcStatus, fn(&mut Request));
    let bad_requests: [Case; 6] = [
        ("wrong lkey", LocProtErr, |r| r.sge.lkey ^= 1),
        ("source before its region", LocProtErr, |r| r.sge.addr -= 1),
        ("source beyond its region", LocProtErr, |r| r.sge.addr += BUFFER_BYTES as u64 - 7),
        // SAFETY: the union's member of a write, here and below.
        ("wrong rkey", RemAccessErr, |r| unsafe { r.wr.wr.rdma.rkey ^= 1 }),
        // SAFETY: as above.
        ("target before its region", RemAccessErr, |r| unsafe { r.wr.wr.rdma.remote_addr -= 1 }),
        ("target beyond its region", RemAccessErr, |r| {
            // SAFETY: as above.
            unsafe { r.wr.wr.rdma.remote_addr += BUFFER_BYTES as u64 - 7 }
        }),
    ];
    for (what, status, change) in bad_requests {
        let (statuses, bytes) = around(change);
        assert_eq!(statuses, [status, WrFlushErr], "{what}");
        assert_eq!(
            bytes.iter().filter(|byte| **byte == 7).count(),
            8,
            "{what}: only the first request lands"
        );
    }
}

#[test]
fn a_qp_posts_in_rts_and_flushes_in_error() {
    let mut rig = rig();
    let fresh = QueuePair::create(&rig.pd, &rig.cq, &rig.cq, QpKind::RC, QpCaps::sending(4, 0)).unwrap();
    assert_eq!(post_on(&fresh, &mut [rig.write(1, 0, 8, SIGNALED)]), Err((libc::EINVAL, 0)));
    rig.qp.to_error().unwrap();
    assert_eq!(rig.post(&mut rig.write(2, 0, 8, 0)), 0);
    assert_eq!(rig.poll(), [(2, WcStatus::WrFlushErr)]);
}

#[test]
fn the_state_machine_is_that_of_rc() {
    let rig = rig();
    let mut fresh = QueuePair::create(&rig.pd, &rig.cq, &rig.cq, QpKind::RC, QpCaps::sending(4, 0)).unwrap();
    let path = connection(&rig.target, &rig.qp, Transport::Rc);
    let text = fresh.to_rts(&path).unwrap_err().to_string();
    assert!(text.contains("to RTS") && text.contains("Invalid argument"), "{text}");
    assert!(fresh.to_rtr(&path).is_err());
    fresh.to_init(1, 0, schema::Op::Write).unwrap();
    assert!(fresh.to_rts(&path).is_err());
    let mut hardware = path.clone();
    hardware.remote.soft = None;
    let text = fresh.to_rtr(&hardware).unwrap_err().to_string();
    assert!(text.contains("the software NIC") && text.contains("both sides"), "{text}");
    fresh.to_rtr(&path).unwrap();
    fresh.to_rts(&path).unwrap();
}

#[test]
fn an_overrun_queue_gives_what_it_has_and_then_fails() {
    let rig = Rig::new(raw_nic(), 8, 4);
    assert_eq!(rig.cq.entries(), 4);
    for at in 0..5 {
        assert_eq!(rig.post(&mut rig.write(at, 0, 8, SIGNALED)), 0);
    }
    assert_eq!(rig.poll().len(), 4);
    assert_eq!(rig.poll_raw().err(), Some(-libc::EOVERFLOW));
}

#[test]
fn a_destroyed_qp_takes_its_completions_along() {
    let rig = rig();
    let other = Rig::connected_qp(&rig.pd, &rig.cq, &rig.target, 8);
    assert_eq!(post_on(&other, &mut [rig.write(1, 0, 8, SIGNALED)]), Ok(()));
    assert_eq!(rig.post(&mut rig.write(2, 0, 8, SIGNALED)), 0);
    assert_eq!(post_on(&other, &mut [rig.write(3, 0, 8, SIGNALED)]), Ok(()));
    drop(other);
    assert_eq!(rig.poll(), [(2, WcStatus::Success)]);
}

#[test]
fn unfit_sizes_are_refused_as_a_device_would() {
    let rig = rig();
    for caps in [(0, 0), (1 << 17, 0), (8, 1 << 20)] {
        let caps = QpCaps::sending(caps.0, caps.1);
        let text = QueuePair::create(&rig.pd, &rig.cq, &rig.cq, QpKind::RC, caps)
            .err()
            .expect("refused")
            .to_string();
        assert!(text.contains(&format!("ibv_create_qp(rc, {} send", caps.max_send_wr)), "{text}");
    }
    let context = rig.pd.context();
    assert!(CompletionQueue::create(context, 0, CqKind::default()).is_err());
    assert!(context.query_port(2).unwrap_err().to_string().contains("ports 1 to 1"));
}

/// Another thread that polls the last byte of the target must find all of the message behind it.
#[test]
fn whoever_sees_the_last_byte_sees_the_message() {
    const LEN: usize = 4_096;
    let rig = Rig::new(raw_nic(), 8, 16);
    let target = rig.target.addr();
    let seen = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=2_000u64 {
                let value = (round % 251) as u8 + 1;
                // SAFETY: the target outlives the scope; its last byte is only accessed as an atomic until it changed.
                let message = unsafe {
                    let last = AtomicU8::from_ptr((target as *mut u8).add(LEN - 1));
                    while last.load(Acquire) != value {
                        std::hint::spin_loop();
                    }
                    std::slice::from_raw_parts(target as *const u8, LEN)
                };
                assert!(message.iter().all(|byte| *byte == value), "round {round}");
                seen.store(round, Release);
            }
        });
        for round in 1..=2_000u64 {
            rig.fill_source((round % 251) as u8 + 1);
            assert_eq!(rig.post(&mut rig.write(round, 0, LEN as u32, SIGNALED)), 0);
            assert_eq!(rig.poll().len(), 1);
            while seen.load(Acquire) < round {
                thread::yield_now();
            }
        }
    });
}
