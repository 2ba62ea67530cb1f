//! A plan: a scenario with nothing left to decide. Every run is resolved, ordered and printable before the first starts.
//!
//! Pure: reads no file, touches no host, draws no random number of its own; a seed comes in.

mod document;
mod estimate;
mod factorial;
mod noise;
mod order;
mod outlook;
mod probably;
mod refuse;
mod resolve;
mod show;
mod single;
mod stop;

use reports::CompareOptions;
use schema::{
    Bytes, Design, Factor, Gate, Grouping, Purpose, Role, RunSpec, StopRule, Test, Variant, Workload,
};

use serde::Serialize;

use crate::scenario::{Hosts, Scenario, ScenarioError};

pub use document::{Document, document};
pub use estimate::{block_time, detectable_in_sd, run_time};
pub use noise::{Earlier, GateNoise, Noise};
pub use outlook::{Outlook, Sight};
pub use probably::{CHANGE_IN_MARGINS, Expectation, Probably};
pub use show::show;
pub use single::{Single, SingleError, of_one_variant};

/// A scenario, resolved and ordered.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Name of the scenario.
    pub scenario: String,
    /// The question it answers.
    pub question: String,
    /// The scenario file as it was.
    pub scenario_toml: String,
    /// Where the two sides run and meet.
    pub hosts: Hosts,
    /// Baseline first.
    pub variants: Vec<Variant>,
    /// What is on or off in the variants; empty where they are listed one by one.
    pub factors: Vec<Factor>,
    /// In scenario order.
    pub workloads: Vec<Workload>,
    /// How the runs are laid out.
    pub design: Design,
    /// What decides the verdict.
    pub gates: Vec<Gate>,
    /// In the order they shall happen.
    pub runs: Vec<PlannedRun>,
}

/// One run to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlannedRun {
    /// Position in the order, from 0.
    pub sequence: u32,
    /// Block, from 0.
    pub block: u32,
    /// Workload name.
    pub workload: String,
    /// Variant name.
    pub variant: String,
    /// Pair or control.
    pub purpose: Purpose,
}

/// Makes the plan of a comparison; `drawn_seed` is used where the scenario names none.
pub fn plan(scenario: &Scenario, drawn_seed: u64) -> Result<Plan, ScenarioError> {
    refuse::refuse_nothing_to_compare(scenario)?;
    let resolved = resolve::resolve(scenario)?;
    let seed = scenario.design.seed.unwrap_or(drawn_seed);
    let slow = resolved.variants.iter().any(|variant| variant.tuning.is_slow());
    let design = Design {
        blocks: scenario.design.blocks,
        seed,
        cooldown_ns: scenario.design.cooldown_ns,
        grouping: if slow { Grouping::PerBlock } else { Grouping::PerRun },
        stop: StopRule::AllBlocks,
    };
    let runs = order::order(&resolved.workloads, &resolved.variants, &design, scenario.design.order);
    let mut plan = Plan {
        scenario: scenario.name.clone(),
        question: scenario.question.clone(),
        scenario_toml: scenario.source.clone(),
        hosts: scenario.hosts.clone(),
        variants: resolved.variants,
        factors: resolved.factors,
        workloads: resolved.workloads,
        design,
        gates: resolved.gates,
        runs,
    };
    if let Some(written) = &scenario.design.stop {
        let blocks = plan.design.blocks;
        let settled = stop::settle(written, blocks, plan.fewest_blocks(), plan.first_useful_look());
        plan.design.stop = settled.map_err(|fault| scenario.error(vec![*fault]))?;
    }
    Ok(plan)
}

impl Plan {
    /// The resolved spec of a planned run.
    ///
    /// # Panics
    /// When the run is not of this plan.
    pub fn spec(&self, run: &PlannedRun) -> &RunSpec {
        spec(&self.workloads, run).expect("a planned run names a workload and a variant of its plan")
    }

    /// How many questions decide the verdict: gates, workloads, sizes and candidates, or factors, multiplied out.
    pub fn questions(&self) -> u32 {
        let candidates = match self.factors.len() {
            0 => self.variants.iter().filter(|variant| variant.role == Role::Candidate).count(),
            factors => factors,
        };
        let points = self.workloads.iter().flat_map(|workload| {
            let spec = workload.specs.values().next();
            spec.into_iter()
                .flat_map(move |spec| spec.msg_bytes.iter().map(move |size| (workload, spec.test, *size)))
        });
        let gates_of = |(workload, test, size): (&Workload, Test, Bytes)| {
            let asks = |gate: &&Gate| {
                gate.workload.as_ref().is_none_or(|name| *name == workload.name)
                    && gate.msg_bytes.is_none_or(|asked| asked == size)
                    && (test == Test::Bandwidth || gate.metric.quantile().is_some())
            };
            if self.gates.is_empty() { 1 } else { self.gates.iter().filter(asks).count() }
        };
        (points.map(gates_of).sum::<usize>() * candidates) as u32
    }

    /// Blocks below which nothing can be found, whatever is measured.
    pub fn fewest_blocks(&self) -> u32 {
        self.fewest()(self.questions(), &CompareOptions::default())
    }

    /// The first look that could find a difference, if the blocks made are at most those of the design; none where even
    /// the last could not.
    fn first_useful_look(&self) -> Option<u32> {
        let (most, options) = (self.design.blocks, CompareOptions::default());
        reports::compare::first_useful_look(most, self.fewest(), self.questions(), &options)
    }

    fn fewest(&self) -> fn(u32, &CompareOptions) -> u32 {
        if self.factors.is_empty() {
            reports::compare::fewest_pairs
        } else {
            reports::compare::fewest_blocks_for_factors
        }
    }
}

/// The resolved spec of a run, if its workload and variant are among these.
pub fn spec<'w>(workloads: &'w [Workload], run: &PlannedRun) -> Option<&'w RunSpec> {
    workloads.iter().find(|workload| workload.name == run.workload)?.specs.get(&run.variant)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::scenario::load;

    /// Every shipped scenario, with its text.
    fn shipped() -> Vec<(Scenario, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let scenarios = files.filter(|file| file.extension().is_some_and(|ending| ending == "toml"));
        scenarios
            .map(|file| {
                (load(&file).unwrap_or_else(|error| panic!("{error}")), fs::read_to_string(file).unwrap())
            })
            .collect()
    }

    #[test]
    fn every_shipped_scenario_plans_and_opens_with_its_question() {
        let all = shipped();
        assert!(all.len() >= 7, "{}", all.len());
        for (scenario, text) in all {
            let plan = plan(&scenario, 1).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                text.lines().next(),
                Some(format!("# {}", plan.question).as_str()),
                "{}",
                plan.scenario
            );
            assert!(!plan.gates.is_empty(), "{} declares no gate", plan.scenario);
            assert!(plan.design.blocks >= 10, "{}", plan.scenario);
            assert!(show(&plan, &Outlook::of(&plan, None)).contains(&plan.question));
        }
    }

    #[test]
    fn the_shipped_scenarios_are_listed_in_their_readme() {
        let readme = include_str!("../../../scenarios/README.md");
        for (scenario, _) in shipped() {
            assert!(readme.contains(&format!("{}.toml", scenario.name)), "{}", scenario.name);
            assert!(readme.contains(&scenario.question), "{}", scenario.name);
        }
    }

    #[test]
    fn every_shipped_scenario_has_pairs_enough_for_its_questions() {
        for (scenario, _) in shipped() {
            let plan = plan(&scenario, 1).unwrap();
            assert!(
                plan.design.blocks >= plan.fewest_blocks(),
                "{}: {} questions",
                plan.scenario,
                plan.questions()
            );
        }
    }

    #[test]
    fn questions_multiply_out() {
        let count = |name: &str| {
            let (scenario, _) = shipped().into_iter().find(|(scenario, _)| scenario.name == name).unwrap();
            plan(&scenario, 1).unwrap().questions()
        };
        assert_eq!(count("quickstart"), 2, "one gate, one size, two candidates");
        assert_eq!(count("queue-depth"), 6, "one gate over two workloads, three candidates");
        assert_eq!(count("inline"), 3, "p50 at two sizes, message rate at one");
    }

    #[test]
    fn the_quickstart_measures_for_less_than_a_minute() {
        let (scenario, _) =
            shipped().into_iter().find(|(scenario, _)| scenario.name == "quickstart").unwrap();
        let plan = plan(&scenario, 1).unwrap();
        let time = block_time(&plan).unwrap() * plan.design.blocks;
        assert!(time.as_secs() < 60, "{time:?}");
    }
}
