//! Versions, then a mutual proof of the one-time token: HMAC-SHA-256 over both nonces, so that neither side sends the token
//! and no proof can be replayed.

use std::{fmt::Write as _, fs, path::Path, time::Duration};

use hmac::{Hmac, Mac};
use schema::SCHEMA_VERSION;
use sha2::Sha256;

use super::{
    frame::{ConnectError, Frames},
    message::{Hello, Message, PROTOCOL_VERSION},
};

/// How long either side waits for the other's part of the handshake.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// A shared secret. Its text never appears in a message, a log or a record.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// Takes the text as the secret, without the white space at its ends.
    pub fn new(text: &str) -> Result<Self, String> {
        match text.trim() {
            short if short.len() < 16 => {
                Err(format!("a token needs at least 16 characters, this one has {}", short.len()))
            }
            text => Ok(Token(text.as_bytes().to_vec())),
        }
    }

    /// Reads it from a file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("token file {}: {error}", path.display()))?;
        Token::new(&text).map_err(|what| format!("token file {}: {what}", path.display()))
    }

    fn mac(&self, role: &str, responder_nonce: &str, requester_nonce: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        for part in [role, responder_nonce, requester_nonce] {
            mac.update(part.as_bytes());
            mac.update(b"|");
        }
        mac
    }
}

/// Lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    (text.len().is_multiple_of(2) && text.is_ascii())
        .then(|| (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect())?
}

fn hello(token: Option<&Token>) -> Hello {
    Hello {
        program: "verbs-bench".into(),
        protocol_version: PROTOCOL_VERSION,
        schema_version: SCHEMA_VERSION,
        release: env!("CARGO_PKG_VERSION").into(),
        nonce: hex(&rand::random::<[u8; 32]>()),
        has_token: token.is_some(),
    }
}

fn describe(hello: &Hello) -> String {
    format!(
        "{} {} (protocol {}, schema {})",
        hello.program, hello.release, hello.protocol_version, hello.schema_version
    )
}

fn same_versions(ours: &Hello, theirs: &Hello) -> Result<(), ConnectError> {
    let key = |hello: &Hello| (hello.program.clone(), hello.protocol_version, hello.schema_version);
    if key(ours) == key(theirs) {
        return Ok(());
    }
    Err(ConnectError::Version { theirs: describe(theirs), ours: describe(ours) })
}

fn same_secrecy(ours: &Hello, theirs: &Hello) -> Result<(), ConnectError> {
    match (ours.has_token, theirs.has_token) {
        (true, false) => Err(ConnectError::TokenMissing(
            "this side was given a token and the peer has none; give the peer the same --token-file",
        )),
        (false, true) => {
            Err(ConnectError::TokenMissing("the peer wants a token; give this side the same --token-file"))
        }
        _ => Ok(()),
    }
}

fn receive_hello(frames: &mut Frames) -> Result<Hello, ConnectError> {
    match frames.receive("hello", HANDSHAKE_TIMEOUT)? {
        Message::Hello(hello) => Ok(hello),
        other => Err(ConnectError::OutOfTurn { awaited: "hello", got: other.name() }),
    }
}

fn prove(
    frames: &mut Frames,
    token: Option<&Token>,
    role: &str,
    responder: &Hello,
    requester: &Hello,
) -> Result<(), ConnectError> {
    let proof =
        token.map(|token| hex(&token.mac(role, &responder.nonce, &requester.nonce).finalize().into_bytes()));
    frames.send(&Message::Proof(proof.unwrap_or_default()))
}

fn demand(
    frames: &mut Frames,
    token: Option<&Token>,
    role: &str,
    responder: &Hello,
    requester: &Hello,
) -> Result<(), ConnectError> {
    let proof = match frames.receive("the token's proof", HANDSHAKE_TIMEOUT)? {
        Message::Proof(proof) => proof,
        other => return Err(ConnectError::OutOfTurn { awaited: "the token's proof", got: other.name() }),
    };
    let Some(token) = token else { return Ok(()) };
    let proof = unhex(&proof).ok_or(ConnectError::Token)?;
    token.mac(role, &responder.nonce, &requester.nonce).verify_slice(&proof).map_err(|_| ConnectError::Token)
}

/// The requester's half: speaks first, proves first.
pub fn greet_responder(frames: &mut Frames, token: Option<&Token>) -> Result<(), ConnectError> {
    let ours = hello(token);
    frames.send(&Message::Hello(ours.clone()))?;
    let theirs = receive_hello(frames)?;
    same_versions(&ours, &theirs)?;
    same_secrecy(&ours, &theirs)?;
    prove(frames, token, "requester", &theirs, &ours)?;
    demand(frames, token, "responder", &theirs, &ours)
}

/// The responder's half: proves itself only to who has proved to it.
pub fn greet_requester(frames: &mut Frames, token: Option<&Token>) -> Result<(), ConnectError> {
    let ours = hello(token);
    let theirs = receive_hello(frames)?;
    same_versions(&ours, &theirs)?;
    frames.send(&Message::Hello(ours.clone()))?;
    same_secrecy(&ours, &theirs)?;
    demand(frames, token, "requester", &ours, &theirs)?;
    prove(frames, token, "responder", &ours, &theirs)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn meet(
        requester: Option<&'static str>,
        responder: Option<&'static str>,
    ) -> (Result<(), ConnectError>, Result<(), ConnectError>) {
        let token = |text: Option<&str>| text.map(|text| Token::new(text).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let there = std::thread::spawn(move || {
            let mut frames = Frames::new(listener.accept().unwrap().0);
            greet_requester(&mut frames, token(responder).as_ref())
        });
        let mut frames = Frames::new(TcpStream::connect(address).unwrap());
        let here = greet_responder(&mut frames, token(requester).as_ref());
        drop(frames);
        (here, there.join().unwrap())
    }

    #[test]
    fn the_same_token_opens_and_no_token_opens_to_no_token() {
        assert!(matches!(meet(Some("0123456789abcdef"), Some("0123456789abcdef")), (Ok(()), Ok(()))));
        assert!(matches!(meet(None, None), (Ok(()), Ok(()))));
    }

    #[test]
    fn another_token_does_not() {
        let (here, there) = meet(Some("0123456789abcdef"), Some("fedcba9876543210"));
        assert!(here.is_err());
        assert!(matches!(there, Err(ConnectError::Token)));
    }

    #[test]
    fn one_token_is_not_enough() {
        assert!(matches!(meet(None, Some("0123456789abcdef")).0, Err(ConnectError::TokenMissing(_))));
        assert!(matches!(meet(Some("0123456789abcdef"), None).0, Err(ConnectError::TokenMissing(_))));
    }

    #[test]
    fn other_versions_are_named() {
        let ours = hello(None);
        let theirs = Hello { schema_version: 99, ..ours.clone() };
        let text = same_versions(&ours, &theirs).unwrap_err().to_string();
        assert!(text.contains("schema 99") && text.contains("same release"), "{text}");
    }

    #[test]
    fn a_short_token_is_refused() {
        assert!(Token::new("short").is_err());
    }
}
