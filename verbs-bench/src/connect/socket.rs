//! The TCP socket below: dialling with a time-out, keep-alive, and the one question a hot loop may ask, "is the peer there?"

use std::{
    io,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    time::Duration,
};

use rustix::net::{RecvFlags, sockopt};

use super::frame::ConnectError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to `ADDR:PORT`, trying every address the name has.
pub fn dial(peer: &str) -> Result<TcpStream, ConnectError> {
    let unreachable = |source| ConnectError::Unreachable { peer: peer.to_owned(), source };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in peer.to_socket_addrs().map_err(unreachable)? {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => {
                prepare(&stream)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(unreachable(last))
}

/// No Nagle delay, and a peer whose host dies silently is noticed within ten seconds.
pub fn prepare(stream: &TcpStream) -> Result<(), ConnectError> {
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true).map_err(io::Error::from)?;
    sockopt::set_tcp_keepidle(stream, Duration::from_secs(4)).map_err(io::Error::from)?;
    sockopt::set_tcp_keepintvl(stream, Duration::from_secs(2)).map_err(io::Error::from)?;
    sockopt::set_tcp_keepcnt(stream, 3).map_err(io::Error::from)?;
    Ok(())
}

/// What the socket says without waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peek {
    /// Connected, nothing to read.
    Quiet,
    /// A message waits.
    Waiting,
    /// The peer is gone.
    Gone,
}

/// Looks at the socket without waiting or taking anything.
pub fn peek(stream: &TcpStream) -> Peek {
    let mut byte = [0u8; 1];
    match rustix::net::recv(stream, &mut byte[..], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok((_, 0)) => Peek::Gone,
        Ok(_) => Peek::Waiting,
        Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Peek::Quiet,
        Err(_) => Peek::Gone,
    }
}

/// Reads `ADDR:PORT`, where the port may be missing and is then perftest's 18515.
pub fn with_default_port(peer: &str) -> String {
    let has_port = peer.parse::<SocketAddr>().is_ok()
        || peer
            .rsplit_once(':')
            .is_some_and(|(host, port)| !host.contains(':') && port.parse::<u16>().is_ok());
    if has_port {
        return peer.to_owned();
    }
    if peer.contains(':') && !peer.starts_with('[') {
        return format!("[{peer}]:{DEFAULT_PORT}");
    }
    format!("{peer}:{DEFAULT_PORT}")
}

/// The port perftest uses too.
pub const DEFAULT_PORT: u16 = 18_515;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_port_may_be_missing() {
        assert_eq!(with_default_port("10.0.0.2"), "10.0.0.2:18515");
        assert_eq!(with_default_port("node7:4000"), "node7:4000");
        assert_eq!(with_default_port("fe80::1"), "[fe80::1]:18515");
        assert_eq!(with_default_port("[fe80::1]:4000"), "[fe80::1]:4000");
    }

    #[test]
    fn peek_sees_quiet_waiting_and_gone() {
        use std::io::Write;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut other = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        assert_eq!(peek(&stream), Peek::Quiet);
        other.write_all(b"x").unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(peek(&stream), Peek::Waiting);
        drop(other);
        let mut taken = [0];
        std::io::Read::read_exact(&mut &stream, &mut taken).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(peek(&stream), Peek::Gone);
    }

    #[test]
    fn nobody_there_names_the_address() {
        let text = dial("127.0.0.1:1").unwrap_err().to_string();
        assert!(text.contains("127.0.0.1:1") && text.contains("verbs-bench serve"), "{text}");
    }
}
