//! The process of one run on this host: a responder that listens, or a requester that measures.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::Command,
    time::Duration,
};

use schema::{RunSpec, Side};

use super::{
    child::{Child, Heard, Listen},
    protocol::End,
    token::Token,
};

/// A process that belongs to a run.
pub(super) struct Job {
    /// Number of the run.
    pub(super) run: u32,
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
        run: u32,
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
        let child = Child::spawn(command, Listen::FirstLine, Vec::new(), tell)?;
        Ok(Job { run, side: Side::Responder, child, _token: token })
    }

    /// Starts a requester.
    pub(super) fn measure(
        program: &Path,
        run: u32,
        token: &str,
        (peer, spec): (SocketAddr, &RunSpec),
        tell: impl Fn(Heard) + Send + 'static,
    ) -> io::Result<Job> {
        let token = Token::keep(token)?;
        let mut command = Command::new(program);
        command.args(["run", "--spec", "-", "--peer", &peer.to_string()]);
        command.arg("--token-file").arg(token.file());
        command.args(["--json", "--exit-with-parent"]).arg(own_pid());
        let input = serde_json::to_vec(spec).map_err(io::Error::other)?;
        let child = Child::spawn(command, Listen::End, input, tell)?;
        Ok(Job { run, side: Side::Requester, child, _token: token })
    }

    /// Waits for its end; kills it after `patience`.
    pub(super) fn end(mut self, patience: Duration, stdout: Vec<u8>) -> io::Result<End> {
        let (status, stderr) = self.child.finish(patience)?;
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        Ok(End { status: status.into_raw(), stdout, stderr })
    }
}

/// Ours, for a child that shall not outlive us.
fn own_pid() -> String {
    std::process::id().to_string()
}
