//! `ibv_wr_*`: each work request is built by calls between `ibv_wr_start` and `ibv_wr_complete`, which rings the doorbell.
//!
//! One function per verb and payload, chosen when the list is made.

use std::ffi::c_void;

use rdma_sys::{
    ibv_qp_ex, ibv_send_flags, ibv_wr_atomic_cmp_swp, ibv_wr_atomic_fetch_add, ibv_wr_complete,
    ibv_wr_rdma_read, ibv_wr_rdma_write, ibv_wr_rdma_write_imm, ibv_wr_send, ibv_wr_set_inline_data,
    ibv_wr_set_sge, ibv_wr_set_ud_addr, ibv_wr_start,
};
use schema::Op;

use super::{Cursor, Poster, Route};
use crate::engine::bandwidth::window::Signals;

const SIGNALED: u32 = ibv_send_flags::IBV_SEND_SIGNALED.0;

/// Adds the work request of a message at this offset with this number.
type Build = unsafe fn(*mut ibv_qp_ex, &Route, u64, u64);

/// The list of one QP.
pub struct ExtendedList {
    qp: *mut ibv_qp_ex,
    route: Route,
    build: Build,
    length: u64,
    interval: u64,
    cursor: Cursor,
}

/// Attaches the payload: by reference, or copied.
///
/// # Safety
/// A work request is open on `qp`; the route's memory is live.
#[inline(always)]
unsafe fn payload<const INLINE: bool>(qp: *mut ibv_qp_ex, route: &Route, offset: u64) {
    let addr = route.local.addr + offset;
    // SAFETY: as the caller's.
    unsafe {
        match INLINE {
            true => ibv_wr_set_inline_data(qp, addr as *mut c_void, route.msg_bytes as usize),
            false => ibv_wr_set_sge(qp, route.local.key, addr, route.msg_bytes),
        }
    }
}

/// Each builder is called between `ibv_wr_start` and `ibv_wr_complete` on a live QP whose memory the route names.
macro_rules! builders {
    ($($name:ident => |$qp:ident, $route:ident, $remote:ident, $number:ident| $verb:expr;)+) => {
        $(unsafe fn $name<const INLINE: bool>($qp: *mut ibv_qp_ex, $route: &Route, offset: u64, $number: u64) {
            let $remote = $route.remote.addr + offset;
            // SAFETY: see the macro: the QP is live and a batch is open on it.
            unsafe {
                $verb;
                payload::<INLINE>($qp, $route, offset);
            }
        })+
    };
}

builders! {
    write => |qp, route, remote, _number| ibv_wr_rdma_write(qp, route.remote.key, remote);
    write_imm => |qp, route, remote, number| ibv_wr_rdma_write_imm(qp, route.remote.key, remote, (number as u32).to_be());
    read => |qp, route, remote, _number| ibv_wr_rdma_read(qp, route.remote.key, remote);
    send => |qp, _route, _remote, _number| ibv_wr_send(qp);
    fetch_add => |qp, route, remote, _number| ibv_wr_atomic_fetch_add(qp, route.remote.key, remote, 1);
    compare_swap => |qp, route, remote, number|
        ibv_wr_atomic_cmp_swp(qp, route.remote.key, remote, number, number.wrapping_add(1));
}

/// # Safety
/// As the other builders; the route's address handle is live.
unsafe fn send_datagram<const INLINE: bool>(qp: *mut ibv_qp_ex, route: &Route, offset: u64, _number: u64) {
    // SAFETY: as the caller's.
    unsafe {
        ibv_wr_send(qp);
        if let Some(ud) = &route.ud {
            ibv_wr_set_ud_addr(qp, ud.ah, ud.qp_num, ud.qkey);
        }
        payload::<INLINE>(qp, route, offset);
    }
}

fn builder(route: &Route) -> Build {
    match (route.op, route.inline) {
        (Op::Write, false) => write::<false>,
        (Op::Write, true) => write::<true>,
        (Op::WriteImm, false) => write_imm::<false>,
        (Op::WriteImm, true) => write_imm::<true>,
        (Op::Read, _) => read::<false>,
        (Op::Send, false) if route.ud.is_some() => send_datagram::<false>,
        (Op::Send, true) if route.ud.is_some() => send_datagram::<true>,
        (Op::Send, false) => send::<false>,
        (Op::Send, true) => send::<true>,
        (Op::FetchAdd, _) => fetch_add::<false>,
        (Op::CompareSwap, _) => compare_swap::<false>,
    }
}

impl ExtendedList {
    /// A list of `length` work requests.
    ///
    /// # Safety
    /// `qp` must be in RTS, able to post the route's verb, and outlive the list, as must the memory the route names.
    pub unsafe fn new(qp: *mut ibv_qp_ex, route: &Route, length: u32, interval: u32) -> Self {
        ExtendedList {
            qp,
            route: *route,
            build: builder(route),
            length: length.into(),
            interval: interval.into(),
            cursor: Cursor::new(route),
        }
    }

    /// # Safety
    /// A batch is open on the QP.
    #[inline(always)]
    unsafe fn add(&mut self, wr_flags: u32) {
        let (offset, number) = self.cursor.advance();
        // SAFETY: `new` asked for a live QP and memory; a batch is open (caller).
        unsafe {
            (*self.qp).wr_id = self.route.wr_id;
            (*self.qp).wr_flags = wr_flags;
            (self.build)(self.qp, &self.route, offset, number);
        }
    }
}

impl Poster for ExtendedList {
    #[inline(always)]
    fn post(&mut self, signals: Signals) -> i32 {
        let mut signaled = signals.first;
        // SAFETY: `new` asked for a live QP in RTS.
        unsafe { ibv_wr_start(self.qp) };
        for position in 0..self.length {
            let due = u64::from(position == signaled);
            signaled += due * self.interval;
            // SAFETY: the batch was opened above.
            unsafe { self.add(due as u32 * SIGNALED) };
        }
        // SAFETY: as above.
        unsafe { ibv_wr_complete(self.qp) }
    }

    #[cold]
    #[inline(never)]
    fn post_last(&mut self, length: u64, signals: Signals) -> i32 {
        // SAFETY: `new` asked for a live QP in RTS.
        unsafe { ibv_wr_start(self.qp) };
        for position in 0..length {
            let since = position.checked_sub(signals.first);
            let regular = since.is_some_and(|since| since.is_multiple_of(self.interval));
            let signaled = regular || position + 1 == length;
            // SAFETY: the batch was opened above.
            unsafe { self.add(u32::from(signaled) * SIGNALED) };
        }
        // SAFETY: as above.
        unsafe { ibv_wr_complete(self.qp) }
    }
}
