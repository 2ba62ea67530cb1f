//! Whom a command measures with: a responder at an address, or one of its own on this host.

use std::{
    io::{self, IsTerminal},
    net::IpAddr,
};

use schema::{RunRecord, RunSpec};

use crate::{
    connect::{
        auth::Token,
        socket::{DEFAULT_PORT, with_default_port},
    },
    session::{self, hold::Hold, local::LocalResponder, requester::Peer},
};

/// Where the responder is and what it asks for.
pub(super) struct Target {
    /// ADDR:PORT; none starts a responder on this host.
    pub(super) address: Option<String>,
    /// Where our connection comes from; none leaves it to the route.
    pub(super) source: Option<IpAddr>,
    /// The secret that the responder holds too.
    pub(super) token: Option<Token>,
}

impl Target {
    /// Measures, and stands ready before that where it is to `hold`; says on a terminal what it is about to measure, unless told
    /// to be quiet.
    pub(super) fn measure(&self, spec: &RunSpec, hold: Option<&mut Hold>, quiet: bool) -> RunRecord {
        let quiet = quiet || !io::stderr().is_terminal();
        let progress = move |text: &str| {
            if !quiet {
                eprintln!("verbs-bench: {text}");
            }
        };
        match &self.address {
            Some(address) => {
                let peer = Peer::At { address, source: self.source, token: self.token.as_ref() };
                session::requester::run(spec, peer, hold, &progress)
            }
            None => match LocalResponder::start() {
                Ok(responder) => measure_locally(spec, responder, hold, &progress),
                Err(fault) => session::requester::not_started(spec, &fault),
            },
        }
    }
}

fn measure_locally(
    spec: &RunSpec,
    mut responder: LocalResponder,
    hold: Option<&mut Hold>,
    progress: &dyn Fn(&str),
) -> RunRecord {
    let record = session::requester::run(spec, Peer::Local(&mut responder), hold, progress);
    if !record.outcome.is_completed() {
        responder.dismiss();
    }
    record
}

/// `ADDR:PORT` of a peer that may name its port, and a port that may be given beside it.
pub(super) fn address(peer: &str, port: Option<u16>) -> Result<String, String> {
    let complete = with_default_port(peer);
    match port {
        None => Ok(complete),
        Some(port) => match complete.strip_suffix(&format!(":{DEFAULT_PORT}")) {
            Some(host) if complete != peer => Ok(format!("{host}:{port}")),
            _ => Err(format!("--port {port}: {peer} names its port already; give one of the two")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_stands_in_one_place() {
        assert_eq!(address("node7", None).as_deref(), Ok("node7:18515"));
        assert_eq!(address("node7", Some(4000)).as_deref(), Ok("node7:4000"));
        assert_eq!(address("fe80::1", Some(4000)).as_deref(), Ok("[fe80::1]:4000"));
        assert_eq!(address("node7:5000", None).as_deref(), Ok("node7:5000"));
        assert!(address("node7:5000", Some(4000)).unwrap_err().contains("names its port"));
        assert!(address("node7:18515", Some(4000)).is_err());
    }
}
