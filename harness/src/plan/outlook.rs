//! What a plan will cost in time, and what it will be able to see.

use std::time::Duration;

use reports::{
    CompareOptions,
    compare::{Look, planned_looks},
};
use schema::{Nanos, StopRule};
use serde::Serialize;

use super::{Noise, Plan, Probably, block_time, detectable_in_sd};

/// What a plan promises.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outlook {
    /// Gates that are judged.
    pub questions: u32,
    /// Blocks below which nothing can be found.
    pub fewest_blocks: u32,
    /// When the gates are looked at, and what each look may find; one where all blocks are made.
    pub looks: Vec<Look>,
    /// Time of a block; null where runs end by a count, and no earlier campaign says how long that is.
    pub block_ns: Option<Nanos>,
    /// Time until the first look.
    pub at_least_ns: Option<Nanos>,
    /// Time of all blocks, or the budget if that is less.
    pub at_most_ns: Option<Nanos>,
    /// What a campaign that may stop early probably makes of that; empty where all blocks are made.
    pub probably: Vec<Probably>,
    /// Whether the time of a block is what earlier campaigns took, and not estimated.
    pub time_measured: bool,
    /// What is seen with the fewest blocks, and with the most; empty where nothing can be.
    pub sees: Vec<Sight>,
    /// What earlier campaigns of the same runs measured; null without any.
    pub earlier: Option<Noise>,
}

/// The smallest effect that a number of blocks shows with a power of 0.8.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sight {
    /// Blocks.
    pub blocks: u32,
    /// Two-sided level of a single gate.
    pub level: f64,
    /// The effect, in standard deviations of the pairs' log-ratio.
    pub effect_in_sd: f64,
    /// The same as a share, of each gate in [`Noise::gates`], in their order; empty without earlier campaigns.
    pub effects: Vec<f64>,
}

impl Outlook {
    /// Of a plan, by what earlier campaigns measured where there are any.
    pub fn of(plan: &Plan, earlier: Option<Noise>) -> Outlook {
        let (questions, fewest_blocks) = (plan.questions(), plan.fewest_blocks());
        let looks = planned_looks(&plan.design, questions, CompareOptions::default().alpha);
        let measured = earlier.as_ref().and_then(|noise| noise.block_ns);
        let block = measured.or_else(|| block_time(plan).map(nanos));
        let (first, most) =
            (looks.first().map_or(plan.design.blocks, |look| look.blocks), plan.design.blocks);
        let budget = match plan.design.stop {
            StopRule::WhenDecided { max_time_ns, .. } => max_time_ns,
            StopRule::AllBlocks => None,
        };
        let times = |blocks: u32| block.map(|block| Nanos(block.get().saturating_mul(u64::from(blocks))));
        let within = |time: Nanos| budget.map_or(time, |budget| time.min(budget));
        Outlook {
            questions,
            fewest_blocks,
            block_ns: block,
            at_least_ns: times(first).map(within),
            at_most_ns: times(most).map(within).or(budget),
            probably: Probably::of(plan, earlier.as_ref(), block),
            time_measured: measured.is_some(),
            sees: sees(&looks, questions, fewest_blocks, earlier.as_ref()),
            looks,
            earlier,
        }
    }

    /// Whether the first look comes after the time is probably spent.
    pub fn is_too_short(&self) -> bool {
        let first = self.looks.first().map_or(0, |look| look.blocks);
        let needed = self.block_ns.map(|block| block.get().saturating_mul(u64::from(first)));
        needed.zip(self.at_most_ns).is_some_and(|(needed, most)| needed > most.get())
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// With the fewest blocks that can show anything, and with all.
fn sees(looks: &[Look], questions: u32, fewest: u32, noise: Option<&Noise>) -> Vec<Sight> {
    let Some(last) = looks.last().filter(|last| last.blocks >= fewest) else { return Vec::new() };
    let first = match looks {
        // The one look comes after all blocks; fewer of them would be another design at the same level.
        [_] => Look { blocks: fewest, ..*last },
        _ => looks[0],
    };
    let mut sights = vec![first, *last];
    sights.dedup_by_key(|look| look.blocks);
    let sight = |look: &Look| {
        let level = look.level / f64::from(questions.max(1));
        let effect_in_sd = detectable_in_sd(look.blocks, level)?;
        let gates = noise.map_or(&[][..], |noise| &noise.gates);
        let effects = gates.iter().map(|gate| (effect_in_sd * gate.sd_ln).exp_m1()).collect();
        Some(Sight { blocks: look.blocks, level, effect_in_sd, effects })
    };
    sights.iter().filter_map(sight).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schema::{Bytes, Metric};

    use super::*;
    use crate::{
        plan::{GateNoise, plan, show},
        scenario::parse,
    };

    fn planned(design: &str) -> Plan {
        let text = format!(
            "question = \"x\"\n[design]\nduration = \"650ms\"\nwarmup = \"0s\"\ncooldown = \"0s\"\n{design}\n[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\nsize = 8\n[[variants]]\nname = \"a\"\nbaseline = true\n[[variants]]\nname = \"b\"\ntx_depth = 1\n"
        );
        plan(&parse(Path::new("x.toml"), text).unwrap(), 1).unwrap()
    }

    fn noise(sd_ln: f64) -> Noise {
        let gate = GateNoise {
            workload: "w".into(),
            msg_bytes: Bytes(8),
            metric: Metric::Bandwidth,
            margin: 0.02,
            sd_ln,
        };
        Noise { campaigns: vec![12], gates: vec![gate], block_ns: Some(Nanos(2_000_000_000)) }
    }

    #[test]
    fn a_fixed_design_takes_one_time_and_sees_by_its_fewest_and_all_blocks() {
        let plan = planned("blocks = 20");
        let outlook = Outlook::of(&plan, None);
        let block = block_time(&plan).unwrap();
        assert_eq!(outlook.at_least_ns, outlook.at_most_ns);
        assert_eq!(outlook.at_most_ns, Some(nanos(block * 20)));
        assert_eq!(outlook.sees.iter().map(|sight| sight.blocks).collect::<Vec<_>>(), [6, 20]);
        let text = show(&plan, &outlook);
        for word in
            ["about", "estimated", "with 6 blocks 1.79, with 20 blocks 0.66", "if it is 1%: 1.81% and 0.66%"]
        {
            assert!(text.contains(word), "no `{word}` in:\n{text}");
        }
    }

    #[test]
    fn what_was_measured_before_is_promised_instead_of_a_guess() {
        let plan = planned("blocks = 20");
        let outlook = Outlook::of(&plan, Some(noise(0.004)));
        assert!(outlook.time_measured);
        let text = show(&plan, &outlook);
        for word in ["about 40 s, as campaign 12 took", "as campaign 12 measured", "0.40%", "0.72%", "0.26%"]
        {
            assert!(text.contains(word), "no `{word}` in:\n{text}");
        }
        assert!(!text.contains("not known before measuring"), "{text}");
    }

    #[test]
    fn a_design_that_may_stop_early_says_its_looks_and_both_ends() {
        let plan = planned("blocks = 30\nstop = \"when-decided\"\nmax_time = \"50s\"");
        let outlook = Outlook::of(&plan, Some(noise(0.01)));
        assert_eq!(outlook.looks.iter().map(|look| look.blocks).collect::<Vec<_>>(), [9, 15, 21, 27, 30]);
        assert!(outlook.sees[0].effect_in_sd > 2.0 * outlook.sees[1].effect_in_sd);
        let text = show(&plan, &outlook);
        for word in [
            "after 9, 15, 21, 27, 30 blocks",
            "50 s",
            "18 s at least",
            "at most 30 blocks",
            "at most 90 runs",
        ] {
            assert!(text.contains(word), "no `{word}` in:\n{text}");
        }
    }

    #[test]
    fn what_it_probably_takes_is_played_through_by_what_was_measured_or_by_a_ladder() {
        let plan = planned("blocks = 30\nstop = \"when-decided\"");
        let quiet = Outlook::of(&plan, Some(noise(0.002)));
        let [of] = &quiet.probably[..] else { panic!("one, as measured: {:?}", quiet.probably) };
        assert_eq!((of.sd_in_margins, of.unchanged.blocks, of.changed.blocks), (None, 9.0, 9.0));
        assert_eq!(of.unchanged.time_ns, Some(Nanos(18_000_000_000)));
        let text = show(&plan, &quiet);
        let line = "expects    blocks if nothing differs, and if every gate changes by 2 margins: 9 (18 s) and 9 (18 s), as campaign 12 measured";
        assert!(text.contains(line), "{text}");

        let guess = Outlook::of(&plan, None);
        let spreads: Vec<_> = guess.probably.iter().map(|of| of.sd_in_margins).collect();
        assert_eq!(spreads, [Some(0.5), Some(1.0), Some(2.0)]);
        assert!(guess.probably.is_sorted_by(|a, b| a.unchanged.blocks < b.unchanged.blocks));
        let text = show(&plan, &guess);
        assert!(text.contains("margins: 9 and 9 where pairs vary by 0.5, "), "{text}");
        assert!(text.contains(" (undecided in "), "{text}");
        assert!(Outlook::of(&planned("blocks = 30"), None).probably.is_empty());
    }

    #[test]
    fn a_budget_that_ends_before_the_first_look_is_named() {
        let plan = planned("blocks = 30\nstop = \"when-decided\"\nmax_time = \"10s\"");
        let outlook = Outlook::of(&plan, Some(noise(0.01)));
        assert!(outlook.is_too_short());
        assert!(show(&plan, &outlook).contains("spent before the first look, after 9 blocks"));
    }

    #[test]
    fn too_few_blocks_see_nothing() {
        let outlook = Outlook::of(&planned("blocks = 5"), None);
        assert!(outlook.sees.is_empty());
        assert!(show(&planned("blocks = 5"), &outlook).contains("nothing: 5 pairs"));
    }
}
