//! What columns hold: words, JSON, times, numbers; and why rows are not what they should be.

use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};

/// Why rows are not a document, or a document can't become rows.
#[derive(Debug, thiserror::Error)]
pub(super) enum RowError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Column(#[from] rusqlite::types::FromSqlError),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("histogram: {0}")]
    Base64(#[from] base64::DecodeError),
    #[error("`{0}` is missing or of another type")]
    Shape(String),
    #[error("`{0}` is not a finite number")]
    NotFinite(&'static str),
    #[error("records of a round: {0}")]
    Packed(#[from] std::io::Error),
    #[error("no random number: {0}")]
    Random(#[from] getrandom::Error),
}

/// The word a unit variant is in JSON, without the quotes.
pub(super) fn word(value: &impl Serialize) -> Result<String, RowError> {
    serde_json::to_value(value)?.as_str().map(str::to_owned).ok_or_else(|| RowError::Shape("word".into()))
}

/// The unit variant of a word.
pub(super) fn from_word<T: DeserializeOwned>(word: String) -> Result<T, RowError> {
    Ok(serde_json::from_value(word.into())?)
}

/// A value as the JSON text of a column.
pub(super) fn json(value: &impl Serialize) -> Result<String, RowError> {
    Ok(serde_json::to_string(value)?)
}

/// The value of a JSON text.
pub(super) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, RowError> {
    Ok(serde_json::from_str(text)?)
}

/// Numbers that SQLite and JSON give back as they were: neither holds NaN or an infinity.
pub(super) fn finite(what: &'static str, numbers: impl IntoIterator<Item = f64>) -> Result<(), RowError> {
    if numbers.into_iter().all(f64::is_finite) { Ok(()) } else { Err(RowError::NotFinite(what)) }
}

/// SHA-256, hex.
pub(super) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hex digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name that no two stores give twice.
pub(super) fn new_uid() -> Result<String, RowError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(hex(&bytes))
}
