//! The key of one snapshot: made of random bytes and forgotten, so that nobody can try out what a token was made of.

use sha2::{Digest as _, Sha256};

/// Thirty-two bytes that choose every token of a snapshot.
pub(super) struct Key([u8; 32]);

impl From<[u8; 32]> for Key {
    fn from(bytes: [u8; 32]) -> Self {
        Key(bytes)
    }
}

impl Key {
    /// A new one.
    pub(super) fn random() -> Result<Key, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Key(bytes))
    }

    /// What becomes of something of this kind.
    pub(super) fn digest(&self, domain: &str, bytes: &[u8]) -> [u8; 32] {
        Sha256::new()
            .chain_update(self.0)
            .chain_update(domain)
            .chain_update([0])
            .chain_update(bytes)
            .finalize()
            .into()
    }

    /// The first digits of it.
    pub(super) fn hex(&self, domain: &str, bytes: &[u8], digits: usize) -> String {
        let mut text = String::new();
        let mut input = bytes.to_vec();
        while text.len() < digits {
            let digest = self.digest(domain, &input);
            text.extend(digest.iter().map(|byte| format!("{byte:02x}")));
            input = digest.to_vec();
        }
        text.truncate(digits);
        text
    }
}
