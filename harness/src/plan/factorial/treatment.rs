//! What is run under one name: a variant as it is written, or the factors that are on together.

use schema::SidesTuning;

use super::combinations;
use crate::scenario::{
    Assignment, At, Fault, JOINT, NONE, Scenario, Span, WrittenVariant, WrittenWorkload, together,
};

/// Combinations of more factors than this are numbered: their names would be longer than the tables they stand in.
const MOST_NAMES: usize = 5;

/// One way to run the workloads, and where it is written.
pub(in crate::plan) struct Treatment<'s> {
    pub(in crate::plan) name: String,
    /// Whether the others are compared with it.
    pub(in crate::plan) baseline: bool,
    /// The tables it comes from: one for a variant, one a factor that is on for a combination.
    pub(in crate::plan) parts: Vec<Part<'s>>,
    /// What all parts turn together.
    pub(in crate::plan) tune: SidesTuning,
}

/// A table that a treatment comes from.
#[derive(Clone, Copy)]
pub(in crate::plan) struct Part<'s> {
    /// What it is called: `variant` or `factor`.
    pub(in crate::plan) noun: &'static str,
    /// Its position among those.
    pub(in crate::plan) position: usize,
    pub(in crate::plan) name: &'s At<String>,
    pub(in crate::plan) sets: &'s [Assignment],
    pub(in crate::plan) tune: &'s SidesTuning,
}

impl Part<'_> {
    /// Its path in the file: `variants[1]`.
    pub(in crate::plan) fn field(&self) -> String {
        format!("{}s[{}]", self.noun, self.position)
    }
}

impl<'s> Treatment<'s> {
    /// What its tables set.
    pub(in crate::plan) fn sets(&self) -> impl Iterator<Item = &'s Assignment> {
        self.parts.iter().flat_map(|part| part.sets)
    }

    /// What a workload sets under it.
    pub(in crate::plan) fn overrides(
        &self,
        workload: &'s WrittenWorkload,
    ) -> impl Iterator<Item = &'s Assignment> {
        let ours = |name: &str| self.parts.iter().any(|part| part.name.value == name);
        workload.with.iter().filter(move |(name, _)| ours(&name.value)).flat_map(|(_, sets)| sets)
    }

    /// Where it is written; none for what no table writes: the baseline of a factorial, and the only way there is.
    pub(in crate::plan) fn span(&self) -> Option<Span> {
        self.parts.first().map(|part| part.name.span.clone())
    }

    /// Names of the factors that are on.
    pub(in crate::plan) fn factors_on(&self) -> Vec<String> {
        let factors = self.parts.iter().filter(|part| part.noun == FACTOR);
        factors.map(|part| part.name.value.clone()).collect()
    }
}

const VARIANT: &str = "variant";
const FACTOR: &str = "factor";

/// The only way to run the workloads of a scenario without variants and factors.
const ONLY: &str = "default";

/// Everything that is run: the variants in the order of the file, or the combinations of the factors.
pub(in crate::plan) fn treatments(scenario: &Scenario) -> Result<Vec<Treatment<'_>>, Box<Fault>> {
    if scenario.factors.is_empty() && scenario.variants.is_empty() {
        let tune = SidesTuning::default();
        return Ok(vec![Treatment { name: ONLY.to_owned(), baseline: true, parts: Vec::new(), tune }]);
    }
    if scenario.factors.is_empty() {
        return Ok(of_variants(scenario));
    }
    let rows = combinations(scenario)?;
    let treatment = |(number, row): (usize, &Vec<bool>)| {
        let parts: Vec<Part<'_>> =
            factors(scenario).zip(row).filter(|(_, on)| **on).map(|(part, _)| part).collect();
        Treatment {
            name: name(&parts, number, row.len()),
            baseline: parts.is_empty(),
            tune: together(parts.iter().map(|part| part.tune)),
            parts,
        }
    };
    Ok(rows.iter().enumerate().map(treatment).collect())
}

fn of_variants<'s>(scenario: &'s Scenario) -> Vec<Treatment<'s>> {
    let parts = scenario.variants.iter().enumerate().map(|(position, variant)| Part {
        noun: VARIANT,
        position,
        name: &variant.name,
        sets: &variant.sets,
        tune: &variant.tune,
    });
    let treatment = |(part, variant): (Part<'s>, &WrittenVariant)| Treatment {
        name: part.name.value.clone(),
        baseline: variant.is_baseline() || scenario.variants.len() == 1,
        parts: vec![part],
        tune: part.tune.clone(),
    };
    parts.zip(&scenario.variants).map(treatment).collect()
}

/// The factors as tables.
fn factors(scenario: &Scenario) -> impl Iterator<Item = Part<'_>> {
    scenario.factors.iter().enumerate().map(|(position, factor)| Part {
        noun: FACTOR,
        position,
        name: &factor.name,
        sets: &factor.sets,
        tune: &factor.tune,
    })
}

/// `none`, `mtu+deep`, or with many factors the number of the combination.
fn name(parts: &[Part<'_>], number: usize, factors: usize) -> String {
    if parts.is_empty() {
        return NONE.to_owned();
    }
    if factors > MOST_NAMES {
        return format!("c{:02}", number + 1);
    }
    let names: Vec<&str> = parts.iter().map(|part| part.name.value.as_str()).collect();
    names.join(&JOINT.to_string())
}
