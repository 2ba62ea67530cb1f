//! The last byte of a message: written before each post, looked at where it lands.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::engine::job::Job;

/// The last bytes of the message that goes out and of the place where the other's message lands.
pub(super) struct Stamp {
    source: *const AtomicU8,
    target: *const AtomicU8,
}

impl Stamp {
    /// The stamp of the job's first QP.
    ///
    /// # Safety
    /// The job's memory outlives this.
    pub(super) unsafe fn new(job: &Job<'_>) -> Stamp {
        let qp = u64::from(job.qps[0].index);
        let last = u64::from(job.msg_bytes) - 1;
        Stamp {
            source: (job.local.addr + job.layout.source(qp, 0) + last) as *const AtomicU8,
            target: (job.local.addr + job.layout.target(qp, 0) + last) as *const AtomicU8,
        }
    }

    /// Stamps the message to send.
    #[inline(always)]
    pub(super) fn write(&self, turn: u8) {
        // SAFETY: `new` asked for memory that outlives self; the address lies within its source half.
        unsafe { (*self.source).store(turn, Ordering::Release) };
    }

    /// What has landed.
    #[inline(always)]
    pub(super) fn read(&self) -> u8 {
        // SAFETY: `new` asked for memory that outlives self; the address lies within its target half.
        unsafe { (*self.target).load(Ordering::Acquire) }
    }
}
