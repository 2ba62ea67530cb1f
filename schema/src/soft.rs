//! The software NIC's link model and faults: what is put in, so that what comes out can be checked against it.
//!
//! Text form `latency=2us,jitter=uniform:500ns,rate=100Gbps`, used by the command line and by scenarios; structured in JSON.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{BitsPerSec, Nanos, UnitError};

/// The distribution of what is added to the base latency, drawn per message from the model's seed.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Jitter {
    /// Nothing is added.
    #[default]
    None,
    /// Uniform between 0 and `max_ns`.
    Uniform {
        /// Upper end.
        max_ns: Nanos,
    },
    /// The absolute value of a normal deviate.
    Normal {
        /// Its standard deviation.
        sd_ns: Nanos,
    },
    /// Exponential: a long tail.
    Exponential {
        /// Its mean.
        mean_ns: Nanos,
    },
    /// `extra_ns` for this share of the messages, nothing for the others.
    Bimodal {
        /// Share of slow messages, 0 to 1.
        share: f64,
        /// What a slow message takes longer.
        extra_ns: Nanos,
    },
}

/// A link between two software NICs. A message is visible to the peer `latency + jitter` after the link has sent it;
/// its completion follows `ack_latency` later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftModel {
    /// One way: from the end of serialisation to visible in the peer's memory.
    pub latency_ns: Nanos,
    /// From visible at the peer to the completion at the requester.
    pub ack_latency_ns: Nanos,
    /// What is added to `latency_ns`, per message.
    pub jitter: Jitter,
    /// Payload rate of the link; absent is unlimited.
    pub rate_bits_per_sec: Option<BitsPerSec>,
    /// Message-rate limit of the NIC; absent is unlimited.
    pub messages_per_sec: Option<u64>,
    /// Added one way when the sending thread was not on `near_cpu` as its QP was connected.
    pub remote_numa_penalty_ns: Nanos,
    /// The CPU that counts as the NIC's own for `remote_numa_penalty_ns`; absent, no CPU is far.
    pub near_cpu: Option<u32>,
    /// Seed of the jitter.
    pub seed: u64,
}

impl Default for SoftModel {
    fn default() -> Self {
        SoftModel {
            latency_ns: Nanos(0),
            ack_latency_ns: Nanos(0),
            jitter: Jitter::None,
            rate_bits_per_sec: None,
            messages_per_sec: None,
            remote_numa_penalty_ns: Nanos(0),
            near_cpu: None,
            seed: 1,
        }
    }
}

/// Splits `a=1,b=2` into pairs; every key at most once.
fn pairs<'t>(what: &str, text: &'t str) -> Result<Vec<(&'t str, &'t str)>, UnitError> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| UnitError(format!("{what} `{text}`: `{part}` is not of the form key=value")))?;
        if seen.iter().any(|(old, _)| *old == key) {
            return Err(UnitError(format!("{what} `{text}`: `{key}` is given twice")));
        }
        seen.push((key, value));
    }
    Ok(seen)
}

impl FromStr for Jitter {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            ["none"] => Ok(Jitter::None),
            ["uniform", max] => Ok(Jitter::Uniform { max_ns: max.parse()? }),
            ["normal", sd] => Ok(Jitter::Normal { sd_ns: sd.parse()? }),
            ["exponential", mean] => Ok(Jitter::Exponential { mean_ns: mean.parse()? }),
            ["bimodal", share, extra] => {
                let share: f64 =
                    share.parse().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| {
                        UnitError(format!("jitter `{text}`: the share must be between 0 and 1"))
                    })?;
                Ok(Jitter::Bimodal { share, extra_ns: extra.parse()? })
            }
            _ => Err(UnitError(format!(
                "jitter `{text}`: write none, uniform:500ns, normal:200ns, exponential:1us or bimodal:0.01:50us"
            ))),
        }
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Jitter::None => write!(f, "none"),
            Jitter::Uniform { max_ns } => write!(f, "uniform:{max_ns}"),
            Jitter::Normal { sd_ns } => write!(f, "normal:{sd_ns}"),
            Jitter::Exponential { mean_ns } => write!(f, "exponential:{mean_ns}"),
            Jitter::Bimodal { share, extra_ns } => write!(f, "bimodal:{share}:{extra_ns}"),
        }
    }
}

impl FromStr for SoftModel {
    type Err = UnitError;

    /// `latency` alone sets the way back too, as on a symmetric link; `ack_latency` changes the way back.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let mut model = SoftModel::default();
        let mut ack = None;
        for (key, value) in pairs("soft model", text)? {
            let number = || -> Result<u64, UnitError> {
                value
                    .parse()
                    .map_err(|_| UnitError(format!("soft model `{text}`: {key} must be a whole number")))
            };
            match key {
                "latency" => model.latency_ns = value.parse()?,
                "ack_latency" => ack = Some(value.parse()?),
                "jitter" => model.jitter = value.parse()?,
                "rate" => model.rate_bits_per_sec = Some(value.parse()?),
                "message_rate" => model.messages_per_sec = Some(number()?).filter(|rate| *rate > 0),
                "remote_numa_penalty" => model.remote_numa_penalty_ns = value.parse()?,
                "near_cpu" => {
                    model.near_cpu = Some(u32::try_from(number()?).map_err(|e| UnitError(e.to_string()))?)
                }
                "seed" => model.seed = number()?,
                other => {
                    return Err(UnitError(format!(
                        "soft model `{text}`: unknown key `{other}`; known are latency, ack_latency, jitter, rate, message_rate, remote_numa_penalty, near_cpu, seed"
                    )));
                }
            }
        }
        model.ack_latency_ns = ack.unwrap_or(model.latency_ns);
        Ok(model)
    }
}

impl fmt::Display for SoftModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "latency={},ack_latency={},jitter={}", self.latency_ns, self.ack_latency_ns, self.jitter)?;
        if let Some(rate) = self.rate_bits_per_sec {
            write!(f, ",rate={rate}")?;
        }
        if let Some(rate) = self.messages_per_sec {
            write!(f, ",message_rate={rate}")?;
        }
        if self.remote_numa_penalty_ns.get() > 0 {
            write!(f, ",remote_numa_penalty={}", self.remote_numa_penalty_ns)?;
        }
        if let Some(cpu) = self.near_cpu {
            write!(f, ",near_cpu={cpu}")?;
        }
        write!(f, ",seed={}", self.seed)
    }
}

/// A completion that fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompletionFault {
    /// Spelling of verbs.h without `IBV_WC_`, for example `RETRY_EXC_ERR`.
    pub status: String,
    /// Which message of the run, counted from 1.
    pub at_message: u64,
}

/// A link that stands still now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StallFault {
    /// How long nothing moves.
    pub duration_ns: Nanos,
    /// From the start of one stall to the start of the next.
    pub period_ns: Nanos,
}

/// What shall go wrong on the software NIC.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SoftFault {
    /// A completion with an error status.
    pub error: Option<CompletionFault>,
    /// The completion of this message (counted from 1) and all that follow never arrive.
    pub lost_at_message: Option<u64>,
    /// Periodic stalls.
    pub stall: Option<StallFault>,
    /// The responder kills itself (SIGKILL) this long after it is connected.
    pub peer_death_after_ns: Option<Nanos>,
}

impl FromStr for SoftFault {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let mut fault = SoftFault::default();
        for (key, value) in pairs("soft fault", text)? {
            let count = |value: &str| -> Result<u64, UnitError> {
                value.parse().ok().filter(|n| *n > 0).ok_or_else(|| {
                    UnitError(format!(
                        "soft fault `{text}`: `{value}` is not a message number; the first is 1"
                    ))
                })
            };
            match key {
                "error" => {
                    let (status, at) = value.split_once('@').ok_or_else(|| {
                        UnitError(format!("soft fault `{text}`: write error=STATUS@MESSAGE, for example error=RETRY_EXC_ERR@1000"))
                    })?;
                    if !WC_STATUS_NAMES.contains(&status) {
                        return Err(UnitError(format!(
                            "soft fault `{text}`: unknown completion status `{status}`; known are {}",
                            WC_STATUS_NAMES.join(", ")
                        )));
                    }
                    fault.error = Some(CompletionFault { status: status.into(), at_message: count(at)? });
                }
                "lost" => fault.lost_at_message = Some(count(value)?),
                "stall" => {
                    let (duration, period) = value
                        .split_once('/')
                        .ok_or_else(|| UnitError(format!("soft fault `{text}`: write stall=5ms/100ms")))?;
                    let stall = StallFault { duration_ns: duration.parse()?, period_ns: period.parse()? };
                    if stall.duration_ns >= stall.period_ns || stall.duration_ns.get() == 0 {
                        return Err(UnitError(format!(
                            "soft fault `{text}`: a stall must be shorter than its period"
                        )));
                    }
                    fault.stall = Some(stall);
                }
                "peer-death" => fault.peer_death_after_ns = Some(value.parse()?),
                other => {
                    return Err(UnitError(format!(
                        "soft fault `{text}`: unknown key `{other}`; known are error, lost, stall, peer-death"
                    )));
                }
            }
        }
        Ok(fault)
    }
}

/// The error statuses of `enum ibv_wc_status`, in its order from 1 on, without the `IBV_WC_` prefix.
pub const WC_STATUS_NAMES: [&str; 21] = [
    "LOC_LEN_ERR",
    "LOC_QP_OP_ERR",
    "LOC_EEC_OP_ERR",
    "LOC_PROT_ERR",
    "WR_FLUSH_ERR",
    "MW_BIND_ERR",
    "BAD_RESP_ERR",
    "LOC_ACCESS_ERR",
    "REM_INV_REQ_ERR",
    "REM_ACCESS_ERR",
    "REM_OP_ERR",
    "RETRY_EXC_ERR",
    "RNR_RETRY_EXC_ERR",
    "LOC_RDD_VIOL_ERR",
    "REM_INV_RD_REQ_ERR",
    "REM_ABORT_ERR",
    "INV_EECN_ERR",
    "INV_EEC_STATE_ERR",
    "FATAL_ERR",
    "RESP_TIMEOUT_ERR",
    "GENERAL_ERR",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_symmetric_link_needs_one_latency() {
        let model: SoftModel = "latency=2us,rate=100Gbps".parse().unwrap();
        assert_eq!((model.latency_ns, model.ack_latency_ns), (Nanos(2_000), Nanos(2_000)));
        let model: SoftModel = "ack_latency=0ns,latency=2us,jitter=bimodal:0.01:50us".parse().unwrap();
        assert_eq!(model.ack_latency_ns, Nanos(0));
        assert_eq!(model.jitter, Jitter::Bimodal { share: 0.01, extra_ns: Nanos(50_000) });
    }

    #[test]
    fn a_typing_error_names_the_key() {
        for (text, word) in
            [("latncy=2us", "latncy"), ("latency=2us,latency=3us", "twice"), ("jitter=often", "often")]
        {
            let error = text.parse::<SoftModel>().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
        assert!("error=NOPE@3".parse::<SoftFault>().is_err());
        assert!("stall=5ms/5ms".parse::<SoftFault>().is_err());
        assert!("lost=0".parse::<SoftFault>().is_err());
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back(lat in 0u64..1 << 40, ack in 0u64..1 << 40, max in 0u64..1 << 40, seed in any::<u64>()) {
            let model = SoftModel {
                latency_ns: Nanos(lat),
                ack_latency_ns: Nanos(ack),
                jitter: Jitter::Uniform { max_ns: Nanos(max) },
                rate_bits_per_sec: Some(BitsPerSec(100_000_000_000)),
                seed,
                ..SoftModel::default()
            };
            prop_assert_eq!(model.to_string().parse(), Ok(model));
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<SoftModel>();
            let _ = text.parse::<SoftFault>();
        }
    }
}
