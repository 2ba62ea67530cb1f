//! The arithmetic of the link: when a message has been sent, when the peer sees it, when its completion returns.
//!
//! Pure, in ticks of the model's clock; sending time is kept in 2^-32 ticks, so that a rate is met over any number of
//! messages. No division after construction.

use schema::SoftModel;

use super::{fault::Faults, jitter::Jitters};
use crate::clock::Scale;

const FRACTION_BITS: u32 = 32;

/// One direction of the link, shared by all QPs of a context.
pub(super) struct Link {
    /// When the wire falls idle, in 2^-32 ticks.
    busy_until: u128,
    per_byte: u128,
    per_message: u128,
    latency: u64,
    ack_latency: u64,
    jitters: Jitters,
    faults: Faults,
    sent: u64,
}

/// What happens to one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Passage {
    /// Ticks at which it is visible to the peer, if nothing before it on its QP is later.
    pub(super) deliver_at: u64,
    /// From there to its completion.
    pub(super) ack_latency: u64,
    /// Its completion status, as `enum ibv_wc_status`.
    pub(super) status: u32,
    /// Its completion never arrives.
    pub(super) lost: bool,
}

impl Link {
    pub(super) fn new(model: &SoftModel, faults: Faults, scale: Scale) -> Link {
        Link {
            busy_until: 0,
            per_byte: model.rate_bits_per_sec.map_or(0, |rate| ticks_each(scale, rate.get() as f64 / 8.0)),
            per_message: model.messages_per_sec.map_or(0, |rate| ticks_each(scale, rate as f64)),
            latency: scale.ticks(model.latency_ns.get()),
            ack_latency: scale.ticks(model.ack_latency_ns.get()),
            jitters: Jitters::new(model.jitter, model.seed, scale),
            faults,
            sent: 0,
        }
    }

    /// Sends a message of `bytes` that was posted at `now`; messages leave in the order of the calls.
    #[inline]
    pub(super) fn send(&mut self, now: u64, bytes: u32) -> Passage {
        let start = self.busy_until.max(u128::from(now) << FRACTION_BITS);
        self.busy_until = start + (u128::from(bytes) * self.per_byte).max(self.per_message);
        self.sent += 1;
        let (status, lost) = self.faults.of_message(self.sent);
        Passage {
            deliver_at: round_up(self.busy_until) + self.latency + self.jitters.next(),
            ack_latency: self.ack_latency,
            status,
            lost,
        }
    }
}

/// Ticks between events of this rate, in 2^-32 ticks.
fn ticks_each(scale: Scale, events_per_sec: f64) -> u128 {
    (scale.ticks_per_sec() / events_per_sec * (1u64 << FRACTION_BITS) as f64).round() as u128
}

fn round_up(time: u128) -> u64 {
    ((time + ((1 << FRACTION_BITS) - 1)) >> FRACTION_BITS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(model: &str) -> Link {
        Link::new(&model.parse().unwrap(), Faults::default(), Scale::NANOSECONDS)
    }

    #[test]
    fn a_lone_message_takes_its_sending_time_and_the_latency() {
        let passage = link("latency=2us,ack_latency=500ns,rate=8Gbps").send(1_000, 4096);
        assert_eq!((passage.deliver_at, passage.ack_latency), (1_000 + 4096 + 2_000, 500));
    }

    #[test]
    fn messages_queue_behind_one_another() {
        let mut link = link("latency=10ns,rate=8Gbps");
        let at: Vec<u64> = (0..3).map(|_| link.send(0, 100).deliver_at).collect();
        assert_eq!(at, [110, 210, 310]);
    }

    #[test]
    fn an_idle_link_starts_anew() {
        let mut link = link("latency=0ns,rate=8Gbps");
        link.send(0, 100);
        assert_eq!(link.send(5_000, 100).deliver_at, 5_100);
    }

    #[test]
    fn the_slower_of_both_limits_counts() {
        let mut both = link("latency=0ns,rate=8Gbps,message_rate=1000000");
        assert_eq!([10, 10, 2000].map(|bytes| both.send(0, bytes).deliver_at), [1_000, 2_000, 4_000]);
    }

    #[test]
    fn an_empty_model_takes_no_time() {
        assert_eq!(
            Link::new(&SoftModel::default(), Faults::default(), Scale::NANOSECONDS)
                .send(77, 1 << 20)
                .deliver_at,
            77
        );
    }

    proptest! {
        /// However the messages are cut, a backlogged link is never faster than its rate and loses at most a tick a message.
        #[test]
        fn a_backlogged_link_meets_its_rate(
            rate in 1_000_000u64..2_000_000_000_000,
            sizes in proptest::collection::vec(0u32..1 << 20, 1..200),
        ) {
            let model = SoftModel { rate_bits_per_sec: Some(schema::BitsPerSec(rate)), ..SoftModel::default() };
            let mut link = Link::new(&model, Faults::default(), Scale::NANOSECONDS);
            let mut last = 0;
            for size in &sizes {
                let at = link.send(0, *size).deliver_at;
                prop_assert!(at >= last);
                last = at;
            }
            let bits: u64 = sizes.iter().map(|size| u64::from(*size) * 8).sum();
            let exact_ns = bits as f64 * 1e9 / rate as f64;
            prop_assert!((last as f64 - exact_ns).abs() <= 1.0 + exact_ns * 1e-6, "{last} {exact_ns}");
        }

        #[test]
        fn nothing_arrives_before_it_was_posted(
            posts in proptest::collection::vec((0u64..10_000, 0u32..100_000), 1..100),
        ) {
            let mut link = link("latency=1us,jitter=uniform:700ns,rate=100Gbps");
            let mut now = 0;
            for (wait, bytes) in posts {
                now += wait;
                prop_assert!(link.send(now, bytes).deliver_at >= now + 1_000);
            }
        }
    }
}
