//! The comparison as JSON: the data of every other view, with the words beside it.

use serde::Serialize;

use crate::compare::Comparison;

use super::{sentence::sentence, words};

/// The document.
#[derive(Serialize)]
struct Document<'c> {
    /// In one word or two.
    verdict_word: &'static str,
    /// In one sentence.
    verdict_sentence: String,
    exit_code: u8,
    #[serde(flatten)]
    comparison: &'c Comparison,
}

/// Pretty JSON.
pub fn json(comparison: &Comparison) -> String {
    let document = Document {
        verdict_word: words::campaign_verdict(comparison.verdict),
        verdict_sentence: sentence(comparison),
        exit_code: comparison.exit_code(),
        comparison,
    };
    serde_json::to_string_pretty(&document).expect("a comparison has string keys only") + "\n"
}
