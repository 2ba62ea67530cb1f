//! `verbs-bench serve` as a child that dies with its test, and what it said.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde::Deserialize;

use crate::programs::{Finished, await_end, verbs_bench};

/// A responder that listens on a free port of the loopback interface.
#[derive(Debug)]
pub struct Serving {
    child: Option<Child>,
    address: String,
}

#[derive(Deserialize)]
struct Listening {
    listening: String,
}

impl Serving {
    /// Starts it and waits for its address.
    #[track_caller]
    pub fn start(arguments: &[&str]) -> Self {
        let mut child = verbs_bench(&["serve", "--listen", "127.0.0.1:0", "--json"])
            .args(["--exit-with-parent", &std::process::id().to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("verbs-bench starts");
        let (sender, first_line) = mpsc::channel();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(stdout).read_line(&mut line);
            let _ = sender.send(line);
        });
        let line = first_line.recv_timeout(Duration::from_secs(10)).unwrap_or_default();
        let Ok(Listening { listening }) = serde_json::from_str(&line) else {
            let _ = child.kill();
            panic!("serve did not say where it listens but `{line}`")
        };
        Serving { child: Some(child), address: listening }
    }

    /// `ADDR:PORT`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// SIGKILL, as a crash or an impatient operator does it; returns what it had said.
    #[track_caller]
    pub fn kill(mut self) -> Finished {
        let mut child = self.child.take().expect("it is running");
        child.kill().expect("it can be killed");
        await_end(child, Instant::now(), Duration::from_secs(5))
    }

    /// Waits for its own end, as after `--sessions 1`.
    #[track_caller]
    pub fn finish(mut self, limit: Duration) -> Finished {
        await_end(self.child.take().expect("it is running"), Instant::now(), limit)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
