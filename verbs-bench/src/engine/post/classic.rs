//! `ibv_post_send` with a linked list of work requests that is built once.
//!
//! What changes between two posts is decided by the kind: a preset list never changes, a still one changes its signals,
//! a moving one its addresses and numbers too.

use std::{marker::PhantomData, ptr};

use rdma_sys::{
    atomic_t, ibv_qp, ibv_send_flags, ibv_send_wr, ibv_sge,
    ibv_wr_opcode::{self, *},
    imm_data_invalidated_rkey_union_t, rdma_t, ud_t,
};
use schema::Op;

use super::{Cursor, Poster, Route};
use crate::engine::bandwidth::window::Signals;

const SIGNALED: u32 = ibv_send_flags::IBV_SEND_SIGNALED.0;
const INLINE: u32 = ibv_send_flags::IBV_SEND_INLINE.0;

/// What a list does between two posts.
pub trait Kind {
    /// Whether signals move within the list.
    const SIGNALS_MOVE: bool;

    /// Makes a work request that of the next message.
    fn step(wr: &mut ibv_send_wr, sge: &mut ibv_sge, start: &Start, cursor: &mut Cursor);
}

/// Every list is the same: one slot or as many as the list is long, and signals at fixed places.
pub struct Preset;
/// Every list goes to the same slots; signals move.
pub struct Still;
/// Messages walk through the working set; numbers count.
pub struct Moving;

impl Kind for Preset {
    const SIGNALS_MOVE: bool = false;
    #[inline(always)]
    fn step(_wr: &mut ibv_send_wr, _sge: &mut ibv_sge, _start: &Start, _cursor: &mut Cursor) {}
}

impl Kind for Still {
    const SIGNALS_MOVE: bool = true;
    #[inline(always)]
    fn step(_wr: &mut ibv_send_wr, _sge: &mut ibv_sge, _start: &Start, _cursor: &mut Cursor) {}
}

impl Kind for Moving {
    const SIGNALS_MOVE: bool = true;
    #[inline(always)]
    fn step(wr: &mut ibv_send_wr, sge: &mut ibv_sge, start: &Start, cursor: &mut Cursor) {
        let (offset, number) = cursor.advance();
        sge.addr = start.local + offset;
        (start.write)(wr, start.remote + offset, number);
    }
}

/// Where the working set begins, and how its verb writes an address and a number into a work request.
pub struct Start {
    local: u64,
    remote: u64,
    write: fn(&mut ibv_send_wr, u64, u64),
}

/// The list of one QP.
pub struct ClassicList<K> {
    qp: *mut ibv_qp,
    /// Boxed so that `next` and `sg_list` pointers stay good when the list moves.
    wrs: Box<[ibv_send_wr]>,
    sges: Box<[ibv_sge]>,
    interval: u64,
    start: Start,
    cursor: Cursor,
    kind: PhantomData<K>,
}

fn opcode(op: Op) -> ibv_wr_opcode::Type {
    match op {
        Op::Write => IBV_WR_RDMA_WRITE,
        Op::WriteImm => IBV_WR_RDMA_WRITE_WITH_IMM,
        Op::Read => IBV_WR_RDMA_READ,
        Op::Send => IBV_WR_SEND,
        Op::FetchAdd => IBV_WR_ATOMIC_FETCH_AND_ADD,
        Op::CompareSwap => IBV_WR_ATOMIC_CMP_AND_SWP,
    }
}

fn write_rdma(wr: &mut ibv_send_wr, remote: u64, _number: u64) {
    wr.wr.rdma.remote_addr = remote;
}

fn write_imm(wr: &mut ibv_send_wr, remote: u64, number: u64) {
    wr.wr.rdma.remote_addr = remote;
    wr.imm_data_invalidated_rkey_union =
        imm_data_invalidated_rkey_union_t { imm_data: (number as u32).to_be() };
}

fn write_nothing(_wr: &mut ibv_send_wr, _remote: u64, _number: u64) {}

fn write_swap(wr: &mut ibv_send_wr, _remote: u64, number: u64) {
    // Each swap expects what the one before it left.
    (wr.wr.atomic.compare_add, wr.wr.atomic.swap) = (number, number.wrapping_add(1));
}

fn writer(op: Op) -> fn(&mut ibv_send_wr, u64, u64) {
    match op {
        Op::Write | Op::Read => write_rdma,
        Op::WriteImm => write_imm,
        Op::Send | Op::FetchAdd => write_nothing,
        Op::CompareSwap => write_swap,
    }
}

/// One work request of a route, unsignaled, at its first message.
fn first_request(route: &Route, sge: *mut ibv_sge) -> ibv_send_wr {
    // SAFETY: ibv_send_wr is a C struct of integers, pointers and unions of them; all zeros is a valid value.
    let mut wr: ibv_send_wr = unsafe { std::mem::zeroed() };
    (wr.wr_id, wr.sg_list, wr.num_sge, wr.opcode) = (route.wr_id, sge, 1, opcode(route.op));
    wr.send_flags = if route.inline { INLINE } else { 0 };
    match (route.op, &route.ud) {
        (Op::Send, None) => {}
        (Op::Send, Some(ud)) => wr.wr.ud = ud_t { ah: ud.ah, remote_qpn: ud.qp_num, remote_qkey: ud.qkey },
        (Op::FetchAdd | Op::CompareSwap, _) => {
            wr.wr.atomic = atomic_t {
                remote_addr: route.remote.addr,
                compare_add: u64::from(route.op == Op::FetchAdd),
                swap: 0,
                rkey: route.remote.key,
            };
        }
        (Op::Write | Op::WriteImm | Op::Read, _) => {
            wr.wr.rdma = rdma_t { remote_addr: route.remote.addr, rkey: route.remote.key };
        }
    }
    wr
}

impl<K: Kind> ClassicList<K> {
    /// Builds a list of `length` work requests.
    ///
    /// # Safety
    /// `qp` must be in RTS and outlive the list, as must the memory the route names.
    pub unsafe fn new(qp: *mut ibv_qp, route: &Route, length: u32, interval: u32) -> Self {
        let write = writer(route.op);
        let mut cursor = Cursor::new(route);
        let mut sges: Box<[ibv_sge]> = (0..length)
            .map(|_| ibv_sge { addr: 0, length: route.msg_bytes, lkey: route.local.key })
            .collect();
        let mut wrs: Box<[ibv_send_wr]> = sges
            .iter_mut()
            .map(|sge| {
                let (offset, number) = cursor.advance();
                sge.addr = route.local.addr + offset;
                let mut wr = first_request(route, sge);
                write(&mut wr, route.remote.addr + offset, number);
                wr
            })
            .collect();
        for position in 0..wrs.len() {
            wrs[position].next = wrs
                .get_mut(position + 1)
                .map_or(ptr::null_mut(), |next: &mut ibv_send_wr| ptr::from_mut(next));
            if !K::SIGNALS_MOVE && (position + 1).is_multiple_of(interval as usize) {
                wrs[position].send_flags |= SIGNALED;
            }
        }
        ClassicList {
            qp,
            wrs,
            sges,
            interval: interval.into(),
            start: Start { local: route.local.addr, remote: route.remote.addr, write },
            cursor: Cursor::new(route),
            kind: PhantomData,
        }
    }

    #[inline(always)]
    fn ring(&mut self) -> i32 {
        let mut bad = ptr::null_mut();
        // SAFETY: `new` asked for a QP in RTS; the list and its SGEs live in self and are linked within it.
        unsafe { rdma_sys::ibv_post_send(self.qp, self.wrs.as_mut_ptr(), &mut bad) }
    }

    #[inline(always)]
    fn step(&mut self) {
        for (wr, sge) in self.wrs.iter_mut().zip(self.sges.iter_mut()) {
            K::step(wr, sge, &self.start, &mut self.cursor);
        }
    }
}

impl<K: Kind> Poster for ClassicList<K> {
    #[inline(always)]
    fn post(&mut self, signals: Signals) -> i32 {
        self.step();
        if !K::SIGNALS_MOVE {
            return self.ring();
        }
        let length = self.wrs.len() as u64;
        let mut position = signals.first;
        while position < length {
            self.wrs[position as usize].send_flags |= SIGNALED;
            position += self.interval;
        }
        let errno = self.ring();
        position = signals.first;
        while position < length {
            self.wrs[position as usize].send_flags &= !SIGNALED;
            position += self.interval;
        }
        errno
    }

    #[cold]
    #[inline(never)]
    fn post_last(&mut self, length: u64, signals: Signals) -> i32 {
        let last = length as usize - 1;
        let flags: Vec<u32> = self.wrs.iter().map(|wr| wr.send_flags).collect();
        let next = self.wrs[last].next;
        for (position, (wr, sge)) in self.wrs.iter_mut().zip(self.sges.iter_mut()).take(last + 1).enumerate()
        {
            K::step(wr, sge, &self.start, &mut self.cursor);
            let since = (position as u64).checked_sub(signals.first);
            let regular = since.is_some_and(|since| since.is_multiple_of(self.interval));
            wr.send_flags &= !SIGNALED;
            if regular || position == last {
                wr.send_flags |= SIGNALED;
            }
        }
        self.wrs[last].next = ptr::null_mut();
        let errno = self.ring();
        self.wrs[last].next = next;
        for (wr, flags) in self.wrs.iter_mut().zip(flags) {
            wr.send_flags = flags;
        }
        errno
    }
}
