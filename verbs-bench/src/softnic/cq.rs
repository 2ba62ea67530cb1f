//! The completion queue: a ring of what `ibv_poll_cq` will hand out.

use std::{ffi::c_int, io, ptr};

use rdma_sys::{ibv_context, ibv_cq_ex, ibv_wc, imm_data_invalidated_rkey_union_t};

use super::{flight::Completed, qp::SoftQp, ring::Arrival, stall::LinkTime};

/// Most entries of a CQ, as current devices have it.
pub(super) const MAX_CQE: u32 = 1 << 22;

/// A completion queue. Its first field is what verbs sees; one thread at a time uses it and its QPs.
#[repr(C)]
pub(super) struct SoftCq {
    pub(super) ex: ibv_cq_ex,
    ring: Box<[Cqe]>,
    /// Completions handed out, and pushed, since the beginning.
    popped: u64,
    pushed: u64,
    /// A completion found no room. As with hardware the queue is then unusable.
    overrun: bool,
    /// The QPs that complete here, sends or receives.
    pub(super) qps: Vec<*mut SoftQp>,
    /// Polling must look at its QPs: one has receives, or something in flight.
    pub(super) attention: bool,
    /// Time on the link, for QPs with a model.
    pub(super) link_time: LinkTime,
    /// What an extended poll shows.
    current: Cqe,
    /// Completions that had been pushed as notification was asked for; none while no event is awaited.
    armed_at: Option<u64>,
}

/// A completion waiting to be polled.
#[derive(Clone, Copy)]
pub(super) struct Cqe {
    pub(super) wr_id: u64,
    pub(super) qp: *mut SoftQp,
    /// Work requests of the send queue of `qp` whose slots are free once this is polled; 0 for a receive.
    pub(super) retires: u64,
    /// The device's time of it, where it keeps one.
    pub(super) at: u64,
    pub(super) status: u32,
    pub(super) opcode: u32,
    pub(super) byte_len: u32,
    pub(super) imm: u32,
    pub(super) wc_flags: u32,
    pub(super) src_qp: u32,
}

impl SoftCq {
    /// An empty queue for at least `entries` completions, on an open context.
    pub(super) fn new(context: *mut ibv_context, entries: u32) -> io::Result<SoftCq> {
        if entries == 0 || entries > MAX_CQE {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        let ring = vec![Cqe::EMPTY; entries.next_power_of_two() as usize].into_boxed_slice();
        let cqe = ring.len() as c_int;
        // SAFETY: ibv_cq_ex is integers, pointers, optional functions and an unused mutex and condition; all zero is valid.
        let ex = ibv_cq_ex { context, cqe, ..unsafe { std::mem::zeroed() } };
        Ok(SoftCq {
            ex,
            ring,
            popped: 0,
            pushed: 0,
            overrun: false,
            qps: Vec::new(),
            attention: false,
            link_time: LinkTime::EVEN,
            current: Cqe::EMPTY,
            armed_at: None,
        })
    }

    #[inline(always)]
    fn index(&self, count: u64) -> usize {
        count as usize & (self.ring.len() - 1)
    }

    /// Queues a completion.
    #[inline(always)]
    pub(super) fn push(&mut self, cqe: Cqe) {
        if self.pushed - self.popped == self.ring.len() as u64 {
            self.overrun = true;
            return;
        }
        let at = self.index(self.pushed);
        self.ring[at] = cqe;
        self.pushed += 1;
    }

    /// Hands out up to `num_entries` completions; an overrun queue fails once what came before is handed out.
    ///
    /// # Safety
    /// `wc` has room for `num_entries`, and the QPs of queued completions are live.
    #[inline(always)]
    pub(super) unsafe fn pop(&mut self, num_entries: c_int, wc: *mut ibv_wc) -> c_int {
        let ready = (self.pushed - self.popped).min(num_entries.max(0) as u64);
        if ready == 0 {
            return if self.overrun { -libc::EOVERFLOW } else { 0 };
        }
        for at in 0..ready {
            let cqe = &self.ring[self.index(self.popped + at)];
            // SAFETY: the QP is live (caller); at < ready <= num_entries, for which the caller has room.
            unsafe { wc.add(at as usize).write(cqe.hand_out()) };
        }
        self.popped += ready;
        ready as c_int
    }

    /// Shows the next completion to an extended poll, which takes it; or the errno `ibv_next_poll` returns.
    ///
    /// # Safety
    /// As `pop`.
    #[inline]
    pub(super) unsafe fn next(&mut self) -> c_int {
        if self.popped == self.pushed {
            return if self.overrun { libc::EOVERFLOW } else { libc::ENOENT };
        }
        self.current = self.ring[self.index(self.popped)];
        self.popped += 1;
        // SAFETY: the QP is live (caller).
        unsafe { self.current.retire() };
        (self.ex.wr_id, self.ex.status) = (self.current.wr_id, self.current.status);
        0
    }

    /// What an extended poll shows.
    pub(super) fn current(&self) -> &Cqe {
        &self.current
    }

    /// Asks for an event with the next completion.
    pub(super) fn arm(&mut self) {
        self.armed_at = Some(self.pushed);
    }

    /// Takes the event, if it was raised. An overrun raises it too, so that whoever waits sees the queue fail.
    pub(super) fn take_event(&mut self) -> bool {
        let raised = self.armed_at.is_some_and(|armed_at| self.pushed > armed_at || self.overrun);
        if raised {
            self.armed_at = None;
        }
        raised
    }

    /// Takes a QP that is being destroyed off the queue, with its completions.
    pub(super) fn forget(&mut self, qp: *mut SoftQp) {
        self.qps.retain(|other| *other != qp);
        let mut kept = self.popped;
        for at in self.popped..self.pushed {
            let cqe = self.ring[self.index(at)];
            if cqe.qp != qp {
                let to = self.index(kept);
                self.ring[to] = cqe;
                kept += 1;
            }
        }
        self.pushed = kept;
        if self.current.qp == qp {
            self.current = Cqe::EMPTY;
        }
    }
}

impl Cqe {
    const EMPTY: Cqe = Cqe {
        wr_id: 0,
        qp: ptr::null_mut(),
        retires: 0,
        at: 0,
        status: 0,
        opcode: 0,
        byte_len: 0,
        imm: 0,
        wc_flags: 0,
        src_qp: 0,
    };

    /// The completion of the work request `qp` posted as its `number`-th.
    #[inline(always)]
    pub(super) fn sent(qp: *mut SoftQp, done: Completed) -> Cqe {
        let Completed { wr_id, status, opcode, byte_len, number, at } = done;
        Cqe { wr_id, qp, retires: number, at, status, opcode, byte_len, ..Cqe::EMPTY }
    }

    /// The completion of a receive.
    #[inline(always)]
    pub(super) fn received(qp: *mut SoftQp, wr_id: u64, arrival: Arrival) -> Cqe {
        let Arrival { at, status, opcode, byte_len, imm, wc_flags, src_qp } = arrival;
        Cqe { wr_id, qp, retires: 0, at, status, opcode, byte_len, imm, wc_flags, src_qp }
    }

    /// Number of its QP; 0 once that is destroyed.
    pub(super) fn qp_num(&self) -> u32 {
        // SAFETY: a QP that is destroyed takes itself out of the queue, so the pointer is null or live.
        unsafe { self.qp.as_ref() }.map_or(0, |qp| qp.ex.qp_base.qp_num)
    }

    /// Frees the slots it stands for.
    ///
    /// # Safety
    /// Its QP is live: destroying one takes its completions out of the ring.
    #[inline(always)]
    unsafe fn retire(&self) {
        // SAFETY: live (caller), and no reference to it is.
        unsafe { (*self.qp).retired = (*self.qp).retired.max(self.retires) };
    }

    /// Frees the slots it stands for, and puts it as verbs has it.
    ///
    /// # Safety
    /// As `retire`.
    #[inline(always)]
    unsafe fn hand_out(&self) -> ibv_wc {
        // SAFETY: as the caller's.
        let qp_num = unsafe {
            self.retire();
            (*self.qp).ex.qp_base.qp_num
        };
        ibv_wc {
            wr_id: self.wr_id,
            status: self.status,
            opcode: self.opcode,
            vendor_err: 0,
            byte_len: self.byte_len,
            imm_data_invalidated_rkey_union: imm_data_invalidated_rkey_union_t { imm_data: self.imm },
            qp_num,
            src_qp: self.src_qp,
            wc_flags: self.wc_flags,
            pkey_index: 0,
            slid: 0,
            sl: 0,
            dlid_path_bits: 0,
        }
    }
}
