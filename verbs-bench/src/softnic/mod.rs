//! A NIC in software: the same verbs objects and the same `ibv_post_send`/`ibv_poll_cq` calls, without a device.
//!
//! It builds its own `ibv_context`, PD, MR, CQ and QP whose operations are functions of this room, so the hot loop above
//! can't tell. A write is a store into the peer's memory, which is a memfd of another process on this host; a send consumes
//! a receive of the peer's queue, which lies in shared memory too. `raw` does it at once: cores and memory, nothing else.
//! `modelled` does it when the link model says so; without a model but with a fault, the link takes no time. Nothing happens
//! by itself: the NIC makes progress when its owner posts or polls.
//!
//! What it leaves out: a read's and an atomic's payload is charged to the requester's direction of the link and lands as the
//! request arrives; reads outstanding are not limited; receives must lie in the region the peer was told of; a completion on
//! an unreliable transport comes with the delivery, since nothing comes back.
//!
//! No lock is taken on the data path: a CQ and the QPs that complete to it belong to one thread at a time.

mod accept;
mod arena;
mod batch;
mod channel;
mod context;
mod cq;
mod device;
mod fault;
mod flight;
mod jitter;
mod link;
mod modelled;
mod path;
mod peer;
mod poll;
mod post_recv;
mod progress;
mod provider;
mod qp;
mod raw;
mod reach;
mod receive;
mod region;
mod ring;
mod stall;
#[cfg(test)]
mod tests;
mod transition;
mod work;
mod wr;

use std::sync::Arc;

use schema::{SoftFault, SoftModel};

use self::{modelled::Now, path::DataPath};
use crate::{
    clock::{Clock, MonotonicRaw, Scale, Source, Tsc},
    verbs::Provider,
};

pub use peer::{SharedRing, SoftPeer};

/// The software NIC: one device named `soft` with one port.
pub struct SoftNic {
    /// None on a raw NIC.
    behaviour: Option<Behaviour>,
}

/// How a modelled NIC behaves.
#[derive(Clone)]
struct Behaviour {
    model: SoftModel,
    fault: SoftFault,
    clock: ModelClock,
}

/// The clock the model runs on, as functions compiled for it.
#[derive(Clone, Copy)]
struct ModelClock {
    scale: Scale,
    now: fn() -> u64,
    data_path: DataPath,
}

impl ModelClock {
    fn of<C: Now>(scale: Scale) -> ModelClock {
        ModelClock { scale, now: C::now, data_path: modelled::path::<C>() }
    }

    /// The TSC where it can be trusted, as for every other measurement of this program.
    fn calibrate() -> ModelClock {
        let clock = Clock::calibrate();
        match clock.source() {
            Source::Tsc => ModelClock::of::<Tsc>(clock.scale()),
            Source::MonotonicRaw => ModelClock::of::<MonotonicRaw>(clock.scale()),
        }
    }
}

impl SoftNic {
    /// A NIC with this link and these faults; without either it is raw. Peer death is not the NIC's to execute.
    #[allow(clippy::new_ret_no_self, reason = "a provider is used as a trait object only")]
    pub fn new(model: Option<SoftModel>, fault: Option<SoftFault>) -> Arc<dyn Provider> {
        SoftNic::with_clock(model, fault, ModelClock::calibrate)
    }

    fn with_clock(
        model: Option<SoftModel>,
        fault: Option<SoftFault>,
        clock: impl FnOnce() -> ModelClock,
    ) -> Arc<dyn Provider> {
        let fault = fault.unwrap_or_default();
        let faulty = fault.error.is_some() || fault.lost_at_message.is_some() || fault.stall.is_some();
        let modelled = model.is_some() || faulty;
        let behaviour =
            modelled.then(|| Behaviour { model: model.unwrap_or_default(), fault, clock: clock() });
        Arc::new(SoftNic { behaviour })
    }
}
