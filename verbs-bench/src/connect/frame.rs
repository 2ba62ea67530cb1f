//! One message on the wire: four bytes of length (big endian), then that many bytes of JSON.
//!
//! The length is bounded before anything is allocated, so that a stranger on the port (a browser, a port scanner) ends as
//! an error with a name.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use super::message::Message;
use crate::fault::Fault;

/// The largest frame either side reads: an offer has some 700 bytes a QP.
pub const MAX_FRAME_BYTES: u32 = 16 << 20;

/// What can go wrong between the two processes.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No TCP connection.
    #[error(
        "cannot reach the responder at {peer}: {source}; start `verbs-bench serve` there, and check address, port and firewall"
    )]
    Unreachable {
        /// As asked.
        peer: String,
        /// errno.
        source: io::Error,
    },
    /// Can't listen.
    #[error("cannot listen on {listen}: {source}; choose another --listen ADDR:PORT")]
    Listen {
        /// As asked.
        listen: String,
        /// errno.
        source: io::Error,
    },
    /// Nothing came in time.
    #[error(
        "no {awaited} from the peer within {waited_s:.1} s; is the peer a verbs-bench, and is its host alive?"
    )]
    TimedOut {
        /// What was due.
        awaited: &'static str,
        /// For how long.
        waited_s: f64,
    },
    /// The connection ended.
    #[error(
        "the peer closed the connection while {awaited} was due; its process ended or was killed: see its messages"
    )]
    Closed {
        /// What was due.
        awaited: &'static str,
    },
    /// A length above the bound.
    #[error(
        "the peer announced a frame of {bytes} bytes, the limit is {MAX_FRAME_BYTES}; it is not a verbs-bench of this release"
    )]
    Oversized {
        /// As announced.
        bytes: u32,
    },
    /// Bytes that are no message.
    #[error(
        "the peer sent bytes that are no verbs-bench message ({source}); it is not a verbs-bench of this release"
    )]
    Garbage {
        /// Where the JSON breaks.
        source: serde_json::Error,
    },
    /// A message out of turn.
    #[error("the peer sent `{got}` where {awaited} was due; use the same release on both sides")]
    OutOfTurn {
        /// What was due.
        awaited: &'static str,
        /// What came.
        got: &'static str,
    },
    /// Another protocol or schema.
    #[error("versions differ: the peer is {theirs}, this is {ours}; use the same release on both sides")]
    Version {
        /// The peer's.
        theirs: String,
        /// Ours.
        ours: String,
    },
    /// The proof does not fit.
    #[error("the token does not match the peer's; give both sides the same --token-file")]
    Token,
    /// One side wants a token, the other has none.
    #[error("{0}")]
    TokenMissing(&'static str),
    /// Anything else TCP says.
    #[error("the connection to the peer failed: {0}")]
    Io(#[from] io::Error),
    /// The peer says what went wrong on its side.
    #[error("{0}")]
    Peer(Fault),
}

/// A connection that speaks in messages.
#[derive(Debug)]
pub struct Frames {
    stream: TcpStream,
}

impl Frames {
    /// Takes over a connected stream.
    pub fn new(stream: TcpStream) -> Self {
        Frames { stream }
    }

    /// The stream below, for addresses and liveness.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends one message.
    pub fn send(&mut self, message: &Message) -> Result<(), ConnectError> {
        let body = serde_json::to_vec(message).map_err(|source| ConnectError::Garbage { source })?;
        let length = u32::try_from(body.len()).ok().filter(|bytes| *bytes <= MAX_FRAME_BYTES);
        let length =
            length.ok_or(ConnectError::Oversized { bytes: u32::try_from(body.len()).unwrap_or(u32::MAX) })?;
        let mut frame = Vec::with_capacity(4 + body.len());
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(&body);
        self.stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        self.stream.write_all(&frame).map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => {
                ConnectError::Closed { awaited: "our message" }
            }
            _ => ConnectError::Io(error),
        })
    }

    /// Receives the message that is due, or the peer's fault as an error.
    pub fn receive(&mut self, awaited: &'static str, timeout: Duration) -> Result<Message, ConnectError> {
        let start = Instant::now();
        let mut length = [0; 4];
        self.read_exact(&mut length, awaited, start, timeout)?;
        let bytes = u32::from_be_bytes(length);
        if bytes > MAX_FRAME_BYTES {
            return Err(ConnectError::Oversized { bytes });
        }
        let mut body = vec![0; bytes as usize];
        self.read_exact(&mut body, awaited, start, timeout)?;
        match serde_json::from_slice(&body) {
            Ok(Message::Fault(fault)) => Err(ConnectError::Peer(fault)),
            Ok(message) => Ok(message),
            Err(source) => Err(ConnectError::Garbage { source }),
        }
    }

    /// Reads until the buffer is full; one deadline for the whole message, however slowly its bytes drip.
    fn read_exact(
        &mut self,
        mut buffer: &mut [u8],
        awaited: &'static str,
        start: Instant,
        timeout: Duration,
    ) -> Result<(), ConnectError> {
        while !buffer.is_empty() {
            let left = timeout.saturating_sub(start.elapsed());
            let timed_out = ConnectError::TimedOut { awaited, waited_s: timeout.as_secs_f64() };
            if left.is_zero() {
                return Err(timed_out);
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(buffer) {
                Ok(0) => return Err(ConnectError::Closed { awaited }),
                Ok(n) => buffer = &mut buffer[n..],
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => return Err(timed_out),
                    io::ErrorKind::ConnectionReset => return Err(ConnectError::Closed { awaited }),
                    _ => return Err(ConnectError::Io(error)),
                },
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (Frames, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Frames::new(listener.accept().unwrap().0), other)
    }

    const SHORT: Duration = Duration::from_millis(200);

    #[test]
    fn a_message_crosses_even_in_single_bytes() {
        let (mut frames, mut other) = pair();
        let body = serde_json::to_vec(&Message::Connected).unwrap();
        let mut wire = (body.len() as u32).to_be_bytes().to_vec();
        wire.extend(body);
        std::thread::spawn(move || {
            for byte in wire {
                other.write_all(&[byte]).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        assert!(matches!(frames.receive("the message", Duration::from_secs(5)), Ok(Message::Connected)));
    }

    #[test]
    fn strangers_end_as_errors_with_a_name() {
        let (mut frames, mut other) = pair();
        other.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        assert!(matches!(
            frames.receive("hello", SHORT),
            Err(ConnectError::Oversized { bytes: 0x4745_5420 })
        ));

        let (mut frames, mut other) = pair();
        other.write_all(&[0, 0, 0, 3, b'{', b'x', b'}']).unwrap();
        assert!(matches!(frames.receive("hello", SHORT), Err(ConnectError::Garbage { .. })));

        let (mut frames, other) = pair();
        drop(other);
        assert!(matches!(frames.receive("hello", SHORT), Err(ConnectError::Closed { .. })));

        let (mut frames, _silent) = pair();
        assert!(matches!(frames.receive("hello", SHORT), Err(ConnectError::TimedOut { .. })));
    }

    #[test]
    fn a_half_sent_frame_times_out() {
        let (mut frames, mut other) = pair();
        other.write_all(&[0, 0, 1]).unwrap();
        assert!(matches!(frames.receive("hello", SHORT), Err(ConnectError::TimedOut { .. })));
    }

    #[test]
    fn a_peers_fault_is_an_error_here() {
        let (mut frames, other) = pair();
        let fault = Fault::new(schema::Stage::Setup, schema::Side::Responder, "no memory");
        Frames::new(other).send(&Message::Fault(fault.clone())).unwrap();
        assert!(matches!(frames.receive("the offer", SHORT), Err(ConnectError::Peer(got)) if got == fault));
    }
}
