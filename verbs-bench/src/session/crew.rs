//! The threads of a side: each pinned, each with its own queues, recorders and watch. One thread is a crew of one.
//!
//! The endpoint's objects outlive every shift; a worker thread lives for one shift and is alone on its queues meanwhile.

use std::{
    thread::{self, Builder},
    time::{Duration, Instant},
};

use schema::{Bytes, Op, RunSpec, Side, Stage, record::DataCheck};

use super::{
    duty::Duty,
    endpoint::Endpoint,
    floor::Floor,
    queues::receives,
    station::Placement,
    work::{Output, Post, perform},
};
use crate::{
    clock::Clock,
    connect::{Order, Region, Work},
    engine::{
        Halt,
        kept::DeviceLine,
        pattern::{self, check_counters, check_found, check_in_place, check_received},
        receiver::Receiver,
        watch::Watch,
    },
    fault::{At, Fault},
    placement,
};

/// A write whose completion the requester has seen may still be on its way into our memory for a moment.
const LANDING: Duration = Duration::from_millis(200);

/// A side with its threads. Fields drop from top to bottom: what loops hold of the endpoint, then the endpoint.
pub(super) struct Crew<'a> {
    receivers: Vec<Option<Receiver>>,
    endpoint: Endpoint,
    spec: &'a RunSpec,
    side: Side,
    peer: Region,
    clock: Clock,
    /// One per thread; none is not pinned.
    cpus: Vec<Option<u32>>,
    line: Option<DeviceLine>,
}

impl<'a> Crew<'a> {
    /// Takes over a connected endpoint and posts its receives.
    pub(super) fn new(
        endpoint: Endpoint,
        spec: &'a RunSpec,
        side: Side,
        peer: Region,
        place: &Placement,
    ) -> Result<Self, Fault> {
        let (clock, cpus) = (place.clock().clone(), place.cpu_of_each_thread(spec));
        let mut crew = Crew { receivers: Vec::new(), endpoint, spec, side, peer, clock, cpus, line: None };
        let watch = Watch::new(None, side, Stage::Setup, crew.clock.scale(), spec.deadline_ns);
        for thread in 0..spec.threads as usize {
            let job = crew.endpoint.job(thread, spec, spec.msg_bytes[0], &peer);
            let receiver = receives(spec, side).then(|| {
                // SAFETY: queues and memory live in the endpoint, which the crew drops after its receivers.
                let mut receiver = unsafe { Receiver::new(&job, crew.clock.scale()) };
                receiver.fill(&watch).map(|()| receiver)
            });
            crew.receivers.push(receiver.transpose().map_err(|halt| unexpected(halt, side))?);
        }
        Ok(crew)
    }

    /// The objects.
    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The clock of all its threads.
    pub(super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// From now on completions carry the device's time, and this is how it becomes ours.
    pub(super) fn set_line(&mut self, line: Option<DeviceLine>) {
        self.line = line;
    }

    /// What this side does for an order.
    pub(super) fn duty(&self, order: &Order) -> Duty {
        Duty::of(self.spec, self.side, &order.work)
    }

    /// The message size of an order.
    pub(super) fn size(&self, order: &Order) -> Result<Bytes, Fault> {
        let size = self.spec.msg_bytes.get(order.point as usize).copied();
        size.ok_or_else(|| {
            Fault::new(Stage::Verify, self.side, format!("the plan has no point {}", order.point))
        })
    }

    /// Makes the memory ready for an order, while nothing is in flight.
    pub(super) fn prepare(&mut self, order: &Order) -> Result<(), Fault> {
        let size = self.size(order)?.get() as u32;
        let (fill, zero) = match order.work {
            Work::Check { generation } => (Some(generation), true),
            Work::Measure { .. } => {
                let polled = self.spec.op.is_polled_in_memory(self.spec.test);
                ((!self.spec.data_check).then_some(0), self.spec.op.is_atomic() || polled)
            }
        };
        if let Some(generation) = fill {
            pattern::fill(self.endpoint.source(), generation);
        }
        if zero {
            self.endpoint.target().fill(0);
        }
        self.receivers.iter_mut().flatten().for_each(|receiver| receiver.expect(size));
        Ok(())
    }

    /// Works on an order with every thread, those that send from `moment` on, while `foreman` speaks with the peer on this one.
    /// The foreman says none when it heard that a worker failed.
    pub(super) fn shift<L>(
        &mut self,
        order: &Order,
        moment: Option<Instant>,
        foreman: impl FnOnce(&Floor) -> Result<Option<L>, Fault>,
    ) -> Result<(Vec<Output>, L), Fault> {
        let size = self.size(order)?;
        let duty = self.duty(order);
        let threads = if duty == Duty::Wait { 0 } else { self.spec.threads as usize };
        let (side, line) = (self.side, self.line);
        let floor = Floor::new(threads, moment).at(Stage::Setup, side)?;
        let (endpoint, clock, floor_ref) = (&self.endpoint, &self.clock, &floor);
        let posts = self.receivers.iter_mut().zip(&self.cpus).take(threads).enumerate();
        let posts = posts.map(|(thread, (receiver, cpu))| {
            let job = endpoint.job(thread, self.spec, size, &self.peer);
            (Post { thread, side, job, receiver: receiver.as_mut(), line }, *cpu)
        });
        let (outputs, led) = thread::scope(|scope| {
            let workers: Vec<_> = posts
                .map(|(post, cpu)| {
                    let name = format!("worker {}", post.thread);
                    Builder::new().name(name).spawn_scoped(scope, move || {
                        let bench = Leaving(floor_ref);
                        let output = pinned(cpu, side)
                            .and_then(|()| perform(post, duty, &order.work, clock, floor_ref));
                        std::mem::forget(bench);
                        output.map_err(|halt| floor_ref.fail(halt)).ok()
                    })
                })
                .collect();
            if let Some(Err(error)) = workers.iter().find(|worker| worker.is_err()) {
                floor.fail(Fault::new(Stage::Setup, side, format!("starting a thread: {error}")).into());
            }
            let led = foreman(floor_ref);
            if !matches!(led, Ok(Some(_))) {
                floor.leave();
            }
            let outputs: Vec<Option<Output>> =
                workers.into_iter().flatten().map(|worker| worker.join().ok().flatten()).collect();
            (outputs, led)
        });
        let everyone: Option<Vec<Output>> = outputs.into_iter().collect();
        if let Some(fault) = floor.into_fault() {
            return Err(fault);
        }
        match (led?, everyone) {
            (Some(led), Some(outputs)) => Ok((outputs, led)),
            _ => Err(Fault::new(Stage::Measure, side, "a worker thread ended without a word")
                .advise("this is a fault of verbs-bench: report it with what was printed above")),
        }
    }
}

impl Crew<'_> {
    /// Compares what an order left in the memory of this side, when it sent `outputs` and the peer so much on each QP; none
    /// where there is nothing to compare on this side.
    pub(super) fn compare(
        &mut self,
        order: &Order,
        outputs: &[Output],
        peer_sent: &[u64],
    ) -> Option<DataCheck> {
        let until = Instant::now() + LANDING;
        loop {
            let check = self.compare_once(order, outputs, peer_sent)?;
            if check.wrong_bytes.get() == 0 || Instant::now() > until {
                return Some(check);
            }
        }
    }

    fn compare_once(&mut self, order: &Order, outputs: &[Output], peer_sent: &[u64]) -> Option<DataCheck> {
        let size = self.size(order).ok()?.get() as u32;
        let generation = match order.work {
            Work::Check { generation } => generation,
            Work::Measure { .. } => 0,
        };
        let (layout, transport, op) = (*self.endpoint.layout(), self.spec.transport, self.spec.op);
        let sent: Vec<u64> = outputs.iter().flat_map(|output| &output.sent).copied().collect();
        let fetched = (!sent.is_empty()).then(|| match op {
            Op::Read => Some(check_in_place(self.endpoint.target(), &layout, size, generation, transport)),
            Op::FetchAdd | Op::CompareSwap => Some(check_found(self.endpoint.source(), &layout, &sent)),
            Op::Write | Op::WriteImm | Op::Send => None,
        });
        let written = (!peer_sent.is_empty()).then(|| match op {
            Op::Write | Op::WriteImm => {
                Some(check_in_place(self.endpoint.target(), &layout, size, generation, transport))
            }
            Op::Send => {
                let arrived: Vec<_> = outputs.iter().flat_map(|output| &output.arrived).copied().collect();
                let target = self.endpoint.target();
                Some(check_received(target, &layout, size, generation, transport, &arrived))
            }
            Op::FetchAdd | Op::CompareSwap => {
                Some(check_counters(self.endpoint.target(), &layout, peer_sent))
            }
            Op::Read => None,
        });
        match (fetched.flatten(), written.flatten()) {
            (Some(fetched), Some(written)) => Some(pattern::both(fetched, written)),
            (fetched, written) => fetched.or(written),
        }
    }
}

/// Tells the floor of a worker that panics.
struct Leaving<'f>(&'f Floor);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.fail(Halt::PeerSpoke);
    }
}

fn pinned(cpu: Option<u32>, side: Side) -> Result<(), Halt> {
    let pinned = cpu.map_or(Ok(()), placement::pin);
    Ok(pinned.at(Stage::Setup, side)?)
}

/// A halt where nothing but a fault can be the reason.
fn unexpected(halt: Halt, side: Side) -> Fault {
    match halt {
        Halt::Fault(fault) => fault,
        Halt::PeerSpoke => Fault::new(Stage::Setup, side, "the peer spoke out of turn"),
    }
}
