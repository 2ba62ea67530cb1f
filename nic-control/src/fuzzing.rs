//! What the fuzzer reaches of parsers that nobody else calls with bytes of their own.

use std::io;

use crate::dcb::{self, Dcb};

/// What an answer over netlink says, as [`crate::read_dcb`] takes it apart; none if it answers something else.
///
/// # Errors
/// The kernel's errno, or a malformed message.
pub fn dcb_reply(bytes: &[u8]) -> io::Result<Option<Dcb>> {
    dcb::parse_reply(bytes)
}
