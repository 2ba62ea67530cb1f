//! Which address the kernel would send from to reach a peer through a given network device. No packet is sent.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket},
    os::fd::AsRawFd,
};

/// The UDP port of RoCE v2; any would do, since connecting a UDP socket only looks up the route.
const ROCE_V2_UDP_PORT: u16 = 4791;

/// The source address towards `peer` through `netdev`, which lies in our network namespace with that interface index.
pub(super) fn source_address(netdev: &str, ifindex: u32, peer: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match peer {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    bind_to_device(&socket, netdev)?;
    let target = match peer {
        IpAddr::V4(peer) => SocketAddr::from((peer, ROCE_V2_UDP_PORT)),
        // A link-local peer is reachable only with its scope; for others the kernel ignores it.
        IpAddr::V6(peer) => SocketAddrV6::new(peer, ROCE_V2_UDP_PORT, 0, ifindex).into(),
    };
    socket.connect(target)?;
    Ok(socket.local_addr()?.ip())
}

/// `SO_BINDTODEVICE`, which rustix lacks; open to everyone since Linux 5.7.
fn bind_to_device(socket: &UdpSocket, netdev: &str) -> io::Result<()> {
    let len = netdev.len() as libc::socklen_t;
    // SAFETY: an open socket, and a name of `len` bytes that the kernel copies and need not be terminated.
    let rc = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_BINDTODEVICE,
            netdev.as_ptr().cast(),
            len,
        )
    };
    if rc == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_reaches_itself_from_itself() {
        let lo = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert_eq!(source_address("lo", 1, lo).unwrap(), lo);
    }

    #[test]
    fn an_absent_device_is_an_error() {
        let lo = IpAddr::from(Ipv4Addr::LOCALHOST);
        assert_eq!(source_address("no-such-dev", 1, lo).unwrap_err().raw_os_error(), Some(libc::ENODEV));
    }
}
