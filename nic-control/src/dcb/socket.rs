//! One question over rtnetlink, and its answer's payload.

use std::io;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
    sockopt::{Timeout, set_socket_timeout},
};

use super::message;

/// The longest wait for the kernel. It answers within the call; what exceeds this is no answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(5);
/// An answer with every attribute, ten times over.
const ANSWER_BYTES: usize = 32 * 1024;

/// Sends a request and returns the DCB part of its answer.
pub(super) fn exchange(request: &[u8]) -> io::Result<Vec<u8>> {
    // No protocol is number 0, NETLINK_ROUTE.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
    send(&socket, request, SendFlags::empty())?;
    let mut answer = vec![0; ANSWER_BYTES];
    // Bounded by the deadline; only the kernel can write to a netlink socket of ours that nobody knows.
    loop {
        let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        if let Some(payload) = message::payload(&answer[..length])? {
            return Ok(payload.to_vec());
        }
    }
}
