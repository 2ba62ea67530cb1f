//! Series by parts of their names, as people type them.

use std::collections::BTreeSet;

use reports::history::NightReport;

use crate::scenario::did_you_mean;

/// No series has all of these words in its name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no series of {suite} has {} in its name{}; `rdma-harness history --all` lists them",
    quoted(words),
    advice(near)
)]
pub struct NothingMatches {
    suite: String,
    words: Vec<String>,
    /// Parts of names that are near to a word that none has.
    near: Vec<String>,
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" and ")
}

fn advice(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", quoted(near)) }
}

/// The series whose names have every one of these words, in the order of the report; all of them without a word. Letters count
/// alike, large or small.
pub fn matching(report: &NightReport, words: &[String]) -> Result<BTreeSet<i64>, NothingMatches> {
    let wanted: Vec<String> =
        words.iter().flat_map(|words| words.split_whitespace()).map(str::to_lowercase).collect();
    let names = report.series.iter().map(|series| (series.id, series.key.to_string().to_lowercase()));
    let names: Vec<(i64, String)> = names.collect();
    let has_all = |name: &str| wanted.iter().all(|word| name.contains(word.as_str()));
    let found: BTreeSet<i64> = names.iter().filter(|(_, name)| has_all(name)).map(|(id, _)| *id).collect();
    if !found.is_empty() || (wanted.is_empty() && names.is_empty()) {
        return Ok(found);
    }
    let parts = || names.iter().flat_map(|(_, name)| name.split('/').chain([name.as_str()]));
    let unknown = wanted.iter().filter(|word| !names.iter().any(|(_, name)| name.contains(word.as_str())));
    let near = unknown.filter_map(|word| did_you_mean(word, parts())).map(str::to_owned);
    Err(NothingMatches { suite: report.suite.clone(), words: words.to_vec(), near: near.collect() })
}

/// Leaves these series and the findings that have one of them. The verdict and the counts stay those of the whole night.
pub fn keep_only(report: &mut NightReport, ids: &BTreeSet<i64>) {
    report.series.retain(|series| ids.contains(&series.id));
    report.findings.retain(|finding| finding.members.iter().any(|member| ids.contains(&member.series)));
    for finding in &mut report.findings {
        finding.members.retain(|member| ids.contains(&member.series));
    }
    report.notes.retain(|note| note.series.is_none_or(|series| ids.contains(&series)));
    report.acknowledgements.retain(|known| ids.contains(&known.series));
}

#[cfg(test)]
mod tests {
    use super::*;
    use reports::testing::night_report;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn every_word_has_to_be_in_the_name() {
        let report = night_report();
        let found = |text: &str| matching(&report, &words(text)).unwrap().len();
        assert_eq!(found(""), report.series.len());
        assert_eq!(found("bandwidth"), 6);
        assert_eq!(found("BANDWIDTH node1:mlx5_0"), 3);
        assert_eq!(found("nightly-rate/write/deep/64Ki/bandwidth/node1:mlx5_0/node2:mlx5_0"), 1);
    }

    #[test]
    fn a_word_that_is_nearly_right_is_told() {
        let refused = matching(&night_report(), &words("bandwith node1")).unwrap_err().to_string();
        assert_eq!(
            refused,
            "no series of nightly has `bandwith` and `node1` in its name; did you mean `bandwidth`?; `rdma-harness history --all` lists them"
        );
        let refused = matching(&night_report(), &words("zzz")).unwrap_err().to_string();
        assert!(!refused.contains("did you mean"), "{refused}");
    }

    #[test]
    fn what_is_left_is_about_the_series_that_are_left() {
        let mut report = night_report();
        let ids = matching(&report, &words("64Ki bandwidth node1:mlx5_0/node2")).unwrap();
        keep_only(&mut report, &ids);
        assert_eq!((report.series.len(), report.findings.len(), report.findings[0].members.len()), (1, 1, 1));
        assert_eq!(report.notes.len(), 2);
        assert!(report.acknowledgements.is_empty());
    }
}
