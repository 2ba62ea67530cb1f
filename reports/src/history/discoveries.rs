//! Many series are asked at once, and some stand out by chance: what is claimed with a p is corrected for the number of series
//! that were asked (Benjamini and Hochberg 1995), question by question.

use schema::FoundBy;

use super::claim::Claim;
use crate::compare::benjamini_hochberg;

/// How many series were asked a question.
pub(super) struct Asked {
    /// By change points.
    pub(super) change_points: usize,
    /// p of every series' fence, whether or not its night stands out.
    pub(super) fences: Vec<f64>,
    /// p of every series against the baseline.
    pub(super) baselines: Vec<f64>,
}

/// Leaves out what as many series would show by chance. What has no p is no matter of chance.
pub(super) fn kept(claims: Vec<Claim>, asked: &Asked, rate: f64) -> Vec<Claim> {
    let change_points = claims.iter().filter(|claim| claim.found_by == FoundBy::ChangePoint);
    // Series without a change point claim nothing, which counts as 1.
    let mut change_points: Vec<f64> = change_points.filter_map(|claim| claim.p).collect();
    change_points.resize(change_points.len().max(asked.change_points), 1.0);
    let (change_points, fences, baselines) =
        (bar(&change_points, rate), bar(&asked.fences, rate), bar(&asked.baselines, rate));
    let bar_of = |question| match question {
        FoundBy::ChangePoint => change_points,
        FoundBy::Fence => fences,
        FoundBy::Baseline => baselines,
        FoundBy::Limit => None,
    };
    let stays = |claim: &Claim| match claim.p {
        Some(p) => bar_of(claim.found_by).is_some_and(|bar| p <= bar),
        None => true,
    };
    claims.into_iter().filter(stays).collect()
}

/// The largest p that stays; none where none does.
fn bar(p: &[f64], rate: f64) -> Option<f64> {
    let stays = p.iter().zip(benjamini_hochberg(p)).filter(|(_, corrected)| *corrected <= rate);
    stays.map(|(p, _)| *p).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::claim;
    use schema::{Certainty, Trend};

    fn claimed(p: Option<f64>) -> Claim {
        let found_by = if p.is_some() { FoundBy::ChangePoint } else { FoundBy::Limit };
        Claim { p, ..claim::new(found_by, Certainty::Confirmed, Trend::Regressed, 0) }
    }

    fn left(p: &[f64], asked: usize) -> Vec<f64> {
        let asked = Asked { change_points: asked, fences: Vec::new(), baselines: Vec::new() };
        let claims = p.iter().map(|p| claimed(Some(*p))).collect();
        kept(claims, &asked, 0.05).iter().filter_map(|claim| claim.p).collect()
    }

    #[test]
    fn what_one_series_proves_is_chance_among_thousands() {
        assert_eq!(left(&[4e-4], 100), [4e-4]);
        assert!(left(&[4e-4], 1_000).is_empty());
        // Many that agree carry one another.
        assert_eq!(left(&[4e-4; 10], 1_000).len(), 10);
    }

    #[test]
    fn what_is_no_matter_of_chance_stays() {
        let asked = Asked { change_points: 1_000_000, fences: Vec::new(), baselines: Vec::new() };
        assert_eq!(kept(vec![claimed(None), claimed(Some(1e-3))], &asked, 0.05).len(), 1);
    }
}
