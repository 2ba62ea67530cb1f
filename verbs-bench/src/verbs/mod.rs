//! libibverbs, one object a file, and the seam under which the software NIC takes its place.
//!
//! Control path only: the hot loop calls `rdma_sys::ibv_post_send` and `ibv_poll_cq` on the raw pointers these objects
//! lend. Destruction runs QP, CQ, MR, buffer, PD, context: every object holds an `Arc` of what it stands on, so a wrong
//! order keeps things alive instead of freeing them.

mod ah;
mod channel;
mod choose;
mod connection;
mod context;
mod cq;
mod create;
mod devices;
mod error;
mod ext;
mod gid;
mod libibverbs;
mod mr;
#[cfg(test)]
pub(crate) mod on_device;
#[cfg(test)]
mod order;
mod pd;
mod port;
mod provider;
mod qp;
mod route;
mod wc;

pub use ah::AddressHandle;
pub use channel::CompletionChannel;
pub use choose::choose_gid;
pub(crate) use connection::RNR_RETRY;
pub use connection::{Connection, QKEY, RemoteQp};
pub use context::{Context, DeviceAttr};
pub use cq::{CompletionQueue, CqKind};
pub use devices::{DeviceSummary, PortSummary, list_devices, open};
pub use error::VerbsError;
pub use gid::{GidEntry, GidType};
pub use libibverbs::Libibverbs;
pub use mr::{Access, MemoryRegion};
pub use pd::ProtectionDomain;
pub(crate) use port::mtu_code;
pub use port::{LinkLayer, PortAttr, PortState};
pub use provider::{CqInit, Provider, QpInit};
pub use qp::{QpCaps, QpKind, QueuePair};
pub use wc::WcStatus;
