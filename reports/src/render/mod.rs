//! Prints what was computed, for people and for programs. Computes nothing: a number that is not in the campaign or in the
//! comparison is not printed.

mod change;
pub mod cluster;
mod evidence;
mod factorial;
mod facts;
mod figures;
pub mod history;
mod html;
mod json;
mod markdown;
mod methods;
pub(crate) mod number;
mod numbers;
mod ranking;
mod sentence;
mod terminal;
mod view;
mod words;

pub use factorial::{design_limits, design_name, roman};
pub use html::html;
pub use json::{json, json_schema, report_json};
pub use markdown::markdown;
pub use ranking::does;
pub use sentence::sentence;
pub use terminal::{Look, table, terminal};

/// Why a report cannot be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A stored histogram cannot be read.
    #[error(
        "{workload} at {msg_bytes}: {source}; the store is damaged, report another campaign or restore the file"
    )]
    Histogram {
        /// The workload.
        workload: String,
        /// The message size.
        msg_bytes: schema::Bytes,
        /// What is wrong with it.
        source: schema::histogram::HistogramError,
    },
    /// The drawing library refused.
    #[error("drawing the figure `{name}`: {cause}; the Markdown report has the numbers")]
    Figure {
        /// Which.
        name: String,
        /// Why.
        cause: String,
    },
    /// The template refused.
    #[error("filling the HTML template: {0}; the Markdown report has the same content")]
    Template(#[from] askama::Error),
}
