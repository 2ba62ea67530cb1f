//! The modelled NIC: done when the model says so, to the nanosecond.

use proptest::prelude::*;

use super::*;

fn rig(model: &str, fault: &str) -> Rig {
    Rig::new(modelled_nic(model, fault), 64, 64)
}

/// Nanoseconds until the next completion, in steps of one; what it is.
fn wait_for_completion(rig: &Rig, at_most: u64) -> (u64, Vec<(u64, WcStatus)>) {
    for waited in 0..=at_most {
        let completions = rig.poll();
        if !completions.is_empty() {
            return (waited, completions);
        }
        wait(1);
    }
    panic!("no completion within {at_most} ns");
}

#[test]
fn a_message_arrives_after_sending_and_latency_and_completes_after_the_ack() {
    let rig = rig("latency=2us,ack_latency=300ns,rate=8Gbps", "");
    rig.fill_source(9);
    assert_eq!(rig.post(&mut rig.write(1, 0, 500, SIGNALED)), 0);
    wait(2_499);
    assert_eq!(rig.poll(), []);
    assert_eq!(rig.target_bytes()[499], 0);
    wait(1);
    assert_eq!(rig.poll(), []);
    assert_eq!(rig.target_bytes()[499], 9);
    assert_eq!(wait_for_completion(&rig, 1_000), (300, vec![(1, WcStatus::Success)]));
}

#[test]
fn posting_makes_progress_too() {
    let rig = rig("latency=1us", "");
    rig.fill_source(9);
    rig.post(&mut rig.write(1, 0, 8, 0));
    wait(1_000);
    rig.post(&mut rig.write(2, 64, 8, 0));
    assert_eq!((rig.target_bytes()[7], rig.target_bytes()[71]), (9, 0));
}

#[test]
fn a_payload_is_read_at_delivery_unless_it_is_inline() {
    let rig = rig("latency=1us", "");
    rig.fill_source(1);
    rig.post(&mut rig.write(1, 0, 8, 0));
    rig.post(&mut rig.write(2, 64, 64, INLINE));
    rig.fill_source(2);
    wait(1_000);
    rig.poll();
    let bytes = rig.target_bytes();
    assert_eq!((bytes[0], bytes[64], bytes[127]), (2, 1, 1));
}

#[test]
fn a_full_window_runs_at_the_rate_of_the_link() {
    let rig = rig("latency=5us,ack_latency=0ns,rate=8Gbps", "");
    let mut list: Vec<Request> = (0..64).map(|at| rig.write(at, 0, 100, SIGNALED)).collect();
    rig.post_list(&mut list).unwrap();
    assert_eq!(rig.post(&mut rig.write(64, 0, 8, 0)), libc::ENOMEM);
    assert_eq!(wait_for_completion(&rig, 10_000).0, 5_100);
    for at in 1..64 {
        wait(1);
        assert_eq!(wait_for_completion(&rig, 200), (99, vec![(at, WcStatus::Success)]));
    }
}

#[test]
fn qps_of_a_context_share_the_link() {
    let rig = rig("latency=0ns,rate=8Gbps", "");
    let other = Rig::connected_qp(&rig.pd, &rig.cq, &rig.target, 8);
    rig.post(&mut rig.write(1, 0, 1_000, SIGNALED));
    post_on(&other, &mut [rig.write(2, 0, 1_000, SIGNALED)]).unwrap();
    assert_eq!(wait_for_completion(&rig, 3_000), (1_000, vec![(1, WcStatus::Success)]));
    assert_eq!(wait_for_completion(&rig, 3_000), (1_000, vec![(2, WcStatus::Success)]));
}

#[test]
fn a_sender_far_from_the_nic_pays_one_way() {
    let far = rig("latency=1us,ack_latency=0ns,remote_numa_penalty=400ns,near_cpu=4294967295", "");
    far.post(&mut far.write(1, 0, 8, SIGNALED));
    assert_eq!(wait_for_completion(&far, 5_000).0, 1_400);
    let nowhere_near = rig("latency=1us,ack_latency=0ns,remote_numa_penalty=400ns", "");
    nowhere_near.post(&mut nowhere_near.write(1, 0, 8, SIGNALED));
    assert_eq!(wait_for_completion(&nowhere_near, 5_000).0, 1_000);
}

#[test]
fn a_bimodal_jitter_shows_its_two_values_and_no_other() {
    let rig = rig("latency=100ns,ack_latency=0ns,jitter=bimodal:0.25:900ns", "");
    let mut seen = [0, 0];
    for at in 0..400 {
        rig.post(&mut rig.write(at, 0, 8, SIGNALED));
        match wait_for_completion(&rig, 2_000).0 {
            100 => seen[0] += 1,
            1_000 => seen[1] += 1,
            other => panic!("{other} ns"),
        }
    }
    assert!((60..140).contains(&seen[1]), "{seen:?}");
}

#[test]
fn a_stall_holds_what_is_on_its_way_and_loses_nothing() {
    // Connected at the first RTS: periods of 10 us from then, the last 4 us of each stalled.
    let rig = rig("latency=2us,ack_latency=0ns", "stall=4us/10us");
    wait(5_000);
    rig.post(&mut rig.write(1, 0, 8, SIGNALED));
    // 1 us is left when the stall begins at 6 us; it ends at 10 us.
    assert_eq!(wait_for_completion(&rig, 20_000), (6_000, vec![(1, WcStatus::Success)]));
    rig.post(&mut rig.write(2, 0, 8, SIGNALED));
    assert_eq!(wait_for_completion(&rig, 20_000).0, 2_000);
}

#[test]
fn from_a_lost_completion_on_none_arrives_though_the_data_does() {
    let rig = rig("latency=1us", "lost=3");
    rig.fill_source(5);
    for at in 1..=5 {
        rig.post(&mut rig.write(at, at * 64, 8, SIGNALED));
    }
    wait(1_000_000);
    assert_eq!(rig.poll(), [(1, WcStatus::Success), (2, WcStatus::Success)]);
    wait(1_000_000_000);
    assert_eq!(rig.poll(), []);
    assert_eq!(rig.target_bytes()[5 * 64], 5);
}

#[test]
fn an_error_completion_moves_nothing_and_flushes_the_rest() {
    let rig = rig("latency=1us,ack_latency=1us", "error=RETRY_EXC_ERR@3");
    rig.fill_source(5);
    for at in 1..=5 {
        rig.post(&mut rig.write(at, at * 64, 8, if at < 3 { SIGNALED } else { 0 }));
    }
    wait(2_000);
    use WcStatus::*;
    assert_eq!(rig.poll(), [(1, Success), (2, Success), (3, RetryExcErr), (4, WrFlushErr), (5, WrFlushErr)]);
    let bytes = rig.target_bytes();
    assert_eq!([64, 128, 192, 256, 320].map(|at| bytes[at]), [5, 5, 0, 0, 0]);
    rig.post(&mut rig.write(6, 0, 8, 0));
    assert_eq!(rig.poll(), [(6, WrFlushErr)]);
}

#[test]
fn a_wrong_key_fails_in_its_turn() {
    let rig = rig("latency=1us,ack_latency=1us", "");
    let mut bad = rig.write(2, 0, 8, 0);
    bad.wr.wr.rdma.rkey = 0;
    rig.post_list(&mut [rig.write(1, 0, 8, SIGNALED), bad, rig.write(3, 0, 8, SIGNALED)]).unwrap();
    assert_eq!(rig.poll(), []);
    wait(2_000);
    use WcStatus::*;
    assert_eq!(rig.poll(), [(1, Success), (2, RemAccessErr), (3, WrFlushErr)]);
}

#[test]
fn going_to_error_flushes_what_is_on_the_link() {
    let mut rig = rig("latency=1ms", "");
    rig.fill_source(5);
    for at in 1..=3 {
        rig.post(&mut rig.write(at, 0, 8, 0));
    }
    rig.qp.to_error().unwrap();
    assert_eq!(rig.poll(), [1, 2, 3].map(|at| (at, WcStatus::WrFlushErr)));
    assert_eq!(rig.target_bytes()[0], 0);
}

#[test]
fn a_fault_without_a_model_takes_no_time() {
    let fault = Some("error=GENERAL_ERR@2".parse().unwrap());
    let nic = SoftNic::with_clock(None, fault, || ModelClock::of::<Manual>(Scale::NANOSECONDS));
    let rig = Rig::new(nic, 8, 8);
    rig.post_list(&mut [rig.write(1, 0, 8, SIGNALED), rig.write(2, 0, 8, SIGNALED)]).unwrap();
    assert_eq!(rig.poll(), [(1, WcStatus::Success), (2, WcStatus::GeneralErr)]);
}

#[test]
fn an_unknown_status_is_refused_when_the_device_is_opened() {
    let mut fault: SoftFault = "error=GENERAL_ERR@2".parse().unwrap();
    fault.error.as_mut().unwrap().status = "NO_SUCH_ERR".into();
    let nic = SoftNic::with_clock(None, Some(fault), || ModelClock::of::<Manual>(Scale::NANOSECONDS));
    assert!(Context::open(nic).err().expect("refused").to_string().contains("NO_SUCH_ERR"));
}

/// The real clock: never early. How late depends on what else the machine does.
#[test]
fn on_the_real_clock_a_message_is_never_early() {
    let rig = Rig::new(SoftNic::new(Some("latency=150us,ack_latency=50us".parse().unwrap()), None), 8, 8);
    for at in 0..20 {
        let posted = std::time::Instant::now();
        rig.post(&mut rig.write(at, 0, 8, SIGNALED));
        while rig.poll().is_empty() {}
        let took = posted.elapsed();
        // 0.1% for the difference between the two clocks.
        assert!((199_800..1_000_000_000).contains(&took.as_nanos()), "{took:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever is posted when: completions come in order, each no earlier than its way and the link's rate allow.
    #[test]
    fn completions_keep_order_and_never_beat_the_model(
        posts in proptest::collection::vec((0u64..3_000, 0u32..4_096), 1..60), seed: u64,
    ) {
        let model = format!("latency=1us,ack_latency=500ns,jitter=exponential:800ns,rate=10Gbps,seed={seed}");
        let rig = rig(&model, "");
        let begin = TIME.get();
        let mut earliest = Vec::new();
        let mut sent_ns = 0.0;
        let mut done = Vec::new();
        for (at, (pause, len)) in posts.iter().enumerate() {
            wait(*pause);
            prop_assert_eq!(rig.post(&mut rig.write(at as u64, 0, *len, SIGNALED)), 0);
            sent_ns += f64::from(*len) * 0.8;
            earliest.push((TIME.get() + 1_500 + u64::from(*len) * 8 / 10).max(begin + sent_ns as u64 + 1_500));
            done.extend(rig.poll().into_iter().map(|(wr_id, _)| (wr_id, TIME.get())));
        }
        while done.len() < posts.len() {
            wait(50);
            done.extend(rig.poll().into_iter().map(|(wr_id, _)| (wr_id, TIME.get())));
        }
        for (at, (wr_id, time)) in done.iter().enumerate() {
            prop_assert_eq!(*wr_id, at as u64);
            prop_assert!(*time >= earliest[at], "{} at {}, not before {}", wr_id, time, earliest[at]);
        }
    }
}
