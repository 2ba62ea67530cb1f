//! Finding one's way in a history: which series are meant, which nights are shown, and what of a series there is to acknowledge.
//! What is said about nights is `reports::history`; showing it is `reports::render::history`.

mod select;
mod since;
mod standing;

pub use select::{NothingMatches, keep_only, matching};
pub use since::Since;
pub use standing::standing;
