//! Whom a question is about: a variant against the baseline, or what all combinations say of a factor or of two.

use schema::Variant;

use super::{
    factorial::{Layout, Term},
    model::Asks,
    verdict::Rule,
};

/// What is compared with the baseline, or asked of all combinations together.
#[derive(Clone, Copy)]
pub(super) enum Candidate<'c> {
    /// A variant against the baseline.
    Variant(&'c Variant),
    /// A factor or an interaction.
    Term {
        /// The combinations.
        layout: &'c Layout<'c>,
        /// Which.
        term: Term,
    },
}

impl Candidate<'_> {
    /// What is asked of it.
    pub(super) fn asks(self) -> Asks {
        match self {
            Candidate::Variant(_) => Asks::Variant,
            Candidate::Term { term: Term::Factor(_), .. } => Asks::Factor,
            Candidate::Term { term: Term::Interaction(..), .. } => Asks::Interaction,
        }
    }

    /// Its name in the report.
    pub(super) fn name(self) -> String {
        match self {
            Candidate::Variant(variant) => variant.name.clone(),
            Candidate::Term { layout, term } => layout.name(term),
        }
    }

    /// What it can't be told from.
    pub(super) fn aliases(self) -> Vec<String> {
        match self {
            Candidate::Variant(_) => Vec::new(),
            Candidate::Term { layout, term } => layout.aliases(term),
        }
    }

    /// What a verdict on it takes.
    pub(super) fn rule(self) -> Rule {
        match self {
            Candidate::Variant(_) => Rule::of_pairs(),
            Candidate::Term { layout, .. } => Rule::of_factors(layout.runs()),
        }
    }
}
