//! A side's end of the conversation: messages with a stage, so that what goes wrong in it is a fault with a place.

use std::{
    io,
    net::{IpAddr, TcpStream},
    time::{Duration, Instant},
};

use schema::{Side, Stage};

use super::{
    floor::{Floor, News},
    start_up::Beginning,
};
use crate::{
    connect::{ConnectError, Frames, Message},
    fault::{At, Fault},
};

/// After a failure here, the peer may still say what it saw.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// For a message that waits already.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The conversation with the peer.
pub(super) struct Talk {
    frames: Frames,
    side: Side,
    /// How long the run takes to begin; waits for the peer are a part of it.
    pub(super) beginning: Beginning,
}

/// The name of the other side.
fn other(side: Side) -> &'static str {
    match side {
        Side::Requester => "responder",
        Side::Responder => "requester",
    }
}

impl Talk {
    /// Takes over a connection on which both have greeted.
    pub(super) fn new(frames: Frames, side: Side, beginning: Beginning) -> Talk {
        Talk { frames, side, beginning }
    }

    /// The connection below.
    pub(super) fn stream(&self) -> &TcpStream {
        self.frames.stream()
    }

    /// The peer's address and ours.
    pub(super) fn addresses(&self) -> io::Result<(IpAddr, IpAddr)> {
        Ok((self.stream().peer_addr()?.ip(), self.stream().local_addr()?.ip()))
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &Message, stage: Stage) -> Result<(), Fault> {
        self.frames.send(message).map_err(|error| fault_of(error, stage, self.side))
    }

    /// Receives the message that is due.
    pub(super) fn receive(
        &mut self,
        awaited: &'static str,
        timeout: Duration,
        stage: Stage,
    ) -> Result<Message, Fault> {
        let since = Instant::now();
        let received = self.frames.receive(awaited, timeout);
        self.beginning.waited_for_peer(since);
        received.map_err(|error| fault_of(error, stage, self.side))
    }

    /// Receives a message that carries nothing.
    pub(super) fn expect(
        &mut self,
        name: &'static str,
        timeout: Duration,
        stage: Stage,
    ) -> Result<(), Fault> {
        let message = self.receive(name, timeout, stage)?;
        if message.name() == name { Ok(()) } else { Err(self.out_of_turn(&message, stage)) }
    }

    /// Waits for the message that is due while the workers work; none when one of them failed.
    pub(super) fn receive_at_work(
        &mut self,
        floor: &Floor,
        awaited: &'static str,
        patience: Duration,
        stage: Stage,
    ) -> Result<Option<Message>, Fault> {
        let news = floor.listen(self.stream(), false, Some(patience)).at(stage, self.side)?;
        match news {
            News::Failed => Ok(None),
            News::Peer => self.receive(awaited, AT_ONCE, stage).map(Some),
            News::AllSent(_) | News::Silence => {
                let error = ConnectError::TimedOut { awaited, waited_s: patience.as_secs_f64() };
                Err(fault_of(error, stage, self.side))
            }
        }
    }

    /// Waits until the workers have sent everything: so many messages on each QP; none when one of them failed. A peer that
    /// speaks meanwhile has failed.
    pub(super) fn await_senders(&mut self, floor: &Floor, stage: Stage) -> Result<Option<Vec<u64>>, Fault> {
        match floor.listen(self.stream(), true, None).at(stage, self.side)? {
            News::AllSent(sent) => Ok(Some(sent)),
            News::Failed | News::Silence => Ok(None),
            News::Peer => Err(self.interrupted(stage)),
        }
    }

    /// The fault of a peer that says something where nothing but a fault can be said.
    pub(super) fn interrupted(&mut self, stage: Stage) -> Fault {
        match self.receive("nothing but a fault", AT_ONCE, stage) {
            Ok(message) => self.out_of_turn(&message, stage),
            Err(fault) => fault,
        }
    }

    /// Carries our fault to the peer, so that its side reports it too.
    pub(super) fn tell(&mut self, fault: Fault) -> Fault {
        if fault.side == self.side {
            // The peer may be the reason and gone; its absence adds nothing.
            let _ = self.frames.send(&Message::Fault(fault.clone()));
        }
        fault
    }

    /// Our fault, with what the peer has to say about it.
    pub(super) fn with_last_words(&mut self, fault: Fault) -> Fault {
        if fault.side != self.side {
            return fault;
        }
        let peer = other(self.side);
        let cause = match self.frames.receive("the peer's last words", LAST_WORDS) {
            Err(ConnectError::Peer(theirs)) => format!("{}; the {peer} says: {theirs}", fault.cause),
            Err(ConnectError::Closed { .. }) => format!("{}; the {peer}'s process is gone", fault.cause),
            _ => return fault,
        };
        Fault { cause, ..fault }
    }

    /// The fault of a peer that speaks out of turn.
    pub(super) fn out_of_turn(&self, message: &Message, stage: Stage) -> Fault {
        let cause = format!("the {} sent `{}` out of turn", other(self.side), message.name());
        Fault::new(stage, self.side, cause).advise("use the same release on both sides")
    }
}

/// A fault of the peer stays the peer's; any other error of the conversation is ours.
pub(super) fn fault_of(error: ConnectError, stage: Stage, side: Side) -> Fault {
    match error {
        ConnectError::Peer(fault) => fault,
        other => Fault::new(stage, side, other),
    }
}
