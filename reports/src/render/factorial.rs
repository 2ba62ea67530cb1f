//! A factorial design in words: what was combined, and what cannot be told apart.

use super::number;
use crate::compare::{Confounding, FactorialDesign};

/// The design in one line: `8 of 16 combinations of 4 factors (resolution IV)`.
pub fn design_name(design: &FactorialDesign) -> String {
    let (factors, combinations) = (design.factors.len(), u64::from(design.combinations));
    let all = 1u64 << factors.min(63);
    let how_many = match combinations {
        some if some < all => format!("{} of {} combinations", number::grouped(some), number::grouped(all)),
        _ => format!("all {} combinations", number::grouped(all)),
    };
    let kind = match design.confounding {
        Confounding::None => String::new(),
        Confounding::Resolution { resolution } => format!(" (resolution {})", roman(resolution)),
        Confounding::Partial { .. } => " (screening)".to_owned(),
    };
    format!("{how_many} of {factors} factors{kind}")
}

/// What the design can tell, and what it can't.
pub fn design_limits(design: &FactorialDesign) -> String {
    match design.confounding {
        Confounding::None => "every factor can be told from every interaction".into(),
        Confounding::Resolution { resolution: 3 } => {
            "a factor cannot be told from interactions of two others: what is said of it may be what those do"
                .into()
        }
        Confounding::Resolution { resolution: 4 } => {
            "a factor can be told from interactions of two, but those not from each other".into()
        }
        Confounding::Resolution { .. } => {
            "factors and interactions of two can be told from each other, if no three factors act together"
                .into()
        }
        Confounding::Partial { share } => format!(
            "a factor's change holds up to {} of what any two others bring together: a screening names suspects, and a second campaign of those settles it",
            number::margin((share * 100.0).round() / 100.0)
        ),
    }
}

/// The number as resolutions are written.
pub fn roman(resolution: u32) -> &'static str {
    match resolution {
        0..=3 => "III",
        4 => "IV",
        5 => "V",
        6 => "VI",
        7 => "VII",
        _ => "VIII or more",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(factors: usize, combinations: u32, confounding: Confounding) -> String {
        let factors = (0..factors).map(|n| format!("f{n}")).collect();
        let design = FactorialDesign { factors, combinations, confounding, confounded: Vec::new() };
        format!("{}: {}", design_name(&design), design_limits(&design))
    }

    #[test]
    fn each_design_says_what_it_can_tell() {
        for (said, wanted) in [
            (of(3, 8, Confounding::None), "all 8 combinations of 3 factors: every factor can"),
            (
                of(7, 8, Confounding::Resolution { resolution: 3 }),
                "8 of 128 combinations of 7 factors (resolution III): a factor cannot be told",
            ),
            (
                of(11, 12, Confounding::Partial { share: 1.0 / 3.0 }),
                "12 of 2,048 combinations of 11 factors (screening): a factor's change holds up to 33% of",
            ),
        ] {
            assert!(said.starts_with(wanted), "{said}");
        }
    }
}
