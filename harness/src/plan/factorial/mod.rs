//! Which combinations of factors are measured: every one, a regular fraction, or a screening design.
//!
//! A combination says of every factor whether it is on. The first is always the one with all of them off, the baseline, and each
//! design is balanced and orthogonal: a factor is on in half of the combinations, and any two are on together in a quarter.

mod fractional;
mod screening;
mod show;
#[cfg(test)]
mod tests;
mod treatment;

use crate::scenario::{At, Factorial, Fault, Scenario, Span};

pub(super) use show::show;
pub(super) use treatment::{Treatment, treatments};

/// Which factors are on.
pub(super) type Combination = Vec<bool>;

/// With more factors than this, the full design is only made where it is asked for by name.
const MOST_FACTORS_UNASKED: usize = 4;
/// Larger designs would make blocks that no drift is slow enough for.
const MOST_COMBINATIONS: usize = 64;

/// The combinations of a scenario's factors, the baseline first.
pub(super) fn combinations(scenario: &Scenario) -> Result<Vec<Combination>, Box<Fault>> {
    let factors = scenario.factors.len();
    let asked = scenario.design.combinations.as_ref();
    let Some(kind) = &scenario.design.factorial else {
        return unasked(scenario);
    };
    let wanted = asked.map(|asked| asked.value as usize);
    let made = match kind.value {
        Factorial::Full => full(factors).filter(|rows| wanted.is_none_or(|wanted| wanted == rows.len())),
        Factorial::Fractional => fractional::combinations(factors, wanted),
        Factorial::Screening => screening::combinations(factors, wanted),
    };
    made.ok_or_else(|| {
        let (field, span) = match asked {
            Some(asked) => ("design.combinations", asked.span.clone()),
            None => ("design.factorial", kind.span.clone()),
        };
        Box::new(refused(field, span, kind, asked, factors))
    })
}

/// The design where the scenario names none.
fn unasked(scenario: &Scenario) -> Result<Vec<Combination>, Box<Fault>> {
    let factors = scenario.factors.len();
    let rows = full(factors).filter(|_| factors <= MOST_FACTORS_UNASKED);
    if let (Some(rows), None) = (rows, &scenario.design.combinations) {
        return Ok(rows);
    }
    let (span, what) = match &scenario.design.combinations {
        Some(asked) => {
            (asked.span.clone(), "is missing, and a number of combinations alone names no design".into())
        }
        None => {
            let span = scenario.factors[0].name.span.clone();
            (span, format!("is missing; all combinations of {factors} factors would be {}", power(factors)))
        }
    };
    Err(Box::new(
        Fault::new("design.factorial", span, what).advice(format!("write one of: {}", choices(factors))),
    ))
}

fn refused(field: &str, span: Span, kind: &At<Factorial>, asked: Option<&At<u32>>, factors: usize) -> Fault {
    let what = match asked {
        Some(asked) => {
            format!("there is no {} design of {} combinations for {factors} factors", kind.value, asked.value)
        }
        None => format!("there is no {} design for {factors} factors", kind.value),
    };
    Fault::new(field, span, what).advice(format!("write one of: {}", choices(factors)))
}

/// What there is for a number of factors, and what each costs.
fn choices(factors: usize) -> String {
    let mut choices = Vec::new();
    if full(factors).is_some() {
        choices.push(format!("\"full\" ({} runs a block and workload)", power(factors)));
    }
    for (runs, resolution) in fractional::sizes(factors) {
        let first = fractional::combinations(factors, None).is_some_and(|rows| rows.len() == runs);
        let size = if first { String::new() } else { format!(" with combinations = {runs}") };
        choices.push(format!(
            "\"fractional\"{size} ({runs} runs, resolution {})",
            reports::render::roman(resolution)
        ));
    }
    for (n, runs) in screening::sizes(factors).take(2).enumerate() {
        let size = if n == 0 { String::new() } else { format!(" with combinations = {runs}") };
        choices.push(format!("\"screening\"{size} ({runs} runs, factors by themselves only)"));
    }
    if choices.is_empty() {
        return format!("fewer factors; there is no design for more than {}", screening::MOST_FACTORS);
    }
    choices.join(", ")
}

fn power(factors: usize) -> String {
    1u64.checked_shl(factors as u32).map_or_else(|| format!("2^{factors}"), |rows| rows.to_string())
}

/// Every combination, the first factor changing fastest.
fn full(factors: usize) -> Option<Vec<Combination>> {
    let rows = 1usize.checked_shl(factors as u32).filter(|rows| *rows <= MOST_COMBINATIONS)?;
    Some((0..rows).map(|row| (0..factors).map(|factor| row >> factor & 1 == 1).collect()).collect())
}

#[cfg(test)]
mod designs {
    use super::*;
    use proptest::prelude::*;

    /// Balanced, orthogonal, no combination twice, and the baseline first.
    fn check(rows: &[Combination]) {
        let factors = rows[0].len();
        assert!(rows[0].iter().all(|on| !on), "the first is not the baseline");
        for factor in 0..factors {
            assert_eq!(2 * rows.iter().filter(|row| row[factor]).count(), rows.len(), "{factor}");
            for other in 0..factor {
                let both = rows.iter().filter(|row| row[factor] && row[other]).count();
                assert_eq!(4 * both, rows.len(), "{factor} and {other}");
            }
        }
        let mut distinct = rows.to_vec();
        distinct.sort();
        distinct.dedup();
        assert_eq!(distinct.len(), rows.len());
    }

    proptest! {
        #[test]
        fn every_design_is_balanced_orthogonal_and_starts_with_the_baseline(factors in 2usize..=24) {
            let mut made = 0;
            for rows in full(factors).into_iter()
                .chain(fractional::sizes(factors).filter_map(|(runs, _)| fractional::combinations(factors, Some(runs))))
                .chain(screening::sizes(factors).filter_map(|runs| screening::combinations(factors, Some(runs))))
            {
                check(&rows);
                made += 1;
            }
            prop_assert_eq!(made > 0, factors <= screening::MOST_FACTORS);
        }
    }

    #[test]
    fn the_choices_say_what_they_cost() {
        assert_eq!(
            choices(7),
            "\"fractional\" with combinations = 8 (8 runs, resolution III), \"fractional\" (16 runs, resolution IV), \
             \"fractional\" with combinations = 32 (32 runs, resolution IV), \"screening\" (8 runs, factors by themselves only), \
             \"screening\" with combinations = 12 (12 runs, factors by themselves only)"
        );
        assert!(choices(2).starts_with("\"full\" (4 runs a block and workload)"), "{}", choices(2));
        assert!(choices(24).contains("no design for more than 23"));
    }
}
