//! rdma_cm on a real device: rxe0 at 10.0.0.1 and rxe1 at 10.0.0.2, as in the verbs room.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use super::{Listener, Terms, connect_all};
use crate::verbs::{CqKind, QpKind, on_device::End};

const TERMS: Terms = Terms {
    port_num: 1,
    path_mtu: 1024,
    traffic_class: 0,
    flow_label: 0,
    service_level: 0,
    timeout: 14,
    retry_count: 7,
    outstanding_reads: 1,
};

#[test]
#[ignore = "needs the rxe guest: run by scripts/test.sh"]
fn rdma_cm_connects_our_qps_and_turns_strangers_away() {
    let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
    let deadline = || Instant::now() + Duration::from_secs(30);
    let kind = || (QpKind::RC, CqKind::default());
    let mut ours = End::new("rxe0", kind().0, kind().1, 3);
    let mut theirs = End::new("rxe1", kind().0, kind().1, 3);
    let listener = Listener::bind(address("10.0.0.2:0")).expect("listens");
    let to = listener.address();
    let (kept, here) = thread::scope(|scope| {
        let accepting = scope.spawn(|| {
            let mut qps: Vec<_> = theirs.qps.iter_mut().collect();
            listener.accept_all(&mut qps, &TERMS, &[7; 32], deadline())
        });
        let from = address("10.0.0.1:0");
        let mut stranger = End::new("rxe0", kind().0, kind().1, 1);
        let mut qps: Vec<_> = stranger.qps.iter_mut().collect();
        let refused = connect_all(to, from, &mut qps, &TERMS, &[8; 32], deadline());
        let text = refused.err().expect("another session's").to_string();
        assert!(text.contains("RDMA_CM_EVENT_REJECTED"), "{text}");
        let mut qps: Vec<_> = ours.qps.iter_mut().collect();
        let here = connect_all(to, from, &mut qps, &TERMS, &[7; 32], deadline()).expect("connected");
        (accepting.join().expect("no panic").expect("accepted"), here)
    });
    assert_eq!((kept.count(), here.count()), (3, 3));
    for (n, qp) in ours.qps.iter().enumerate() {
        ours.write(qp, 100 + n as u64, &theirs);
        let wc = ours.completion();
        assert_eq!((wc.status, wc.wr_id, theirs.first_word()), (0, 100 + n as u64, 100 + n as u64));
    }
    drop((here, kept));
    let mut late = End::new("rxe0", kind().0, kind().1, 1);
    let mut qps: Vec<_> = late.qps.iter_mut().collect();
    let gone = connect_all(to, address("10.0.0.1:0"), &mut qps, &TERMS, &[7; 32], deadline());
    let text = gone.err().expect("nobody listens").to_string();
    assert!(text.contains("nobody listens"), "{text}");
    let wrong = connect_all(to, address("10.0.0.2:0"), &mut qps, &TERMS, &[7; 32], deadline());
    let text = wrong.err().expect("10.0.0.2 is rxe1's").to_string();
    assert!(text.contains("port 1 of rxe1") && text.contains("the QPs are on port 1 of rxe0"), "{text}");
}
