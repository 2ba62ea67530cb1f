//! Plackett-Burman designs: up to 23 factors in at most 24 runs, to find the few that matter among many.
//!
//! A row of signs is shifted round by one for every run, and one run has all of them off. The rows are those of R. L. Plackett
//! and J. P. Burman, The design of optimum multifactorial experiments, Biometrika 33 (1946), as every textbook prints them.

use super::Combination;

/// The first row of each design: one sign for each factor it could hold.
const ROWS: [&str; 5] =
    ["+++-+--", "++-+++---+-", "++++-+-++--+---", "++--++++-+-+----++-", "+++++-+-++--++--+-+----"];

/// All combinations of fewer need no more runs than the smallest design.
const FEWEST_FACTORS: usize = 4;
/// The largest design holds this many.
pub(super) const MOST_FACTORS: usize = 23;

/// Numbers of runs of the designs that hold these factors without making a combination twice, the smallest first.
pub(super) fn sizes(factors: usize) -> impl Iterator<Item = usize> {
    let holds = move |row: &&&str| {
        let mut rows = combinations_of(row, factors);
        rows.sort();
        (FEWEST_FACTORS..=row.len()).contains(&factors) && rows.windows(2).all(|two| two[0] != two[1])
    };
    ROWS.iter().filter(holds).map(|row| row.len() + 1)
}

/// The design of as many runs; where none are asked, the smallest that holds the factors.
pub(super) fn combinations(factors: usize, runs: Option<usize>) -> Option<Vec<Combination>> {
    let runs = sizes(factors).find(|size| runs.is_none_or(|runs| runs == *size))?;
    ROWS.iter().find(|row| row.len() + 1 == runs).map(|row| combinations_of(row, factors))
}

fn combinations_of(row: &str, factors: usize) -> Vec<Combination> {
    let (signs, length) = (row.as_bytes(), row.len());
    let shifted = (0..length).map(|shift| {
        (0..factors).map(|factor| signs[(factor + length - shift % length) % length] == b'+').collect()
    });
    std::iter::once(vec![false; factors]).chain(shifted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_runs_are_the_textbook_design() {
        // Montgomery, table of the Plackett-Burman design for N = 12, k = 11; the run of all minus first instead of last.
        let rows: Vec<String> = combinations(11, None)
            .unwrap()
            .iter()
            .map(|row| row.iter().map(|on| if *on { '+' } else { '-' }).collect())
            .collect();
        let textbook = [
            "-----------",
            "++-+++---+-",
            "-++-+++---+",
            "+-++-+++---",
            "-+-++-+++--",
            "--+-++-+++-",
            "---+-++-+++",
            "+---+-++-++",
            "++---+-++-+",
            "+++---+-++-",
            "-+++---+-++",
            "+-+++---+-+",
        ];
        assert_eq!(rows, textbook);
    }

    #[test]
    fn the_smallest_that_holds_the_factors_is_taken() {
        let runs = |factors| combinations(factors, None).map(|rows| rows.len());
        assert_eq!(
            [7, 8, 11, 12, 16, 20, 23, 24].map(runs),
            [8, 12, 12, 16, 20, 24, 24, 0].map(|n| (n > 0).then_some(n))
        );
    }
}
