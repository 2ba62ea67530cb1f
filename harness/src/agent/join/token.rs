//! The secret that agents and their controller prove to each other. It lies in a file that others can't read, or comes as the
//! first line of stdin, which is how `srun` hands it to all; it is never an argument or a variable, which others can list.

use std::{
    fs::{self, OpenOptions},
    io::{self, BufRead, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::super::token::draw;

/// The fewest characters of a token: half of what is drawn.
const LEAST: usize = 32;
/// The most that are read of what should be one.
const MOST: u64 = 4096;

/// A token. Its text is in no message, log or record.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinToken(String);

impl std::fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JoinToken(..)")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It could not be read, written or drawn.
    #[error("the token of {from}: {cause}")]
    Io {
        /// The file, or stdin.
        from: String,
        /// Why not.
        cause: io::Error,
    },
    /// What is there is none.
    #[error(
        "the token of {from} has {found} characters, and needs {LEAST}; draw one with `openssl rand -hex 32`"
    )]
    Short {
        /// The file, or stdin.
        from: String,
        /// How many there are.
        found: usize,
    },
    /// Everyone on the host can read it.
    #[error("the token file {} can be read by everyone on this host; `chmod o-rwx` it and draw another token", .0.display())]
    Open(PathBuf),
}

impl JoinToken {
    /// Draws one.
    ///
    /// # Errors
    /// When the kernel gives no random bytes.
    pub fn drawn() -> Result<Self, TokenError> {
        draw().map(JoinToken).map_err(|cause| TokenError::Io { from: "the kernel".into(), cause })
    }

    /// Reads one from a file.
    ///
    /// # Errors
    /// When it can't be read, everyone can, or it is too short.
    pub fn read(file: &Path) -> Result<Self, TokenError> {
        let from = || file.display().to_string();
        let failed = |cause| TokenError::Io { from: from(), cause };
        let opened = fs::File::open(file).map_err(failed)?;
        let metadata = opened.metadata().map_err(failed)?;
        if metadata.is_file() && metadata.mode() & 0o007 != 0 {
            return Err(TokenError::Open(file.to_owned()));
        }
        first_line(io::BufReader::new(opened), from())
    }

    /// Reads one from the first line of stdin.
    ///
    /// # Errors
    /// When stdin ends before, or the line is too short.
    pub fn of_stdin() -> Result<Self, TokenError> {
        first_line(io::stdin().lock(), "stdin".into())
    }

    /// Writes it to a new file that only its owner can read.
    ///
    /// # Errors
    /// When it can't be written, or is there already.
    pub fn write(&self, file: &Path) -> Result<(), TokenError> {
        let mut options = OpenOptions::new();
        let written = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file)
            .and_then(|mut file| writeln!(file, "{}", self.0));
        written.map_err(|cause| TokenError::Io { from: file.display().to_string(), cause })
    }

    /// The line that hands it on.
    pub(crate) fn line(&self) -> String {
        format!("{}\n", self.0)
    }

    /// The proof of a side over all that both said so far.
    pub(super) fn mac(&self, side: &str, said: [&[u8]; 2]) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(self.0.as_bytes()).expect("HMAC takes keys of any length");
        mac.update(side.as_bytes());
        for text in said {
            mac.update(&(text.len() as u64).to_be_bytes());
            mac.update(text);
        }
        mac
    }
}

fn first_line(input: impl BufRead, from: String) -> Result<JoinToken, TokenError> {
    let mut line = String::new();
    match input.take(MOST).read_line(&mut line) {
        Ok(_) if line.trim().len() >= LEAST => Ok(JoinToken(line.trim().to_owned())),
        Ok(_) => Err(TokenError::Short { from, found: line.trim().len() }),
        Err(cause) => Err(TokenError::Io { from, cause }),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_written_privately_once_and_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let token = JoinToken::drawn().unwrap();
        token.write(&file).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(JoinToken::read(&file).unwrap(), token);
        assert!(matches!(token.write(&file), Err(TokenError::Io { .. })), "it overwrites nothing");
        assert_eq!(format!("{token:?}"), "JoinToken(..)");
    }

    #[test]
    fn what_everyone_reads_and_what_is_short_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        fs::write(&file, "0123456789abcdef\n").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(JoinToken::read(&file), Err(TokenError::Open(_))));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(JoinToken::read(&file), Err(TokenError::Short { found: 16, .. })));
        assert!(matches!(JoinToken::read(&folder.path().join("none")), Err(TokenError::Io { .. })));
    }
}
