//! Where other nodes reach a node, as far as somebody tells.

use std::{
    net::{IpAddr, Ipv4Addr, ToSocketAddrs as _},
    thread,
};

use super::{Fleet, Rank};
use crate::scenario::Place;

const ADVICE: &str = "give it as `address=` in the host file";

/// By the place alone.
fn of_place(place: &Place) -> Result<IpAddr, String> {
    match place {
        Place::Local => Ok(Ipv4Addr::LOCALHOST.into()),
        Place::Ssh(destination) => {
            let host = destination.rsplit_once('@').map_or(destination.as_str(), |(_, host)| host);
            let found = (host, 0).to_socket_addrs().map(|mut addresses| addresses.next());
            let why = match found {
                Ok(Some(address)) => return Ok(address.ip()),
                Ok(None) => "it has none".to_owned(),
                Err(error) => error.to_string(),
            };
            Err(format!("the address of {host} is not known here: {why}; {ADVICE}"))
        }
        place => Err(format!("nobody tells at which address other nodes reach {place}; {ADVICE}")),
    }
}

impl Fleet {
    /// Looks up the addresses that nobody told; a node without one can't be measured with others.
    pub(super) fn look_up_addresses(&mut self) {
        let unknown = |rank: &Rank| self.members[*rank as usize].address.is_none();
        let ranks: Vec<Rank> = self.ranks_here().into_iter().filter(unknown).collect();
        let places: Vec<Place> = ranks.iter().filter_map(|rank| self.place(*rank).cloned()).collect();
        // A name server may take seconds, and there may be many nodes.
        let found: Vec<_> = thread::scope(|scope| {
            let asked: Vec<_> = places.iter().map(|place| scope.spawn(|| of_place(place))).collect();
            asked.into_iter().map(|thread| thread.join().expect("looking up does not panic")).collect()
        });
        for (rank, found) in ranks.into_iter().zip(found) {
            match found {
                Ok(address) => self.members[rank as usize].address = Some(address),
                Err(why) => self.turn_away(rank, why),
            }
        }
    }

    fn place(&self, rank: Rank) -> Option<&Place> {
        self.members[rank as usize].link.as_ref().map(|link| &link.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_tells_its_address_or_what_to_do() {
        assert_eq!(of_place(&Place::Local).unwrap().to_string(), "127.0.0.1");
        assert_eq!(of_place(&Place::Ssh("me@127.0.0.3".into())).unwrap().to_string(), "127.0.0.3");
        for place in [Place::Ssh("me@no such host".into()), Place::Netns("far".into())] {
            let why = of_place(&place).unwrap_err();
            assert!(why.contains("address="), "{why}");
        }
    }
}
