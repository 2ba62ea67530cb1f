//! Has the hosts tuned before the first round, looked at after every round, and turned back at the end.
//!
//! A node is measured on a host that is tuned as asked and no further, or it is not measured.

use std::{collections::BTreeMap, time::Instant};

use schema::{KnobRecord, Side, SidesTuning};

use super::{
    Fleet, Rank,
    grounds::{Grounds, Standing},
};
use crate::agent::protocol::{Answer, Order, Report, SideKnob};

/// What is turned, and by whom.
#[derive(Default)]
pub(super) struct Turned {
    grounds: Grounds,
    /// Whether the hosts were told to turn it.
    in_force: bool,
    /// What stood when it was last looked at, by who turned it.
    knobs: BTreeMap<Rank, Vec<SideKnob>>,
}

impl Turned {
    /// Those who turn anything.
    fn turners(&self) -> Vec<Rank> {
        let turns = |(rank, parts): (&Rank, &Vec<_>)| (!parts.is_empty()).then_some(*rank);
        self.grounds.shares.iter().filter_map(turns).collect()
    }
}

impl Fleet {
    /// Has the hosts plan what is to be turned, and refuse what is left from before. Turns nothing.
    pub(super) fn prepare(&mut self, tuning: &SidesTuning, poll_cpus: &[u32]) {
        let standings: Vec<Standing<'_>> = self
            .ranks_here()
            .into_iter()
            .filter_map(|rank| {
                let member = &self.members[rank as usize];
                let (hello, link) = (member.hello.as_ref()?, member.link.as_ref()?);
                let device = &self.nodes[rank as usize].device;
                Some(Standing { rank, hello, place: &link.place, device })
            })
            .collect();
        self.turned.grounds = Grounds::of(&standings, tuning, poll_cpus);
        let shares = self.turned.grounds.shares.clone();
        let order = |rank: Rank| Order::Prepare { variants: vec![shares[&rank].clone()] };
        for (rank, answer) in self.ask(shares.keys().copied().collect(), true, order) {
            let Some(fault) = answer.fault else { continue };
            let name = self.nodes[rank as usize].name.clone();
            let followers = self.turned.grounds.keepers.iter();
            let followers: Vec<Rank> =
                followers.filter(|(_, by)| by.contains(&rank)).map(|(rank, _)| *rank).collect();
            for follower in followers {
                let by = if follower == rank { String::new() } else { format!(" (by {name})") };
                self.turn_away(follower, format!("its host can't be made ready{by}: {fault}"));
            }
        }
    }

    /// Turns the knobs, once. A node whose host can't be tuned is lost; its agent leaves nothing half tuned.
    pub(super) fn make_ready(&mut self) {
        if self.turned.in_force {
            return;
        }
        self.turned.in_force = true;
        for (rank, answer) in self.ask(self.turned.turners(), false, |_| Order::Tune { variant: 0 }) {
            self.turned.knobs.insert(rank, answer.knobs);
            if let Some(fault) = answer.fault {
                self.lose(
                    rank,
                    format!("its host could not be tuned, and nothing is left half tuned: {fault}"),
                );
                self.turned.grounds.shares.insert(rank, Vec::new()); // there is nothing to look at or turn back
            }
        }
    }

    /// Looks at what is turned again.
    pub(super) fn verify(&mut self) {
        for (rank, answer) in self.ask(self.turned.turners(), false, |_| Order::Verify {}) {
            self.turned.knobs.insert(rank, answer.knobs);
        }
    }

    /// What stood on the host of a node of what a side asks for.
    pub(super) fn knobs_of(&self, rank: Rank, side: Side) -> Vec<KnobRecord> {
        let keepers = self.turned.grounds.keepers.get(&rank).into_iter().flatten();
        let knobs = keepers.filter_map(|keeper| self.turned.knobs.get(keeper)).flatten();
        knobs.filter(|knob| knob.side == side).map(|knob| knob.record.clone()).collect()
    }

    /// Turns back what is turned; what can't be turned back is a complaint.
    pub(super) fn turn_back(&mut self) {
        if !self.turned.in_force {
            return;
        }
        self.turned.in_force = false;
        let turners = self.turned.turners();
        for (rank, answer) in self.ask(turners.clone(), false, |_| Order::Restore {}) {
            if let Some(fault) = answer.fault {
                self.complain(rank, fault);
            }
        }
        for rank in turners.into_iter().filter(|rank| !self.is_here(*rank)).collect::<Vec<_>>() {
            self.complain(
                rank,
                "it was lost while its host was tuned; it turns its host back by itself unless it was killed: see `rdma-harness tune status` there, and `rdma-harness tune recover` if anything is left",
            );
        }
    }

    /// Loses those whose host the agent of a lost node kept tuned.
    pub(super) fn lose_followers(&mut self, keeper: Rank) {
        for follower in self.turned.grounds.followers(keeper) {
            let keeper = &self.nodes[keeper as usize].name;
            self.lose(follower, format!("the agent of {keeper}, which keeps its host tuned, is lost"));
        }
    }

    /// Gives an order that is answered to several at once, and waits for the answers. Who gives none is lost.
    fn ask(
        &mut self,
        ranks: Vec<Rank>,
        heed_interrupt: bool,
        order: impl Fn(Rank) -> Order,
    ) -> Vec<(Rank, Answer)> {
        for rank in ranks.iter().filter(|rank| self.is_here(**rank)) {
            self.order(*rank, &order(*rank));
        }
        let mut answers = Vec::new();
        let deadline = Instant::now() + self.limits.knobs;
        let late = self.gather(&ranks, deadline, heed_interrupt, |_, rank, report| {
            let Report::Answer(answer) = report else { return false };
            answers.push((rank, answer));
            true
        });
        if Instant::now() >= deadline {
            for rank in late {
                let within = self.limits.knobs.as_secs_f32();
                self.lose(rank, format!("it gave no answer about its knobs within {within} s"));
            }
        }
        answers
    }
}
