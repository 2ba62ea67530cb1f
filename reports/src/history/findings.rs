//! Claims put together: what began in one night, to one side and at one end of the network is one thing to look at.

use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeMap, BTreeSet},
};

use schema::{Certainty, Endpoint, Reported, Trend};

use super::{
    claim::Claim,
    model::{Member, NightFinding},
    track::{Past, Track},
};

/// An end of the network is to blame if this share of its pairs is affected.
const SHARE_OF_PAIRS: f64 = 0.6;

/// Puts claims together, the worst first.
pub(super) fn of(claims: &[Claim], tracks: &[Track], past: &Past) -> Vec<NightFinding> {
    let places = Places { tracks, tonight: past.tonight() };
    let mut alike: BTreeMap<(bool, bool, Option<&str>), Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        let known = claim.acknowledged.as_deref();
        let improved = claim.trend == Trend::Improved;
        // What is only suspected joins what is sure where they agree, so certainty keeps nothing apart.
        alike.entry((known.is_some(), improved, known)).or_default().push(claim);
    }
    let groups = alike.into_values().flat_map(by_night).flat_map(|claims| places.apart(claims));
    let mut findings: Vec<NightFinding> =
        groups.map(|(endpoint, claims)| finding(endpoint, claims, tracks, past)).collect();
    findings.sort_by(worst_first);
    findings
}

/// Claims of neighbouring nights.
fn by_night(mut claims: Vec<&Claim>) -> Vec<Vec<&Claim>> {
    claims.sort_by_key(|claim| claim.since);
    let mut groups: Vec<Vec<&Claim>> = Vec::new();
    for claim in claims {
        match groups.last_mut() {
            // A night to either side of the one in the middle.
            Some(group) if claim.since <= group[0].since + 2 => group.push(claim),
            _ => groups.push(vec![claim]),
        }
    }
    groups
}

struct Places<'a> {
    tracks: &'a [Track<'a>],
    tonight: usize,
}

type Pair<'a> = (&'a Endpoint, &'a Endpoint);
type Group<'c> = (Option<Endpoint>, Vec<&'c Claim>);

impl<'a> Places<'a> {
    fn pair(&self, track: usize) -> Pair<'a> {
        let key = &self.tracks[track].series.key;
        (&key.requester, &key.responder)
    }

    /// Puts claims of one night apart by the end that they share, or else by scenario.
    fn apart<'c>(&self, claims: Vec<&'c Claim>) -> Vec<Group<'c>> {
        let affected: BTreeSet<Pair> = claims.iter().map(|claim| self.pair(claim.track)).collect();
        if affected.len() == 1 {
            return vec![(None, claims)];
        }
        let all: BTreeSet<&Endpoint> = affected.iter().flat_map(|(one, other)| [*one, *other]).collect();
        let covers = |end: &&Endpoint| affected.iter().all(|pair| at(pair, end));
        if let Some(end) = all.iter().find(|end| covers(end)) {
            return vec![(Some((*end).clone()), claims)];
        }
        let measured: BTreeSet<Pair> = (0..self.tracks.len())
            .filter(|track| self.tracks[*track].on(self.tonight).is_some())
            .map(|track| self.pair(track))
            .collect();
        let ends: BTreeSet<&Endpoint> = measured.iter().flat_map(|(one, other)| [*one, *other]).collect();
        let count =
            |pairs: &BTreeSet<Pair>, end: &Endpoint| pairs.iter().filter(|pair| at(pair, end)).count();
        let to_blame = |end: &&Endpoint| {
            let (bad, all) = (count(&affected, end), count(&measured, end));
            bad >= 2 && bad as f64 >= SHARE_OF_PAIRS * all as f64
        };
        let mut blamed: Vec<&Endpoint> = all.into_iter().filter(to_blame).collect();
        // Where most ends are to blame, none is.
        if 2 * blamed.len() > ends.len() {
            blamed.clear();
        }
        blamed.sort_by_key(|end| Reverse(count(&affected, end)));
        let mut left = claims;
        let mut groups: Vec<Group> = Vec::new();
        for end in blamed {
            let (here, elsewhere): (Vec<&Claim>, Vec<&Claim>) =
                left.into_iter().partition(|claim| at(&self.pair(claim.track), end));
            left = elsewhere;
            if !here.is_empty() {
                groups.push((Some(end.clone()), here));
            }
        }
        let mut scenarios: BTreeMap<&str, Vec<&Claim>> = BTreeMap::new();
        for claim in left {
            let scenario = self.tracks[claim.track].series.key.scenario.as_str();
            scenarios.entry(scenario).or_default().push(claim);
        }
        groups.extend(scenarios.into_values().map(|claims| (None, claims)));
        groups
    }
}

fn at(pair: &Pair, end: &Endpoint) -> bool {
    pair.0 == end || pair.1 == end
}

fn finding(endpoint: Option<Endpoint>, claims: Vec<&Claim>, tracks: &[Track], past: &Past) -> NightFinding {
    let new = claims.iter().any(|claim| is_new(claim, tracks[claim.track].series.id, past));
    let since = most_frequent(claims.iter().map(|claim| claim.since));
    let mut best: BTreeMap<usize, &Claim> = BTreeMap::new();
    for claim in claims {
        let known = best.entry(claim.track).or_insert(claim);
        if surest_first(claim, known) == Ordering::Less {
            *known = claim;
        }
    }
    let mut claims: Vec<&Claim> = best.into_values().collect();
    claims.sort_by(|a, b| size(b).total_cmp(&size(a)).then(a.track.cmp(&b.track)));
    let surest =
        claims.iter().copied().min_by(|a, b| surest_first(a, b)).expect("a group of claims is not empty");
    let member = |claim: &&Claim| Member {
        series: tracks[claim.track].series.id,
        found_by: claim.found_by,
        certainty: claim.certainty,
        change: claim.change,
        p: claim.p,
        cause: claim.cause.clone(),
    };
    NightFinding {
        found_by: surest.found_by,
        certainty: surest.certainty,
        trend: surest.trend,
        since: past.nights[since].id,
        new,
        acknowledged: surest.acknowledged.clone(),
        endpoint,
        members: claims.iter().map(member).collect(),
    }
}

/// The surest, and of those what needs the least history.
fn surest_first(a: &Claim, b: &Claim) -> Ordering {
    b.certainty.cmp(&a.certainty).then(a.found_by.cmp(&b.found_by))
}

/// What is wrong without a size is the largest.
fn size(claim: &Claim) -> f64 {
    claim.change.map_or(f64::INFINITY, |change| change.change.abs())
}

fn most_frequent(nights: impl Iterator<Item = usize>) -> usize {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for night in nights {
        *counts.entry(night).or_default() += 1;
    }
    let (night, _) =
        counts.into_iter().max_by_key(|(night, count)| (*count, Reverse(*night))).unwrap_or_default();
    night
}

/// Whether no earlier night said as much, as surely, of the same change.
fn is_new(claim: &Claim, series: i64, past: &Past) -> bool {
    let same = |said: &Reported| {
        let before = past.order.get(&said.night).is_some_and(|night| *night < past.tonight());
        let since = past.order.get(&said.since).is_some_and(|since| since.abs_diff(claim.since) <= 1);
        said.series == series
            && before
            && since
            && said.trend == claim.trend
            && said.certainty >= claim.certainty
    };
    !past.history.reported.iter().any(same)
}

/// Confirmed regressions, suspected ones, what improved, what is known; in each the largest change first.
fn worst_first(a: &NightFinding, b: &NightFinding) -> Ordering {
    let rank = |finding: &NightFinding| match (finding.trend, finding.certainty) {
        _ if finding.acknowledged.is_some() => 3,
        (Trend::Regressed, Certainty::Confirmed) => 0,
        (Trend::Regressed, Certainty::Suspected) => 1,
        (Trend::Improved, _) => 2,
    };
    let largest = |finding: &NightFinding| {
        let change = finding.members.first().and_then(|member| member.change);
        change.map_or(f64::INFINITY, |change| change.change.abs())
    };
    let first = |finding: &NightFinding| finding.members.first().map(|member| member.series);
    rank(a).cmp(&rank(b)).then(largest(b).total_cmp(&largest(a))).then(first(a).cmp(&first(b)))
}
