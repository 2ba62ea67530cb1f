//! The process of one run on this host: a responder that listens, or a requester that measures.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Command,
    sync::atomic::AtomicBool,
    time::Duration,
};

use schema::{Holding, RunSpec, Side, StartAt};

use super::{
    child::{Child, Heard, Listen},
    protocol::End,
    token::Token,
};

/// A process that belongs to a run.
pub(super) struct Job {
    /// What this host is in it.
    pub(super) side: Side,
    child: Child,
    /// The child may read it at any time before its end.
    _token: Token,
}

impl Job {
    /// Starts a responder.
    pub(super) fn serve(
        program: &Path,
        token: &str,
        (listen, device): (IpAddr, &str),
        tell: impl Fn(Heard) + Send + 'static,
    ) -> io::Result<Job> {
        let token = Token::keep(token)?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", &SocketAddr::new(listen, 0).to_string()]);
        command.arg("--token-file").arg(token.file());
        command.args(["--sessions", "1", "--json", "--exit-with-parent"]).arg(own_pid());
        if device != "auto" {
            command.arg(format!("--device={device}"));
        }
        let child = Child::spawn(command, Listen::FirstLine, Vec::new(), tell)?.told_all();
        Ok(Job { side: Side::Responder, child, _token: token })
    }

    /// Starts a requester; one that is to `hold` says so when it stands ready, and begins when [`Job::start_at`] tells it.
    pub(super) fn measure(
        program: &Path,
        token: &str,
        (peer, spec, hold): (SocketAddr, &RunSpec, bool),
        tell: impl Fn(Heard) + Send + 'static,
    ) -> io::Result<Job> {
        let token = Token::keep(token)?;
        let mut command = Command::new(program);
        command.args(["run", "--spec", "-", "--peer", &peer.to_string()]);
        command.arg("--token-file").arg(token.file());
        command.args(["--json", "--exit-with-parent"]).arg(own_pid());
        let mut input = serde_json::to_vec(spec).map_err(io::Error::other)?;
        input.push(b'\n');
        let child = if hold {
            command.arg("--hold");
            Child::spawn(command, Listen::FirstLineIf(is_holding), input, tell)?
        } else {
            Child::spawn(command, Listen::End, input, tell)?.told_all()
        };
        Ok(Job { side: Side::Requester, child, _token: token })
    }

    /// Tells a requester that holds its moment; any other is told nothing.
    pub(super) fn start_at(&self, at_monotonic_ns: u64) {
        let start = StartAt { start_at_monotonic_ns: at_monotonic_ns };
        let mut line = serde_json::to_vec(&start).expect("a number is JSON");
        line.push(b'\n');
        self.child.tell(line);
    }

    /// Waits for its end; kills it after `patience`, or when it shall hurry.
    pub(super) fn end(mut self, patience: Duration, hurry: &AtomicBool, stdout: Vec<u8>) -> io::Result<End> {
        let (status, stderr) = self.child.finish(patience, hurry)?;
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        Ok(End { status: status.into_raw(), stdout, stderr })
    }
}

/// Whether a requester says that it stands ready.
fn is_holding(line: &str) -> bool {
    serde_json::from_str::<Holding>(line).is_ok()
}

/// Ours, for a child that shall not outlive us.
fn own_pid() -> String {
    std::process::id().to_string()
}
