//! Puts who came beside who was wanted.

use std::{collections::BTreeMap, sync::mpsc::Sender};

use super::{
    LaunchError,
    gate::Comer,
    seats::{learn, unique},
};
use crate::{
    agent::link::Event,
    cluster::{Mustered, Rank, WantedNode},
};

/// Every wanted node with its agent, or with why it has none.
///
/// # Errors
/// When what an agent was told of its node contradicts what was said here.
pub(super) fn muster(
    wanted: Vec<WantedNode>,
    mut comers: BTreeMap<Rank, Comer>,
    events: &Sender<Event<Rank>>,
    absent: impl Fn(Rank, &WantedNode) -> String,
) -> Result<Vec<Mustered>, LaunchError> {
    let muster = |(rank, mut node): (Rank, WantedNode)| match comers.remove(&rank) {
        None => Ok(Mustered { came: Err(absent(rank, &node)), node, identity: None }),
        Some(comer) => {
            let identity = comer.identity.clone();
            learn(&mut node, &identity).map_err(LaunchError::Contradiction)?;
            Ok(Mustered { node, came: Ok(comer.link(rank, events)), identity: Some(identity) })
        }
    };
    (0..).zip(wanted).map(muster).collect()
}

/// Gives nodes that were only numbered the names that their agents told.
pub(super) fn name_by_comers(wanted: &mut [WantedNode], comers: &BTreeMap<Rank, Comer>) {
    let told = |(rank, comer): (&Rank, &Comer)| {
        let name = comer.identity.node.as_ref().or(comer.hostname.as_ref())?;
        Some((*rank, name.clone()))
    };
    for (rank, name) in unique(&comers.iter().filter_map(told).collect()) {
        wanted[rank as usize].name = name;
    }
}
