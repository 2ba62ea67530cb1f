//! `history`: what a suite measured night after night, and what is said about it.

mod dashboard;
mod export;
mod remark;
mod show;

use std::{collections::BTreeSet, path::Path};

use clap::{Args, Subcommand};
use comfy_table::{Table, presets::NOTHING};
use rdma_harness::{
    history::{self, Since},
    nightly::suite,
    store::{Store, SuiteHead},
    words,
};
use reports::{
    history::{NightReport, Rules, judge},
    render::history as view,
};

use super::{Place, output};
use crate::exit::{Exit, UsageError};

/// Arguments of `history`.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  rdma-harness history                              the last night, its findings, and every series
  rdma-harness history bandwidth node3 --since 30d  the series with these words in their names
  rdma-harness history show write 64Ki bandwidth    one series in full
  rdma-harness history dashboard --out site         the same as a page
  rdma-harness history export --out results         the last night for other tools
  rdma-harness history note \"cable of node3 swapped\"
  rdma-harness history ack node3 --reason \"new switch\"

A view fails nothing: the exit code is 0 whatever it shows. `nightly` is what ends with 1 for a regression."
)]
pub(super) struct History {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: List,
}

#[derive(Subcommand)]
enum Command {
    /// One series in full: its nights, changes, configurations, notes and campaigns
    Show(show::Show),
    /// Write a page of all series, with the reports of the campaigns behind its findings
    Dashboard(dashboard::Dashboard),
    /// Write a night in the forms of CI, monitoring and other tools of regression
    Export(export::Export),
    /// Write a remark about a night, list remarks, or take one back
    Note(remark::Note),
    /// Say that a change is known, so that it raises no alarm
    Ack(remark::Ack),
    /// Take back that a change is known
    Unack(remark::Unack),
}

/// Which history is meant.
#[derive(Args)]
struct Which {
    /// The suite; may be left out where the store has one
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
    /// Judge as of this night, not of the last
    #[arg(long, value_name = "N")]
    night: Option<i64>,
}

#[derive(Args)]
struct List {
    /// Words that the names of the series have: any part, several are and
    #[arg(value_name = "SERIES")]
    series: Vec<String>,
    #[command(flatten)]
    which: Which,
    /// Show nights from then on: 30d, 2026-10-01, "night 12"
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,
    /// Print the judged night as JSON
    #[arg(long)]
    json: bool,
    /// List steady series, too, however many there are
    #[arg(long, conflicts_with = "json")]
    all: bool,
}

impl History {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        match self.command {
            None => self.list.execute(place),
            Some(Command::Show(show)) => show.execute(place),
            Some(Command::Dashboard(dashboard)) => dashboard.execute(place),
            Some(Command::Export(export)) => export.execute(place),
            Some(Command::Note(note)) => note.execute(place),
            Some(Command::Ack(ack)) => ack.execute(place),
            Some(Command::Unack(unack)) => unack.execute(place),
        }
    }
}

impl List {
    fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let store = place.open()?;
        let suites = store.suites()?;
        if suites.len() > 1 && self.which.suite.is_none() && !self.json {
            output::print(&list_of(&suites))?;
            return Ok(Exit::Fine);
        }
        let mut report = self.which.report(&store)?;
        let ids = chosen(&report, &self.series)?;
        history::keep_only(&mut report, &ids);
        if let Some(since) = self.since {
            since.apply(&mut report);
        }
        if self.json {
            output::print(&view::json(&report))?;
        } else {
            let all = self.all || !self.series.is_empty();
            output::print(&view::terminal(&report, &output::look(all)))?;
        }
        Ok(Exit::Fine)
    }
}

/// The series that words choose.
fn chosen(report: &NightReport, words: &[String]) -> anyhow::Result<BTreeSet<i64>> {
    history::matching(report, words).map_err(|refused| UsageError(refused.to_string()).into())
}

impl Which {
    /// The night, judged by the rules its suite had.
    fn report(&self, store: &Store) -> anyhow::Result<NightReport> {
        Ok(self.judged(store)?.1)
    }

    /// The same, with the history up to it.
    fn judged(&self, store: &Store) -> anyhow::Result<(schema::History, NightReport)> {
        judged(store, &suite_meant(store, self.suite.as_deref())?, self.night)
    }
}

/// A night of a suite, the last without a number, judged by the rules its suite had, and the history up to it.
pub(super) fn judged(
    store: &Store,
    suite: &str,
    night: Option<i64>,
) -> anyhow::Result<(schema::History, NightReport)> {
    let mut history = store.history(suite, None)?;
    let refused = |what: String| UsageError(format!("{what} of {suite}"));
    let last = history.nights.last().ok_or_else(|| refused("no night has come to its end".to_owned()))?;
    let night = night.unwrap_or(last.id);
    let known = (history.nights[0].id, last.id);
    let at = history.nights.iter().position(|known| known.id == night).ok_or_else(|| {
        refused(format!("there is no night {night}; there are nights {} to {}", known.0, known.1))
    })?;
    let rules = rules(store, night)?;
    let report = judge(&history, night, &rules).expect("the night is of its own history");
    history.nights.truncate(at + 1);
    Ok((history, report))
}

/// The name of the suite, as asked for or the only one.
pub(super) fn suite_meant(store: &Store, asked: Option<&str>) -> anyhow::Result<String> {
    let suites = store.suites()?;
    let names = || suites.iter().map(|suite| suite.name.as_str()).collect::<Vec<_>>().join(", ");
    let refused = match (asked, suites.as_slice()) {
        (_, []) => format!(
            "there are no nights in {}; `rdma-harness nightly SUITE` measures one, `rdma-harness import` reads logs of other tools",
            store.file().display()
        ),
        (Some(name), all) if all.iter().any(|suite| suite.name == name) => return Ok(name.to_owned()),
        (Some(name), _) => {
            format!("there is no suite `{name}` in {}; there are: {}", store.file().display(), names())
        }
        (None, [only]) => return Ok(only.name.clone()),
        (None, _) => format!("there are several suites; choose one with --suite: {}", names()),
    };
    Err(UsageError(refused).into())
}

/// By what a night is judged: its suite's rules, or the usual ones for imported logs, which have no suite.
pub(super) fn rules(store: &Store, night: i64) -> anyhow::Result<Rules> {
    let text = store.suite_text(night)?;
    Ok(suite::rules(Path::new(&format!("the suite of night {night}")), &text)?)
}

fn list_of(suites: &[SuiteHead]) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(["suite", "nights", "series", "first", "last"]);
    for suite in suites {
        table.add_row([
            suite.name.clone(),
            suite.nights.to_string(),
            suite.series.to_string(),
            words::moment(suite.first_started_at_unix_ms),
            words::moment(suite.last_started_at_unix_ms),
        ]);
    }
    format!("{}\n\nrdma-harness history --suite NAME shows one.", table.trim_fmt())
}
