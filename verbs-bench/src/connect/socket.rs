//! The TCP socket below: dialling with a time-out, keep-alive, and the one question a hot loop may ask, "is the peer there?"

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpStream, ToSocketAddrs, UdpSocket},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    net::{AddressFamily, RecvFlags, SocketFlags, SocketType, sockopt},
};

use super::frame::ConnectError;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects to `ADDR:PORT`, trying every address the name has; from `source`, if one is given, only those of its family.
/// A link-local IPv6 address names its interface: `[fe80::1%eth0]:18515`.
pub fn dial(peer: &str, source: Option<IpAddr>) -> Result<TcpStream, ConnectError> {
    let unreachable = |source| ConnectError::Unreachable { peer: peer.to_owned(), source };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses(peer).map_err(unreachable)? {
        let connected = match source {
            None => TcpStream::connect_timeout(&address, CONNECT_TIMEOUT),
            Some(source) if source.is_ipv4() == address.is_ipv4() => connect_from(source, &address),
            Some(source) => Err(io::Error::other(format!("{address} is of another family than {source}"))),
        };
        match connected {
            Ok(stream) => {
                prepare(&stream)?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(unreachable(last))
}

/// The addresses of `ADDR:PORT`. The standard library reads scopes as numbers only; their names are looked up here.
fn addresses(peer: &str) -> io::Result<Vec<SocketAddr>> {
    let scoped = peer.strip_prefix('[').and_then(|rest| rest.split_once('%'));
    if let Some((address, rest)) = scoped
        && let (Ok(address), Some((scope, port))) = (address.parse::<Ipv6Addr>(), rest.split_once("]:"))
    {
        let port = port.parse().map_err(|_| io::Error::other(format!("`{port}` is no port")))?;
        let scope = scope.parse().or_else(|_| interface_index(scope))?;
        return Ok(vec![SocketAddrV6::new(address, port, 0, scope).into()]);
    }
    Ok(peer.to_socket_addrs()?.collect())
}

fn interface_index(name: &str) -> io::Result<u32> {
    let any = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    rustix::net::netdevice::name_to_index(&any, name)
        .map_err(|errno| io::Error::other(format!("there is no network interface `{name}` here: {errno}")))
}

/// Connects from a given address of this host, within the same time.
fn connect_from(source: IpAddr, address: &SocketAddr) -> io::Result<TcpStream> {
    let family = if source.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    let from = match (source, address) {
        (IpAddr::V6(source), SocketAddr::V6(to)) => SocketAddrV6::new(source, 0, 0, to.scope_id()).into(),
        _ => SocketAddr::new(source, 0),
    };
    rustix::net::bind(&socket, &from)
        .map_err(|errno| io::Error::other(format!("source address {source}: {errno}")))?;
    match rustix::net::connect(&socket, address) {
        Ok(()) => {}
        Err(rustix::io::Errno::INPROGRESS) => {
            let mut connecting = [PollFd::new(&socket, PollFlags::OUT)];
            let timeout = Timespec { tv_sec: CONNECT_TIMEOUT.as_secs() as i64, tv_nsec: 0 };
            if rustix::event::poll(&mut connecting, Some(&timeout))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sockopt::socket_error(&socket)??;
        }
        Err(errno) => return Err(errno.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
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
    fn a_connection_comes_from_the_address_that_was_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = listener.local_addr().unwrap().to_string();
        let source: IpAddr = "127.0.0.2".parse().unwrap();
        let stream = dial(&peer, Some(source)).unwrap();
        assert_eq!(stream.local_addr().unwrap().ip(), source);
        assert_eq!(listener.accept().unwrap().1.ip(), source);
        let text = dial(&peer, Some("::1".parse().unwrap())).unwrap_err().to_string();
        assert!(text.contains("another family"), "{text}");
        let text = dial(&peer, Some("192.0.2.1".parse().unwrap())).unwrap_err().to_string();
        assert!(text.contains("source address 192.0.2.1"), "{text}");
        drop(listener);
        assert!(dial(&peer, Some(source)).is_err());
    }

    #[test]
    fn a_scope_may_be_a_name() {
        let lo = addresses("[fe80::1%lo]:7").unwrap();
        assert_eq!(lo, [SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 0, 1).into()]);
        assert!(addresses("[fe80::1%nowhere]:7").unwrap_err().to_string().contains("nowhere"));
    }

    #[test]
    fn nobody_there_names_the_address() {
        let text = dial("127.0.0.1:1", None).unwrap_err().to_string();
        assert!(text.contains("127.0.0.1:1") && text.contains("verbs-bench serve"), "{text}");
    }
}
