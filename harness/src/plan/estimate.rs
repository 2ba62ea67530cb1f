//! What a plan costs in time, and how small an effect it can see.

use std::time::Duration;

use schema::{RunSpec, spec::Stop};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::Plan;

/// What a run takes besides its phases: two processes started, calibrated, connected, checked and ended. Measured: 230 to
/// 265 ms over 18 runs between two processes of one two-core host; hosts that are tuned, or far, add to it.
const OVERHEAD_PER_RUN: Duration = Duration::from_millis(250);
/// Power at which an effect counts as visible.
const POWER: f64 = 0.8;

/// Time of one run; none where it ends after a count of messages, whose time is what will be measured.
pub fn run_time(spec: &RunSpec) -> Option<Duration> {
    let Stop::DurationNs(duration) = spec.stop else { return None };
    let per_point = Duration::from_nanos(duration.get().saturating_add(spec.warmup_ns.get()));
    Some(OVERHEAD_PER_RUN + per_point.saturating_mul(spec.msg_bytes.len() as u32))
}

/// Time of a block, pauses included.
pub fn block_time(plan: &Plan) -> Option<Duration> {
    let cooldown = Duration::from_nanos(plan.design.cooldown_ns.get());
    let runs = plan.runs.iter().take_while(|run| run.block == 0);
    runs.map(|run| run_time(plan.spec(run)).map(|time| time + cooldown)).sum()
}

/// The smallest effect that `pairs` pairs show at a two-sided level with 80 % power, in standard deviations of the pairs'
/// log-ratio; none where no effect would do.
///
/// That of the t-test, or, where only pairs that all agree can reach the level by sign flips, the one with which they do.
pub fn detectable_in_sd(pairs: u32, level: f64) -> Option<f64> {
    let freedom = f64::from(pairs.checked_sub(1).filter(|freedom| *freedom > 0)?);
    let floor = 2.0 * 0.5_f64.powi(i32::try_from(pairs).ok()?);
    if floor > level {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let by_mean = (t.inverse_cdf(1.0 - level / 2.0) + t.inverse_cdf(POWER)) / f64::from(pairs).sqrt();
    let all_agree = Normal::standard().inverse_cdf(POWER.powf(1.0 / f64::from(pairs)));
    Some(if 2.0 * floor > level { by_mean.max(all_agree) } else { by_mean })
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{Nanos, Test};

    #[test]
    fn the_visible_effect_matches_the_t_table() {
        // scipy.stats.t: (t.ppf(.975, 9) + t.ppf(.8, 9)) / sqrt(10) = (2.2622 + 0.8834) / 3.1623
        assert!((detectable_in_sd(10, 0.05).unwrap() - 0.9947).abs() < 1e-3);
        assert_eq!((detectable_in_sd(1, 0.05), detectable_in_sd(5, 0.05)), (None, None));
    }

    #[test]
    fn six_pairs_must_all_agree() {
        // scipy.stats.norm.ppf(.8 ** (1 / 6)) = 1.7932, where the t-test would do with (2.5706 + 0.9195) / 2.4495 = 1.4248
        assert!((detectable_in_sd(6, 0.05).unwrap() - 1.7932).abs() < 1e-3);
        assert!((detectable_in_sd(7, 0.05).unwrap() - (2.4469 + 0.9057) / 7.0_f64.sqrt()).abs() < 1e-3);
    }

    #[test]
    fn more_pairs_see_smaller_effects() {
        let seen: Vec<f64> = (6..100).map(|pairs| detectable_in_sd(pairs, 0.05).unwrap()).collect();
        assert!(seen.is_sorted_by(|a, b| a > b));
    }

    #[test]
    fn each_size_takes_its_phases() {
        let mut spec = RunSpec::new(Test::Bandwidth);
        spec.stop = Stop::DurationNs(Nanos(1_000_000_000));
        spec.warmup_ns = Nanos(500_000_000);
        let one = run_time(&spec).unwrap();
        spec.msg_bytes.push(schema::Bytes(8));
        assert_eq!(run_time(&spec).unwrap() - one, Duration::from_millis(1_500));
        spec.stop = Stop::Iterations(5);
        assert_eq!(run_time(&spec), None);
    }
}
