//! A connection between an agent and its controller: bounded in time while its ends do not know each other, noticed as dead
//! within a minute afterwards, and ended when its writing half is dropped.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Shutdown, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use rustix::net::sockopt;

/// Unanswered data, and idle time before the kernel asks whether the other host is still there; signs of life notice an end
/// that hangs.
const DEAD_AFTER: Duration = Duration::from_secs(30);
/// How often the kernel asks.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// The connection, as it is read.
pub struct Stream {
    tcp: TcpStream,
    /// When reading gives up; none is never.
    deadline: Option<Instant>,
}

/// The connection, as it is written.
pub(super) struct Output(TcpStream);

impl Stream {
    /// A connection whose other end has so long to make itself known.
    ///
    /// # Errors
    /// When the kernel refuses its options.
    pub fn new(tcp: TcpStream, patience: Duration) -> io::Result<Stream> {
        tcp.set_nonblocking(false)?;
        tcp.set_nodelay(true)?;
        tcp.set_write_timeout(Some(patience))?;
        sockopt::set_socket_keepalive(&tcp, true)?;
        sockopt::set_tcp_keepidle(&tcp, DEAD_AFTER)?;
        sockopt::set_tcp_keepintvl(&tcp, ASK_EVERY)?;
        sockopt::set_tcp_keepcnt(&tcp, 3)?;
        sockopt::set_tcp_user_timeout(&tcp, DEAD_AFTER.as_millis() as u32)?;
        Ok(Stream { tcp, deadline: Some(Instant::now() + patience) })
    }

    /// Lifts the bound on time, and gives the other half.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn settle(&mut self) -> io::Result<Output> {
        self.deadline = None;
        self.tcp.set_read_timeout(None)?;
        self.tcp.set_write_timeout(None)?;
        Ok(Output(self.tcp.try_clone()?))
    }

    /// Who is at the other end.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.tcp.peer_addr().ok()
    }

    /// The address of this end.
    pub fn own_address(&self) -> Option<IpAddr> {
        self.tcp.local_addr().ok().map(|address| address.ip().to_canonical())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.tcp.set_read_timeout(Some(left))?;
        }
        match self.tcp.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(io::ErrorKind::TimedOut.into()),
            read => read,
        }
    }
}

/// Only while its ends get to know each other.
impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.tcp.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.tcp.flush()
    }
}

impl Write for Output {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.0.write(buffer)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Write); // the other end may be gone already
    }
}
