//! Finds what somebody means: by name, by path, by the number of a claim, or by the words in which they were told it.

use std::{collections::BTreeSet, sync::LazyLock};

use super::{Entry, entries, row::Row};

/// What a question leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// This entry.
    One(&'static Entry),
    /// Several that may be meant, the likeliest first.
    Several(Vec<&'static Entry>),
    /// None; these names are near.
    None(Vec<&'static str>),
}

/// How many are listed when several may be meant.
const LISTED: usize = 8;
/// An entry is meant if it fits this much better than the next.
const CLEARLY: f64 = 1.4;
/// Likeness of two words (Jaro-Winkler) from which one may be a slip of the other.
const NEAR: f64 = 0.8;

/// Looks for an entry.
pub fn find(question: &str) -> Found {
    let question = plain(question);
    let named = |entry: &&Entry| names(entry).any(|name| plain(name) == question);
    if let Some(entry) = entries().iter().find(named).or_else(|| by_row(&question)) {
        return Found::One(entry);
    }
    let parts = entries().iter().filter(|entry| is_part_of_name(&question, entry)).collect::<Vec<_>>();
    // One word that several have says little of which is meant.
    let clearly = if words(&question).count() == 1 { 2.0 * CLEARLY } else { CLEARLY };
    match ranked(&question).as_slice() {
        _ if parts.len() == 1 => Found::One(parts[0]),
        [] => Found::None(nearest(&question)),
        [(only, _)] => Found::One(only),
        [(first, score), (_, next), ..] if *score >= clearly * next => Found::One(first),
        several => Found::Several(several.iter().take(LISTED).map(|(entry, _)| *entry).collect()),
    }
}

/// Lower case, single spaces, no quotes around, and a path below /proc/sys as the dotted name it is.
fn plain(text: &str) -> String {
    let text = text.trim().trim_matches(['"', '\'', '`']).to_lowercase();
    let text = match text.strip_prefix("/proc/sys/") {
        Some(rest) => rest.replace('/', "."),
        None => text,
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn names(entry: &Entry) -> impl Iterator<Item = &str> {
    let dotted = entry.id.strip_prefix("sysctl.");
    [entry.id.as_str()].into_iter().chain(dotted).chain(entry.aliases.iter().map(String::as_str))
}

/// `1-18`, `guide 1 claim 18`, `guide 1, claim 18`.
fn by_row(question: &str) -> Option<&'static Entry> {
    let words: Vec<&str> = question.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    let written = match words[..] {
        [number] => number.to_owned(),
        ["guide", guide, "claim", number] => format!("{guide}-{number}"),
        _ => return None,
    };
    let row: Row = written.parse().ok()?;
    entries().iter().find(|entry| entry.rows.contains(&row))
}

/// Whether a single word is the end of a dotted name, as in `rmem_max`.
fn is_part_of_name(question: &str, entry: &Entry) -> bool {
    names(entry).any(|name| name.rsplit('.').next() == Some(question))
}

/// Entries by how well the words of the question fit them; those that fit by nothing are left out.
fn ranked(question: &str) -> Vec<(&'static Entry, f64)> {
    static ALL: LazyLock<Vec<(&Entry, Fields)>> =
        LazyLock::new(|| entries().iter().map(|entry| (entry, Fields::of(entry))).collect());
    let asked: BTreeSet<String> = words(question).collect();
    // A word that few entries have says more than one that most have.
    let weights: Vec<(String, f64)> = asked
        .into_iter()
        .map(|word| {
            let having = ALL.iter().filter(|(_, fields)| fields.fit(&word) > 0.0).count();
            let weight = if having == 0 { 0.0 } else { (1.0 + ALL.len() as f64 / having as f64).ln() };
            (word, weight)
        })
        .collect();
    let score = |fields: &Fields| weights.iter().map(|(word, weight)| weight * fields.fit(word)).sum::<f64>();
    let mut ranked: Vec<(&Entry, f64)> =
        ALL.iter().map(|(entry, fields)| (*entry, score(fields))).filter(|(_, score)| *score > 0.0).collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    ranked
}

/// The words of an entry, by where they stand.
struct Fields {
    names: BTreeSet<String>,
    claim: BTreeSet<String>,
    commands: BTreeSet<String>,
    reason: BTreeSet<String>,
}

impl Fields {
    fn of(entry: &Entry) -> Self {
        let of = |texts: &mut dyn Iterator<Item = &str>| texts.flat_map(words).collect::<BTreeSet<_>>();
        Fields {
            names: of(&mut names(entry).chain([entry.title.as_str()])),
            claim: of(&mut [entry.says.as_str()].into_iter()),
            commands: of(&mut entry.read.iter().chain(&entry.set).map(String::as_str)),
            reason: of(&mut [entry.why.as_str()].into_iter()),
        }
    }

    /// How much this word says for the entry: most where it is a name.
    fn fit(&self, word: &str) -> f64 {
        let by_field = [(&self.names, 2.0), (&self.claim, 1.5), (&self.commands, 1.0), (&self.reason, 0.25)];
        by_field.iter().filter(|(words, _)| words.contains(word)).map(|(_, weight)| weight).sum()
    }
}

/// Words that any sentence has.
const IDLE: [&str; 28] = [
    "a", "an", "and", "are", "at", "be", "by", "do", "does", "for", "from", "how", "i", "in", "is", "it",
    "my", "of", "on", "or", "set", "should", "sys", "proc", "the", "to", "what", "with",
];

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !IDLE.contains(&word.as_str()))
}

/// The names most like the question.
fn nearest(question: &str) -> Vec<&'static str> {
    let likeness = |name: &str| {
        let last = name.rsplit('.').next().unwrap_or(name);
        strsim::jaro_winkler(question, name).max(strsim::jaro_winkler(question, last))
    };
    let mut near: Vec<(f64, &'static str)> = entries()
        .iter()
        .filter_map(|entry| {
            let best = names(entry).map(|name| likeness(&plain(name))).reduce(f64::max)?;
            (best >= NEAR).then_some((best, entry.id.as_str()))
        })
        .collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    near.into_iter().take(3).map(|(_, name)| name).collect()
}
