//! What comes out of judging a night: everything that views of it show, computed.

use schema::{
    Acknowledgement, Certainty, ConfigurationChange, Endpoint, FoundBy, Limit, Night, Note, SeriesKey, Trend,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::Rules;

/// What is said about a night.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NightReport {
    /// [`schema::SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Name of the suite.
    pub suite: String,
    /// The night that is judged.
    pub night: Night,
    /// All nights up to it, in time order; [`PointReport::night`] and the like are numbers of these.
    pub nights: Vec<Night>,
    /// The worst that is said.
    pub verdict: NightVerdict,
    /// The worst first: confirmed regressions, suspected ones, what improved, what is known.
    pub findings: Vec<NightFinding>,
    /// What this night's configuration changed against the night before, over all series, each once.
    pub configuration_changes: Vec<ConfigurationChange>,
    /// How many series are how.
    pub counts: Counts,
    /// Every series, in the order they were first measured.
    pub series: Vec<SeriesReport>,
    /// Remarks of people.
    pub notes: Vec<Note>,
    /// Changes that are known.
    pub acknowledgements: Vec<Acknowledgement>,
    /// By what it was judged.
    pub rules: Rules,
}

/// The worst that is said about a night.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NightVerdict {
    /// Nothing is wrong, as far as the history is long enough to tell.
    Fine,
    /// A confirmed regression stands that nobody has acknowledged.
    Regression,
    /// A series could not be measured.
    CouldNotRun,
    /// A regression is suspected, and it takes more to say so.
    Inconclusive,
}

impl NightVerdict {
    /// The exit code of a program that says it: 0 fine, 1 regression, 3 could not run, 4 inconclusive.
    pub fn exit_code(self) -> u8 {
        match self {
            NightVerdict::Fine => 0,
            NightVerdict::Regression => 1,
            NightVerdict::CouldNotRun => 3,
            NightVerdict::Inconclusive => 4,
        }
    }
}

/// Series by their state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Counts {
    /// All.
    pub series: u32,
    /// Measured, long enough known, and as before.
    pub steady: u32,
    /// Too few nights of the present configuration to tell.
    pub learning: u32,
    /// With a confirmed regression that stands.
    pub regressed: u32,
    /// With a suspected change.
    pub suspected: u32,
    /// With a confirmed improvement, this night's or the one before it.
    pub improved: u32,
    /// With a change that is acknowledged.
    pub acknowledged: u32,
    /// Not measured this night, though the suite means to.
    pub not_measured: u32,
}

/// A change, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Level before, in the metric's unit.
    pub before: f64,
    /// Level after, in the metric's unit.
    pub after: f64,
    /// `after / before - 1`.
    pub change: f64,
    /// Lower end of the 95 % interval of `change`; null where there are too few nights for one.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// One thing to look at: changes of one night and one place, put together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NightFinding {
    /// By which question it was found, the surest of its members.
    pub found_by: FoundBy,
    /// How sure.
    pub certainty: Certainty,
    /// Which way.
    pub trend: Trend,
    /// The first night of the changed level.
    pub since: i64,
    /// Whether no earlier night said it as surely.
    pub new: bool,
    /// Why it is known, if someone acknowledged it; it raises no alarm then.
    pub acknowledged: Option<String>,
    /// The end that all members share; null where they share none or both.
    pub endpoint: Option<Endpoint>,
    /// The series that changed, the largest change first.
    pub members: Vec<Member>,
}

impl NightFinding {
    /// Whether it makes the night a regression.
    pub fn alarms(&self) -> bool {
        self.trend == Trend::Regressed
            && self.certainty == Certainty::Confirmed
            && self.acknowledged.is_none()
    }
}

/// A series of a finding.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Member {
    /// [`SeriesReport::id`].
    pub series: i64,
    /// By which question.
    pub found_by: FoundBy,
    /// How sure.
    pub certainty: Certainty,
    /// How much: from the level before to the present one, or from the limit to the value; null where there is nothing to compare
    /// with, as for a fault of the link.
    pub change: Option<Change>,
    /// p before the correction; null where the question has none.
    pub p: Option<f64>,
    /// What is wrong, in words, where it is no change of a level: the limit and its basis, or the fault.
    pub cause: Option<String>,
}

/// A series as it stands after the night.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SeriesReport {
    /// Identity in the store.
    pub id: i64,
    /// What it is.
    pub key: SeriesKey,
    /// How it stands.
    pub state: SeriesState,
    /// Every night that measured it, in time order.
    pub points: Vec<PointReport>,
    /// Stretches of one configuration, in time order; the last is the present one.
    pub epochs: Vec<Epoch>,
    /// Where the level changed within an epoch, in time order.
    pub change_points: Vec<ChangePoint>,
    /// Coefficient of variation of the nights around their levels, in the present epoch; null with too few nights.
    pub cv: Option<f64>,
    /// The fence of this night; null while learning, and for a night without a value.
    pub fence: Option<FenceReport>,
    /// This night's limit; null where the suite sets none.
    pub limit: Option<Limit>,
    /// Against the pinned baseline; null where none is pinned.
    pub baseline: Option<BaselineReport>,
}

/// How a series stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum SeriesState {
    /// As before.
    Steady,
    /// Too few nights of the present configuration to tell.
    Learning {
        /// Nights there are.
        nights: u32,
        /// Nights it takes.
        of: u32,
    },
    /// A change is suspected.
    Suspected,
    /// A confirmed regression stands.
    Regressed,
    /// A confirmed improvement, not older than the nights it took to confirm it.
    Improved,
    /// A change that is acknowledged.
    Acknowledged,
    /// This night has no value.
    NotMeasured {
        /// Why.
        why: String,
    },
}

/// A night of a series.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PointReport {
    /// The night.
    pub night: i64,
    /// Median of its runs, those made again included, in the metric's unit; null where too few were valid.
    pub value: Option<f64>,
    /// Smallest run.
    pub low: Option<f64>,
    /// Largest run.
    pub high: Option<f64>,
    /// Valid runs, those made again included.
    pub runs: u32,
    /// Median of the runs made again the same night; null where none were.
    pub confirm: Option<f64>,
}

/// A stretch of nights with one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Epoch {
    /// Its first night.
    pub from: i64,
    /// Its last night, so far.
    pub to: i64,
    /// Nights in it that have a value.
    pub nights: u32,
    /// What changed at its beginning; empty for the first.
    pub changes: Vec<ConfigurationChange>,
    /// How its level compares with that of the epoch before; null for the first, and with too few nights. Told, not judged.
    pub against_the_one_before: Option<Change>,
}

/// A night at which a level changed.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ChangePoint {
    /// The first night of the new level.
    pub night: i64,
    /// How sure.
    pub certainty: Certainty,
    /// Which way.
    pub trend: Trend,
    /// How much, the nights up to the next change point taken together.
    pub change: Change,
    /// p of the split.
    pub p: f64,
    /// Why it is known, if someone acknowledged it.
    pub acknowledged: Option<String>,
}

/// How a night stands to the nights before.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FenceReport {
    /// Level of the recent nights, in the metric's unit.
    pub level: f64,
    /// A night further from it than this share stands out.
    pub fence: f64,
    /// How far this night is, as a share of the level, with its sign.
    pub distance: f64,
    /// The same of the runs made again; null where none were.
    pub again: Option<f64>,
}

/// How a night stands to a pinned one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BaselineReport {
    /// Its name.
    pub name: String,
    /// The pinned night.
    pub night: i64,
    /// How much differs.
    pub change: Change,
    /// What differs in the configuration.
    pub configuration_changes: Vec<ConfigurationChange>,
}
