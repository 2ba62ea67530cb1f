//! What brought what, in words: the factors of each question in the order of what they bring, and which act together.

use schema::{Campaign, Factor, SidesTuning, Tuning};

use super::{
    change::Written,
    factorial::{design_limits, design_name},
    number,
    view::{Badge, badge},
    words,
};
use crate::compare::{Asks, Cell, Comparison, Ranked, Ranking};

/// The factors of a campaign, in words.
pub(super) struct FactorsView {
    /// What was combined, and what can't be told apart.
    pub(super) about: Vec<String>,
    /// Names of the factors, and what each sets and turns.
    pub(super) factors: Vec<(String, String)>,
    /// One a metric that decides.
    pub(super) rankings: Vec<RankingView>,
    /// What has one and the same column, a line a group.
    pub(super) confounded: Vec<String>,
}

/// The factors of one question.
pub(super) struct RankingView {
    /// The question: `bandwidth of write at 64 KiB`.
    pub(super) title: String,
    pub(super) factors: Vec<RankRow>,
    pub(super) interactions: Vec<RankRow>,
    /// What no factor and no interaction accounts for, in a sentence; empty where nothing differs.
    pub(super) rest: String,
    /// Means of interactions that are there.
    pub(super) together: Vec<TogetherView>,
}

/// A factor or an interaction.
pub(super) struct RankRow {
    pub(super) name: String,
    /// Of a factor, the median of its off means; of an interaction, what the single changes predict.
    pub(super) without: String,
    /// The on means; what both are.
    pub(super) with: String,
    pub(super) change: String,
    pub(super) interval: String,
    pub(super) p: String,
    /// Share of what differs between the combinations.
    pub(super) share: String,
    pub(super) verdict: Badge,
    /// What stands behind it; may be empty.
    pub(super) remarks: Vec<String>,
}

/// What two factors do alone and together.
pub(super) struct TogetherView {
    pub(super) one: String,
    pub(super) other: String,
    /// With neither, the one, the other, both.
    pub(super) means: [String; 4],
}

impl FactorsView {
    /// Of a factorial campaign; none of any other.
    pub(super) fn of(campaign: &Campaign, comparison: &Comparison) -> Option<Self> {
        let design = comparison.factorial.as_ref()?;
        let half = design.combinations / 2;
        let about = vec![
            format!("{} were measured; {}.", words::capitalised(&design_name(design)), design_limits(design)),
            format!(
                "A change is that of the {half} runs of a block with the factor on against the {half} with it off, whatever the others are. The share is that of what differs between the combinations."
            ),
        ];
        Some(FactorsView {
            about,
            factors: campaign.factors.iter().map(|factor| (factor.name.clone(), does(factor))).collect(),
            rankings: comparison.rankings.iter().map(|ranking| ranking_view(comparison, ranking)).collect(),
            confounded: design.confounded.iter().map(|group| group.join(" = ")).collect(),
        })
    }
}

fn ranking_view(comparison: &Comparison, ranking: &Ranking) -> RankingView {
    let rows = |asks| {
        let ranked = ranking.ranked.iter().filter(move |ranked| ranked.asks == asks);
        let cells = ranked.filter_map(|ranked| Some((ranked, comparison.ranked_cell(ranking, ranked)?)));
        cells.map(|(ranked, cell)| row(ranked, cell, comparison.alpha)).collect()
    };
    let rest = ranking.rest_share.map(|share| {
        format!(
            "Accounted for by none of these, but by noise or by what more factors do together: {}.",
            share_of(share)
        )
    });
    let together = ranking.ranked.iter().filter(|ranked| {
        comparison.ranked_cell(ranking, ranked).is_some_and(|cell| acts_together(cell, comparison.alpha))
    });
    RankingView {
        title: words::capitalised(&words::subject_of(
            ranking.metric,
            ranking.test,
            &ranking.workload,
            ranking.msg_bytes,
        )),
        factors: rows(Asks::Factor),
        interactions: rows(Asks::Interaction),
        rest: rest.unwrap_or_default(),
        together: together.filter_map(|ranked| together_view(ranking, ranked)).collect(),
    }
}

fn row(ranked: &Ranked, cell: &Cell, alpha: f64) -> RankRow {
    let side = |side: &Option<crate::compare::Spread>| {
        side.map_or_else(|| "none".into(), |side| number::value(cell.metric, side.median))
    };
    let written = cell.effect.as_ref().map(|effect| Written::of(effect, cell.margin));
    let none = || "none".to_owned();
    let word = match cell.asks {
        Asks::Interaction if acts_together(cell, alpha) => "Acts together",
        Asks::Interaction => "Not seen",
        Asks::Factor | Asks::Variant => words::verdict(&cell.verdict),
    };
    let remark = Some(words::remark(cell)).filter(|remark| !remark.is_empty());
    RankRow {
        name: ranked.candidate.clone(),
        without: side(&cell.baseline),
        with: side(&cell.candidate_runs),
        change: written.as_ref().map_or_else(none, |written| written.change.clone()),
        interval: written
            .as_ref()
            .map_or_else(none, |written| format!("{} to {}", written.low, written.high)),
        p: cell.effect.as_ref().map_or_else(none, |effect| number::p_value(effect.p_adjusted)),
        share: ranked.share.map_or_else(none, share_of),
        verdict: badge(word),
        remarks: remark.into_iter().chain(words::aliases(cell)).collect(),
    }
}

/// What a reader of the gates alone would miss, in a few lines: the design, and what acts together.
pub(super) fn lines(comparison: &Comparison) -> Vec<String> {
    let Some(design) = &comparison.factorial else { return Vec::new() };
    let mut lines = vec![format!("{}: {}.", words::capitalised(&design_name(design)), design_limits(design))];
    let interactions: Vec<&Cell> =
        comparison.cells.iter().filter(|cell| cell.asks == Asks::Interaction).collect();
    let together = interactions.iter().filter(|cell| acts_together(cell, comparison.alpha));
    let together: Vec<String> = together.filter_map(|cell| acting(cell, comparison)).collect();
    if !interactions.is_empty() && together.is_empty() {
        lines.push("No two factors are seen to bring more, or less, together than each alone.".into());
    }
    lines.extend(together);
    lines
}

fn acting(cell: &Cell, comparison: &Comparison) -> Option<String> {
    let effect = cell.effect.as_ref()?;
    let Written { change, low, high } = Written::of(effect, cell.margin);
    let but = words::aliases(cell).map(|aliases| format!("; {aliases}")).unwrap_or_default();
    Some(format!(
        "{} together: {change} beyond what each brings alone, for {} ({} interval {low} to {high}, p {}){but}.",
        cell.candidate.replace(" x ", " and "),
        words::subject(cell),
        number::margin(1.0 - comparison.alpha),
        number::p_value(effect.p_adjusted),
    ))
}

/// Whether two factors bring something together that neither brings alone.
fn acts_together(cell: &Cell, alpha: f64) -> bool {
    cell.asks == Asks::Interaction && cell.effect.is_some_and(|effect| effect.p_adjusted < alpha)
}

fn together_view(ranking: &Ranking, ranked: &Ranked) -> Option<TogetherView> {
    let (one, other) = ranked.candidate.split_once(" x ")?;
    let means = ranked.means?.map(|mean| number::value(ranking.metric, mean));
    Some(TogetherView { one: one.into(), other: other.into(), means })
}

/// A share to the whole percent.
fn share_of(share: f64) -> String {
    match share {
        share if share > 0.0 && share < 0.005 => "below 1%".into(),
        share => number::margin((share * 100.0).round() / 100.0),
    }
}

/// What a factor sets and turns.
pub fn does(factor: &Factor) -> String {
    let sets = factor.settings.iter().map(|(key, value)| format!("{key} = {value}"));
    let turns = Some(turns(&factor.tuning)).filter(|text| !text.is_empty());
    sets.chain(turns).collect::<Vec<_>>().join(", ")
}

fn turns(tuning: &SidesTuning) -> String {
    let SidesTuning { requester, responder } = tuning;
    if requester == responder {
        return knobs(requester);
    }
    let sides = [("requester", requester), ("responder", responder)];
    let sides = sides.into_iter().filter(|(_, tuning)| !tuning.knobs.is_empty());
    sides.map(|(side, tuning)| format!("{side}: {}", knobs(tuning))).collect::<Vec<_>>().join("; ")
}

fn knobs(tuning: &Tuning) -> String {
    let knob = |setting: &schema::KnobSetting| {
        let name = format!("{} {}", setting.knob, setting.item);
        format!("{} = {}", name.trim(), setting.value)
    };
    tuning.knobs.iter().map(knob).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompareOptions, compare, testing};

    #[test]
    fn factors_are_told_apart_from_what_acts_together() {
        let campaign = testing::named("factors").unwrap();
        let comparison = compare(&campaign, &CompareOptions::default());
        let view = FactorsView::of(&campaign, &comparison).unwrap();
        let [ranking] = &view.rankings[..] else { panic!("one gate") };
        assert_eq!(ranking.title, "Bandwidth of write at 64 KiB");
        let names: Vec<&str> = ranking.factors.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names[0], "deep");
        assert_eq!(ranking.factors[0].verdict.word, "Improved");
        let together: Vec<&str> = ranking
            .interactions
            .iter()
            .filter(|row| row.verdict.word == "Acts together")
            .map(|row| row.name.as_str())
            .collect();
        assert_eq!(together, ["deep x list"]);
        assert_eq!(ranking.together.len(), 1);
        assert!(
            ranking
                .interactions
                .iter()
                .all(|row| row.remarks.iter().any(|remark| remark.contains("cannot be told from")))
        );
        let plain = testing::named("failed_runs").unwrap();
        assert!(FactorsView::of(&plain, &compare(&plain, &CompareOptions::default())).is_none());
    }

    #[test]
    fn small_shares_are_not_nothing() {
        assert_eq!([share_of(0.874), share_of(0.003), share_of(0.0)], ["87%", "below 1%", "0%"]);
    }
}
