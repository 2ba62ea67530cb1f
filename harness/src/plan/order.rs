//! The order of the runs: blocks that each hold every variant once and the control, shuffled from a recorded seed.
//!
//! A pair is a baseline and a candidate of the same block and workload, so drift slower than a block cancels. The
//! baseline's two runs are cards of the same deck: which of them is the control is part of the draw. Where hosts are tuned
//! once a block, a card stands for the runs of all workloads, and the control is a card of its own: its hosts are turned
//! back and tuned again as they are for a candidate, so that the A/A control sees what that does, too. A variant that nothing
//! is compared with has no control.

use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
use schema::{Design, Grouping, Purpose, Role, Variant, Workload};

use super::PlannedRun;
use crate::{draw::shuffle, scenario::Order};

/// Lays the runs out.
pub(super) fn order(
    workloads: &[Workload],
    variants: &[Variant],
    design: &Design,
    order: Order,
) -> Vec<PlannedRun> {
    let mut rng = ChaCha8Rng::seed_from_u64(design.seed);
    let mut shuffle_if_asked = |length: usize| {
        let mut positions: Vec<usize> = (0..length).collect();
        if order == Order::Randomized {
            shuffle(&mut positions, &mut rng);
        }
        positions
    };
    let cards = cards(variants);
    let mut runs = Vec::new();
    for block in 0..design.blocks {
        let mut add = |workload: usize, card: usize| {
            let (variant, purpose) = cards[card];
            runs.push(PlannedRun {
                sequence: runs.len() as u32,
                block,
                workload: workloads[workload].name.clone(),
                variant: variant.to_owned(),
                purpose,
            });
        };
        match design.grouping {
            Grouping::PerRun => {
                for workload in shuffle_if_asked(workloads.len()) {
                    shuffle_if_asked(cards.len()).into_iter().for_each(|card| add(workload, card));
                }
            }
            Grouping::PerBlock => {
                for card in shuffle_if_asked(cards.len()) {
                    shuffle_if_asked(workloads.len()).into_iter().for_each(|workload| add(workload, card));
                }
            }
        }
    }
    runs
}

/// Every variant once, then the baseline again as the control, if anything is compared with it.
fn cards(variants: &[Variant]) -> Vec<(&str, Purpose)> {
    let measured = variants.iter().map(|variant| (variant.name.as_str(), Purpose::Measure));
    let compared = variants.len() > 1;
    let control = variants.iter().filter(|variant| compared && variant.role == Role::Baseline);
    measured.chain(control.map(|variant| (variant.name.as_str(), Purpose::Control))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;
    use schema::{Nanos, SidesTuning, StopRule};

    fn variants(candidates: usize) -> Vec<Variant> {
        (0..=candidates)
            .map(|n| Variant {
                name: format!("v{n}"),
                role: if n == 0 { Role::Baseline } else { Role::Candidate },
                settings: BTreeMap::new(),
                tuning: SidesTuning::default(),
                factors_on: Vec::new(),
            })
            .collect()
    }

    fn laid_out(workloads: usize, candidates: usize, blocks: u32, seed: u64) -> Vec<PlannedRun> {
        grouped(Grouping::PerRun, workloads, candidates, blocks, seed)
    }

    fn grouped(
        grouping: Grouping,
        workloads: usize,
        candidates: usize,
        blocks: u32,
        seed: u64,
    ) -> Vec<PlannedRun> {
        let workloads: Vec<Workload> =
            (0..workloads).map(|n| Workload { name: format!("w{n}"), specs: BTreeMap::new() }).collect();
        let design = Design { blocks, seed, cooldown_ns: Nanos(0), grouping, stop: StopRule::AllBlocks };
        order(&workloads, &variants(candidates), &design, Order::Randomized)
    }

    #[test]
    fn the_order_of_a_seed_never_changes() {
        let order: Vec<String> = laid_out(1, 1, 4, 42)
            .iter()
            .map(|run| format!("{}{}", run.variant, if run.purpose == Purpose::Control { "c" } else { "" }))
            .collect();
        assert_eq!(order.join(" "), "v1 v0c v0 v0c v0 v1 v1 v0 v0c v1 v0 v0c");
    }

    #[test]
    fn a_variant_by_itself_has_no_control_and_its_workloads_are_interleaved() {
        let runs = laid_out(3, 0, 40, 5);
        assert_eq!(runs.len(), 3 * 40);
        assert!(runs.iter().all(|run| run.purpose == Purpose::Measure));
        let first: Vec<&str> = runs.chunks(3).map(|block| block[0].workload.as_str()).collect();
        assert!(["w0", "w1", "w2"].iter().all(|name| first.contains(name)), "{first:?}");
    }

    #[test]
    fn the_control_comes_before_its_twin_half_of_the_time() {
        let runs = laid_out(1, 1, 2_000, 7);
        let control_first = runs
            .chunks(3)
            .filter(|block| block.iter().find(|run| run.variant == "v0").unwrap().purpose == Purpose::Control)
            .count();
        assert!((900..1_100).contains(&control_first), "{control_first} of 2000");
    }

    proptest! {
        #[test]
        fn each_block_holds_each_variant_once_and_one_control(
            workloads in 1usize..4, candidates in 1usize..5, blocks in 1u32..12, seed in any::<u64>(),
            once_a_block in any::<bool>(),
        ) {
            let grouping = if once_a_block { Grouping::PerBlock } else { Grouping::PerRun };
            let runs = grouped(grouping, workloads, candidates, blocks, seed);
            let mut seen: BTreeMap<(u32, String, String, bool), u32> = BTreeMap::new();
            for (n, run) in runs.iter().enumerate() {
                prop_assert_eq!(run.sequence as usize, n);
                let key = (run.block, run.workload.clone(), run.variant.clone(), run.purpose == Purpose::Control);
                *seen.entry(key).or_default() += 1;
            }
            prop_assert!(seen.values().all(|times| *times == 1));
            prop_assert_eq!(seen.len(), workloads * (candidates + 2) * blocks as usize);
            prop_assert!(seen.keys().all(|(_, _, variant, control)| !control || variant == "v0"));
        }

        #[test]
        fn the_runs_of_a_block_stay_together(seed in any::<u64>()) {
            let runs = laid_out(2, 2, 5, seed);
            prop_assert!(runs.is_sorted_by_key(|run| run.block));
            prop_assert!(runs.chunks(4).all(|pair| pair.iter().all(|run| run.workload == pair[0].workload)));
        }

        #[test]
        fn tuned_once_a_block_the_runs_of_a_variant_stand_together(seed in any::<u64>()) {
            let runs = grouped(Grouping::PerBlock, 3, 2, 4, seed);
            prop_assert!(runs.is_sorted_by_key(|run| run.block));
            let card = |run: &PlannedRun| (run.block, run.variant.clone(), run.purpose);
            prop_assert!(runs.chunks(3).all(|group| group.iter().all(|run| card(run) == card(&group[0]))));
            let mut cards: Vec<_> = runs.chunks(3).map(|group| card(&group[0])).collect();
            let all = cards.len();
            cards.dedup();
            prop_assert_eq!(cards.len(), all, "the control is a group of its own");
        }

        #[test]
        fn the_same_seed_gives_the_same_order(seed in any::<u64>()) {
            prop_assert_eq!(laid_out(2, 3, 6, seed), laid_out(2, 3, 6, seed));
        }
    }
}
