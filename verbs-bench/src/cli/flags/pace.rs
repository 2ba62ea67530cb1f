//! When messages are posted: closed loop without these flags, open loop with `--rate`, a search with `--search-rate`.

use clap::Args;
use schema::{Arrivals, Nanos, Pace, Rate, RunSpec, spec::DEFAULT_SEED};

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ArrivalsArg {
    /// All gaps the same
    Fixed,
    /// Exponential gaps, as independent sources make them
    Poisson,
}

/// The schedule.
#[derive(Debug, Args)]
#[command(
    next_help_heading = "Open loop (bandwidth test)",
    group = clap::ArgGroup::new("schedule").args(["rate", "search_rate"])
)]
pub(in crate::cli) struct PaceFlags {
    /// Post at this rate: messages a second (250k/s, 2M/s) or payload bits (10Gbps), one direction, all QPs together
    #[arg(long)]
    rate: Option<Rate>,
    /// Find the highest rate whose p99 latency is at most this: p99=50us
    #[arg(long, value_name = "p99=TIME", value_parser = Pace::parse_bound)]
    search_rate: Option<Nanos>,
    /// Gaps between messages [default: fixed]
    #[arg(long, value_enum, requires = "schedule")]
    arrivals: Option<ArrivalsArg>,
    /// Seed of the gaps [default: 1]
    #[arg(long, requires = "schedule")]
    seed: Option<u64>,
}

impl PaceFlags {
    pub(super) fn apply(&self, spec: &mut RunSpec) {
        let arrivals = match self.arrivals {
            Some(ArrivalsArg::Poisson) => Arrivals::Poisson,
            Some(ArrivalsArg::Fixed) | None => Arrivals::Fixed,
        };
        let seed = self.seed.unwrap_or(DEFAULT_SEED);
        spec.pace = match (self.rate, self.search_rate) {
            (Some(rate), _) => Pace::Open { rate, arrivals, seed },
            (None, Some(p99_at_most_ns)) => Pace::Search { p99_at_most_ns, arrivals, seed },
            (None, None) => Pace::Closed,
        };
    }
}
