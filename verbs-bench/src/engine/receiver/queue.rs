//! One QP's receive queue, and the one list of receives by which all queues of a thread are filled.

use rdma_sys::{ibv_qp, ibv_recv_wr, ibv_sge};

use crate::engine::job::{Job, JobQp};

/// One QP's receive queue.
pub(super) struct Queue {
    qp: *mut ibv_qp,
    /// Number of the QP among those of all threads.
    pub(super) index: u32,
    /// Where the next receive to be posted puts its message; walks from `first` to `end` in strides.
    next_addr: u64,
    first: u64,
    end: u64,
    /// Receives to post.
    pub(super) owed: u32,
    /// Number of the next message, and how many may be missing before it.
    pub(super) number: u32,
    pub(super) slack: u32,
    /// Messages received.
    pub(super) received: u64,
}

impl Queue {
    /// The empty queue of a QP.
    pub(super) fn new(job: &Job<'_>, qp: &JobQp) -> Queue {
        let first = job.local.addr + job.layout.receive(u64::from(qp.index), 0);
        Queue {
            qp: qp.qp,
            index: qp.index,
            next_addr: first,
            first,
            end: first + job.layout.bytes_per_qp(),
            owed: 0,
            number: 0,
            slack: u32::MAX,
            received: 0,
        }
    }
}

/// A list of receives, linked once and ended by one that is never posted. Addresses are filled in as it is posted.
pub(super) struct Stock {
    /// Boxed so that `next` and `sg_list` pointers stay good when this moves.
    list: Box<[ibv_recv_wr]>,
    sges: Box<[ibv_sge]>,
    stride: u64,
}

impl Stock {
    /// A list of at most a poll batch; each receive holds the largest message of the spec.
    pub(super) fn new(job: &Job<'_>) -> Stock {
        let largest = job.spec.msg_bytes.iter().map(|size| size.get()).max().unwrap_or(1);
        let batch = job.spec.cq_poll_batch as usize;
        // RunSpec::faults refuses sizes above 2^31 and datagrams above 4096.
        let length = (largest + job.layout.headroom) as u32;
        let mut sges: Box<[ibv_sge]> =
            (0..=batch).map(|_| ibv_sge { addr: 0, length, lkey: job.local.key }).collect();
        let mut list: Box<[ibv_recv_wr]> = sges
            .iter_mut()
            .map(|sge| ibv_recv_wr { wr_id: 0, next: std::ptr::null_mut(), sg_list: sge, num_sge: 1 })
            .collect();
        for at in 0..batch {
            list[at].next = &mut list[at + 1];
        }
        Stock { list, sges, stride: job.layout.stride }
    }

    /// Posts what is owed to a queue, at most a list; `id` is what its completions bear. 0 or an errno.
    #[inline(always)]
    pub(super) fn post(&mut self, id: u64, queue: &mut Queue) -> i32 {
        let count = (queue.owed as usize).min(self.list.len() - 1);
        let (links, sges) = (&mut self.list[..=count], &mut self.sges[..count]);
        for (wr, sge) in links.iter_mut().zip(sges) {
            wr.wr_id = id;
            sge.addr = queue.next_addr;
            queue.next_addr += self.stride;
            if queue.next_addr == queue.end {
                queue.next_addr = queue.first;
            }
        }
        queue.owed -= count as u32;
        let after = std::mem::replace(&mut links[count - 1].next, std::ptr::null_mut());
        let mut bad = std::ptr::null_mut();
        // SAFETY: the job's maker vouches for the QP; the list ends at its last receive, whose SGEs live in self.
        let errno = unsafe { rdma_sys::ibv_post_recv(queue.qp, links.as_mut_ptr(), &mut bad) };
        links[count - 1].next = after;
        errno
    }
}
