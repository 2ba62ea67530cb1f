//! What one thread of a side posts to and polls: its queue pairs and completion queues, and nobody else's.
//!
//! Where the device can, they stand in a thread domain, so that two threads never ring the same doorbell register.

use std::sync::Arc;

use schema::{PostApi, RunSpec, Side, Test, Transport, Wait};

use super::endpoint::Path;
use crate::{
    engine::{
        job::{JobCq, JobQp, UdAddress},
        latency::OUTSTANDING,
    },
    verbs::{
        AddressHandle, CompletionChannel, CompletionQueue, Connection, Context, CqKind, MemoryRegion,
        ProtectionDomain, QKEY, QpCaps, QpKind, QueuePair, RemoteQp, VerbsError,
    },
};

/// One thread's verbs objects. Fields drop from top to bottom: QPs, what their work requests name, then their CQs.
pub struct Queues {
    qps: Vec<QueuePair>,
    psns: Vec<u32>,
    /// Where each QP's datagrams go; empty for connected QPs.
    addresses: Vec<(AddressHandle, u32)>,
    send_cq: Arc<CompletionQueue>,
    /// None where nothing is received.
    recv_cq: Option<Arc<CompletionQueue>>,
    pd: Arc<ProtectionDomain>,
    own_domain: bool,
}

/// Whether a side posts receives: it is the target of messages that consume them.
pub fn receives(spec: &RunSpec, side: Side) -> bool {
    spec.op.consumes_receives()
        && (side == Side::Responder || spec.bidirectional || spec.test == Test::Latency)
}

/// Sends a QP holds. Completions of the latency test are reaped off the critical path, so more than `tx_depth` may be
/// outstanding there.
pub fn send_depth(spec: &RunSpec) -> u32 {
    match spec.test {
        Test::Bandwidth => spec.tx_depth,
        Test::Latency => spec.tx_depth.max(OUTSTANDING as u32),
    }
}

impl Queues {
    /// Creates the objects of one thread and moves its QPs to INIT, where receives may be posted.
    pub fn create(
        context: &Arc<Context>,
        pd: &Arc<ProtectionDomain>,
        spec: &RunSpec,
        side: Side,
        port_num: u8,
    ) -> Result<Queues, VerbsError> {
        let domain = ProtectionDomain::for_thread(pd)?;
        let own_domain = domain.is_some();
        let home = domain.unwrap_or_else(|| Arc::clone(pd));
        let extended = spec.post_api == PostApi::Extended;
        let events = || -> Result<_, VerbsError> {
            Ok(match spec.wait {
                Wait::Poll => None,
                Wait::Event | Wait::Hybrid { .. } => {
                    Some((CompletionChannel::create(context)?, spec.comp_vector))
                }
            })
        };
        let depth = send_depth(spec);
        let kind = CqKind { events: events()?, extended, timestamps: spec.completion_timestamps };
        let send_cq = CompletionQueue::create(context, depth.saturating_mul(spec.qp_count), kind)?;
        let recv_cq = match receives(spec, side) {
            false => None,
            true => {
                let kind = CqKind { events: events()?, ..CqKind::default() };
                let entries = spec.rx_depth.saturating_mul(spec.qp_count);
                Some(CompletionQueue::create(context, entries, kind)?)
            }
        };
        let caps = QpCaps {
            max_send_wr: depth,
            max_recv_wr: if recv_cq.is_some() { spec.rx_depth } else { 0 },
            max_inline_bytes: spec.max_inline_bytes,
        };
        let kind = QpKind { transport: spec.transport, extended: extended.then_some(spec.op) };
        let mut qps = Vec::with_capacity(spec.qp_count as usize);
        for _ in 0..spec.qp_count {
            let mut qp =
                QueuePair::create(&home, &send_cq, recv_cq.as_ref().unwrap_or(&send_cq), kind, caps)?;
            qp.to_init(port_num, spec.pkey_index, spec.op)?;
            qps.push(qp);
        }
        let psns = qps.iter().map(|_| rand::random::<u32>() & 0x00ff_ffff).collect();
        Ok(Queues { qps, psns, addresses: Vec::new(), send_cq, recv_cq, pd: Arc::clone(pd), own_domain })
    }

    /// What the peer must know of the QPs.
    pub fn offer(&self, region: &MemoryRegion, path: &Path) -> impl Iterator<Item = RemoteQp> {
        self.qps.iter().zip(&self.psns).map(move |(qp, psn)| RemoteQp {
            qp_num: qp.qp_num(),
            psn: *psn,
            lid: path.lid,
            gid: path.gid,
            soft: region.soft_peer(qp),
        })
    }

    /// Moves every QP to RTR and RTS against the peer's.
    pub fn connect(&mut self, spec: &RunSpec, path: &Path, peers: &[RemoteQp]) -> Result<(), VerbsError> {
        for ((qp, psn), remote) in self.qps.iter_mut().zip(&self.psns).zip(peers) {
            let connection = Connection {
                port_num: path.port_num,
                path_mtu: path.path_mtu,
                local_psn: *psn,
                gid_index: path.gid_index,
                traffic_class: spec.traffic_class,
                service_level: spec.service_level,
                timeout: spec.qp_timeout,
                retry_count: spec.retry_count,
                transport: spec.transport,
                outstanding_reads: path.outstanding_reads,
                flow_label: spec.flow_label,
                pkey_index: spec.pkey_index,
                remote: remote.clone(),
            };
            qp.to_rtr(&connection)?;
            qp.to_rts(&connection)?;
            if spec.transport == Transport::Ud {
                self.addresses.push((AddressHandle::create(&self.pd, &connection)?, remote.qp_num));
            }
        }
        Ok(())
    }

    /// The QPs as a loop takes them; the first has this number among those of all threads.
    pub fn job_qps(&self, first: u32) -> Vec<JobQp> {
        let address = |position: usize| {
            self.addresses.get(position).map(|(ah, qp_num)| UdAddress {
                ah: ah.as_ptr(),
                qp_num: *qp_num,
                qkey: QKEY,
            })
        };
        let qps = self.qps.iter().zip(first..).enumerate();
        qps.map(|(position, (qp, index))| JobQp {
            qp: qp.as_ptr(),
            qp_ex: qp.as_ex_ptr(),
            index,
            ud: address(position),
        })
        .collect()
    }

    /// Where sends complete.
    pub fn job_send_cq(&self) -> JobCq {
        job_cq(&self.send_cq)
    }

    /// Where receives complete.
    pub fn job_recv_cq(&self) -> JobCq {
        job_cq(self.recv_cq.as_ref().unwrap_or(&self.send_cq))
    }

    /// What the device granted a QP.
    pub fn granted(&self) -> QpCaps {
        self.qps[0].granted()
    }

    /// Completions its send queue holds.
    pub fn cq_entries(&self) -> u32 {
        self.send_cq.entries()
    }

    /// Whether it has a doorbell domain of its own.
    pub fn own_domain(&self) -> bool {
        self.own_domain
    }

    /// The QPs, for whoever brings them to life instead of `connect`.
    pub fn qps_mut(&mut self) -> &mut [QueuePair] {
        &mut self.qps
    }
}

fn job_cq(cq: &Arc<CompletionQueue>) -> JobCq {
    JobCq { cq: cq.as_ptr(), channel: cq.channel().cloned() }
}
