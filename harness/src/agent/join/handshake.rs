//! Both halves of the proof: HMAC-SHA-256 over all that was said so far, so that the token crosses no wire, nothing that was
//! said can be changed, and no proof can be used again.
//!
//! The agent says who it is (`join`), the controller answers with a fresh number (`challenge`), the agent proves itself
//! (`proof`), and only then does the controller (`welcome`). A stranger learns nothing but that somebody listens.

use std::{
    fmt::Write as _,
    io::{self, BufReader, Read, Write},
};

use hmac::Mac as _;
use serde::{Deserialize, Serialize};

use super::{Stream, token::JoinToken};
use crate::agent::{
    protocol::{Identity, PROTOCOL, RELEASE},
    wire::{self, ReadError},
};

/// The longest line of a handshake, in bytes.
const MOST: u64 = 4096;
/// Bytes of a fresh number.
const NONCE_BYTES: usize = 32;

/// How an agent makes itself known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The protocol it speaks.
    pub protocol: u32,
    /// Its release.
    pub release: String,
    /// Which of many it is.
    pub identity: Identity,
    /// Name of its host; null where the kernel does not tell.
    pub hostname: Option<String>,
    /// A fresh number, in hexadecimal digits.
    pub nonce: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Message {
    Join(Box<Join>),
    Challenge { nonce: String },
    Proof { proof: String },
    Welcome { proof: String },
    Refused { why: String },
}

/// Why two ends do not come together.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The connection broke, or the other end took too long.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// What came is not of the handshake.
    #[error("{0}")]
    Garbage(ReadError),
    /// The other end said something else than was due.
    #[error("it did not go on with the handshake")]
    OutOfTurn,
    /// The other end ended the connection.
    #[error("it ended the connection")]
    Ended,
    /// The other end does not know the token.
    #[error("it has another token")]
    Token,
    /// The controller does not take the agent.
    #[error("the controller refuses: {0}")]
    Refused(String),
}

impl HandshakeError {
    /// Whether it will be the same the next time.
    pub(super) fn is_final(&self) -> bool {
        matches!(self, HandshakeError::Refused(_) | HandshakeError::Token | HandshakeError::Garbage(_))
    }
}

impl From<ReadError> for HandshakeError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Io(error) => error.into(),
            error => HandshakeError::Garbage(error),
        }
    }
}

/// Sends a message; gives its line.
fn say(output: &mut impl Write, message: &Message) -> Result<Vec<u8>, HandshakeError> {
    let mut line = Vec::new();
    wire::send(&mut line, message)?;
    output.write_all(&line)?;
    Ok(line)
}

/// The next message, and its line as both ends can write it.
fn hear(input: &mut BufReader<impl Read>) -> Result<(Message, Vec<u8>), HandshakeError> {
    let message = wire::receive::<Message>(input, MOST)?.ok_or(HandshakeError::Ended)?;
    let mut line = Vec::new();
    wire::send(&mut line, &message)?;
    Ok((message, line))
}

fn nonce() -> io::Result<String> {
    let mut bytes = [0u8; NONCE_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let fine = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    fine.then(|| {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
    })?
}

fn proof(token: &JoinToken, side: &str, said: [&[u8]; 2]) -> String {
    hex(&token.mac(side, said).finalize().into_bytes())
}

fn check(token: &JoinToken, side: &str, said: [&[u8]; 2], proof: &str) -> Result<(), HandshakeError> {
    let proof = unhex(proof).ok_or(HandshakeError::Token)?;
    token.mac(side, said).verify_slice(&proof).map_err(|_| HandshakeError::Token)
}

/// The agent's half: gives what the controller says from then on, and where to answer.
pub(super) fn join(
    stream: Stream,
    token: &JoinToken,
    identity: Identity,
    hostname: Option<String>,
) -> Result<(BufReader<Stream>, impl Write + Send + use<>), HandshakeError> {
    let mut stream = BufReader::new(stream);
    let join = Join { protocol: PROTOCOL, release: RELEASE.into(), identity, hostname, nonce: nonce()? };
    let joined = say(stream.get_mut(), &Message::Join(Box::new(join)))?;
    let (message, challenged) = hear(&mut stream)?;
    match message {
        Message::Challenge { .. } => {}
        Message::Refused { why } => return Err(HandshakeError::Refused(why)),
        _ => return Err(HandshakeError::OutOfTurn),
    }
    let said = [joined.as_slice(), challenged.as_slice()];
    say(stream.get_mut(), &Message::Proof { proof: proof(token, "agent", said) })?;
    match hear(&mut stream)?.0 {
        Message::Welcome { proof } => check(token, "controller", said, &proof)?,
        Message::Refused { why } => return Err(HandshakeError::Refused(why)),
        _ => return Err(HandshakeError::OutOfTurn),
    }
    let output = stream.get_mut().settle()?;
    Ok((stream, output))
}

/// An agent that knows the token, and is not yet let in.
pub struct Candidate {
    /// Who it is.
    pub join: Join,
    stream: BufReader<Stream>,
    proof: String,
}

/// The controller's half, up to the agent's proof.
///
/// # Errors
/// When the other end is no agent that knows the token; it is told so where it speaks our language.
pub fn receive_join(stream: Stream, token: &JoinToken) -> Result<Candidate, HandshakeError> {
    let mut stream = BufReader::new(stream);
    let (message, joined) = hear(&mut stream)?;
    let Message::Join(join) = message else { return Err(HandshakeError::OutOfTurn) };
    if (join.protocol, join.release.as_str()) != (PROTOCOL, RELEASE) {
        let why = format!("it is release {RELEASE}, and you are {}; install the same release", join.release);
        say(stream.get_mut(), &Message::Refused { why: why.clone() })?;
        return Err(HandshakeError::Refused(why));
    }
    let challenged = say(stream.get_mut(), &Message::Challenge { nonce: nonce()? })?;
    let said = [joined.as_slice(), challenged.as_slice()];
    let Message::Proof { proof: given } = hear(&mut stream)?.0 else { return Err(HandshakeError::OutOfTurn) };
    if let Err(error) = check(token, "agent", said, &given) {
        say(stream.get_mut(), &Message::Refused { why: "your token is another".into() })?;
        return Err(error);
    }
    let proof = proof(token, "controller", said);
    Ok(Candidate { join: *join, stream, proof })
}

impl Candidate {
    /// Who is at the other end, for messages.
    pub fn peer(&self) -> String {
        self.stream.get_ref().peer().map_or_else(String::new, |peer| peer.to_string())
    }

    /// Lets it in: gives what it says from now on, and where to answer.
    ///
    /// # Errors
    /// When the connection broke.
    pub fn welcome(mut self) -> io::Result<(BufReader<Stream>, impl Write + Send + use<>)> {
        let proof = std::mem::take(&mut self.proof);
        say(self.stream.get_mut(), &Message::Welcome { proof }).map_err(io::Error::other)?;
        let output = self.stream.get_mut().settle()?;
        Ok((self.stream, output))
    }

    /// Sends it away with a reason.
    pub fn refuse(mut self, why: &str) {
        let _ = say(self.stream.get_mut(), &Message::Refused { why: why.to_owned() }); // it may be gone
    }
}

#[cfg(test)]
mod tests;
