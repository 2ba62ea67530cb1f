//! Brings the QPs of both sides to life: with what the offers say of each other, or through rdma_cm.

use std::{
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use schema::{ConnectBy, RunSpec, Side, Stage};

use super::{
    endpoint::{Endpoint, Path},
    requester::SETUP_TIMEOUT,
    station::Station,
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
    /// Opens it on the address of the GID, or on that of the control connection where there is none.
    pub(super) fn open(spec: &RunSpec, station: &Station, talk: &Talk) -> Result<Door, Fault> {
        if spec.connect_by == ConnectBy::Tcp {
            return Ok(Door(None));
        }
        let here = own_address(station, talk).at(Stage::Setup, Side::Responder)?;
        let listener = Listener::bind(here).at(Stage::Setup, Side::Responder)?;
        Ok(Door(Some((listener, rand::random()))))
    }

    /// What the requester must know of it.
    pub(super) fn offer(&self) -> Option<CmOffer> {
        self.0.as_ref().map(|(listener, nonce)| CmOffer { address: listener.address(), nonce: *nonce })
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
    station: &Station,
    talk: &Talk,
) -> Result<(), Fault> {
    let Some(door) = theirs.cm else {
        return endpoint.connect(spec, path, theirs).at(Stage::Connect, Side::Requester);
    };
    let here = own_address(station, talk).at(Stage::Connect, Side::Requester)?;
    let there = seen_from(door.address, here);
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

/// Where rdma_cm finds this side: RDMA may run over another network than the control connection.
fn own_address(station: &Station, talk: &Talk) -> io::Result<SocketAddr> {
    station.gid_address().map_or_else(|| talk.stream().local_addr().map(plain), Ok)
}

/// The peer's address as this host must write it: the scope of a link-local one is ours.
fn seen_from(there: SocketAddr, here: SocketAddr) -> SocketAddr {
    match (there, here) {
        (SocketAddr::V6(mut there), SocketAddr::V6(here)) if there.ip().is_unicast_link_local() => {
            there.set_scope_id(here.scope_id());
            there.into()
        }
        (there, _) => there,
    }
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
        assert_eq!(seen_from(scoped, "[fe80::2%9]:0".parse().unwrap()), "[fe80::1%9]:7".parse().unwrap());
        let global: SocketAddr = "[2001:db8::1]:7".parse().unwrap();
        assert_eq!(seen_from(global, scoped), global);
    }
}
