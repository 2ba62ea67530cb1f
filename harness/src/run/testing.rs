//! The two agents of a run, on threads of the test.

use std::sync::mpsc::channel;

use schema::Side;

pub(super) use crate::agent::testing::script;
use crate::agent::{Pair, Setup, testing::agent};

/// The requester's agent, and the responder's.
pub(super) fn agents(setups: [Setup; 2]) -> Pair {
    let (events, heard) = channel();
    let [requester, responder] = setups;
    let links = [(Side::Requester, requester), (Side::Responder, responder)]
        .map(|(side, setup)| agent(side, setup, events.clone()));
    Pair::meet(links, events, heard).unwrap()
}
