//! One QP as the bandwidth loop sees it: a prebuilt list of work requests, its window, and the post stamps of what is in flight.
//!
//! Completions of an RC QP arrive in order, so a ring of stamps is enough: the n-th completion belongs to the n-th
//! signaled work request.

use std::ptr;

use rdma_sys::{ibv_qp, ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode};

use super::layout::Layout;

const SIGNALED: u32 = ibv_send_flags::IBV_SEND_SIGNALED.0;
const INLINE: u32 = ibv_send_flags::IBV_SEND_INLINE.0;

/// Memory of both ends, as the work requests name it.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// First byte of the region, here.
    pub source: u64,
    /// Local key.
    pub lkey: u32,
    /// First byte of the peer's region, as the peer sees it.
    pub target: u64,
    /// Remote key.
    pub rkey: u32,
}

/// What a lane posts.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Message size in bytes.
    pub msg_bytes: u32,
    /// Whether messages are posted inline.
    pub inline: bool,
    /// Work requests outstanding.
    pub tx_depth: u32,
    /// Work requests a post.
    pub post_list: u32,
    /// Every n-th is signaled.
    pub signal_interval: u32,
}

/// A signaled work request in flight.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    /// When its post began.
    tick: u64,
    /// Work requests posted up to and including it.
    end: u64,
}

/// One QP's window.
pub struct Lane {
    qp: *mut ibv_qp,
    /// Boxed so that `next` and `sg_list` pointers stay good when the lane moves.
    list: Box<[ibv_send_wr]>,
    _sges: Box<[ibv_sge]>,
    depth: u64,
    list_len: u64,
    interval: u64,
    /// Position of the next signaled work request, counted from the start of the next list.
    next_signal: u64,
    signals_per_list: u64,
    posted: u64,
    signaled: u64,
    credited: u64,
    /// Work requests still to post.
    budget: u64,
    sent: Box<[Sent]>,
    sent_head: usize,
    sent_tail: usize,
}

/// A plain RDMA WRITE of one message, unsignaled.
pub fn write_request(sge: &mut ibv_sge, target: u64, rkey: u32, wr_id: u64, inline: bool) -> ibv_send_wr {
    // SAFETY: ibv_send_wr is a C struct of integers, pointers and unions of them; all zeros is a valid value.
    let mut wr: ibv_send_wr = unsafe { std::mem::zeroed() };
    wr.wr_id = wr_id;
    wr.sg_list = sge;
    wr.num_sge = 1;
    wr.opcode = ibv_wr_opcode::IBV_WR_RDMA_WRITE;
    wr.send_flags = if inline { INLINE } else { 0 };
    wr.wr.rdma.remote_addr = target;
    wr.wr.rdma.rkey = rkey;
    wr
}

impl Lane {
    /// Builds the work requests of QP number `index`.
    ///
    /// # Safety
    /// `qp` must be in RTS and outlive the lane; the addresses must lie in registered memory that outlives it too.
    pub unsafe fn new(
        qp: *mut ibv_qp,
        index: u32,
        load: &Load,
        layout: &Layout,
        addresses: &Addresses,
    ) -> Self {
        let positions = 0..u64::from(load.post_list);
        let mut sges: Box<[ibv_sge]> = positions
            .clone()
            .map(|position| ibv_sge {
                addr: addresses.source + layout.source(u64::from(index), position),
                length: load.msg_bytes,
                lkey: addresses.lkey,
            })
            .collect();
        let mut list: Box<[ibv_send_wr]> = positions
            .map(|position| {
                let target = addresses.target + layout.target(u64::from(index), position);
                write_request(
                    &mut sges[position as usize],
                    target,
                    addresses.rkey,
                    u64::from(index),
                    load.inline,
                )
            })
            .collect();
        let fixed = load.post_list.is_multiple_of(load.signal_interval);
        for position in 0..list.len() {
            list[position].next = list
                .get_mut(position + 1)
                .map_or(ptr::null_mut(), |next: &mut ibv_send_wr| ptr::from_mut(next));
            if fixed && (position + 1).is_multiple_of(load.signal_interval as usize) {
                list[position].send_flags |= SIGNALED;
            }
        }
        Lane {
            qp,
            list,
            _sges: sges,
            depth: u64::from(load.tx_depth),
            list_len: u64::from(load.post_list),
            interval: u64::from(load.signal_interval),
            next_signal: u64::from(load.signal_interval) - 1,
            signals_per_list: u64::from(load.post_list / load.signal_interval),
            posted: 0,
            signaled: 0,
            credited: 0,
            budget: 0,
            sent: vec![Sent::default(); (load.tx_depth as usize + 1).next_power_of_two()].into(),
            sent_head: 0,
            sent_tail: 0,
        }
    }

    /// Allows so many more work requests.
    pub fn allow(&mut self, work_requests: u64) {
        self.budget = work_requests;
    }

    /// Allows no more than what makes every outstanding work request complete; returns how many that is.
    pub fn allow_flush(&mut self) -> u64 {
        self.budget = u64::from(self.posted > self.signaled);
        self.budget
    }

    /// Work requests posted so far.
    pub fn posted(&self) -> u64 {
        self.posted
    }

    /// Whether a whole list fits into window and budget, with at least one work request left for the last, signaled post.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.posted + self.list_len <= self.credited + self.depth && self.budget > self.list_len
    }

    /// Whether one of the next `lists` posts holds a signaled work request.
    #[inline(always)]
    pub fn signals_within(&self, lists: u32) -> bool {
        self.next_signal < self.list_len * u64::from(lists)
    }

    /// Whether only the last post is left and fits.
    #[inline(always)]
    pub fn has_last(&self) -> bool {
        self.budget <= self.list_len
            && self.budget > 0
            && self.posted + self.budget <= self.credited + self.depth
    }

    #[inline(always)]
    fn note_signal(&mut self, tick: u64, end: u64) {
        let mask = self.sent.len() - 1;
        self.sent[self.sent_head & mask] = Sent { tick, end };
        self.sent_head = self.sent_head.wrapping_add(1);
        self.signaled = end;
    }

    /// Rings the doorbell for one list; 0 or an errno.
    ///
    /// FIXED says that `post_list` is a multiple of `signal_interval`, so that the flags never change.
    #[inline(always)]
    pub fn post<const FIXED: bool>(&mut self, tick: u64) -> i32 {
        if FIXED {
            let mut end = self.posted;
            for _ in 0..self.signals_per_list {
                end += self.interval;
                self.note_signal(tick, end);
            }
            self.posted += self.list_len;
            self.budget -= self.list_len;
            return self.ring();
        }
        let first = self.next_signal;
        let mut position = first;
        while position < self.list_len {
            self.list[position as usize].send_flags |= SIGNALED;
            self.note_signal(tick, self.posted + position + 1);
            position += self.interval;
        }
        self.next_signal = position - self.list_len;
        self.posted += self.list_len;
        self.budget -= self.list_len;
        let errno = self.ring();
        position = first;
        while position < self.list_len {
            self.list[position as usize].send_flags &= !SIGNALED;
            position += self.interval;
        }
        errno
    }

    #[inline(always)]
    fn ring(&mut self) -> i32 {
        let mut bad = ptr::null_mut();
        // SAFETY: `new` asked for a QP in RTS; the list and its SGEs live in this lane and are linked within it.
        unsafe { rdma_sys::ibv_post_send(self.qp, self.list.as_mut_ptr(), &mut bad) }
    }

    /// Posts what is left of the budget (a list at most), the last of it signaled; 0 or an errno.
    #[cold]
    #[inline(never)]
    pub fn post_last(&mut self, tick: u64) -> i32 {
        let count = self.budget as usize;
        let saved: Vec<(u32, *mut ibv_send_wr)> =
            self.list.iter().map(|wr| (wr.send_flags, wr.next)).collect();
        for position in 0..count {
            let due = position as u64 >= self.next_signal
                && (position as u64 - self.next_signal).is_multiple_of(self.interval);
            let signaled = due || position + 1 == count;
            let flags = &mut self.list[position].send_flags;
            *flags = if signaled { *flags | SIGNALED } else { *flags & !SIGNALED };
            if signaled {
                self.note_signal(tick, self.posted + position as u64 + 1);
            }
        }
        self.list[count - 1].next = ptr::null_mut();
        self.posted += self.budget;
        self.budget = 0;
        self.next_signal = self.interval - 1;
        let errno = self.ring();
        for (wr, (flags, next)) in self.list.iter_mut().zip(saved) {
            (wr.send_flags, wr.next) = (flags, next);
        }
        errno
    }

    /// Takes the next completion: when its post began, and how many work requests it credits.
    #[inline(always)]
    pub fn complete(&mut self) -> (u64, u64) {
        let sent = self.sent[self.sent_tail & (self.sent.len() - 1)];
        self.sent_tail = self.sent_tail.wrapping_add(1);
        let credit = sent.end - self.credited;
        self.credited = sent.end;
        (sent.tick, credit)
    }

    /// Whether a completion is due at all.
    #[inline(always)]
    pub fn owes_completion(&self) -> bool {
        self.sent_head != self.sent_tail
    }
}
