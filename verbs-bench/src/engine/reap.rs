//! Taking completions: the classic and the extended API, each into an array that the loop reads.

use rdma_sys::{
    ibv_cq, ibv_cq_ex, ibv_end_poll, ibv_poll_cq, ibv_poll_cq_attr, ibv_start_poll, ibv_wc,
    ibv_wc_read_completion_ts, ibv_wc_read_opcode, ibv_wc_read_qp_num, ibv_wc_read_vendor_err,
};

/// A completion queue that hands out a batch at a time.
pub trait Reaper {
    /// Whether completions carry the device's time.
    const TIMESTAMPS: bool;

    /// Takes up to a batch; how many, or a negative errno.
    fn poll(&mut self) -> i32;

    /// The work request id of the n-th completion of the batch, or none if it failed.
    fn done(&self, n: usize) -> Option<u64>;

    /// The device's time of the n-th completion.
    fn device_ticks(&self, n: usize) -> u64;

    /// The n-th completion in full, for errors.
    fn completion(&self, n: usize) -> &ibv_wc;
}

fn empty_wc() -> ibv_wc {
    // SAFETY: ibv_wc is a C struct of integers; all zeros is a valid value.
    unsafe { std::mem::zeroed() }
}

/// `ibv_poll_cq`.
pub struct ClassicReaper {
    cq: *mut ibv_cq,
    wcs: Box<[ibv_wc]>,
}

impl ClassicReaper {
    /// Batches of `batch` completions.
    ///
    /// # Safety
    /// `cq` must be live, outlive this, and be polled by this thread only.
    pub unsafe fn new(cq: *mut ibv_cq, batch: u32) -> Self {
        ClassicReaper { cq, wcs: (0..batch).map(|_| empty_wc()).collect() }
    }
}

impl Reaper for ClassicReaper {
    const TIMESTAMPS: bool = false;

    #[inline(always)]
    fn poll(&mut self) -> i32 {
        // SAFETY: `new` asked for a live completion queue; wcs has room for as many completions as are asked for.
        unsafe { ibv_poll_cq(self.cq, self.wcs.len() as i32, self.wcs.as_mut_ptr()) }
    }

    #[inline(always)]
    fn done(&self, n: usize) -> Option<u64> {
        let wc = &self.wcs[n];
        (wc.status == 0).then_some(wc.wr_id)
    }

    #[inline(always)]
    fn device_ticks(&self, _n: usize) -> u64 {
        0
    }

    fn completion(&self, n: usize) -> &ibv_wc {
        &self.wcs[n]
    }
}

/// `ibv_start_poll` and `ibv_end_poll` around each completion.
///
/// `ibv_next_poll` is left out: where it finds nothing, rxe's provider (rdma-core 44 and later) has ended the poll by
/// itself, and the `ibv_end_poll` that every other provider needs then takes a completion that was never there.
pub struct ExtendedReaper<const TIMESTAMPS: bool> {
    cq: *mut ibv_cq_ex,
    wcs: Box<[ibv_wc]>,
    device_ticks: Box<[u64]>,
}

impl<const TIMESTAMPS: bool> ExtendedReaper<TIMESTAMPS> {
    /// Batches of `batch` completions.
    ///
    /// # Safety
    /// `cq` must be an extended CQ, live, outlive this, be polled by this thread only, and carry timestamps if this reads them.
    pub unsafe fn new(cq: *mut ibv_cq, batch: u32) -> Self {
        ExtendedReaper {
            cq: cq.cast(),
            wcs: (0..batch).map(|_| empty_wc()).collect(),
            device_ticks: vec![0; batch as usize].into_boxed_slice(),
        }
    }

    /// # Safety
    /// A poll is open on the queue and stands on a completion.
    #[inline(always)]
    unsafe fn read(&mut self, n: usize) {
        let wc = &mut self.wcs[n];
        // SAFETY: as the caller's.
        unsafe {
            wc.wr_id = (*self.cq).wr_id;
            wc.status = (*self.cq).status;
            if wc.status != 0 {
                wc.vendor_err = ibv_wc_read_vendor_err(self.cq);
                wc.opcode = ibv_wc_read_opcode(self.cq);
                wc.qp_num = ibv_wc_read_qp_num(self.cq);
            }
            if TIMESTAMPS {
                self.device_ticks[n] = ibv_wc_read_completion_ts(self.cq);
            }
        }
    }
}

impl<const TIMESTAMPS: bool> Reaper for ExtendedReaper<TIMESTAMPS> {
    const TIMESTAMPS: bool = TIMESTAMPS;

    #[inline(always)]
    fn poll(&mut self) -> i32 {
        let mut attr = ibv_poll_cq_attr { comp_mask: 0 };
        for taken in 0..self.wcs.len() {
            // SAFETY: `new` asked for a live extended completion queue.
            let started = unsafe { ibv_start_poll(self.cq, &mut attr) };
            if started != 0 {
                // ENOENT is an empty queue.
                return if started == libc::ENOENT || taken > 0 { taken as i32 } else { -started.abs() };
            }
            // SAFETY: the poll was started and stands on a completion.
            unsafe {
                self.read(taken);
                ibv_end_poll(self.cq);
            }
        }
        self.wcs.len() as i32
    }

    #[inline(always)]
    fn done(&self, n: usize) -> Option<u64> {
        let wc = &self.wcs[n];
        (wc.status == 0).then_some(wc.wr_id)
    }

    #[inline(always)]
    fn device_ticks(&self, n: usize) -> u64 {
        self.device_ticks[n]
    }

    fn completion(&self, n: usize) -> &ibv_wc {
        &self.wcs[n]
    }
}
