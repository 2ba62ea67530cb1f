//! The one-time token of a run: both processes read it from a file that only this user can, and it dies with the run.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 32;

/// A token in a file of a private folder; both are removed when it is dropped.
pub(super) struct Token {
    file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Token {
    /// Draws a token.
    pub(super) fn draw() -> io::Result<Token> {
        let mut bytes = [0u8; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let folder = tempfile::Builder::new().prefix("rdma-harness-").tempdir()?;
        let file = folder.path().join("token");
        let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file)?;
        open.write_all(text.as_bytes())?;
        Ok(Token { file, _folder: folder })
    }

    /// Where it lies.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_private_new_each_time_and_gone_afterwards() {
        let (one, two) = (Token::draw().unwrap(), Token::draw().unwrap());
        let text = std::fs::read_to_string(one.file()).unwrap();
        assert_eq!(text.len(), 2 * TOKEN_BYTES);
        assert_ne!(text, std::fs::read_to_string(two.file()).unwrap());
        assert_eq!(one.file().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let file = one.file().to_owned();
        drop(one);
        assert!(!file.exists() && !file.parent().unwrap().exists());
    }
}
