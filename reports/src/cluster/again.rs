//! What came of measuring suspects again, each time against what good nodes let expect.

use schema::{Cluster, RoundPart};

use super::{
    cells::Cells,
    claim::{Claim, Judged, Part, margin},
    model::RetestReport,
    polish::{Fit, scaled},
    robust,
    scene::{Scene, value},
};

/// How a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was bad again.
    Confirmed,
    /// It was not measured again, or not often enough.
    Open,
    /// It was well when it was measured again.
    Cleared,
}

/// How often a claim is measured again, and how often it must be bad then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needed {
    pub(super) rounds: u32,
    pub(super) bad: u32,
}

/// A claim with what its retest says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Settled {
    pub(super) claim: Claim,
    pub(super) standing: Standing,
    pub(super) retest: Option<RetestReport>,
}

/// The runs of the retest, and who is good enough to be measured with.
pub(super) struct Again<'a, 'c> {
    pub(super) scene: &'a Scene<'c>,
    judged: &'a [Judged],
    cells: Cells<'a>,
    /// By rank: nothing is said against it.
    pub(super) good: Vec<bool>,
    /// Pairs that are suspected, over all measures.
    ways: usize,
    /// The hop class of which most pairs were measured: what is expected of it is known best.
    pub(super) common: usize,
}

impl<'a, 'c> Again<'a, 'c> {
    pub(super) fn of(scene: &'a Scene<'c>, judged: &'a [Judged], claims: &[Claim]) -> Self {
        Again::beside(scene, judged, claims, scene.cluster)
    }

    /// With the runs of the retest in a cluster of their own.
    pub(super) fn beside(
        scene: &'a Scene<'c>,
        judged: &'a [Judged],
        claims: &[Claim],
        retest: &'a Cluster,
    ) -> Self {
        let mut good = vec![true; scene.nodes()];
        for claim in claims {
            match claim.part {
                Part::Leaves(leaf) | Part::Enters(leaf) => {
                    scene.leaves[leaf].nodes.iter().for_each(|node| good[*node] = false);
                }
                Part::Sends(node) | Part::Receives(node) => good[node] = false,
                Part::Way(a, b) => {
                    let fit = &judged[claim.measure].fit;
                    good[a] &= fit.sends[a].is_some();
                    good[b] &= fit.receives[b].is_some();
                }
            }
        }
        let ways = claims.iter().filter(|claim| matches!(claim.part, Part::Way(..))).count();
        let mut measured = vec![0; scene.classes.len()];
        for (a, b) in judged.first().into_iter().flat_map(|judged| judged.fit.pairs()) {
            measured[scene.class(a, b)] += 1;
        }
        let common = (0..measured.len()).max_by_key(|class| measured[*class]).unwrap_or(0);
        Again { scene, judged, cells: Cells::of(retest, RoundPart::Retest), good, ways, common }
    }

    fn fit(&self, claim: &Claim) -> &'a Fit {
        &self.judged[claim.measure].fit
    }

    /// The ends of a pair of which too few other pairs were measured to tell whether it is they or the way between them.
    pub(super) fn untold_ends(&self, claim: &Claim) -> Vec<Part> {
        let Part::Way(a, b) = claim.part else { return Vec::new() };
        let fit = self.fit(claim);
        let sends = fit.sends[a].is_none().then_some(Part::Sends(a));
        let receives = fit.receives[b].is_none().then_some(Part::Receives(b));
        sends.into_iter().chain(receives).collect()
    }

    /// A value that is off by this much is bad again: half of what is claimed, and never less than what matters.
    fn bar(&self, claim: &Claim) -> f64 {
        (claim.effect / 2.0).min(margin(self.scene, self.scene.measures[claim.measure].metric))
    }

    /// A node or leaf has many pairs that agree. A pair is one number: among very many some are bad by chance, and of these some
    /// are again, so that it takes more rounds the more are suspected and the more often numbers are bad for no reason.
    pub(super) fn needed(&self, claim: &Claim) -> Needed {
        let rules = self.scene.rules;
        let (rounds, bad) = (rules.retest_rounds.max(1), rules.retest_bad.max(1));
        let Part::Way(a, b) = claim.part else { return Needed { rounds, bad } };
        let judged = &self.judged[claim.measure];
        let bar = self.bar(claim);
        let own = [(a, b), (b, a)].into_iter().filter(|(a, b)| judged.fit.residual(*a, *b) < bar).count();
        let others = judged.low.partition_point(|low| *low < bar).saturating_sub(own);
        let noise = robust::below(bar / judged.fit.spreads[self.scene.class(a, b)]);
        let share = others as f64 / judged.fit.measured as f64 + noise;
        let enough = |needed: &Needed| {
            self.ways as f64 * robust::by_chance(needed.bad, needed.rounds, share) <= robust::CLEAN
        };
        let ways = (rounds..=2 * rounds).flat_map(|more| {
            ((more * bad).div_ceil(rounds)..=more).map(move |bad| Needed { rounds: more, bad })
        });
        // Where even that would not do it is measured as often all the same, and never confirmed.
        ways.clone().find(enough).unwrap_or(Needed { rounds: 2 * rounds, bad: 2 * rounds + 1 })
    }

    /// By how much a part was off each time it was measured again in a claim's measure, in time order.
    fn trials(&self, part: Part, claim: &Claim) -> Vec<f64> {
        // A retest has no load beside it, and says nothing of what is measured under load.
        if claim.measure >= self.scene.first_loaded {
            return Vec::new();
        }
        let (measure, fit) = (&self.scene.measures[claim.measure], self.fit(claim));
        let mut trials: Vec<(u32, u32, f64)> = Vec::new();
        for (_, run) in self.cells.of_kind(false, measure.workload) {
            let (a, b) = (run.requester as usize, run.responder as usize);
            let Some(own) = self.own(part, fit, a, b) else { continue };
            if let Some(value) = value(run, measure) {
                let off = scaled(measure.metric, value) - (fit.expected(self.scene, a, b) - own);
                trials.push((run.round, run.sequence, off));
            }
        }
        trials.sort_by_key(|(round, sequence, _)| (*round, *sequence));
        if !matches!(part, Part::Leaves(_) | Part::Enters(_)) {
            return trials.into_iter().map(|(_, _, off)| off).collect();
        }
        // Of a leaf several pairs are measured at a time.
        let rounds = trials.chunk_by(|(a, ..), (b, ..)| a == b);
        rounds
            .filter_map(|round| robust::median(&mut round.iter().map(|(_, _, off)| *off).collect::<Vec<_>>()))
            .collect()
    }

    /// Whether a run between two nodes tries a part, and how much of what is expected of the run is the part's own effect.
    fn own(&self, part: Part, fit: &Fit, requester: usize, responder: usize) -> Option<f64> {
        let (from, to) = (self.scene.leaf_of[requester], self.scene.leaf_of[responder]);
        match part {
            Part::Way(a, b) => ((a, b) == (requester, responder)).then_some(0.0),
            Part::Sends(node) => {
                (node == requester && self.good[responder]).then(|| fit.sends[node].unwrap_or(0.0))
            }
            Part::Receives(node) => {
                (node == responder && self.good[requester]).then(|| fit.receives[node].unwrap_or(0.0))
            }
            Part::Leaves(leaf) => {
                let crosses = from == Some(leaf) && to != Some(leaf) && self.good[responder];
                crosses.then(|| fit.leaf_effects.leaves[leaf])
            }
            Part::Enters(leaf) => {
                let crosses = to == Some(leaf) && from != Some(leaf) && self.good[requester];
                crosses.then(|| fit.leaf_effects.enters[leaf])
            }
        }
    }

    /// What a part's retest says of a claim, and by how much it was off in the middle.
    pub(super) fn stands(&self, part: Part, claim: &Claim) -> (Standing, RetestReport, Option<f64>) {
        let Needed { rounds, bad: needed } = self.needed(claim);
        let mut trials = self.trials(part, claim);
        trials.truncate(rounds as usize);
        let bar = self.bar(claim);
        let bad = trials.iter().filter(|off| **off < bar).count() as u32;
        let made = trials.len() as u32;
        let standing = match () {
            () if bad >= needed => Standing::Confirmed,
            () if made > bad && made - bad + needed > rounds => Standing::Cleared,
            () => Standing::Open,
        };
        (standing, RetestReport { rounds: made, bad }, robust::median(&mut trials))
    }

    /// Claims with what their retests say: where it is an end of a pair that was bad again, the end is what is claimed.
    pub(super) fn settled(&self, claims: &[Claim]) -> Vec<Settled> {
        claims.iter().flat_map(|claim| self.settled_one(claim)).collect()
    }

    fn settled_one(&self, claim: &Claim) -> Vec<Settled> {
        let (standing, report, _) = self.stands(claim.part, claim);
        let settled = |standing| {
            let retest = (report.rounds > 0).then_some(report);
            Settled { claim: *claim, standing, retest }
        };
        let ends = self.untold_ends(claim);
        if standing != Standing::Confirmed || ends.is_empty() {
            return vec![settled(standing)];
        }
        let ends: Vec<_> = ends.into_iter().map(|part| (part, self.stands(part, claim))).collect();
        let blamed: Vec<Settled> = ends
            .iter()
            .filter(|(_, (standing, ..))| *standing == Standing::Confirmed)
            .map(|(part, (standing, report, off))| {
                let effect = off.unwrap_or(claim.effect);
                let (bad_pairs, pairs) = (claim.bad_pairs + report.bad, claim.pairs + report.rounds);
                let claim = Claim { part: *part, effect, bad_pairs, pairs, ..*claim };
                Settled { claim, standing: *standing, retest: Some(*report) }
            })
            .collect();
        match ends.iter().all(|(_, (standing, ..))| *standing == Standing::Cleared) {
            _ if !blamed.is_empty() => blamed,
            true => vec![settled(Standing::Confirmed)],
            // It is slow, and whether it is the way or an end could not be told.
            false => vec![settled(Standing::Open)],
        }
    }
}
