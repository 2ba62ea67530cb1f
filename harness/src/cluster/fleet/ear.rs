//! What a fleet hears: reports, the end of a link, and silence, which no link tells.

use std::{
    collections::BTreeSet,
    sync::mpsc::{RecvTimeoutError, TryRecvError},
    time::{Duration, Instant},
};

use schema::NodeState;

use super::{Fleet, Rank};
use crate::{
    agent::{link::Event, protocol::Report},
    words,
};

/// How many times within the silence that is borne all are looked at.
const LOOKS: u32 = 10;
/// How long the process of an agent whose link ended may take to say why.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What is worth an answer.
#[derive(Debug)]
pub(super) enum News {
    /// A node that can be worked with told something.
    Report(Rank, Report),
    /// A node can't be worked with any more.
    Lost(Rank),
    /// Someone asked to stop.
    Interrupted,
}

impl Fleet {
    /// The next news; none at the deadline.
    pub(super) fn hear(&mut self, deadline: Instant) -> Option<News> {
        loop {
            if let Some(news) = self.news.pop_front() {
                return Some(news);
            }
            // What has come is taken before anyone is judged silent: it may be we who were away.
            match self.heard.try_recv() {
                Ok(event) => {
                    if let Some(news) = self.take(event) {
                        return Some(news);
                    }
                    continue;
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {}
            }
            let now = Instant::now();
            if now >= self.look_at {
                self.look(now);
                continue;
            }
            if now >= deadline {
                return None;
            }
            let event = self.heard.recv_timeout(deadline.min(self.look_at) - now);
            self.waited += now.elapsed();
            match event {
                Ok(event) => {
                    if let Some(news) = self.take(event) {
                        return Some(news);
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Waits until each of these has answered, is lost, or the moment comes; gives those who still owe an answer. `take` says
    /// whether a report was the answer. An interrupt cuts it short where it is to be heeded.
    pub(super) fn gather(
        &mut self,
        from: &[Rank],
        deadline: Instant,
        heed_interrupt: bool,
        mut take: impl FnMut(&mut Fleet, Rank, Report) -> bool,
    ) -> Vec<Rank> {
        let mut owing: BTreeSet<Rank> = from.iter().copied().filter(|rank| self.is_here(*rank)).collect();
        while !owing.is_empty() {
            match self.hear(deadline) {
                Some(News::Report(rank, report)) => {
                    if owing.contains(&rank) && take(self, rank, report) {
                        owing.remove(&rank);
                    }
                }
                Some(News::Lost(rank)) => {
                    owing.remove(&rank);
                }
                Some(News::Interrupted) if heed_interrupt => break,
                Some(News::Interrupted) => {}
                None => break,
            }
        }
        owing.into_iter().filter(|rank| self.is_here(*rank)).collect()
    }

    /// What an event is to whoever works with the fleet. Of one who is lost nothing is heard any more.
    fn take(&mut self, event: Event<Rank>) -> Option<News> {
        match event {
            Event::Interrupted => Some(News::Interrupted),
            Event::Report(rank, report) => {
                if !self.is_here(rank) {
                    return None;
                }
                self.members[rank as usize].heard_at = Instant::now();
                (report != Report::Alive {}).then_some(News::Report(rank, report))
            }
            Event::Gone(rank, why) => {
                if self.is_here(rank) {
                    // An agent that ended by itself knows better than the link why.
                    let link = self.members[rank as usize].link.as_mut();
                    let said = link.and_then(|link| link.close_within(LAST_WORDS));
                    self.lose(rank, said.map_or(why, |said| format!("its agent ended: {said}")));
                }
                None
            }
        }
    }

    /// Looks for those who have fallen silent.
    fn look(&mut self, now: Instant) {
        let pause = self.limits.silence / LOOKS;
        // Late by as much as a silence: we were stopped or asleep ourselves, and know nothing of the others.
        let away = now - self.look_at > self.limits.silence / 2;
        self.look_at = now + pause;
        for rank in self.ranks_here() {
            let member = &mut self.members[rank as usize];
            if away {
                member.heard_at = now;
            }
            let silent = now - member.heard_at;
            // Signs of life are agreed on in the greeting.
            if member.hello.is_some() && silent > self.limits.silence {
                self.lose(
                    rank,
                    format!("it was silent for {} s: hung, stopped or cut off", silent.as_secs_f32().round()),
                );
            }
        }
    }

    /// A node can't be worked with any more, nor can those whose host it keeps tuned.
    pub(super) fn lose(&mut self, rank: Rank, why: String) {
        if !self.is_here(rank) {
            return;
        }
        let met = self.members[rank as usize].hello.is_some();
        let state = if met {
            NodeState::Lost { why, at_unix_ms: words::unix_ms() }
        } else {
            NodeState::Absent { why }
        };
        self.part_from(rank, state);
        self.lose_followers(rank);
    }

    /// A node turns out to be one that can't be worked with.
    pub(super) fn turn_away(&mut self, rank: Rank, why: String) {
        if self.is_here(rank) {
            self.part_from(rank, NodeState::Absent { why });
        }
    }

    fn part_from(&mut self, rank: Rank, state: NodeState) {
        self.nodes[rank as usize].state = state;
        let member = &mut self.members[rank as usize];
        member.here = false;
        if let Some(link) = &mut member.link {
            link.hang_up(); // it turns its host back and goes, if it can
        }
        self.news.push_back(News::Lost(rank));
    }
}
