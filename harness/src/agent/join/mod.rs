//! An agent that nobody's stdio reaches: it connects to its controller, both prove that they know a token, and from then on the
//! connection is a link like any other.
//!
//! `handshake.rs` has both halves of the proof, `dial.rs` the agent's way to the controller, `stream.rs` the connection. Who may
//! come is settled by `cluster::launch`.

mod dial;
mod handshake;
mod stream;
mod token;

pub use dial::{DialError, Target, dial};
pub use handshake::{Candidate, HandshakeError, Join, receive_join};
pub use stream::Stream;
pub use token::{JoinToken, TokenError};
