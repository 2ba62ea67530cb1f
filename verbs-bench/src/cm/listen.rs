//! The responder's part: listens where the requester was told to come, and accepts each QP's request.

use std::{net::SocketAddr, ptr, time::Instant};

use rdma_sys::{
    rdma_accept, rdma_bind_addr, rdma_cm_event_type as kinds, rdma_get_src_port, rdma_listen, rdma_reject,
};

use super::{
    CmError, Connections, Nonce, Terms,
    event::{Event, EventChannel},
    id::{Id, checked, raw_address},
    terms::index_of,
};
use crate::verbs::QueuePair;

/// Requests that may wait to be seen; the requester sends one at a time.
const BACKLOG: i32 = 16;

/// A listening id.
pub struct Listener {
    id: Id,
    channel: EventChannel,
    address: SocketAddr,
}

impl Listener {
    /// Binds to a free port of an address of an RDMA device (the port given is ignored) and listens; where the requester
    /// shall come to is in [`Listener::address`].
    pub fn bind(address: SocketAddr) -> Result<Listener, CmError> {
        let channel = EventChannel::create()?;
        let id = Id::create(&channel)?;
        let mut any_port = address;
        any_port.set_port(0);
        let mut raw = raw_address(any_port);
        // SAFETY: a live id and an address of sockaddr_storage's size, which the kernel copies.
        let rc = unsafe { rdma_bind_addr(id.as_ptr(), (&raw mut raw).cast()) };
        let advice = "give an address of a network device that an RDMA device has (`rdma link`)";
        checked(rc, "rdma_bind_addr", address.ip(), advice)?;
        // SAFETY: a live, bound id.
        checked(unsafe { rdma_listen(id.as_ptr(), BACKLOG) }, "rdma_listen", address.ip(), "see `dmesg`")?;
        // SAFETY: a live, bound id.
        let port = u16::from_be(unsafe { rdma_get_src_port(id.as_ptr()) });
        let mut address = address;
        address.set_port(port);
        Ok(Listener { id, channel, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts one request for each QP, and waits until all are established. The QPs are in INIT; they are in RTS
    /// afterwards.
    pub fn accept_all(
        self,
        qps: &mut [&mut QueuePair],
        terms: &Terms,
        nonce: &Nonce,
        deadline: Instant,
    ) -> Result<Connections, CmError> {
        const AWAITED: &str = "RDMA_CM_EVENT_CONNECT_REQUEST or RDMA_CM_EVENT_ESTABLISHED";
        let total = qps.len();
        let mut ids: Vec<Option<Id>> = (0..total).map(|_| None).collect();
        let mut done = 0;
        while done < total {
            let timed_out = CmError::TimedOut { awaited: AWAITED, done, total };
            let event = self.channel.next(deadline)?.ok_or(timed_out)?;
            match event.kind {
                kinds::RDMA_CM_EVENT_CONNECT_REQUEST if event.status == 0 => {
                    let Some((index, id)) = self.admit(&event, &ids, nonce)? else { continue };
                    self.accept(&id, qps[index], terms)?;
                    ids[index] = Some(id);
                }
                kinds::RDMA_CM_EVENT_ESTABLISHED if event.status == 0 => {
                    let id = ids.iter_mut().flatten().find(|id| id.as_ptr() == event.id);
                    id.ok_or_else(|| event.unexpected(AWAITED))?.mark_connected();
                    done += 1;
                }
                _ => return Err(event.unexpected(AWAITED)),
            }
        }
        Ok(Connections::new(ids.into_iter().flatten().collect(), Some(self.id), self.channel))
    }

    /// The QP a request is for; none for a stranger's, which is rejected.
    fn admit(
        &self,
        event: &Event,
        ids: &[Option<Id>],
        nonce: &Nonce,
    ) -> Result<Option<(usize, Id)>, CmError> {
        let id = Id::adopt(event.id);
        match index_of(&event.private_data, nonce) {
            Some(index) if ids.get(index).is_some_and(Option::is_none) => Ok(Some((index, id))),
            _ => {
                // SAFETY: a live id of a request that was not answered.
                let rc = unsafe { rdma_reject(id.as_ptr(), ptr::null(), 0) };
                checked(rc, "rdma_reject", "", "see `dmesg`")?;
                Ok(None)
            }
        }
    }

    fn accept(&self, id: &Id, qp: &mut QueuePair, terms: &Terms) -> Result<(), CmError> {
        id.check_device(qp, terms.port_num, &self.address.ip().to_string())?;
        id.bring_up(qp, terms)?;
        let mut param = Id::param(qp, terms, &[]);
        // SAFETY: a live id of a request; the QP is ready for what the peer sends once it is accepted.
        checked(unsafe { rdma_accept(id.as_ptr(), &mut param) }, "rdma_accept", "", "see `dmesg`")
    }
}

// SAFETY: librdmacm lets ids and channels be used from any thread; ours are used by one at a time.
unsafe impl Send for Listener {}
