//! A registered buffer. The region owns its memory, so that deregistration always comes before unmapping.

use std::{io, sync::Arc};

use rdma_sys::{ibv_access_flags as flags, ibv_mr};
use schema::{Bytes, Op, RunSpec, Transport};

use super::{ProtectionDomain, QueuePair, VerbsError, error::log_destroy};
use crate::{placement::buffer::Buffer, softnic::SoftPeer};

/// What the device may do with the memory, beside local and remote write. No more than the operation needs: a device
/// without atomics may refuse the right to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// `IBV_ACCESS_RELAXED_ORDERING`: PCIe writes may pass one another, so the last byte no longer comes last.
    pub relaxed_ordering: bool,
    /// `IBV_ACCESS_REMOTE_READ`.
    pub remote_read: bool,
    /// `IBV_ACCESS_REMOTE_ATOMIC`.
    pub remote_atomic: bool,
}

impl Access {
    /// What the messages of a spec need.
    pub fn of(spec: &RunSpec) -> Access {
        Access { relaxed_ordering: spec.relaxed_ordering, ..Access::for_op(spec.op) }
    }

    /// What an operation needs of its target.
    pub(super) fn for_op(op: Op) -> Access {
        Access { relaxed_ordering: false, remote_read: op == Op::Read, remote_atomic: op.is_atomic() }
    }

    /// The flags of verbs.h for a memory region.
    pub(super) fn flags(self) -> u32 {
        let mut wanted = flags::IBV_ACCESS_LOCAL_WRITE | flags::IBV_ACCESS_REMOTE_WRITE;
        for (asked, flag) in [
            (self.relaxed_ordering, flags::IBV_ACCESS_RELAXED_ORDERING),
            (self.remote_read, flags::IBV_ACCESS_REMOTE_READ),
            (self.remote_atomic, flags::IBV_ACCESS_REMOTE_ATOMIC),
        ] {
            if asked {
                wanted |= flag;
            }
        }
        wanted.0
    }

    /// The flags of verbs.h for a QP of this transport; a datagram QP has none.
    pub(super) fn qp_flags(self, transport: Transport) -> u32 {
        match transport {
            Transport::Rc => Access { relaxed_ordering: false, ..self }.flags(),
            Transport::Uc => Access::default().flags(),
            Transport::Ud => 0,
        }
    }
}

/// A memory region over the whole of a buffer.
pub struct MemoryRegion {
    // Field order is drop order: `Drop` deregisters, then the buffer is unmapped, then the PD may go.
    ptr: *mut ibv_mr,
    buffer: Buffer,
    pd: Arc<ProtectionDomain>,
}

// SAFETY: verbs guarantee that an MR may be used from any thread; the buffer is owned.
unsafe impl Send for MemoryRegion {}
// SAFETY: shared access reads the keys, the address and the length only.
unsafe impl Sync for MemoryRegion {}

impl MemoryRegion {
    /// `ibv_reg_mr_iova2`, at the buffer's own address.
    pub fn register(
        pd: &Arc<ProtectionDomain>,
        buffer: Buffer,
        access: Access,
    ) -> Result<MemoryRegion, VerbsError> {
        // SAFETY: the PD is live; the region owns the buffer and deregisters before it drops it.
        let ptr = unsafe { pd.context().provider().reg_mr(pd.as_ptr(), &buffer, access) }
            .map_err(|source| register_error(buffer.len(), source))?;
        Ok(MemoryRegion { ptr, buffer, pd: Arc::clone(pd) })
    }

    /// Local key.
    pub fn lkey(&self) -> u32 {
        // SAFETY: the MR is live as long as self.
        unsafe { (*self.ptr).lkey }
    }

    /// Remote key.
    pub fn rkey(&self) -> u32 {
        // SAFETY: the MR is live as long as self.
        unsafe { (*self.ptr).rkey }
    }

    /// Where it begins, locally and for the peer.
    pub fn addr(&self) -> u64 {
        self.buffer.as_ptr() as u64
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty, reason = "an empty region can't be registered")]
    pub fn len(&self) -> usize {
        self.buffer.len()
    }

    /// The memory.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// How a peer's software NIC finds this memory and the receive queue of `qp`; `None` on hardware.
    pub fn soft_peer(&self, qp: &QueuePair) -> Option<SoftPeer> {
        // SAFETY: QP and MR are live and the MR registered this buffer.
        unsafe { self.pd.context().provider().soft_peer(qp.as_ptr(), self.ptr, &self.buffer) }
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // SAFETY: the MR is live; who posts a work request vouches that the MR outlives it.
        log_destroy("ibv_dereg_mr", unsafe { self.pd.context().provider().dereg_mr(self.ptr) });
    }
}

fn register_error(len_bytes: usize, source: io::Error) -> VerbsError {
    let advice = match source.raw_os_error() {
        Some(libc::ENOMEM | libc::EAGAIN) => {
            let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
            let limit = limit.map_or("unlimited".to_owned(), |bytes| Bytes(bytes).to_string());
            format!(
                "RLIMIT_MEMLOCK is {limit}: raise it (`ulimit -l unlimited`, or memlock in /etc/security/limits.conf, or \
                 LimitMEMLOCK= of the service), or use less memory (smaller size, tx_depth or qp_count)"
            )
        }
        Some(libc::EOPNOTSUPP | libc::EINVAL) => {
            "the device refuses this length or these access flags; see max_mr_size in `verbs-bench devices`"
                .into()
        }
        _ => "see `dmesg`".into(),
    };
    VerbsError::RegisterMr { len_bytes, advice, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_locked_memory_names_the_limit() {
        let text = register_error(4096, io::Error::from_raw_os_error(libc::ENOMEM)).to_string();
        assert!(text.contains("RLIMIT_MEMLOCK is") && text.contains("ulimit -l"), "{text}");
    }

    #[test]
    fn an_operation_gets_the_rights_it_needs_and_no_more() {
        let of = |op| Access::for_op(op).flags();
        assert_eq!([Op::Write, Op::WriteImm, Op::Send].map(of), [3; 3]);
        assert_eq!((of(Op::Read), of(Op::FetchAdd), of(Op::CompareSwap)), (3 | 4, 3 | 8, 3 | 8));
        let mut spec = RunSpec::new(schema::Test::Bandwidth);
        (spec.op, spec.relaxed_ordering) = (Op::Read, true);
        assert_eq!(Access::of(&spec).flags(), 3 | 4 | 1 << 20);
    }

    #[test]
    fn a_qp_is_given_only_what_its_transport_allows() {
        let atomic = Access { relaxed_ordering: true, ..Access::for_op(Op::FetchAdd) };
        let of = |transport| atomic.qp_flags(transport);
        assert_eq!([Transport::Rc, Transport::Uc, Transport::Ud].map(of), [3 | 8, 3, 0]);
    }
}
