//! The responder that `run` starts itself when no peer is given: this same program, on loopback, with a one-time token.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use schema::{Side, Stage};
use serde::Deserialize;

use crate::{
    connect::auth::{Token, hex},
    fault::Fault,
};

/// How long the responder may take to end by itself after the session.
const FAREWELL: Duration = Duration::from_secs(2);

/// Ends this process with the one of this pid that started it, also if that one has ended already.
pub fn exit_with_parent(parent: u32) {
    if let Err(errno) = set_parent_process_death_signal(Some(Signal::KILL)) {
        eprintln!("verbs-bench: --exit-with-parent: prctl: {errno}");
    }
    if getppid().is_none_or(|pid| pid.as_raw_nonzero().get() as u32 != parent) {
        eprintln!("verbs-bench: --exit-with-parent: process {parent} has ended, or did not start this one");
        std::process::exit(3);
    }
}

/// A responder child. Dropped, it is given a moment to end and then killed.
pub struct LocalResponder {
    child: Child,
    token: Token,
}

#[derive(Deserialize)]
struct Listening {
    listening: String,
}

fn failed(what: String) -> Fault {
    Fault::new(Stage::Launch, Side::Responder, what)
}

impl LocalResponder {
    /// Starts it; it comes up while the requester opens its device.
    pub fn start() -> Result<Self, Fault> {
        let secret = hex(&rand::random::<[u8; 32]>());
        let token = Token::new(&secret).map_err(failed)?;
        let program = std::env::current_exe().map_err(|error| failed(format!("own program: {error}")))?;
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--sessions", "1", "--json"])
            .args(["--exit-with-parent", &std::process::id().to_string()])
            .args(["--token-file", "/dev/stdin"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(format!("starting a responder: {error}")))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin
                .write_all(secret.as_bytes())
                .map_err(|error| failed(format!("handing over the token: {error}")))?;
        }
        Ok(LocalResponder { child, token })
    }

    /// Waits until it listens, and says where; once.
    pub fn address(&mut self) -> Result<String, Fault> {
        let mut line = String::new();
        let stdout = self.child.stdout.take().map(BufReader::new);
        let read = stdout.map(|mut stdout| stdout.read_line(&mut line));
        match (read, serde_json::from_str::<Listening>(&line)) {
            (Some(Ok(_)), Ok(Listening { listening })) => Ok(listening),
            _ => {
                let _ = self.child.kill();
                let mut text = String::new();
                if let Some(mut stderr) = self.child.stderr.take() {
                    let _ = stderr.read_to_string(&mut text);
                }
                let _ = self.child.wait();
                Err(failed(format!("the responder did not start: {}", text.trim())))
            }
        }
    }

    /// Its one-time token.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// Ends it at once: after a failure it may never have met us.
    pub fn dismiss(mut self) {
        let _ = self.child.kill();
    }
}

impl Drop for LocalResponder {
    fn drop(&mut self) {
        let start = Instant::now();
        while start.elapsed() < FAREWELL {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
