//! Regular fractions of two levels with the least aberration.
//!
//! The first factors take all combinations of their own; each further one is on where an odd number of the factors of its word
//! is on. So all off is always a combination: the signs of the textbook are those that make it one. Words are those of
//! Montgomery, Design and Analysis of Experiments, table "Alias relationships for 2^(k-p) fractional factorial designs" (the
//! same as in Box, Hunter and Hunter, Statistics for Experimenters, and in the NIST handbook, 5.3.3.4.7); of 12 to 16 factors
//! in 32 runs, where that table has none, further odd words, which keep resolution IV (Chen, Sun and Wu 1993). A test searches
//! for designs with less aberration.

use super::Combination;

/// A family of designs with one number of runs: the words of all further factors, which a design of fewer takes from the front.
struct Fraction {
    runs: usize,
    factors: usize,
    words: &'static [&'static str],
    resolution: u32,
}

#[rustfmt::skip]
const FRACTIONS: &[Fraction] = &[
    Fraction { runs: 8, factors: 4, resolution: 4, words: &["ABC"] },
    Fraction { runs: 8, factors: 5, resolution: 3, words: &["AB", "AC"] },
    Fraction { runs: 8, factors: 6, resolution: 3, words: &["AB", "AC", "BC"] },
    Fraction { runs: 8, factors: 7, resolution: 3, words: &["AB", "AC", "BC", "ABC"] },
    Fraction { runs: 16, factors: 5, resolution: 5, words: &["ABCD"] },
    Fraction { runs: 16, factors: 6, resolution: 4, words: &["ABC", "BCD"] },
    Fraction { runs: 16, factors: 7, resolution: 4, words: &["ABC", "BCD", "ACD"] },
    Fraction { runs: 16, factors: 8, resolution: 4, words: &["BCD", "ACD", "ABC", "ABD"] },
    Fraction { runs: 32, factors: 6, resolution: 6, words: &["ABCDE"] },
    Fraction { runs: 32, factors: 7, resolution: 4, words: &["ABCD", "ABDE"] },
    Fraction { runs: 32, factors: 8, resolution: 4, words: &["ABC", "ABD", "BCDE"] },
    Fraction { runs: 32, factors: 9, resolution: 4, words: &["BCDE", "ACDE", "ABDE", "ABCE"] },
    Fraction { runs: 32, factors: 10, resolution: 4, words: &["ABCD", "ABCE", "ABDE", "ACDE", "BCDE"] },
    Fraction { runs: 32, factors: 11, resolution: 4, words: ODD },
    Fraction { runs: 32, factors: 12, resolution: 4, words: ODD },
    Fraction { runs: 32, factors: 13, resolution: 4, words: ODD },
    Fraction { runs: 32, factors: 14, resolution: 4, words: ODD },
    Fraction { runs: 32, factors: 15, resolution: 4, words: ODD },
    Fraction { runs: 32, factors: 16, resolution: 4, words: ODD },
];

/// Every odd word of five letters but the letters themselves.
const ODD: &[&str] = &["ABC", "BCD", "CDE", "ACD", "ADE", "BDE", "ABD", "ABE", "ACE", "BCE", "ABCDE"];

/// The least resolution of a design nobody asked for by its number of runs: factors are kept apart from interactions of two.
const RESOLUTION_UNASKED: u32 = 4;

impl Fraction {
    /// Factors that take all combinations.
    fn basic(&self) -> usize {
        self.runs.ilog2() as usize
    }

    /// The further factors, each as the set of basic ones whose parity it is.
    fn generators(&self) -> impl Iterator<Item = usize> {
        let letters = |word: &&str| word.bytes().map(|letter| 1 << (letter - b'A')).sum();
        self.words.iter().take(self.factors - self.basic()).map(letters)
    }

    fn combinations(&self) -> Vec<Combination> {
        let basic = (0..self.basic()).map(|factor| 1 << factor);
        let factors: Vec<usize> = basic.chain(self.generators()).collect();
        let row = |row: usize| factors.iter().map(|word| (row & word).count_ones() % 2 == 1).collect();
        (0..self.runs).map(row).collect()
    }
}

/// Number of runs and resolution of each design for a number of factors, in the order of runs.
pub(super) fn sizes(factors: usize) -> impl Iterator<Item = (usize, u32)> {
    FRACTIONS.iter().filter(move |fraction| fraction.factors == factors).map(|f| (f.runs, f.resolution))
}

/// The design with as many runs; where none are asked, the smallest that keeps factors apart from interactions of two.
pub(super) fn combinations(factors: usize, runs: Option<usize>) -> Option<Vec<Combination>> {
    let fits = |fraction: &&Fraction| match runs {
        Some(runs) => fraction.runs == runs,
        None => fraction.resolution >= RESOLUTION_UNASKED,
    };
    let mut fractions = FRACTIONS.iter().filter(|fraction| fraction.factors == factors);
    fractions.find(fits).map(Fraction::combinations)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many words of the defining relation have 3, 4, ... letters; the less of the short ones, the less aberration.
    fn word_lengths(basic: usize, generators: &[usize]) -> Vec<u32> {
        let mut lengths = vec![0; basic + generators.len() + 1];
        for chosen in 1u32..1 << generators.len() {
            let own = generators.iter().enumerate().filter(|(n, _)| chosen >> n & 1 == 1);
            let word = own.fold(0, |word, (_, generator)| word ^ generator);
            lengths[(word.count_ones() + chosen.count_ones()) as usize] += 1;
        }
        lengths.split_off(3)
    }

    /// Every way to choose `of` from the items, handed to `visit`.
    fn subsets(items: &[usize], of: usize, chosen: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
        if of == 0 {
            return visit(chosen);
        }
        for (n, item) in items.iter().enumerate() {
            chosen.push(*item);
            subsets(&items[n + 1..], of - 1, chosen, visit);
            chosen.pop();
        }
    }

    #[test]
    fn each_has_the_resolution_it_claims() {
        for fraction in FRACTIONS {
            let lengths = word_lengths(fraction.basic(), &fraction.generators().collect::<Vec<_>>());
            let shortest = lengths.iter().position(|words| *words > 0).unwrap() as u32 + 3;
            assert_eq!(shortest, fraction.resolution, "{} in {}", fraction.factors, fraction.runs);
        }
    }

    #[test]
    fn no_choice_of_words_has_less_aberration() {
        for fraction in FRACTIONS {
            let (basic, own) = (fraction.basic(), fraction.generators().collect::<Vec<_>>());
            let ours = word_lengths(basic, &own);
            // Above 5/16 of the runs, every design of resolution IV is made of odd words (Butler 2003).
            let odd_only = fraction.factors > 10;
            let words: Vec<usize> = (1..fraction.runs)
                .filter(|word| word.count_ones() > 1 && (!odd_only || word.count_ones() % 2 == 1))
                .collect();
            subsets(&words, own.len(), &mut Vec::new(), &mut |others| {
                let theirs = word_lengths(basic, others);
                assert!(ours <= theirs, "{} in {}: {others:?}", fraction.factors, fraction.runs);
            });
        }
    }

    #[test]
    fn half_of_four_factors_is_the_textbook_design() {
        // Montgomery, the 2^(4-1) with D = ABC, in standard order: (1), ad, bd, ab, cd, ac, bc, abcd.
        let names: Vec<String> = combinations(4, None)
            .unwrap()
            .iter()
            .map(|row| "abcd".chars().zip(row).filter(|(_, on)| **on).map(|(name, _)| name).collect())
            .collect();
        assert_eq!(names, ["", "ad", "bd", "ab", "cd", "ac", "bc", "abcd"]);
    }

    #[test]
    fn without_a_number_of_runs_factors_stay_apart_from_interactions() {
        let runs = |factors| combinations(factors, None).map(|rows| rows.len());
        let chosen: Vec<_> = [3, 4, 5, 6, 8, 9, 16, 17].map(runs).to_vec();
        assert_eq!(chosen, [None, Some(8), Some(16), Some(16), Some(16), Some(32), Some(32), None]);
        assert_eq!(combinations(5, Some(8)).map(|rows| rows.len()), Some(8));
        assert_eq!(combinations(5, Some(12)), None);
    }
}
