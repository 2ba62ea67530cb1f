//! `baseline`: pins a night by a name, and says how another differs from it.

use anyhow::Context as _;
use clap::{Args, Subcommand};
use comfy_table::{Table, presets::NOTHING};
use rdma_harness::words;
use reports::{
    history::{NightReport, Rules, judge},
    render::history as view,
};
use schema::{Certainty, FoundBy, History, Night, Trend};

use super::{
    Place,
    history::{rules, suite_meant},
    output,
};
use crate::exit::{Exit, UsageError};

/// Arguments of `baseline`.
#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness baseline set before-the-move
  rdma-harness baseline diff before-the-move
  rdma-harness baseline diff good --night 52

`baseline = \"NAME\"` in the [rules] of a suite has every night compared with it.
Exit codes of diff: 0 no series is worse, 1 one is, 3 a series has no value in one of the nights, 4 one may be worse: too few
runs to tell.")]
pub(super) struct Baseline {
    #[command(subcommand)]
    what: What,
    /// The suite, where the store has nights of several
    #[arg(long, global = true, value_name = "NAME")]
    suite: Option<String>,
}

#[derive(Subcommand)]
enum What {
    /// Pin a night by a name; a night that had the name before loses it
    Set {
        /// The name
        name: String,
        /// Number of the night [default: the last that came to its end]
        #[arg(long)]
        night: Option<i64>,
    },
    /// List what is pinned
    Show,
    /// Compare a night with a pinned one
    Diff {
        /// The name; may be left out where one night is pinned
        name: Option<String>,
        /// Number of the night [default: the last that came to its end]
        #[arg(long)]
        night: Option<i64>,
    },
    /// Take a name off its night; the night stays
    Remove {
        /// The name
        name: String,
    },
}

impl Baseline {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let mut store = place.open()?;
        let suite = suite_meant(&store, self.suite.as_deref())?;
        let history = store.history(&suite, None)?;
        match self.what {
            What::Set { name, night } => {
                let night = chosen(&history, night)?;
                let before = store.set_baseline(&suite, &name, night.id, words::unix_ms())?;
                let instead = before.map_or(String::new(), |before| format!(", no longer night {before}"));
                output::print(&format!("`{name}` is {}{instead}", told(night)))?;
            }
            What::Show => output::print(&show(&history))?,
            What::Remove { name } => {
                pinned(&history, Some(&name))?;
                store.remove_baseline(&suite, &name)?;
                output::print(&format!("`{name}` is no longer pinned"))?;
            }
            What::Diff { name, night } => {
                let (name, night) = (pinned(&history, name.as_deref())?, chosen(&history, night)?);
                let rules = Rules { baseline: Some(name), ..rules(&store, night.id)? };
                let report =
                    judge(&history, night.id, &rules).context("judging a night of its own history")?;
                output::print(&view::against_baseline(&report, &output::look(true)))?;
                return Ok(compared(&report));
            }
        }
        Ok(Exit::Fine)
    }
}

fn chosen(history: &History, asked: Option<i64>) -> anyhow::Result<&Night> {
    let found = match asked {
        Some(id) => history.nights.iter().find(|night| night.id == id),
        None => history.nights.last(),
    };
    found.ok_or_else(|| {
        let what = asked.map_or("no night".to_owned(), |id| format!("no night {id}"));
        UsageError(format!(
            "{what} of suite `{}` came to its end; `rdma-harness history` lists those that did",
            history.suite
        ))
        .into()
    })
}

/// The name that is meant.
fn pinned(history: &History, asked: Option<&str>) -> anyhow::Result<String> {
    let names: Vec<&str> = history.baselines.iter().map(|baseline| baseline.name.as_str()).collect();
    let known = || if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    match (asked, &names[..]) {
        (Some(name), names) if names.contains(&name) => Ok(name.to_owned()),
        (Some(name), _) => {
            let refused =
                format!("no night of suite `{}` is pinned as `{name}`; pinned: {}", history.suite, known());
            Err(UsageError(refused).into())
        }
        (None, [only]) => Ok((*only).to_owned()),
        (None, _) => Err(UsageError(format!("name a pinned night; pinned: {}", known())).into()),
    }
}

fn told(night: &Night) -> String {
    format!("night {} of {}", night.id, words::moment(night.started_at_unix_ms))
}

fn show(history: &History) -> String {
    if history.baselines.is_empty() {
        return format!(
            "no night of suite `{}` is pinned; `rdma-harness baseline set NAME` pins the last",
            history.suite
        );
    }
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(["name", "night", "measured", "pinned"]);
    for baseline in &history.baselines {
        let night = history.nights.iter().find(|night| night.id == baseline.night);
        table.add_row([
            baseline.name.clone(),
            baseline.night.to_string(),
            night.map_or(String::new(), |night| words::moment(night.started_at_unix_ms)),
            words::moment(baseline.set_at_unix_ms),
        ]);
    }
    table.trim_fmt()
}

/// What a comparison with a pinned night ends with.
fn compared(report: &NightReport) -> Exit {
    let worse = |certainty: Certainty| {
        let regressed = report.findings.iter().filter(|finding| finding.trend == Trend::Regressed);
        let mut members = regressed.flat_map(|finding| &finding.members);
        members.any(|member| member.found_by == FoundBy::Baseline && member.certainty == certainty)
    };
    let missing = |night: i64| {
        let mut series = report.series.iter().filter(|series| series.baseline.is_none());
        series.any(|series| series.points.iter().any(|point| point.night == night))
    };
    if worse(Certainty::Confirmed) {
        Exit::Regression
    } else if missing(report.night.id) || report.series.iter().all(|series| series.baseline.is_none()) {
        Exit::CouldNotRun
    } else if worse(Certainty::Suspected) {
        Exit::Unsettled
    } else {
        Exit::Fine
    }
}
