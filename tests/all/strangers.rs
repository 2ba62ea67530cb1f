//! Peers that are no peers: silence, noise, other versions and absurd lengths, against either side of the handshake. The one
//! that runs ends with a name for it; the one that serves says so and serves the next.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use e2e::{Finished, Serving, finish, programs::PATIENCE, verbs_bench};
use schema::{Outcome, Stage};
use serde_json::json;

/// One frame of the handshake: the length in four bytes, most significant first, then JSON.
fn frame(message: &serde_json::Value) -> Vec<u8> {
    let body = message.to_string().into_bytes();
    let mut frame = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
    frame.extend(body);
    frame
}

fn hello(schema_version: u32) -> Vec<u8> {
    frame(&json!({"type": "hello", "body": {
        "program": "verbs-bench", "protocol_version": 1, "schema_version": schema_version,
        "release": "99.0.0", "nonce": "00".repeat(32), "has_token": false,
    }}))
}

/// What each stranger says, and a word of what must be said about it.
fn strangers() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let oversized = [u32::MAX.to_be_bytes().to_vec(), vec![b'x'; 64]].concat();
    let garbage = [8u32.to_be_bytes().to_vec(), b"\xff\x00{]oops".to_vec()].concat();
    let other_program = frame(&json!({"type": "hello", "body": {"program": "ib_write_bw"}}));
    vec![
        ("http", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(), ""),
        ("oversized frame", oversized, ""),
        ("garbage", garbage, ""),
        ("another program", other_program, ""),
        ("another schema version", hello(999), "release"),
        ("half a frame", vec![0, 0], ""),
        ("silence", vec![], ""),
    ]
}

/// A listener that says these bytes to whoever comes, then waits.
fn impostor(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let _ = stream.write_all(&bytes);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    address
}

fn run(peer: &str) -> Finished {
    finish(
        &mut verbs_bench(&["run", "--device", "soft", "--peer", peer, "--duration", "100ms", "--json"]),
        PATIENCE,
    )
}

#[test]
fn a_requester_names_what_answers_it() {
    for (name, bytes, word) in strangers() {
        let record = run(&impostor(bytes)).failed();
        let Outcome::Failed { stage, .. } = record.outcome else { unreachable!("failed() saw to it") };
        let text = record.outcome.to_string();
        assert_eq!(stage, Stage::Handshake, "{name}: {text}");
        assert!(text.contains(word), "{name}: {text}");
    }
}

#[test]
fn a_responder_outlives_its_strangers() {
    for (name, bytes, _) in strangers() {
        let serving = Serving::start(&["--device", "soft"]);
        let mut stream = TcpStream::connect(serving.address()).unwrap();
        stream.write_all(&bytes).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let ended = stream.read_to_end(&mut Vec::new());
        assert!(
            ended.is_ok() || ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset),
            "{name}"
        );
        run(serving.address()).completed();
    }
}

#[test]
fn a_responder_says_what_it_found_wrong() {
    let serving = Serving::start(&["--device", "soft"]);
    let mut stream = TcpStream::connect(serving.address()).unwrap();
    stream.write_all(&hello(999)).unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
    run(serving.address()).completed(); // it has dealt with the stranger by then
    let said = serving.kill().stderr;
    assert!(said.contains("schema 999") && said.contains("release"), "{said}");
}
