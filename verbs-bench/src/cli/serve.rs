//! `verbs-bench serve`: listens, serves one requester after the other, returns to accept whatever happened to the last.

use std::{io::Write, net::TcpListener, path::PathBuf};

use clap::Args;
use schema::{CpuChoice, NodeChoice};

use super::{EXIT_FAILED, EXIT_USAGE, complain};
use crate::{
    connect::{ConnectError, auth::Token, socket::DEFAULT_PORT},
    session::{self, own::Own},
};

/// Flags of `serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  verbs-bench serve
  verbs-bench serve --listen 10.0.0.2:18515 --device mlx5_0 --token-file token --sessions 1")]
pub(super) struct Serve {
    /// Address and port to listen on; port 0 lets the kernel choose
    #[arg(long, value_name = "ADDR:PORT", default_value_t = format!("[::]:{DEFAULT_PORT}"))]
    listen: String,
    /// The only device that requesters may use here [default: what the requester asks, else the first usable]
    #[arg(short = 'd', long)]
    device: Option<String>,
    /// Port of the device [default: as the requester says]
    #[arg(short = 'i', long)]
    ib_port: Option<u8>,
    /// GID index [default: chosen by the route to the requester]
    #[arg(short = 'x', long)]
    gid_index: Option<u32>,
    /// CPUs of the polling threads: auto, none, or a list [default: as the requester says]
    #[arg(long)]
    cpu: Option<CpuChoice>,
    /// NUMA node of the message buffers: auto, none, or a node [default: as the requester says]
    #[arg(long)]
    memory_node: Option<NodeChoice>,
    /// File with a secret of 16 characters or more; requesters must hold the same
    #[arg(long, value_name = "FILE", env = "VERBS_BENCH_TOKEN_FILE")]
    token_file: Option<PathBuf>,
    /// End after so many requesters [default: never]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    sessions: Option<u64>,
    /// Print the address as a line of JSON on stdout
    #[arg(long)]
    json: bool,
    /// End when the process PID, which starts this one, ends
    #[arg(long, value_name = "PID")]
    exit_with_parent: Option<u32>,
}

impl Serve {
    pub(super) fn execute(self) -> u8 {
        if let Some(parent) = self.exit_with_parent {
            session::local::exit_with_parent(parent);
        }
        let token = match self.token_file.as_deref().map(Token::read).transpose() {
            Ok(token) => token,
            Err(error) => {
                complain(error);
                return EXIT_USAGE;
            }
        };
        match self.listen() {
            Ok(listener) => serve_all(&listener, token.as_ref(), &self.own(), self.sessions),
            Err(error) => {
                complain(error);
                EXIT_FAILED
            }
        }
    }

    fn own(&self) -> Own<'static> {
        Own {
            device: self.device.clone(),
            port_num: self.ib_port,
            gid_index: self.gid_index,
            cpu: self.cpu.clone(),
            memory_node: self.memory_node,
            told: None,
        }
    }

    fn listen(&self) -> Result<TcpListener, ConnectError> {
        let failed = |source| ConnectError::Listen { listen: self.listen.clone(), source };
        let listener = bind(&self.listen)?;
        let address = listener.local_addr().map_err(failed)?;
        if self.json {
            println!("{{\"listening\":\"{address}\"}}");
            std::io::stdout().flush().map_err(failed)?;
        } else {
            eprintln!("verbs-bench: listening on {address}");
        }
        if self.token_file.is_none() && !address.ip().is_loopback() {
            eprintln!("verbs-bench: {OPEN_TO_ALL}");
        }
        Ok(listener)
    }
}

/// Said where a responder without a token can be reached from elsewhere.
pub(super) const OPEN_TO_ALL: &str = "no --token-file: whoever reaches this port may start measurements here";

/// Binds `ADDR:PORT`; `[::]` is every address, also on a host without IPv6.
pub(super) fn bind(listen: &str) -> Result<TcpListener, ConnectError> {
    let bound = match (TcpListener::bind(listen), listen.strip_prefix("[::]:")) {
        (Err(_), Some(port)) => TcpListener::bind(format!("0.0.0.0:{port}")),
        (bound, _) => bound,
    };
    bound.map_err(|source| ConnectError::Listen { listen: listen.to_owned(), source })
}

/// Serves one requester after the other until so many sessions have been; returns the exit code of the last.
pub(super) fn serve_all(
    listener: &TcpListener,
    token: Option<&Token>,
    own: &Own<'_>,
    sessions: Option<u64>,
) -> u8 {
    let mut served = 0;
    let mut last = 0;
    while sessions.is_none_or(|sessions| served < sessions) {
        let (stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                complain(format!("accept: {error}"));
                return EXIT_FAILED;
            }
        };
        last = match session::responder::serve(stream, token, own) {
            Ok(()) => {
                served += 1;
                0
            }
            Err(session::responder::Ended::BeforePlan(error)) => {
                // A stranger, a wrong token, a health check: not a session, and no reason to stop.
                complain(format!("{peer}: {error}"));
                last
            }
            Err(session::responder::Ended::InSession(error)) => {
                complain(format!("{peer}: {error}"));
                served += 1;
                EXIT_FAILED
            }
        };
    }
    last
}
