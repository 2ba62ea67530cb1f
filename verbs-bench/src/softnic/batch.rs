//! The work requests that `ibv_wr_*` collect until they are posted, all of them or none.

use std::{ffi::c_int, ptr};

use rdma_sys::{ibv_send_flags, ibv_send_wr, ibv_sge, ibv_wr_opcode::*, rdma_t, wr_t};
use schema::Transport;

use super::work::ATOMIC_BYTES;

const INLINE: u32 = ibv_send_flags::IBV_SEND_INLINE.0;

/// What an extended QP collects.
pub(super) struct Batch {
    requests: Box<[Request]>,
    len: usize,
    /// Inline payloads, `inline_stride` bytes a request: their source may change as soon as it is set.
    inline: Box<[u8]>,
    inline_stride: usize,
    /// The first mistake since `wr_start`.
    errno: c_int,
}

pub(super) struct Request {
    pub(super) wr: ibv_send_wr,
    sge: ibv_sge,
}

impl Batch {
    pub(super) fn new(max_send_wr: u32, max_inline_bytes: u32) -> Batch {
        // SAFETY: integers, pointers and unions of them; all zero is a valid value.
        let empty = || unsafe { std::mem::zeroed::<Request>() };
        let inline_stride = max_inline_bytes as usize;
        let inline = vec![0; max_send_wr as usize * inline_stride].into_boxed_slice();
        Batch {
            requests: (0..max_send_wr).map(|_| empty()).collect(),
            len: 0,
            inline,
            inline_stride,
            errno: 0,
        }
    }

    /// Forgets what was collected.
    pub(super) fn clear(&mut self) {
        (self.len, self.errno) = (0, 0);
    }

    fn fail(&mut self, errno: c_int) {
        if self.errno == 0 {
            self.errno = errno;
        }
    }

    /// The request that the setters work on.
    #[inline]
    pub(super) fn last(&mut self) -> Option<&mut Request> {
        match self.len.checked_sub(1).and_then(|at| self.requests.get_mut(at)) {
            Some(request) => Some(request),
            None => {
                self.errno = libc::EINVAL;
                None
            }
        }
    }

    /// Begins a request.
    #[inline]
    pub(super) fn begin(&mut self, wr_id: u64, send_flags: u32, opcode: u32, peer: rdma_t) {
        let Some(request) = self.requests.get_mut(self.len) else { return self.fail(libc::ENOMEM) };
        self.len += 1;
        let wr = &mut request.wr;
        // A payload is inline when it was set so.
        (wr.wr_id, wr.send_flags, wr.opcode, wr.num_sge) = (wr_id, send_flags & !INLINE, opcode, 0);
        wr.wr = wr_t { rdma: peer };
    }

    #[inline]
    pub(super) fn set_sge(&mut self, addr: u64, length: u32, lkey: u32) {
        if let Some(request) = self.last() {
            request.sge = ibv_sge { addr, length, lkey };
            request.wr.num_sge = 1;
        }
    }

    /// # Safety
    /// `addr` is readable for `length` bytes.
    pub(super) unsafe fn set_inline_data(&mut self, addr: *const u8, length: usize) {
        if length > self.inline_stride {
            return self.fail(libc::EINVAL);
        }
        let Some(at) = self.len.checked_sub(1) else { return self.fail(libc::EINVAL) };
        let kept = &mut self.inline[at * self.inline_stride..][..length];
        // SAFETY: readable (caller), and a private copy can't overlap it.
        unsafe { ptr::copy_nonoverlapping(addr, kept.as_mut_ptr(), length) };
        let kept = kept.as_ptr() as u64;
        self.set_sge(kept, length as u32, 0);
        if let Some(request) = self.last() {
            request.wr.send_flags |= INLINE;
        }
    }

    /// Links the requests to a list; its head, or the errno of the first mistake.
    pub(super) fn close(&mut self, transport: Transport, room: u64) -> Result<*mut ibv_send_wr, c_int> {
        if self.errno != 0 {
            return Err(self.errno);
        }
        if self.len as u64 > room {
            return Err(libc::ENOMEM);
        }
        let base = self.requests.as_mut_ptr();
        let mut next = ptr::null_mut();
        for (at, request) in self.requests[..self.len].iter_mut().enumerate().rev() {
            let is_complete = match request.wr.opcode {
                IBV_WR_ATOMIC_FETCH_AND_ADD | IBV_WR_ATOMIC_CMP_AND_SWP => request.sge.length == ATOMIC_BYTES,
                // SAFETY: begun as all zero, and set as this member only.
                _ => transport != Transport::Ud || !unsafe { request.wr.wr.ud.ah }.is_null(),
            };
            let is_fetch = matches!(
                request.wr.opcode,
                IBV_WR_RDMA_READ | IBV_WR_ATOMIC_FETCH_AND_ADD | IBV_WR_ATOMIC_CMP_AND_SWP
            );
            if !is_complete || is_fetch && request.wr.send_flags & INLINE != 0 {
                return Err(libc::EINVAL);
            }
            request.wr.sg_list = &raw mut request.sge;
            request.wr.next = next;
            // SAFETY: at < len, inside the slice.
            next = unsafe { &raw mut (*base.add(at)).wr };
        }
        Ok(next)
    }
}
