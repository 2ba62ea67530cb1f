//! The agent's way to its controller: looked up and tried again until it is there, since who starts agents does not wait for
//! the controller, or for the name service to know it.

use std::{
    fmt, io,
    io::{BufReader, Write},
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _},
    str::FromStr,
    thread,
    time::{Duration, Instant},
};

use super::{HandshakeError, JoinToken, Stream, handshake};
use crate::{
    agent::{identity::Environment, protocol::Identity},
    interrupt::Interrupt,
};

/// How long the other end may take to make itself known.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(300);
/// What stands for the host where srun was started.
const LAUNCH_NODE: &str = "@slurm";
/// Where Slurm tells it.
const LAUNCH_VARIABLE: &str = "SLURM_LAUNCH_NODE_IPADDR";

/// Where a controller listens, as it is written: `HOST:PORT`, or `@slurm:PORT` for the host where srun was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    host: String,
    port: u16,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is not HOST:PORT");
        let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = port.parse().map_err(|_| wrong())?;
        if host.is_empty() || port == 0 {
            return Err(wrong());
        }
        Ok(Target { host: host.to_owned(), port })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl Target {
    /// With the host that the environment names where none is named.
    ///
    /// # Errors
    /// When it names none.
    pub fn resolved(self, environment: &Environment) -> Result<Target, String> {
        if self.host != LAUNCH_NODE {
            return Ok(self);
        }
        let missing = || {
            format!(
                "{LAUNCH_VARIABLE} is not set, so `{LAUNCH_NODE}` names no host; srun sets it for what it starts, else name the host"
            )
        };
        let host = environment.get(LAUNCH_VARIABLE).filter(|host| !host.is_empty()).ok_or_else(missing)?;
        Ok(Target { host: host.clone(), ..self })
    }

    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok((self.host.as_str(), self.port).to_socket_addrs()?.collect())
    }
}

/// Why an agent did not come to its controller.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// It is not to be reached.
    #[error("the controller at {target} could not be reached within {} s: {cause}", within.as_secs())]
    Unreachable {
        /// Where it should be.
        target: Target,
        /// How long it was tried.
        within: Duration,
        /// What came of the last attempt.
        cause: String,
    },
    /// Someone is there who is not our controller, or does not want us.
    #[error("{target}: {cause}")]
    Handshake {
        /// Where that is.
        target: Target,
        /// Why not.
        cause: HandshakeError,
    },
    /// Someone asked to stop meanwhile.
    #[error("interrupted before the controller was reached")]
    Interrupted,
}

/// Connects to the controller and proves the token; gives what it says, and where to answer.
///
/// # Errors
/// When it is not there in time, is not ours, or refuses.
pub fn dial(
    target: &Target,
    token: &JoinToken,
    identity: &Identity,
    hostname: Option<String>,
    within: Duration,
    interrupt: &Interrupt,
) -> Result<(BufReader<Stream>, impl Write + Send + use<>), DialError> {
    let deadline = Instant::now() + within;
    loop {
        let cause = match connect(target) {
            Ok(stream) => {
                let identity = Identity { address: address(identity, &stream), ..identity.clone() };
                match handshake::join(stream, token, identity, hostname.clone()) {
                    Ok(link) => return Ok(link),
                    Err(cause) if cause.is_final() => {
                        return Err(DialError::Handshake { target: target.clone(), cause });
                    }
                    Err(cause) => cause.to_string(),
                }
            }
            Err(cause) => cause.to_string(),
        };
        if interrupt.is_raised() {
            return Err(DialError::Interrupted);
        }
        if Instant::now() >= deadline {
            return Err(DialError::Unreachable { target: target.clone(), within, cause });
        }
        thread::sleep(PAUSE);
    }
}

fn connect(target: &Target) -> io::Result<Stream> {
    let mut last = io::Error::other("its name has no address");
    for address in target.addresses()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(tcp) => return Stream::new(tcp, HANDSHAKE),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Where this host is reached: as it was said, else where it reaches its controller from.
fn address(identity: &Identity, stream: &Stream) -> Option<IpAddr> {
    identity.address.or_else(|| stream.own_address())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_a_host_and_a_port() {
        for text in ["node1:18516", "[::1]:5", "10.0.0.1:65535", "@slurm:7"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
        for text in ["node1", "node1:", ":5", "node1:0", "node1:70000", "node1:x"] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_launch_node_is_what_srun_says() {
        let environment = Environment::from([(LAUNCH_VARIABLE.to_owned(), "10.0.0.9".to_owned())]);
        let target = "@slurm:7".parse::<Target>().unwrap();
        assert_eq!(target.clone().resolved(&environment).unwrap().to_string(), "10.0.0.9:7");
        assert!(target.resolved(&Environment::new()).unwrap_err().contains("srun"));
    }
}
