//! The one-time token of a run. It travels as text from the controller to both agents; on a host it lies in a file without
//! a name, which the child reaches through its agent and which is gone with the run or with the agent, however that ends.

use std::{
    fs::{File, Permissions},
    io::{self, Write as _},
    os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _},
    path::PathBuf,
};

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 32;

/// Draws a token.
///
/// # Errors
/// When the kernel gives no random bytes.
pub fn draw() -> io::Result<String> {
    let mut bytes = [0u8; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A token on this host, for as long as this value lives.
pub(super) struct Token(File);

impl Token {
    /// Keeps a token that came over the link.
    pub(super) fn keep(text: &str) -> io::Result<Token> {
        if text.len() != 2 * TOKEN_BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the token is not of 64 hexadecimal digits",
            ));
        }
        let mut file = tempfile::tempfile()?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        Ok(Token(file))
    }

    /// Where processes of this user can read it.
    pub(super) fn file(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd()))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_token_is_private_nameless_new_each_time_and_gone_afterwards() {
        let (one, two) = (Token::keep(&draw().unwrap()).unwrap(), Token::keep(&draw().unwrap()).unwrap());
        let text = std::fs::read_to_string(one.file()).unwrap();
        assert_eq!(text.len(), 2 * TOKEN_BYTES);
        assert_eq!(text, std::fs::read_to_string(one.file()).unwrap(), "both children read it whole");
        assert_ne!(text, std::fs::read_to_string(two.file()).unwrap());
        let metadata = one.file().metadata().unwrap();
        assert_eq!((metadata.mode() & 0o777, metadata.nlink()), (0o600, 0));
        let file = one.file();
        drop(one);
        assert_ne!(std::fs::read_to_string(file).ok(), Some(text));
    }

    #[test]
    fn what_is_no_token_is_not_kept() {
        for text in ["", "ab", &"x".repeat(64), &"a".repeat(65)] {
            assert!(Token::keep(text).is_err(), "{text}");
        }
    }
}
