//! What the flags of one call collect, and the plan that perftest's defaults and rules make of it.
//!
//! perftest decides some things by itself: the CQ moderation of large messages, margins, what a rate needs. The same is
//! decided here, and each decision is a note that the header prints.

use std::{net::IpAddr, path::PathBuf};

use schema::{
    Arrivals, BitsPerSec, Bytes, Compat, Nanos, Pace, PostApi, Rate, RunSpec, Stop, Transport, Wait,
    spec::{DEFAULT_SEED, MAX_MSG_BYTES},
};

use super::{print::Print, tool::Tool};
use crate::connect::socket::DEFAULT_PORT;

/// perftest's CQ moderation without -Q.
const CQ_MOD: u32 = 100;
/// Above this size perftest asks for every completion, unless -Q, -a, -e or UD.
const CQ_MOD_LIMIT: Bytes = Bytes(8_192);
/// Size over UD without -s and -m, where perftest takes the port's MTU: every port carries it.
const DATAGRAM_BYTES: u32 = 1_024;
/// The largest size of -a: 2^23.
const LARGEST_OF_ALL: u32 = 23;
const NS_PER_S: u64 = 1_000_000_000;

/// Unit of --rate_limit, each a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateUnits {
    Mebibytes,
    Gigabits,
    Messages,
}

/// What the rows of the flags write.
pub(super) struct Draft {
    pub(super) tool: Tool,
    /// The plan so far: perftest's defaults, and what needs no rule.
    pub(super) spec: RunSpec,
    pub(super) sizes: Vec<Bytes>,
    pub(super) all: bool,
    pub(super) iterations: Option<u64>,
    pub(super) duration_s: Option<u64>,
    pub(super) margin_s: Option<u64>,
    pub(super) inline: Option<u32>,
    pub(super) cq_mod: Option<u32>,
    pub(super) rate: Option<f64>,
    pub(super) rate_units: RateUnits,
    pub(super) warm_up: bool,
    pub(super) check_data: bool,
    pub(super) port: u16,
    pub(super) bind_source: Option<IpAddr>,
    pub(super) token_file: Option<PathBuf>,
    pub(super) print: Print,
}

/// A plan, and what was decided that the user did not say.
pub(super) struct Plan {
    pub(super) spec: RunSpec,
    pub(super) notes: Vec<String>,
}

impl Draft {
    /// perftest's defaults of a program.
    pub(super) fn new(tool: Tool) -> Self {
        let mut spec = RunSpec::with_op(tool.test, tool.op);
        spec.post_api = PostApi::Extended;
        spec.relaxed_ordering = !spec.op.is_polled_in_memory(tool.test);
        Draft {
            tool,
            spec,
            sizes: Vec::new(),
            all: false,
            iterations: None,
            duration_s: None,
            margin_s: None,
            inline: None,
            cq_mod: None,
            rate: None,
            rate_units: RateUnits::Gigabits,
            warm_up: false,
            check_data: false,
            port: DEFAULT_PORT,
            bind_source: None,
            token_file: None,
            print: Print::default(),
        }
    }

    /// The plan, by perftest's rules; an error names the flag.
    pub(super) fn plan(&self) -> Result<Plan, String> {
        let mut spec = self.spec.clone();
        let mut notes = Vec::new();
        if spec.requester.device == "soft" {
            spec.responder.device = "soft".into();
        }
        spec.max_inline_bytes = self.inline.unwrap_or(self.tool.default_inline(spec.transport));
        spec.msg_bytes = self.sizes(&mut notes)?;
        spec.pace = self.pace()?;
        spec.signal_interval = self.signal_interval(&spec, &mut notes)?;
        self.set_times(&mut spec, &mut notes)?;
        if spec.compat == Compat::Perftest {
            spec.data_check = self.check_data;
        } else {
            notes.push(
                "every slot is written and compared before the measurement, and compared after it".into(),
            );
        }
        Ok(Plan { spec, notes })
    }

    fn sizes(&self, notes: &mut Vec<String>) -> Result<Vec<Bytes>, String> {
        match (self.all, self.sizes.is_empty()) {
            (true, false) => Err("--all and --size: give one of the two".into()),
            (true, true) if self.spec.transport == Transport::Ud => {
                let mtu =
                    self.spec.path_mtu.ok_or("--all over UD: give --mtu, which is the largest datagram")?;
                Ok((1..)
                    .map(|exponent| 1u64 << exponent)
                    .take_while(|size| *size <= u64::from(mtu))
                    .map(Bytes)
                    .collect())
            }
            (true, true) => Ok((1..=LARGEST_OF_ALL).map(|exponent| Bytes(1 << exponent)).collect()),
            (false, true) if self.tool.is_bw() && self.spec.transport == Transport::Ud => {
                let size = self.spec.path_mtu.unwrap_or(DATAGRAM_BYTES);
                notes.push(format!("messages of {size} B: a datagram is one packet; -s sets it"));
                Ok(vec![Bytes(u64::from(size))])
            }
            (false, true) => Ok(vec![Bytes(self.tool.default_size())]),
            (false, false) => Ok(self.sizes.clone()),
        }
    }

    fn pace(&self) -> Result<Pace, String> {
        let Some(rate) = self.rate else { return Ok(Pace::Closed) };
        // An f64 holds every rate of today exactly enough: a bit per second in ten petabits.
        let rate = match self.rate_units {
            RateUnits::Mebibytes => Rate::BitsPerSec(BitsPerSec((rate * f64::from(8 << 20)).round() as u64)),
            RateUnits::Gigabits => Rate::BitsPerSec(BitsPerSec((rate * 1e9).round() as u64)),
            RateUnits::Messages => Rate::MessagesPerSec(rate.round() as u64),
        };
        Ok(Pace::Open { rate, arrivals: Arrivals::Fixed, seed: DEFAULT_SEED })
    }

    /// perftest's rules of CQ moderation, in its order.
    fn signal_interval(&self, spec: &RunSpec, notes: &mut Vec<String>) -> Result<u32, String> {
        let large = spec.msg_bytes.iter().any(|size| *size > CQ_MOD_LIMIT);
        if self.tool.is_lat() {
            return Ok(1);
        }
        if let Some(asked) = self.cq_mod {
            if spec.post_list > 1 && asked > 0 && !spec.post_list.is_multiple_of(asked) {
                return Err(format!(
                    "--cq-mod {asked}: --post_list {} is not a multiple of it",
                    spec.post_list
                ));
            }
            if asked > spec.tx_depth {
                notes.push(format!(
                    "CQ moderation {}, not {asked}: it is at most the TX depth",
                    spec.tx_depth
                ));
            }
            return Ok(asked.min(spec.tx_depth));
        }
        if spec.pace != Pace::Closed {
            notes.push("CQ moderation 1: each message of a schedule has its latency".into());
            return Ok(1);
        }
        if spec.post_list > 1 {
            notes.push("CQ moderation is the size of the post list; -Q sets it".into());
            return Ok(spec.post_list.min(spec.tx_depth));
        }
        let exempt = self.all || spec.transport == Transport::Ud || spec.wait != Wait::Poll;
        if large && !exempt {
            notes.push(format!(
                "CQ moderation 1: perftest's rule for messages above {} B; -Q sets it",
                CQ_MOD_LIMIT.get()
            ));
            return Ok(1);
        }
        Ok(CQ_MOD.min(spec.tx_depth))
    }

    /// Exchanges or seconds, the margins, and the WarmUp.
    fn set_times(&self, spec: &mut RunSpec, notes: &mut Vec<String>) -> Result<(), String> {
        let compat = spec.compat == Compat::Perftest;
        match (self.duration_s, self.iterations) {
            (Some(_), Some(_)) => return Err("--duration and --iters: give one of the two".into()),
            (Some(seconds), None) => {
                let margin = self.margin_s.unwrap_or(seconds / 4);
                let counted = seconds.checked_sub(margin.saturating_mul(2)).filter(|counted| *counted > 0);
                let counted = counted
                    .ok_or(format!("--margin {margin}: two of them leave nothing of --duration {seconds}"))?;
                spec.stop = Stop::DurationNs(Nanos(seconds_ns(counted)?));
                if margin > 0 {
                    spec.warmup_ns = Nanos(seconds_ns(margin)?);
                }
                notes.push(format!(
                    "of {seconds} s, {counted} s are counted, after a WarmUp of {}",
                    spec.warmup_ns
                ));
            }
            (None, _) if self.margin_s.is_some() => {
                return Err("--margin is for --duration; give both".into());
            }
            (None, iterations) => {
                let each = iterations.unwrap_or(self.tool.default_iterations());
                let total = each.checked_mul(u64::from(spec.total_qps()));
                spec.stop =
                    Stop::Iterations(total.ok_or("--iters: the messages of all QPs do not fit in 64 bits")?);
                if compat && !self.warm_up {
                    spec.warmup_ns = Nanos(0);
                } else {
                    notes.push(format!("a WarmUp of {} is not counted", spec.warmup_ns));
                }
            }
        }
        Ok(())
    }
}

fn seconds_ns(seconds: u64) -> Result<u64, String> {
    seconds.checked_mul(NS_PER_S).ok_or(format!("--duration {seconds}: is not a time, but centuries"))
}

/// The largest size of -a is one that the transport carries.
const _: () = assert!(1 << LARGEST_OF_ALL <= MAX_MSG_BYTES.get());
