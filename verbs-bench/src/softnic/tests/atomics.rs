//! Atomics: exact on the peer's counter, what was found comes back.

use std::thread;

use rdma_sys::ibv_wc_opcode::*;

use super::*;

fn fetch_add(rig: &Rig, offset: u64, add: u64) -> Request {
    let mut request = rig.write(1, offset, 8, SIGNALED);
    request.wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    request.wr.wr.atomic = rdma_sys::atomic_t {
        remote_addr: rig.target.addr() + offset,
        compare_add: add,
        swap: 0,
        rkey: rig.target.rkey(),
    };
    request
}

fn compare_swap(rig: &Rig, offset: u64, compare: u64, swap: u64) -> Request {
    let mut request = fetch_add(rig, offset, compare);
    request.wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    request.wr.wr.atomic.swap = swap;
    request
}

/// The counter at this offset of a region.
fn value(region: &MemoryRegion, offset: usize) -> u64 {
    // SAFETY: inside the region, which no other thread writes to now.
    unsafe { region.buffer().as_ptr().add(offset).cast::<u64>().read_unaligned() }
}

#[test]
fn what_was_found_comes_back_and_the_counter_changes() {
    for nic in [raw_nic(), modelled_nic("latency=1us", "")] {
        let rig = Rig::receiving(nic, Transport::Rc);
        let results = [
            (fetch_add(&rig, 64, 5), 0, 5, IBV_WC_FETCH_ADD),
            (fetch_add(&rig, 64, u64::MAX), 5, 4, IBV_WC_FETCH_ADD),
            (compare_swap(&rig, 64, 4, 100), 4, 100, IBV_WC_COMP_SWAP),
            (compare_swap(&rig, 64, 4, 200), 100, 100, IBV_WC_COMP_SWAP),
        ];
        for (mut request, found, left, opcode) in results {
            assert_eq!(rig.post(&mut request), 0);
            wait(2_000);
            let wcs = rig.poll_raw().unwrap();
            assert_eq!(
                wcs.iter().map(|wc| (wc.status, wc.opcode, wc.byte_len)).collect::<Vec<_>>(),
                [(0, opcode, 8)]
            );
            assert_eq!((value(&rig.source, 64), value(&rig.target, 64)), (found, left));
        }
    }
}

#[test]
fn a_counter_lies_on_eight_bytes_and_is_eight_long() {
    use WcStatus::{RemInvReqErr, WrFlushErr};
    let rig = Rig::receiving(raw_nic(), Transport::Rc);
    let mut short = fetch_add(&rig, 0, 1);
    short.sge.length = 4;
    let mut inline = fetch_add(&rig, 0, 1);
    inline.wr.send_flags |= INLINE;
    for request in [&mut short, &mut inline] {
        assert_eq!(rig.post(request), libc::EINVAL);
    }
    assert_eq!(rig.post(&mut fetch_add(&rig, 4, 1)), 0);
    assert_eq!(rig.post(&mut fetch_add(&rig, 8, 1)), 0);
    assert_eq!(rig.poll(), [(1, RemInvReqErr), (1, WrFlushErr)]);
    assert_eq!((value(&rig.target, 4), value(&rig.target, 8)), (0, 0));
}

/// Several threads, each with a QP of its own, on one counter: none of the additions is lost.
#[test]
fn additions_of_many_are_exact() {
    const EACH: u64 = 5_000;
    let pd = Rig::parts(raw_nic(), 1).0;
    let shared = region(&pd);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let cq = CompletionQueue::create(pd.context(), 16, CqKind::default()).unwrap();
                let qp = Rig::connected_qp(&pd, &cq, &shared, 8);
                let found = region(&pd);
                for _ in 0..EACH {
                    let sge = ibv_sge { addr: found.addr(), length: 8, lkey: found.lkey() };
                    // SAFETY: integers, pointers and unions of them; all zero is a valid value.
                    let mut wr: ibv_send_wr = unsafe { std::mem::zeroed() };
                    (wr.num_sge, wr.opcode, wr.send_flags) = (1, IBV_WR_ATOMIC_FETCH_AND_ADD, SIGNALED);
                    let (remote_addr, rkey) = (shared.addr(), shared.rkey());
                    wr.wr.atomic = rdma_sys::atomic_t { remote_addr, compare_add: 3, swap: 0, rkey };
                    post_on(&qp, &mut [Request { wr, sge }]).unwrap();
                    assert_eq!(poll_on(&cq).unwrap().len(), 1);
                }
            });
        }
    });
    assert_eq!(value(&shared, 0), 3 * 3 * EACH);
}
