//! Brings the two processes together: a TCP connection, one length-prefixed JSON frame a message, versions first, then the
//! proof that both hold the same one-time token. Knows nothing about RDMA; every wait has a time-out.

pub mod auth;
pub mod frame;
pub mod message;
pub mod socket;

pub use frame::{ConnectError, Frames};
pub use message::{CmOffer, Hello, Message, Offer, Order, Party, Region, Stopped, Work};
