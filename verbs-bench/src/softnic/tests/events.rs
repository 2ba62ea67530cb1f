//! Completion events: one for the first completion after it was asked for.

use std::time::Duration;

use rdma_sys::ibv_req_notify_cq;

use super::*;
use crate::verbs::{AddressHandle, CompletionChannel};

/// A rig whose receives raise events.
fn rig(nic: Arc<dyn Provider>) -> Rig {
    let (pd, cq) = Rig::parts(nic, 16);
    let channel = CompletionChannel::create(pd.context()).unwrap();
    let kind = CqKind { events: Some((channel, 0)), ..CqKind::default() };
    let recv_cq = CompletionQueue::create(pd.context(), 16, kind).unwrap();
    let (source, target) = (region(&pd), region(&pd));
    let caps = QpCaps { max_send_wr: 8, max_recv_wr: 8, max_inline_bytes: 64 };
    let mut qp = QueuePair::create(&pd, &cq, &recv_cq, QpKind::RC, caps).unwrap();
    Rig::connect(&mut qp, &target, Transport::Rc);
    Rig { qp, cq, recv_cq, source, target, pd }
}

fn arm(rig: &Rig) {
    // SAFETY: a live CQ of this thread.
    assert_eq!(unsafe { ibv_req_notify_cq(rig.recv_cq.as_ptr(), 0) }, 0);
}

fn wait_event(rig: &Rig, timeout: Duration) -> bool {
    // SAFETY: the CQ is live, of this channel and of this thread.
    unsafe { rig.recv_cq.channel().unwrap().wait(rig.recv_cq.as_ptr(), timeout) }.unwrap()
}

const SOON: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);

#[test]
fn one_event_for_what_comes_after_it_was_asked_for() {
    let rig = rig(raw_nic());
    for at in 0..3 {
        rig.post_recv(at, 0, 8);
    }
    // Nobody asked, so what comes raises nothing.
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    assert!(!wait_event(&rig, SOON));
    // Nothing has come since it was asked for.
    arm(&rig);
    assert!(!wait_event(&rig, SOON));
    rig.post(&mut rig.send(2, 0, 8, SIGNALED));
    rig.post(&mut rig.send(3, 0, 8, SIGNALED));
    assert!(wait_event(&rig, LONG));
    assert!(!wait_event(&rig, SOON));
    assert_eq!(rig.received().len(), 3);
}

#[test]
fn waiting_makes_the_progress_that_ends_it() {
    // The real clock, since the wait itself must pass time.
    let rig = rig(SoftNic::new(Some("latency=300us".parse().unwrap()), None));
    rig.post_recv(70, 0, 8);
    arm(&rig);
    rig.post(&mut rig.send(1, 0, 8, SIGNALED));
    assert!(wait_event(&rig, LONG));
    assert_eq!(rig.received().len(), 1);
}

#[test]
fn what_it_has_not_is_refused() {
    let rig = rig(raw_nic());
    // SAFETY: a live CQ of this thread.
    assert_eq!(unsafe { ibv_req_notify_cq(rig.recv_cq.as_ptr(), 1) }, libc::EOPNOTSUPP);
    let channel = CompletionChannel::create(rig.pd.context()).unwrap();
    let kind = CqKind { events: Some((channel, 1)), ..CqKind::default() };
    assert!(CompletionQueue::create(rig.pd.context(), 8, kind).is_err());
}

#[test]
fn an_address_handle_stands_on_its_domain() {
    let rig = rig(raw_nic());
    let path = connection(&rig.target, &rig.qp, Transport::Ud);
    let ah = AddressHandle::create(&rig.pd, &path).unwrap();
    // SAFETY: a live handle of ours.
    assert_eq!(unsafe { (*ah.as_ptr()).pd }, rig.pd.as_ptr());
}
