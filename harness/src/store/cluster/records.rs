//! The records of a round as one compressed text: a line of JSON each.
//!
//! Records of one round differ in little but their numbers, so together they take a fraction of what each would take alone
//! (docs/adr/0017). One record is read by unpacking its round.

use std::io::{self, Read as _};

use schema::RunRecord;

use super::super::columns::RowError;

/// Where more effort costs more time than it saves room.
const LEVEL: i32 = 3;
/// The largest text that is unpacked: no round comes near it, and a damaged or foreign blob shall not fill the memory.
const MOST_BYTES: u64 = 4 << 30;

/// Compresses a text.
pub(super) fn pack_text(text: &str) -> Result<Vec<u8>, RowError> {
    Ok(zstd::encode_all(text.as_bytes(), LEVEL)?)
}

/// The text that was compressed.
pub(super) fn unpack_text(packed: &[u8]) -> Result<String, RowError> {
    let mut text = String::new();
    let read = zstd::Decoder::new(packed)?.take(MOST_BYTES).read_to_string(&mut text)?;
    if read as u64 == MOST_BYTES {
        return Err(io::Error::other(format!("they are longer than {MOST_BYTES} bytes")).into());
    }
    Ok(text)
}

/// Packs the records of a round.
pub(super) fn pack<'r>(records: impl Iterator<Item = &'r RunRecord>) -> Result<Vec<u8>, RowError> {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
    for record in records {
        serde_json::to_writer(&mut encoder, record)?;
        io::Write::write_all(&mut encoder, b"\n")?;
    }
    Ok(encoder.finish()?)
}

/// Every record of a round.
pub(super) fn unpack(packed: &[u8]) -> Result<Vec<RunRecord>, RowError> {
    let lines = unpack_text(packed)?;
    lines.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// The record at a position in its round; none behind the last.
pub(super) fn unpack_one(packed: &[u8], position: usize) -> Result<Option<RunRecord>, RowError> {
    let lines = unpack_text(packed)?;
    lines.lines().nth(position).map(|line| Ok(serde_json::from_str(line)?)).transpose()
}
