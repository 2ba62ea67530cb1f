//! Factorial campaigns with a known answer: what each factor and each interaction brings is put in.

use std::collections::BTreeMap;

use schema::{Factor, Role, SidesTuning, Variant};

/// One factor a letter.
pub fn factors(letters: &str) -> Vec<Factor> {
    let factor = |letter: char| Factor {
        name: letter.to_string(),
        settings: BTreeMap::from([(format!("setting_{letter}"), "on".to_owned())]),
        tuning: SidesTuning::default(),
    };
    letters.chars().map(factor).collect()
}

/// A variant a row, written as the letters that are on; the first is the baseline.
pub fn variants(rows: &[&str]) -> Vec<Variant> {
    let variant = |(n, letters): (usize, &&str)| Variant {
        name: if letters.is_empty() { "none".into() } else { name(letters) },
        role: if n == 0 { Role::Baseline } else { Role::Candidate },
        settings: letters.chars().map(|letter| (format!("setting_{letter}"), "on".to_owned())).collect(),
        tuning: SidesTuning::default(),
        factors_on: letters.chars().map(String::from).collect(),
    };
    rows.iter().enumerate().map(variant).collect()
}

fn name(letters: &str) -> String {
    letters.chars().map(String::from).collect::<Vec<_>>().join("+")
}
