//! What a launcher says while it waits, and to whom.

use std::{fmt, sync::Arc};

/// Where lines for the user go.
#[derive(Clone)]
pub struct Say(Arc<dyn Fn(&str) + Send + Sync>);

impl Say {
    /// To whoever this is.
    pub fn new(to: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Say(Arc::new(to))
    }

    /// Says a line.
    pub(super) fn line(&self, text: &str) {
        (self.0)(text);
    }
}

impl fmt::Debug for Say {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Say(..)")
    }
}
