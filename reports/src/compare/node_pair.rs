//! Between which nodes a run was measured, by what its record says of both hosts and devices.

use std::collections::BTreeMap;

use schema::RunRecord;

/// Host and device of the requester, then of the responder.
type Key<'c> = [(&'c str, &'c str); 2];

/// The node pairs of a campaign, numbered in the order they were seen.
#[derive(Debug, Default)]
pub(super) struct NodePairs<'c>(BTreeMap<Key<'c>, u32>);

impl<'c> NodePairs<'c> {
    /// Takes note of the nodes of a run. A run that did not come as far as to say them has none.
    pub(super) fn see(&mut self, record: &'c RunRecord) {
        if let Some(key) = key(record) {
            let next = self.0.len() as u32;
            self.0.entry(key).or_insert(next);
        }
    }

    /// Whether there is no more than one.
    pub(super) fn all_the_same(&self) -> bool {
        self.0.len() < 2
    }

    /// The number of a run's node pair.
    pub(super) fn of(&self, record: &RunRecord) -> u32 {
        key(record).and_then(|key| self.0.get(&key)).copied().unwrap_or(0)
    }
}

fn key(record: &RunRecord) -> Option<Key<'_>> {
    let [requester, responder] = [record.requester.as_ref()?, record.responder.as_ref()?];
    Some([requester, responder].map(|side| (side.host.hostname.as_str(), side.device.name.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{record_of, side};
    use schema::Side;

    fn between(requester: &str, responder: &str) -> RunRecord {
        let mut record = record_of(vec![]);
        let on = |which, hostname: &str| {
            let mut side = side(which);
            side.host.hostname = hostname.into();
            side
        };
        record.requester = Some(on(Side::Requester, requester));
        record.responder = Some(on(Side::Responder, responder));
        record
    }

    #[test]
    fn hosts_and_their_order_make_a_node_pair() {
        let records = [between("a", "b"), between("a", "c"), between("b", "a"), between("a", "b")];
        let mut pairs = NodePairs::default();
        pairs.see(&records[0]);
        assert!(pairs.all_the_same());
        records.iter().for_each(|record| pairs.see(record));
        assert_eq!(records.iter().map(|record| pairs.of(record)).collect::<Vec<_>>(), [0, 1, 2, 0]);
    }
}
