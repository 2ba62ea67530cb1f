//! The plan of one variant by itself: nothing is compared within it, and its runs are replicates of each other. Nights are made
//! of these.

use schema::{Design, Grouping, Role, StopRule};

use super::{Plan, order, resolve};
use crate::scenario::{Scenario, ScenarioError};

/// What there is to measure of a scenario.
#[derive(Debug, Clone, Copy)]
pub struct Single<'n> {
    /// Name of the variant; absent is the baseline.
    pub variant: Option<&'n str>,
    /// Runs of each workload.
    pub runs: u32,
}

/// Why there is no such plan.
#[derive(Debug, thiserror::Error)]
pub enum SingleError {
    /// The scenario can't be run.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The scenario has no such variant.
    #[error("scenario `{scenario}` has no variant `{variant}`; it has {}", known.join(", "))]
    NoVariant {
        /// Name of the scenario.
        scenario: String,
        /// As asked.
        variant: String,
        /// What there is.
        known: Vec<String>,
    },
}

/// Makes the plan of one variant: every workload once a block, as many blocks as runs are asked for. `drawn_seed` is used where
/// the scenario names none. The scenario's own number of blocks, its gates and its rule to stop are those of a comparison, and
/// say nothing here.
pub fn of_one_variant(scenario: &Scenario, single: Single<'_>, drawn_seed: u64) -> Result<Plan, SingleError> {
    let mut resolved = resolve::resolve(scenario)?;
    let known: Vec<String> = resolved.variants.iter().map(|variant| variant.name.clone()).collect();
    let wanted = single.variant.unwrap_or(&known[0]).to_owned(); // the baseline is the first of a scenario's variants
    resolved.variants.retain(|variant| variant.name == wanted);
    let [variant] = &mut resolved.variants[..] else {
        return Err(SingleError::NoVariant { scenario: scenario.name.clone(), variant: wanted, known });
    };
    variant.role = Role::Baseline;
    variant.factors_on.clear();
    let grouping = if variant.tuning.is_slow() { Grouping::PerBlock } else { Grouping::PerRun };
    for workload in &mut resolved.workloads {
        workload.specs.retain(|name, _| *name == wanted);
    }
    let design = Design {
        blocks: single.runs,
        seed: scenario.design.seed.unwrap_or(drawn_seed),
        cooldown_ns: scenario.design.cooldown_ns,
        grouping,
        stop: StopRule::AllBlocks,
    };
    let runs = order::order(&resolved.workloads, &resolved.variants, &design, scenario.design.order);
    Ok(Plan {
        scenario: scenario.name.clone(),
        question: scenario.question.clone(),
        scenario_toml: scenario.source.clone(),
        hosts: scenario.hosts.clone(),
        variants: resolved.variants,
        factors: Vec::new(),
        workloads: resolved.workloads,
        design,
        gates: Vec::new(),
        runs,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use schema::Purpose;

    use super::*;
    use crate::{plan::plan, scenario::parse};

    const ALONE: &str = "question = \"How fast?\"\n[design]\nblocks = 99\n[[workloads]]\nname = \"w\"\ntest = \"bandwidth\"\nop = \"write\"\n[[workloads]]\nname = \"l\"\ntest = \"latency\"\nop = \"write\"\n";
    const TWO: &str = "[[variants]]\nname = \"deep\"\ntx_depth = 256\n[[variants]]\nname = \"shallow\"\nbaseline = true\npost_list = 1\n";

    fn scenario(text: &str) -> Scenario {
        parse(Path::new("x.toml"), text.to_owned()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn single(text: &str, variant: Option<&str>) -> Result<Plan, String> {
        of_one_variant(&scenario(text), Single { variant, runs: 5 }, 7).map_err(|error| error.to_string())
    }

    #[test]
    fn a_scenario_without_variants_is_measured_by_itself_and_not_compared() {
        let plan = single(ALONE, None).unwrap();
        assert_eq!(plan.variants.len(), 1);
        assert_eq!((plan.variants[0].name.as_str(), plan.variants[0].role), ("default", Role::Baseline));
        assert_eq!((plan.runs.len(), plan.design.blocks, plan.design.seed), (2 * 5, 5, 7));
        assert!(plan.runs.iter().all(|run| run.purpose == Purpose::Measure));
        let refused = super::super::plan(&scenario(ALONE), 1).unwrap_err().to_string();
        assert!(
            refused.contains("variants: 0 given") && refused.contains("rdma-harness nightly"),
            "{refused}"
        );
    }

    #[test]
    fn the_variant_is_the_one_asked_for_else_the_baseline() {
        let text = format!("{ALONE}{TWO}").replace("test = \"latency\"", "test = \"bandwidth\"");
        let of = |variant| {
            let plan = single(&text, variant).unwrap();
            let specs: Vec<u32> = plan
                .workloads
                .iter()
                .flat_map(|workload| workload.specs.values().map(|spec| spec.tx_depth))
                .collect();
            (plan.variants[0].name.clone(), specs)
        };
        assert_eq!(of(None), ("shallow".to_owned(), vec![128, 128]));
        assert_eq!(of(Some("deep")), ("deep".to_owned(), vec![256, 256]));
        let refused = single(&text, Some("deeper")).unwrap_err();
        assert_eq!(refused, "scenario `x` has no variant `deeper`; it has shallow, deep");
        assert_eq!(plan(&scenario(&text), 1).unwrap().variants.len(), 2);
    }

    #[test]
    fn a_single_variant_needs_no_word_that_it_is_the_baseline() {
        let one = format!("{ALONE}[[variants]]\nname = \"deep\"\npost_list = 1\n");
        assert_eq!(single(&one, None).unwrap().variants[0].name, "deep");
        let refused = plan(&scenario(&one), 1).unwrap_err().to_string();
        assert!(refused.contains("variants: 1 given"), "{refused}");
    }
}
