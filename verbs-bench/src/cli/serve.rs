//! `verbs-bench serve`: listens, serves one requester after the other, returns to accept whatever happened to the last.

use std::{io::Write, net::TcpListener, path::PathBuf};

use clap::Args;

use super::{EXIT_FAILED, EXIT_USAGE, complain};
use crate::{
    connect::{ConnectError, auth::Token, socket::DEFAULT_PORT},
    session,
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
            Ok(listener) => self.serve(&listener, token.as_ref()),
            Err(error) => {
                complain(error);
                EXIT_FAILED
            }
        }
    }

    fn listen(&self) -> Result<TcpListener, ConnectError> {
        let failed = |source| ConnectError::Listen { listen: self.listen.clone(), source };
        let listener = match TcpListener::bind(&self.listen) {
            // A host without IPv6 still has the default address's port.
            Err(_) if self.listen == format!("[::]:{DEFAULT_PORT}") => {
                TcpListener::bind(("0.0.0.0", DEFAULT_PORT))
            }
            bound => bound,
        }
        .map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if self.json {
            println!("{{\"listening\":\"{address}\"}}");
            std::io::stdout().flush().map_err(failed)?;
        } else {
            eprintln!("verbs-bench: listening on {address}");
        }
        if self.token_file.is_none() && !address.ip().is_loopback() {
            eprintln!("verbs-bench: no --token-file: whoever reaches this port may start measurements here");
        }
        Ok(listener)
    }

    fn serve(&self, listener: &TcpListener, token: Option<&Token>) -> u8 {
        let mut served = 0;
        let mut last = 0;
        while self.sessions.is_none_or(|sessions| served < sessions) {
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) => {
                    complain(format!("accept: {error}"));
                    return EXIT_FAILED;
                }
            };
            last = match session::responder::serve(stream, token, self.device.as_deref()) {
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
}
