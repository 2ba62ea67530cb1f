//! Clusters: every pair of nodes measured, in rounds of pairs that start together, and what stands out measured again.
//!
//! A suite (`suite/`) names what a pair measures, its pattern (`pattern/`) which pairs run at the same time. Someone has to
//! start an agent on every node (`launch/`); who looks after them from then on is the crew (`crew.rs`), in earnest a fleet of
//! agents (`fleet/`). `measuring/` makes the rounds, and those that measure suspects again. Judging is `reports::cluster`; keeping is
//! the store's.

mod conclude;
mod crew;
pub mod drain;
mod fleet;
pub mod launch;
pub mod measuring;
mod night;
mod node;
pub mod pattern;
pub mod plan;
mod soft;
pub mod suite;
mod wishes;

pub use conclude::{Concluded, conclude};
pub use crew::{Crew, PairResult, PairTask, RoundResult};
pub use fleet::{Fleet, FleetWishes};
pub use night::{history_name, recheck};
pub use node::{Mustered, Rank, WantedNode};
pub use soft::soft_link;
