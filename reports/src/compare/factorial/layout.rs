//! The combinations of a campaign as columns of signs, and which columns are the same: what looks alike can't be told apart.
//!
//! Nothing is taken from the name of a design: the columns are those of the variants that were run.

use schema::{Factor, Variant};

use super::super::model::{Confounding, FactorialDesign};

/// Rows are variants, columns factors; a sign is 1 where the factor is on, else -1.
pub(in crate::compare) struct Layout<'c> {
    names: Vec<&'c str>,
    columns: Vec<Vec<i32>>,
    rows: usize,
}

/// What the variants can tell about the factors: what a factor brings by itself, or what two bring together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compare) enum Term {
    /// A factor, by its position.
    Factor(usize),
    /// Two factors.
    Interaction(usize, usize),
}

/// What a campaign with these variants tells about these factors; none without factors, and where they are not balanced
/// against each other, which no planned campaign is.
pub fn design(factors: &[Factor], variants: &[Variant]) -> Option<FactorialDesign> {
    Layout::of(factors, variants).map(|layout| layout.design())
}

impl<'c> Layout<'c> {
    /// The layout; none as for [`design`].
    pub(in crate::compare) fn of(factors: &'c [Factor], variants: &[Variant]) -> Option<Self> {
        let sign = |variant: &Variant, name: &String| if variant.factors_on.contains(name) { 1 } else { -1 };
        let column = |factor: &Factor| variants.iter().map(|variant| sign(variant, &factor.name)).collect();
        let columns: Vec<Vec<i32>> = factors.iter().map(column).collect();
        let names = factors.iter().map(|factor| factor.name.as_str()).collect();
        let layout = Layout { names, columns, rows: variants.len() };
        let orthogonal =
            subsets(factors.len(), 1).chain(subsets(factors.len(), 2)).all(|set| layout.sum(&set) == 0);
        (!factors.is_empty() && orthogonal).then_some(layout)
    }

    /// The factors, then the interactions of two that no factor can be taken for; of several that can't be told from each
    /// other, the first.
    pub(in crate::compare) fn terms(&self) -> Vec<Term> {
        let mut terms: Vec<Term> = (0..self.names.len()).map(Term::Factor).collect();
        let factors = terms.clone();
        for pair in self.interactions() {
            let apart_from_factors = factors.iter().all(|factor| self.correlation(pair, *factor) == 0);
            let told = terms.iter().any(|term| self.same(pair, *term));
            if apart_from_factors && !told {
                terms.push(pair);
            }
        }
        terms
    }

    /// The name of a term: `mtu`, `mtu x depth`.
    pub(in crate::compare) fn name(&self, term: Term) -> String {
        match term {
            Term::Factor(factor) => self.names[factor].to_owned(),
            Term::Interaction(one, other) => format!("{} x {}", self.names[one], self.names[other]),
        }
    }

    /// Names of the other terms that have the same column.
    pub(in crate::compare) fn aliases(&self, term: Term) -> Vec<String> {
        self.all()
            .filter(|other| *other != term && self.same(term, *other))
            .map(|other| self.name(other))
            .collect()
    }

    /// The sign of a factor in each variant.
    pub(in crate::compare) fn column(&self, factor: usize) -> &[i32] {
        &self.columns[factor]
    }

    /// The sign of a term in each variant.
    fn signs(&self, term: Term) -> Vec<i32> {
        (0..self.rows)
            .map(|row| self.members(term).map(|factor| self.columns[factor][row]).product())
            .collect()
    }

    fn members(&self, term: Term) -> impl Iterator<Item = usize> {
        let (one, other) = match term {
            Term::Factor(factor) => (factor, None),
            Term::Interaction(one, other) => (one, Some(other)),
        };
        std::iter::once(one).chain(other)
    }

    fn interactions(&self) -> impl Iterator<Item = Term> + use<> {
        let factors = self.names.len();
        (0..factors).flat_map(move |one| (one + 1..factors).map(move |other| Term::Interaction(one, other)))
    }

    fn all(&self) -> impl Iterator<Item = Term> + use<> {
        (0..self.names.len()).map(Term::Factor).chain(self.interactions())
    }

    /// The product of two columns summed up; 0 where they have nothing to do with each other, the number of rows where they
    /// are the same.
    fn correlation(&self, one: Term, other: Term) -> i32 {
        self.signs(one).iter().zip(self.signs(other)).map(|(a, b)| a * b).sum()
    }

    fn same(&self, one: Term, other: Term) -> bool {
        self.correlation(one, other).unsigned_abs() as usize == self.rows
    }

    /// The product of some factors' columns, summed up.
    fn sum(&self, factors: &[usize]) -> i32 {
        (0..self.rows)
            .map(|row| factors.iter().map(|factor| self.columns[*factor][row]).product::<i32>())
            .sum()
    }

    /// Runs of a block that a term is measured by.
    pub(in crate::compare) fn runs(&self) -> u32 {
        self.rows as u32
    }

    pub(in crate::compare) fn design(&self) -> FactorialDesign {
        FactorialDesign {
            factors: self.names.iter().map(|name| (*name).to_owned()).collect(),
            combinations: self.rows as u32,
            confounding: self.confounding(),
            confounded: self.confounded(),
        }
    }

    /// By the smallest number of factors whose columns' product is not balanced (Deng and Tang 1999).
    fn confounding(&self) -> Confounding {
        for members in 3..=self.names.len() {
            let most = subsets(self.names.len(), members).map(|set| self.sum(&set).unsigned_abs()).max();
            match most {
                Some(0) | None => {}
                Some(all) if all as usize == self.rows => {
                    return Confounding::Resolution { resolution: members as u32 };
                }
                Some(some) => return Confounding::Partial { share: f64::from(some) / self.rows as f64 },
            }
        }
        Confounding::None
    }

    fn confounded(&self) -> Vec<Vec<String>> {
        let mut groups: Vec<Vec<Term>> = Vec::new();
        for term in self.all() {
            match groups.iter_mut().find(|group| self.same(group[0], term)) {
                Some(group) => group.push(term),
                None => groups.push(vec![term]),
            }
        }
        let several = groups.into_iter().filter(|group| group.len() > 1);
        several.map(|group| group.into_iter().map(|term| self.name(term)).collect()).collect()
    }
}

/// Every way to choose some of the first `from` numbers.
fn subsets(from: usize, members: usize) -> impl Iterator<Item = Vec<usize>> {
    let mut next: Option<Vec<usize>> = (members <= from).then(|| (0..members).collect());
    std::iter::from_fn(move || {
        let this = next.clone()?;
        let movable = (0..members).rev().find(|n| this[*n] < from - members + n);
        next = movable.map(|n| {
            let mut set = this.clone();
            set[n] += 1;
            (n + 1..members).for_each(|later| set[later] = set[later - 1] + 1);
            set
        });
        Some(this)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::factorial::{factors, variants};
    use pretty_assertions::assert_eq;

    /// Combinations written as the letters of what is on.
    fn laid_out(names: &str, rows: &[&str]) -> FactorialDesign {
        design(&factors(names), &variants(rows)).unwrap()
    }

    #[test]
    fn all_combinations_confound_nothing() {
        let design = laid_out("ab", &["", "a", "b", "ab"]);
        assert_eq!((design.combinations, design.confounding), (4, Confounding::None));
        assert_eq!(design.confounded, Vec::<Vec<String>>::new());
    }

    #[test]
    fn half_of_four_factors_has_resolution_four() {
        let rows = ["", "ad", "bd", "ab", "cd", "ac", "bc", "abcd"];
        let design = laid_out("abcd", &rows);
        assert_eq!(design.confounding, Confounding::Resolution { resolution: 4 });
        // Montgomery, table 8.3: [AB] = AB + CD, [AC] = AC + BD, [AD] = AD + BC.
        assert_eq!(design.confounded, [["a x b", "c x d"], ["a x c", "b x d"], ["a x d", "b x c"]]);
        let (factors, variants) = (factors("abcd"), variants(&rows));
        let layout = Layout::of(&factors, &variants).unwrap();
        let terms: Vec<String> = layout.terms().into_iter().map(|term| layout.name(term)).collect();
        assert_eq!(terms, ["a", "b", "c", "d", "a x b", "a x c", "a x d"]);
        assert_eq!(layout.aliases(Term::Interaction(0, 1)), ["c x d"]);
        assert_eq!(layout.aliases(Term::Factor(0)), Vec::<String>::new());
    }

    #[test]
    fn a_factor_in_the_place_of_an_interaction_is_named_with_it_and_the_interaction_is_not_asked() {
        let design = laid_out("abc", &["", "ac", "bc", "ab"]);
        assert_eq!(design.confounding, Confounding::Resolution { resolution: 3 });
        assert_eq!(design.confounded, [["a", "b x c"], ["b", "a x c"], ["c", "a x b"]]);
        let (factors, variants) = (factors("abc"), variants(&["", "ac", "bc", "ab"]));
        let layout = Layout::of(&factors, &variants).unwrap();
        assert_eq!(layout.terms().len(), 3);
    }

    #[test]
    fn twelve_runs_of_plackett_and_burman_hold_a_third_of_every_interaction() {
        let row = "++-+++---+-";
        let letters = |shift: usize| -> String {
            (0..11)
                .filter(|n| row.as_bytes()[(n + 11 - shift) % 11] == b'+')
                .map(|n| (b'a' + n as u8) as char)
                .collect()
        };
        let rows: Vec<String> = std::iter::once(String::new()).chain((0..11).map(letters)).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let design = laid_out("abcdefghijk", &rows);
        assert_eq!(design.confounding, Confounding::Partial { share: 1.0 / 3.0 });
        let (factors, variants) = (factors("abcdefghijk"), variants(&rows));
        assert_eq!(Layout::of(&factors, &variants).unwrap().terms().len(), 11, "factors only");
    }

    #[test]
    fn what_is_not_balanced_is_no_design() {
        assert_eq!(design(&factors("ab"), &variants(&["", "a", "b"])), None);
        assert_eq!(design(&[], &variants(&["", "a"])), None);
    }
}
