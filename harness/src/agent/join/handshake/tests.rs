//! The handshake between two threads, and against ends that do not keep to it.

use std::{
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

fn identity(rank: u32) -> Identity {
    let (size, node, switches, address) = (None, None, Vec::new(), None);
    Identity { told_by: "flags".into(), rank, size, node, switches, address }
}

fn ends() -> (TcpStream, Stream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let agent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (agent, Stream::new(listener.accept().unwrap().0, PATIENCE).unwrap())
}

fn token() -> JoinToken {
    JoinToken::drawn().unwrap()
}

#[test]
fn with_the_same_token_they_come_together_and_the_link_ends_with_its_writer() {
    let (agent, controller) = ends();
    let token = token();
    let same = token.clone();
    let there = thread::spawn(move || {
        let (input, output) =
            join(Stream::new(agent, PATIENCE).unwrap(), &same, identity(3), Some("h".into())).unwrap();
        drop(output);
        io::read_to_string(input).unwrap()
    });
    let candidate = receive_join(controller, &token).unwrap();
    assert_eq!((candidate.join.identity.rank, candidate.join.hostname.as_deref()), (3, Some("h")));
    let (input, mut output) = candidate.welcome().unwrap();
    output.write_all(b"orders\n").unwrap();
    drop(output);
    assert_eq!(io::read_to_string(input).unwrap(), "");
    assert_eq!(there.join().unwrap(), "orders\n");
}

#[test]
fn another_token_is_refused_by_either_end() {
    let (agent, controller) = ends();
    let there = thread::spawn(move || {
        join(Stream::new(agent, PATIENCE).unwrap(), &token(), identity(0), None).err().unwrap()
    });
    assert!(matches!(receive_join(controller, &token()), Err(HandshakeError::Token)));
    let refused = there.join().unwrap();
    assert!(matches!(&refused, HandshakeError::Refused(why) if why.contains("token")), "{refused}");
    assert!(refused.is_final());

    // A controller that only pretends: it takes any proof, and can't give its own.
    let (agent, controller) = ends();
    let there = thread::spawn(move || {
        join(Stream::new(agent, PATIENCE).unwrap(), &token(), identity(0), None).err().unwrap()
    });
    let mut stream = BufReader::new(controller);
    hear(&mut stream).unwrap();
    say(stream.get_mut(), &Message::Challenge { nonce: nonce().unwrap() }).unwrap();
    hear(&mut stream).unwrap();
    say(stream.get_mut(), &Message::Welcome { proof: "00".repeat(32) }).unwrap();
    assert!(matches!(there.join().unwrap(), HandshakeError::Token));
}

#[test]
fn a_proof_is_good_for_one_identity_and_one_challenge() {
    let token = token();
    let said = [b"join".as_slice(), b"challenge".as_slice()];
    let given = proof(&token, "agent", said);
    assert!(check(&token, "agent", said, &given).is_ok());
    for (side, said) in [
        ("controller", said),
        ("agent", [b"join2".as_slice(), b"challenge"]),
        ("agent", [b"join".as_slice(), b"challenge2"]),
        ("agent", [b"joinc".as_slice(), b"hallenge"]),
    ] {
        assert!(check(&token, side, said, &given).is_err());
    }
    assert!(check(&token, "agent", said, "").is_err() && check(&token, "agent", said, "zz").is_err());
}

#[test]
fn what_is_no_agent_is_sent_away() {
    for (said, wanted) in [
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "not a message"),
        (String::new(), "ended the connection"),
        ("x".repeat(8192), "longer than 4096"),
        ("{\"proof\":{\"proof\":\"00\"}}\n".to_owned(), "did not go on"),
    ] {
        let (mut stranger, controller) = ends();
        stranger.write_all(said.as_bytes()).unwrap();
        stranger.shutdown(std::net::Shutdown::Write).unwrap();
        let error = receive_join(controller, &token()).err().unwrap().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn one_that_says_nothing_or_trickles_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let controller = Stream::new(listener.accept().unwrap().0, Duration::from_millis(200)).unwrap();
    let trickle = thread::spawn(move || {
        while slow.write_all(b"{").is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
    let error = receive_join(controller, &token()).err().unwrap();
    assert!(
        matches!(&error, HandshakeError::Io(error) if error.kind() == io::ErrorKind::TimedOut),
        "{error}"
    );
    trickle.join().unwrap();
}

#[test]
fn another_release_is_told_which_is_wanted() {
    let (agent, controller) = ends();
    let mut agent = BufReader::new(Stream::new(agent, PATIENCE).unwrap());
    let join = Join {
        protocol: PROTOCOL + 1,
        release: "0.0.1".into(),
        identity: identity(0),
        hostname: None,
        nonce: nonce().unwrap(),
    };
    say(agent.get_mut(), &Message::Join(Box::new(join))).unwrap();
    let error = receive_join(controller, &token()).err().unwrap().to_string();
    assert!(error.contains("0.0.1") && error.contains(RELEASE), "{error}");
    assert!(matches!(hear(&mut agent).unwrap().0, Message::Refused { why } if why.contains("same release")));
}
