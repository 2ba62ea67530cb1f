//! Rounds as a file says, in the two forms that other testers read.
//!
//! ClusterKit's has a pair a line, `ROUND NODE NODE`; that of SuperBench a round a line, `0,1;2,3`. Nodes are names or ranks, the first
//! of a pair posts; `#` begins a comment.

use std::{collections::BTreeMap, path::Path};

use super::{PatternError, PlannedPair, PlannedRound, Seat};
use crate::{
    cluster::Rank,
    scenario::{At, Fault, FaultReport, did_you_mean},
};

/// Rounds as written, of nodes that are not known yet.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomRounds {
    file: std::path::PathBuf,
    source: String,
    rounds: Vec<WrittenRound>,
}

/// A round as written.
#[derive(Debug, Clone, PartialEq)]
struct WrittenRound {
    label: String,
    pairs: Vec<[At<String>; 2]>,
}

impl CustomRounds {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Lines that can't be read, each at its place.
    pub fn parse(file: &Path, source: String) -> Result<CustomRounds, FaultReport> {
        let mut faults = Vec::new();
        let mut numbered: BTreeMap<u32, Vec<[At<String>; 2]>> = BTreeMap::new();
        let mut listed: Vec<WrittenRound> = Vec::new();
        for line in lines(&source) {
            let read = if line.value.contains([',', ';']) {
                listed_round(&line).map(|pairs| {
                    listed.push(WrittenRound { label: format!("round {}", listed.len() + 1), pairs });
                })
            } else {
                numbered_pair(&line).map(|(number, pair)| numbered.entry(number).or_default().push(pair))
            };
            if let Err(fault) = read {
                faults.push(*fault);
            } else if !numbered.is_empty() && !listed.is_empty() {
                let what = "is of another form than the lines before it";
                faults.push(Fault::new("", line.span, what).advice("write a pair a line, or a round a line"));
                break;
            }
        }
        let numbered = numbered.into_iter();
        let mut rounds: Vec<WrittenRound> = numbered
            .map(|(number, pairs)| WrittenRound { label: format!("round {number}"), pairs })
            .collect();
        rounds.extend(listed);
        if rounds.is_empty() && faults.is_empty() {
            let what = "there is no pair in it";
            faults
                .push(Fault::new("", 0..0, what).advice("write `ROUND NODE NODE` lines, or `0,1;2,3` lines"));
        }
        let file = file.to_owned();
        if faults.is_empty() {
            Ok(CustomRounds { file, source, rounds })
        } else {
            Err(FaultReport { file, source, faults })
        }
    }

    /// The rounds, with nodes by rank.
    pub(super) fn rounds(&self, nodes: &[Seat<'_>]) -> Result<Vec<PlannedRound>, PatternError> {
        let mut faults = Vec::new();
        let mut rounds = Vec::new();
        let known: BTreeMap<&str, Rank> = nodes.iter().map(|node| node.name).zip(0..).collect();
        for round in &self.rounds {
            let mut pairs: Vec<PlannedPair> = Vec::new();
            for [one, other] in &round.pairs {
                let ranks = [one, other].map(|word| match rank(word, &known) {
                    Ok(rank) => Some(rank),
                    Err(fault) => {
                        faults.push(*fault);
                        None
                    }
                });
                let [Some(requester), Some(responder)] = ranks else { continue };
                let pair = PlannedPair::measured(requester, responder);
                if requester == responder {
                    faults.push(Fault::new("", one.span.start..other.span.end, "is a node with itself"));
                } else if pairs.contains(&pair) {
                    let what = format!("is twice in {}", round.label);
                    faults.push(Fault::new("", one.span.start..other.span.end, what));
                } else {
                    pairs.push(pair);
                }
            }
            rounds.push(PlannedRound { label: round.label.clone(), pairs });
        }
        if faults.is_empty() {
            return Ok(rounds);
        }
        let (file, source) = (self.file.clone(), self.source.clone());
        Err(PatternError::Custom(FaultReport { file, source, faults }))
    }
}

/// Every line that says something, without its comment and the blanks around it.
fn lines(source: &str) -> impl Iterator<Item = At<String>> {
    let mut start = 0;
    source.split_inclusive('\n').filter_map(move |line| {
        let at = start;
        start += line.len();
        let said = line.split('#').next().unwrap_or_default();
        let trimmed = said.trim();
        let first = at + (said.len() - said.trim_start().len());
        (!trimmed.is_empty()).then(|| At { value: trimmed.to_owned(), span: first..first + trimmed.len() })
    })
}

fn fault(at: &At<String>, what: impl Into<String>) -> Box<Fault> {
    Box::new(Fault::new("", at.span.clone(), what))
}

/// `ROUND NODE NODE`.
fn numbered_pair(line: &At<String>) -> Result<(u32, [At<String>; 2]), Box<Fault>> {
    let words: Vec<At<String>> = words(line, |c| c.is_whitespace());
    let Ok([round, one, other]) = <[At<String>; 3]>::try_from(words) else {
        let what = "must be `ROUND NODE NODE`, or a round such as `0,1;2,3`";
        return Err(fault(line, what));
    };
    match round.value.parse() {
        Ok(number) => Ok((number, [one, other])),
        Err(_) => Err(fault(&round, format!("`{}` is no number of a round", round.value))),
    }
}

/// `0,1;2,3`.
fn listed_round(line: &At<String>) -> Result<Vec<[At<String>; 2]>, Box<Fault>> {
    let pair = |pair: At<String>| match <[At<String>; 2]>::try_from(words(&pair, |c| c == ',')) {
        Ok(ends) if pair.value.matches(',').count() == 1 => Ok(ends),
        _ => {
            let what = format!("`{}` is no pair; write two nodes with a comma between", pair.value);
            Err(fault(&pair, what))
        }
    };
    words(line, |c| c == ';').into_iter().map(pair).collect()
}

/// The parts of a text that are not blank, each with its place.
fn words(text: &At<String>, between: impl Fn(char) -> bool) -> Vec<At<String>> {
    let mut start = text.span.start;
    let parts = text.value.split_inclusive(&between).filter_map(|part| {
        let at = start;
        start += part.len();
        let word = part.trim_end_matches(&between);
        let trimmed = word.trim();
        let first = at + (word.len() - word.trim_start().len());
        (!trimmed.is_empty()).then(|| At { value: trimmed.to_owned(), span: first..first + trimmed.len() })
    });
    parts.collect()
}

/// A name, or else a rank.
fn rank(word: &At<String>, known: &BTreeMap<&str, Rank>) -> Result<Rank, Box<Fault>> {
    if let Some(rank) = known.get(word.value.as_str()) {
        return Ok(*rank);
    }
    let count = known.len();
    match word.value.parse::<Rank>() {
        Ok(rank) if (rank as usize) < count => Ok(rank),
        Ok(rank) => {
            let what = format!("there is no node {rank}: {count} nodes have the ranks 0 to {}", count - 1);
            Err(fault(word, what))
        }
        Err(_) => {
            let advice = match did_you_mean(&word.value, known.keys().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    format!("the first of {count} is `{}`", known.keys().next().copied().unwrap_or_default())
                }
            };
            Err(Box::new(fault(word, format!("there is no node `{}`", word.value)).advice(advice)))
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    const NAMES: [&str; 4] = ["a1", "a2", "b1", "b2"];

    type Planned = Vec<(String, Vec<(Rank, Rank)>)>;

    fn planned(text: &str) -> Result<Planned, String> {
        let custom =
            CustomRounds::parse(Path::new("rounds.txt"), text.into()).map_err(|faults| faults.to_string())?;
        let seats: Vec<Seat<'_>> = NAMES.iter().map(|name| Seat { name, switches: &[] }).collect();
        let rounds = custom.rounds(&seats).map_err(|error| error.to_string())?;
        let pairs = |round: PlannedRound| {
            (round.label, round.pairs.iter().map(|pair| (pair.requester, pair.responder)).collect())
        };
        Ok(rounds.into_iter().map(pairs).collect())
    }

    #[test]
    fn both_forms_are_read_by_name_and_by_rank() {
        let listed = planned("0,1;2,3 # the first\n\n a1 , b1 ;3,1;\n").unwrap();
        let wanted = [("round 1", vec![(0, 1), (2, 3)]), ("round 2", vec![(0, 2), (3, 1)])];
        assert_eq!(listed, wanted.map(|(label, pairs)| (label.to_owned(), pairs)));
        let numbered = planned("# ClusterKit\n7 a1 a2\n3 b2 0\n7 b1 3\n").unwrap();
        let wanted = [("round 3", vec![(3, 0)]), ("round 7", vec![(0, 1), (2, 3)])];
        assert_eq!(numbered, wanted.map(|(label, pairs)| (label.to_owned(), pairs)));
    }

    #[test]
    fn what_is_wrong_is_shown_in_its_line() {
        for (text, line, wanted) in [
            ("0 a1 a2\n0 a1\n", 2, "must be `ROUND NODE NODE`"),
            ("first a1 a2\n", 1, "`first` is no number of a round"),
            ("0,1;2\n", 1, "`2` is no pair"),
            ("0,1;2,,3\n", 1, "`2,,3` is no pair"),
            ("0,1\n0 a1 a2\n", 2, "is of another form than the lines before it"),
            ("# nothing\n", 1, "there is no pair in it"),
            ("0 a1 a3\n", 1, "there is no node `a3`"),
            ("0,1\n\n0,4\n", 3, "there is no node 4: 4 nodes have the ranks 0 to 3"),
            ("0 b1 b1\n", 1, "is a node with itself"),
            ("0 b1 b2\n0 2 3\n", 2, "is twice in round 0"),
        ] {
            let error = planned(text).unwrap_err();
            assert!(
                error.contains(wanted) && error.contains(&format!("rounds.txt:{line}:")),
                "{text}:\n{error}"
            );
        }
        assert!(planned("0 a1 a22").unwrap_err().contains("did you mean `a2`?"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ab0-9,; #\\né]{0,60}") {
            let _ = planned(&text);
        }
    }
}
