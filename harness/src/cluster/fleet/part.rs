//! Lets all agents go, at the same time: each may need minutes to put its host back.

use std::{mem, thread};

use super::{Fleet, Rank};

impl Fleet {
    /// Has all hosts turned back and lets the agents go; says which hosts could not be left as they were, and why.
    pub fn dismiss(mut self) -> Vec<String> {
        self.turn_back();
        self.leave();
        let mut complaints = mem::take(&mut self.complaints);
        complaints.sort();
        complaints.into_iter().map(|(rank, what)| format!("{}: {what}", self.name(rank))).collect()
    }

    pub(super) fn complain(&mut self, rank: Rank, what: impl Into<String>) {
        self.complaints.push((rank, what.into()));
    }

    /// Closes all links. One whose node is lost is not waited for as long: it may never go.
    fn leave(&mut self) {
        for link in self.members.iter_mut().filter_map(|member| member.link.as_mut()) {
            link.hang_up();
        }
        let (farewell, lost) = (self.limits.farewell, self.limits.lost);
        let said: Vec<Option<String>> = thread::scope(|scope| {
            let closing: Vec<_> = self
                .members
                .iter_mut()
                .map(|member| {
                    let patience = if member.here { farewell } else { lost };
                    let link = member.link.as_mut();
                    scope.spawn(move || link.and_then(|link| link.close_within(patience)))
                })
                .collect();
            closing.into_iter().map(|thread| thread.join().expect("closing does not panic")).collect()
        });
        for (rank, said) in said.into_iter().enumerate() {
            self.members[rank].here = false;
            if let Some(said) = said {
                self.complain(rank as Rank, format!("its agent: {said}"));
            }
        }
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.leave(); // agents turn their hosts back by themselves
    }
}
