//! How many blocks a campaign that may stop early probably takes, before anything is measured.
//!
//! A forecast, not a verdict: pairs are taken for normal, tests are Student's, and controls for sound. What a campaign finds is
//! judged from its runs alone.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schema::Design;
use statrs::distribution::{ContinuousCDF, Normal};

use super::{
    CompareOptions, looks,
    stats::student::{Student, t_quantile},
    verdict::Rule,
};

/// Campaigns that are simulated for an expectation: its mean number of blocks is then known to a few percent.
const MOST_CAMPAIGNS: u32 = 500;
/// Fewer are, where they are large, but not fewer than these.
const FEWEST_CAMPAIGNS: u32 = 50;
/// Pairs that are drawn for an expectation.
const DRAWS: u32 = 1_000_000;
/// Seed of these: the same plan is always expected to take the same.
const SEED: u64 = 1;

/// The looks of a design, to be played through.
pub struct Forecast {
    looks: Vec<LookAhead>,
}

/// What is assumed of a gate, in standard deviations of its paired log-ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumed {
    /// True effect.
    pub effect_in_sd: f64,
    /// Margin.
    pub margin_in_sd: f64,
}

/// What decides a gate at a look, in estimated standard errors.
struct LookAhead {
    blocks: u32,
    /// A change of as many is significant; infinite where so few sign flips cannot reach the level.
    differs_beyond: f64,
    /// Half the interval by which a gate is the same.
    same_within: f64,
}

/// What a campaign probably takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Mean blocks.
    pub blocks: f64,
    /// Share of the campaigns in which every gate is decided at the latest at the last look.
    pub decided: f64,
}

impl Forecast {
    /// Of a design with so many gates, which ask for factors or for variants. One that makes all its blocks has one look.
    pub fn of(design: &Design, gates: u32, factors: bool, options: &CompareOptions) -> Self {
        let rule = if factors { Rule::of_factors(2) } else { Rule::of_pairs() };
        let share = rule.claim_share / f64::from(gates.max(1));
        let fewest = |level: f64| options.min_pairs.max(super::signflip::fewest_pairs(level));
        let ahead = |(blocks, levels): (u32, super::Levels)| {
            let level = levels.difference * share;
            let reaches = blocks >= fewest(level);
            LookAhead {
                blocks,
                differs_beyond: if reaches { t_quantile(blocks, level / 2.0) } else { f64::INFINITY },
                same_within: if blocks < 2 { f64::INFINITY } else { t_quantile(blocks, levels.equivalence) },
            }
        };
        let levels = looks::planned_levels(design, gates, options.alpha);
        Forecast { looks: design.looks().into_iter().zip(levels).map(ahead).collect() }
    }

    /// What is expected if the gates are as assumed, and their noise is each its own.
    pub fn expected(&self, gates: &[Assumed]) -> Expected {
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        let most = self.looks.last().map_or(0, |look| look.blocks);
        let of_one = most.saturating_mul(gates.len() as u32).max(1);
        let campaigns = (DRAWS / of_one).clamp(FEWEST_CAMPAIGNS, MOST_CAMPAIGNS);
        let (mut blocks, mut decided) = (0, 0);
        for _ in 0..campaigns {
            let draw = |gate: &Assumed| {
                let pairs = (0..most).map(|_| gate.effect_in_sd + normal(&mut random)).collect();
                (pairs, gate.margin_in_sd)
            };
            let drawn: Vec<(Vec<f64>, f64)> = gates.iter().map(draw).collect();
            let decides =
                |look: &&LookAhead| drawn.iter().all(|(pairs, margin)| look.decides(pairs, *margin));
            let ends = self.looks.iter().find(decides);
            blocks += ends.map_or(most, |look| look.blocks);
            decided += u32::from(ends.is_some());
        }
        Expected {
            blocks: f64::from(blocks) / f64::from(campaigns),
            decided: f64::from(decided) / f64::from(campaigns),
        }
    }
}

impl LookAhead {
    fn decides(&self, pairs: &[f64], margin: f64) -> bool {
        let Some(seen) = pairs.get(..self.blocks as usize).filter(|seen| seen.len() > 1) else {
            return false;
        };
        let Student { mean, sd, .. } = Student::of(seen);
        let error = sd / f64::from(self.blocks).sqrt();
        let apart = mean.abs();
        apart + self.same_within * error < margin || (apart > margin && apart > self.differs_beyond * error)
    }
}

fn normal(random: &mut impl Rng) -> f64 {
    Normal::standard().inverse_cdf(random.random_range(f64::EPSILON..1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::{Grouping, Nanos, StopRule};

    fn forecast(blocks: u32, looks: Option<(u32, u32)>, gates: u32, factors: bool) -> Forecast {
        let stop = looks.map_or(StopRule::AllBlocks, |(first_look, look_every)| StopRule::WhenDecided {
            first_look,
            look_every,
            max_time_ns: None,
        });
        let design = Design { blocks, seed: 1, cooldown_ns: Nanos(0), grouping: Grouping::PerRun, stop };
        Forecast::of(&design, gates, factors, &CompareOptions::default())
    }

    fn expected(forecast: &Forecast, gates: usize, effect_in_sd: f64, margin_in_sd: f64) -> Expected {
        forecast.expected(&vec![Assumed { effect_in_sd, margin_in_sd }; gates])
    }

    #[test]
    fn a_design_of_all_blocks_makes_them_all() {
        assert_eq!(
            expected(&forecast(10, None, 1, false), 1, 3.0, 1.0),
            Expected { blocks: 10.0, decided: 1.0 }
        );
    }

    #[test]
    fn a_look_that_the_sign_flips_cannot_reach_finds_nothing_and_factors_take_more() {
        let of = |looks, factors| expected(&forecast(20, looks, 1, factors), 1, 30.0, 1.0).blocks;
        assert_eq!((of(Some((6, 4)), false), of(Some((6, 4)), true)), (10.0, 10.0));
        assert_eq!((of(Some((8, 3)), false), of(Some((8, 3)), true)), (8.0, 11.0));
    }

    #[test]
    fn clear_answers_come_early_and_unclear_ones_take_all_blocks() {
        let one = forecast(20, Some((8, 3)), 1, false);
        assert_eq!(expected(&one, 1, 12.0, 4.0), Expected { blocks: 8.0, decided: 1.0 });
        assert_eq!(expected(&one, 1, 0.0, 8.0), Expected { blocks: 8.0, decided: 1.0 });
        let unclear = expected(&one, 1, 0.1, 0.1);
        assert!(unclear.blocks > 19.0 && unclear.decided < 0.2, "{unclear:?}");
        let (one, eight) =
            (expected(&one, 1, 0.0, 1.0), expected(&forecast(20, Some((8, 3)), 8, false), 8, 0.0, 1.0));
        assert!(one.blocks < 17.0 && eight.blocks > one.blocks, "{one:?} {eight:?}");
    }
}
