//! What earlier campaigns of the same runs say of the next: how much pairs differ by chance, and how long a block takes.

use std::time::Duration;

use reports::CompareOptions;
use schema::{Bytes, Campaign, Metric, Nanos};
use serde::Serialize;

use super::Plan;

/// Pairs below which the spread of an earlier campaign is no guide to the next.
const FEWEST_PAIRS: u32 = 4;

/// A campaign of the store.
pub struct Earlier {
    /// What was measured.
    pub campaign: Campaign,
    /// What its runs took, by block.
    pub times: Vec<(u32, Duration)>,
}

/// What earlier campaigns of the same workloads under the same variants measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Noise {
    /// Their numbers in the store, in the order given.
    pub campaigns: Vec<i64>,
    /// By gate, in the order of their first comparison.
    pub gates: Vec<GateNoise>,
    /// Median time of their blocks; null where none was noted.
    pub block_ns: Option<Nanos>,
}

/// How much the pairs of a gate differ by chance.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateNoise {
    /// Workload.
    pub workload: String,
    /// Message size.
    pub msg_bytes: Bytes,
    /// What is compared.
    pub metric: Metric,
    /// Changes below this share do not matter.
    pub margin: f64,
    /// Median over campaigns and candidates of the standard deviation of ln(candidate/baseline).
    pub sd_ln: f64,
}

impl Noise {
    /// Of those campaigns that made the plan's runs; none where there is no such.
    pub fn of(plan: &Plan, earlier: &[Earlier]) -> Option<Noise> {
        let same = |earlier: &&Earlier| {
            let campaign = &earlier.campaign;
            (&campaign.workloads, &campaign.variants, &campaign.gates)
                == (&plan.workloads, &plan.variants, &plan.gates)
        };
        let earlier: Vec<&Earlier> = earlier.iter().filter(same).collect();
        let gates = gates(&earlier);
        let campaigns: Vec<i64> = earlier.iter().map(|earlier| earlier.campaign.id).collect();
        let block_ns = block_time(&earlier, plan);
        (!gates.is_empty() || block_ns.is_some()).then_some(Noise { campaigns, gates, block_ns })
    }

    /// That of one gate.
    pub fn gate(&self, workload: &str, msg_bytes: Bytes, metric: Metric) -> Option<&GateNoise> {
        let key = |gate: &&GateNoise| {
            (gate.workload.as_str(), gate.msg_bytes, gate.metric) == (workload, msg_bytes, metric)
        };
        self.gates.iter().find(key)
    }

    /// The spread of each gate's pairs in its margins, where there is any.
    pub(super) fn in_margins(&self) -> Vec<f64> {
        let spreads = self.gates.iter().map(|gate| gate.sd_ln / gate.margin.ln_1p());
        spreads.filter(|spread| spread.is_normal()).collect()
    }

    /// `campaign 12`, `campaigns 12, 11`.
    pub fn source(&self) -> String {
        let numbers: Vec<String> = self.campaigns.iter().map(i64::to_string).collect();
        format!("campaign{} {}", if numbers.len() == 1 { "" } else { "s" }, numbers.join(", "))
    }
}

fn gates(earlier: &[&Earlier]) -> Vec<GateNoise> {
    let mut gates: Vec<(GateNoise, Vec<f64>)> = Vec::new();
    for earlier in earlier {
        let comparison = reports::compare(&earlier.campaign, &CompareOptions::default());
        for cell in comparison.gates() {
            let Some(effect) = cell.effect.as_ref().filter(|effect| effect.pairs >= FEWEST_PAIRS) else {
                continue;
            };
            let (workload, msg_bytes, metric) = (cell.workload.clone(), cell.msg_bytes, cell.metric);
            let gate = GateNoise { workload, msg_bytes, metric, margin: cell.margin, sd_ln: 0.0 };
            match gates.iter_mut().find(|(known, _)| *known == gate) {
                Some((_, spreads)) => spreads.push(effect.sd_ln),
                None => gates.push((gate, vec![effect.sd_ln])),
            }
        }
    }
    let settled = |(gate, spreads): (GateNoise, Vec<f64>)| {
        let middle = reports::compare::spread(spreads.into_iter())?;
        Some(GateNoise { sd_ln: middle.median, ..gate })
    };
    gates.into_iter().filter_map(settled).collect()
}

/// Median time of the blocks all of whose runs were made once, and their time noted.
fn block_time(earlier: &[&Earlier], plan: &Plan) -> Option<Nanos> {
    let of_a_block = plan.runs.iter().take_while(|run| run.block == 0).count();
    let cooldown = |earlier: &&&Earlier| earlier.campaign.design.cooldown_ns == plan.design.cooldown_ns;
    let blocks = earlier.iter().filter(cooldown).flat_map(|earlier| {
        let blocks = earlier.times.chunk_by(|(a, _), (b, _)| a == b);
        blocks
            .filter(|runs| runs.len() == of_a_block)
            .map(|runs| runs.iter().map(|(_, took)| took.as_nanos() as f64).sum())
    });
    reports::compare::spread(blocks).map(|blocks| Nanos(blocks.median as u64))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use reports::testing::Sample;

    use super::*;
    use crate::{plan::plan, scenario::parse};

    const SCENARIO: &str = "question = \"x\"\n[design]\ncooldown = \"0s\"\n[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\n[[variants]]\nname = \"a\"\nbaseline = true\n[[variants]]\nname = \"b\"\ntx_depth = 1\n";

    /// The plan of a sample, and the sample as a campaign that took 3, then 5, then 4 s a block.
    fn sample() -> (Plan, Earlier) {
        let campaign = Sample { blocks: 8, ..Sample::default() }.campaign();
        let mut plan = plan(&parse(Path::new("x.toml"), SCENARIO.to_owned()).unwrap(), 1).unwrap();
        (plan.workloads, plan.variants) = (campaign.workloads.clone(), campaign.variants.clone());
        (plan.gates, plan.design) = (campaign.gates.clone(), campaign.design.clone());
        let runs = plan.runs.iter().filter(|run| run.block < 3);
        let seconds = [3, 5, 4];
        let times =
            runs.map(|run| (run.block, Duration::from_secs(seconds[run.block as usize]) / 3)).collect();
        (plan, Earlier { campaign, times })
    }

    #[test]
    fn the_spread_and_the_time_of_a_block_are_those_measured() {
        let (plan, earlier) = sample();
        let comparison = reports::compare(&earlier.campaign, &CompareOptions::default());
        let cell = comparison.gates().next().unwrap();
        let noise = Noise::of(&plan, std::slice::from_ref(&earlier)).unwrap();
        let gate = noise.gate(&cell.workload, cell.msg_bytes, cell.metric).unwrap();
        assert_eq!(gate.sd_ln, cell.effect.as_ref().unwrap().sd_ln);
        let block = Duration::from_nanos(noise.block_ns.unwrap().get());
        assert_eq!(block.as_millis(), 3_999, "the median, three thirds of 4 s");
        assert_eq!(noise.source(), format!("campaign {}", earlier.campaign.id));
    }

    #[test]
    fn other_runs_are_no_guide() {
        let (mut plan, earlier) = sample();
        plan.design.cooldown_ns = Nanos(1);
        let of = |plan: &Plan, earlier: &Earlier| Noise::of(plan, std::slice::from_ref(earlier));
        assert_eq!(of(&plan, &earlier).unwrap().block_ns, None, "another pause makes other times");
        plan.variants[1].name.push('x');
        assert_eq!(of(&plan, &earlier), None);
        assert_eq!(Noise::of(&plan, &[]), None);
    }

    #[test]
    fn half_a_block_says_nothing_of_a_block() {
        let (plan, mut earlier) = sample();
        earlier.times.truncate(2);
        assert_eq!(Noise::of(&plan, &[earlier]).unwrap().block_ns, None);
    }
}
