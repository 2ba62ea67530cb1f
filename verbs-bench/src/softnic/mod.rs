//! A NIC in software: the same verbs objects and the same `ibv_post_send`/`ibv_poll_cq` calls, without a device.
//!
//! It builds its own `ibv_context`, PD, MR, CQ and QP whose operations are functions of this room, so the hot loop above
//! can't tell. A write is a store into the peer's memory, which is a memfd of another process on this host.

mod peer;

pub use peer::SoftPeer;
