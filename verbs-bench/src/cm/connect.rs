//! The requester's part: resolves, connects and establishes one QP after another.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use rdma_sys::{
    rdma_cm_event_type as kinds, rdma_connect, rdma_establish, rdma_resolve_addr, rdma_resolve_route,
    rdma_set_option,
};

use super::{
    CmError, Connections, Nonce, Terms,
    event::EventChannel,
    id::{Id, checked, raw_address},
    terms::request,
};
use crate::verbs::QueuePair;

/// How long the kernel may take to resolve an address or a route before it gives up by itself.
const RESOLVE: Duration = Duration::from_secs(2);
/// `RDMA_OPTION_ID`, the level, and `RDMA_OPTION_ID_TOS`, the option; anonymous enums in C.
const OPTION_ID: i32 = 0;
const OPTION_ID_TOS: i32 = 0;

/// What the waits of one session share.
struct Session<'a> {
    channel: &'a EventChannel,
    deadline: Instant,
    done: usize,
    total: usize,
}

impl Session<'_> {
    /// Waits for one event of one id; any other is an error with its name.
    fn expect(&self, id: &Id, kind: kinds::Type, awaited: &'static str) -> Result<(), CmError> {
        let timed_out = CmError::TimedOut { awaited, done: self.done, total: self.total };
        let event = self.channel.next(self.deadline)?.ok_or(timed_out)?;
        match event.id == id.as_ptr() && event.kind == kind && event.status == 0 {
            true => Ok(()),
            false => Err(event.unexpected(awaited)),
        }
    }
}

/// Connects every QP to the peer's of the same place, from `source` (whose port is ignored) to where its listener is. The QPs
/// are in INIT; they are in RTS afterwards.
pub fn connect_all(
    peer: SocketAddr,
    source: SocketAddr,
    qps: &mut [&mut QueuePair],
    terms: &Terms,
    nonce: &Nonce,
    deadline: Instant,
) -> Result<Connections, CmError> {
    let channel = EventChannel::create()?;
    let mut ids = Vec::with_capacity(qps.len());
    let total = qps.len();
    for (index, qp) in qps.iter_mut().enumerate() {
        let session = Session { channel: &channel, deadline, done: index, total };
        ids.push(connect(&session, peer, source, qp, terms, &request(nonce, index as u32))?);
    }
    Ok(Connections::new(ids, None, channel))
}

fn connect(
    session: &Session<'_>,
    peer: SocketAddr,
    source: SocketAddr,
    qp: &mut QueuePair,
    terms: &Terms,
    private_data: &[u8],
) -> Result<Id, CmError> {
    let mut id = Id::create(session.channel)?;
    let mut tos = terms.traffic_class;
    // SAFETY: a live id; the option is one byte, copied by the kernel.
    let rc = unsafe { rdma_set_option(id.as_ptr(), OPTION_ID, OPTION_ID_TOS, (&raw mut tos).cast(), 1) };
    checked(rc, "rdma_set_option", format_args!("tos {tos}"), "see `dmesg`")?;
    resolve(session, &id, peer, source)?;
    id.check_device(qp, terms.port_num, &source.ip().to_string())?;
    let mut param = Id::param(qp, terms, private_data);
    // SAFETY: a live id whose route is resolved; the private data outlives the call.
    let rc = unsafe { rdma_connect(id.as_ptr(), &mut param) };
    checked(rc, "rdma_connect", peer, "see `dmesg`")?;
    session.expect(&id, kinds::RDMA_CM_EVENT_CONNECT_RESPONSE, "RDMA_CM_EVENT_CONNECT_RESPONSE")?;
    id.bring_up(qp, terms)?;
    // SAFETY: a live id that has the peer's answer.
    checked(unsafe { rdma_establish(id.as_ptr()) }, "rdma_establish", peer, "see `dmesg`")?;
    id.mark_connected();
    Ok(id)
}

/// Address, then route.
fn resolve(session: &Session<'_>, id: &Id, peer: SocketAddr, source: SocketAddr) -> Result<(), CmError> {
    let timeout_ms = RESOLVE.as_millis() as i32;
    let mut any_port = source;
    any_port.set_port(0);
    let (mut from, mut to) = (raw_address(any_port), raw_address(peer));
    // SAFETY: a live id and two addresses of sockaddr_storage's size, which the kernel copies.
    let rc =
        unsafe { rdma_resolve_addr(id.as_ptr(), (&raw mut from).cast(), (&raw mut to).cast(), timeout_ms) };
    let advice = "no RDMA device has the address or the route: see `ip route get` and `rdma link`";
    checked(rc, "rdma_resolve_addr", format_args!("{} to {peer}", source.ip()), advice)?;
    session.expect(id, kinds::RDMA_CM_EVENT_ADDR_RESOLVED, "RDMA_CM_EVENT_ADDR_RESOLVED")?;
    // SAFETY: a live id whose address is resolved.
    let rc = unsafe { rdma_resolve_route(id.as_ptr(), timeout_ms) };
    checked(rc, "rdma_resolve_route", peer, "on InfiniBand see that a subnet manager runs")?;
    session.expect(id, kinds::RDMA_CM_EVENT_ROUTE_RESOLVED, "RDMA_CM_EVENT_ROUTE_RESOLVED")
}
