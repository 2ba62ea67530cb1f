//! Two processes, as in a run: each maps what the other describes, and messages go both ways through the shared rings.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use super::*;
use crate::softnic::SoftPeer;

const ROLE: &str = "VERBS_BENCH_TEST_ECHO";
const OFFER: &str = "offer ";
const MESSAGES: u64 = 2_000;
const LEN: u32 = 64;

/// A QP that is not yet connected to anyone; its rig is otherwise whole.
fn unconnected() -> Rig {
    let rig = Rig::receiving(raw_nic(), Transport::Rc);
    let caps = QpCaps { max_send_wr: 8, max_recv_wr: 8, max_inline_bytes: 64 };
    let mut qp = QueuePair::create(&rig.pd, &rig.cq, &rig.recv_cq, QpKind::RC, caps).unwrap();
    qp.to_init(1, 0, schema::Op::Send).unwrap();
    Rig { qp, ..rig }
}

fn offer(rig: &Rig) -> String {
    serde_json::to_string(&rig.target.soft_peer(&rig.qp).unwrap()).unwrap()
}

fn connect(rig: &mut Rig, offer: &str) -> SoftPeer {
    let peer: SoftPeer = serde_json::from_str(offer).unwrap();
    let mut path = connection(&rig.target, &rig.qp, Transport::Rc);
    path.remote.soft = Some(peer.clone());
    rig.qp.to_rtr(&path).unwrap();
    rig.qp.to_rts(&path).unwrap();
    peer
}

/// Waits for the next message; all of it must be this byte.
fn receive(rig: &Rig, number: u64) {
    let wc = loop {
        match rig.received().pop() {
            Some(wc) => break wc,
            None => std::thread::yield_now(),
        }
    };
    assert_eq!((wc.wr_id, wc.status, wc.byte_len), (number, 0, LEN));
    assert!(rig.target_bytes()[..LEN as usize].iter().all(|byte| *byte == number as u8), "message {number}");
}

fn send(rig: &Rig, number: u64) {
    rig.fill_source(number as u8);
    assert_eq!(rig.post(&mut rig.send(number, 0, LEN, SIGNALED | INLINE)), 0);
    while rig.poll().is_empty() {
        std::thread::yield_now();
    }
}

/// The other process: a test that does nothing unless it was started as one. Answers each message, then counts on the
/// starter's memory.
#[test]
fn the_other_process() {
    if std::env::var_os(ROLE).is_none() {
        return;
    }
    let mut rig = unconnected();
    println!("\n{OFFER}{}", offer(&rig));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let peer = connect(&mut rig, line.trim());
    for number in 0..MESSAGES {
        assert_eq!(rig.post_recv(number, 0, LEN), 0);
        receive(&rig, number);
        send(&rig, number);
    }
    let mut request = rig.write(1, 0, 8, SIGNALED);
    request.wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.wr.atomic = rdma_sys::atomic_t {
        remote_addr: peer.base_addr + 1_024,
        compare_add: MESSAGES,
        swap: 0,
        rkey: peer.rkey,
    };
    assert_eq!(rig.post(&mut request), 0);
    assert_eq!(rig.poll(), [(1, WcStatus::Success)]);
}

#[test]
fn messages_go_both_ways_between_two_processes() {
    let mut rig = unconnected();
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "softnic::tests::processes::the_other_process", "--nocapture"])
        .env(ROLE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(other.stdin.take().unwrap(), "{}", offer(&rig)).unwrap();
    let mut lines = BufReader::new(other.stdout.take().unwrap()).lines().map_while(Result::ok);
    let theirs = lines.find_map(|line| line.strip_prefix(OFFER).map(str::to_owned)).expect("an offer");
    connect(&mut rig, &theirs);
    for number in 0..MESSAGES {
        assert_eq!(rig.post_recv(number, 0, LEN), 0);
        send(&rig, number);
        receive(&rig, number);
    }
    lines.for_each(drop);
    assert!(other.wait().unwrap().success());
    let counter = rig.target_bytes()[1_024..1_032].try_into().unwrap();
    assert_eq!(u64::from_ne_bytes(counter), MESSAGES);
}
