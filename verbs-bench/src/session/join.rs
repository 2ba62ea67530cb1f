//! Brings the QPs of both sides to life: with what the offers say of each other, or through rdma_cm.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use schema::{ConnectBy, RunSpec, Side, Stage};

use super::{
    endpoint::{Endpoint, Path},
    requester::SETUP_TIMEOUT,
    talk::Talk,
};
use crate::{
    cm::{CmError, Connections, Listener, Nonce, Terms, connect_all},
    connect::{CmOffer, Offer},
    fault::{At, Fault},
    verbs::QueuePair,
};

/// What rdma_cm may take for each QP beside the time for all.
const EACH_QP: Duration = Duration::from_millis(50);

/// Where a responder awaits the requester's rdma_cm; none where the offers are enough.
pub(super) struct Door(Option<(Listener, Nonce)>);

impl Door {
    /// Opens it on the address of the control connection.
    pub(super) fn open(spec: &RunSpec, talk: &Talk) -> Result<Door, Fault> {
        if spec.connect_by == ConnectBy::Tcp {
            return Ok(Door(None));
        }
        let here = talk.stream().local_addr().at(Stage::Setup, Side::Responder)?;
        let listener = Listener::bind(plain(here)).at(Stage::Setup, Side::Responder)?;
        Ok(Door(Some((listener, rand::random()))))
    }

    /// What the requester must know of it.
    pub(super) fn offer(&self) -> Option<CmOffer> {
        self.0.as_ref().map(|(listener, nonce)| CmOffer { port: listener.address().port(), nonce: *nonce })
    }

    /// The responder's part.
    pub(super) fn let_in(
        self,
        endpoint: &mut Endpoint,
        spec: &RunSpec,
        path: &Path,
        theirs: &Offer,
    ) -> Result<(), Fault> {
        match self.0 {
            None => endpoint.connect(spec, path, theirs).at(Stage::Connect, Side::Responder),
            Some((listener, nonce)) => by_cm(endpoint, spec, path, |qps, terms, deadline| {
                listener.accept_all(qps, terms, &nonce, deadline)
            })
            .at(Stage::Connect, Side::Responder),
        }
    }
}

/// The requester's part; with rdma_cm the responder must have had our offer by now.
pub(super) fn enter(
    endpoint: &mut Endpoint,
    spec: &RunSpec,
    path: &Path,
    theirs: &Offer,
    talk: &Talk,
) -> Result<(), Fault> {
    let Some(door) = theirs.cm else {
        return endpoint.connect(spec, path, theirs).at(Stage::Connect, Side::Requester);
    };
    let stream = talk.stream();
    let ends = stream.peer_addr().and_then(|there| Ok((plain(there), plain(stream.local_addr()?))));
    let (mut there, here) = ends.at(Stage::Connect, Side::Requester)?;
    there.set_port(door.port);
    by_cm(endpoint, spec, path, |qps, terms, deadline| {
        connect_all(there, here, qps, terms, &door.nonce, deadline)
    })
    .at(Stage::Connect, Side::Requester)
}

fn by_cm(
    endpoint: &mut Endpoint,
    spec: &RunSpec,
    path: &Path,
    join: impl FnOnce(&mut [&mut QueuePair], &Terms, Instant) -> Result<Connections, CmError>,
) -> Result<(), CmError> {
    let terms = Terms {
        port_num: path.port_num,
        path_mtu: path.path_mtu,
        traffic_class: spec.traffic_class,
        flow_label: spec.flow_label,
        service_level: spec.service_level,
        timeout: spec.qp_timeout,
        retry_count: spec.retry_count,
        outstanding_reads: path.outstanding_reads,
    };
    let deadline = Instant::now() + SETUP_TIMEOUT / 2 + EACH_QP * spec.total_qps();
    let connections = join(&mut endpoint.qps_mut(), &terms, deadline)?;
    endpoint.keep(connections);
    Ok(())
}

/// A listener on `[::]` sees IPv4 peers as mapped addresses, which rdma_cm does not resolve.
fn plain(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if v6.ip().to_ipv4_mapped().is_some() => {
            SocketAddr::new(address.ip().to_canonical(), address.port())
        }
        plain => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_address_is_the_ipv4_it_stands_for_and_a_scope_stays() {
        let mapped: SocketAddr = "[::ffff:10.0.0.2]:7".parse().unwrap();
        assert_eq!(plain(mapped), "10.0.0.2:7".parse().unwrap());
        let scoped: SocketAddr = "[fe80::1%3]:7".parse().unwrap();
        assert_eq!(plain(scoped), scoped);
    }
}
