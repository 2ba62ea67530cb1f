//! `history note`, `ack` and `unack`: what people say about nights.

use clap::Args;
use comfy_table::{Table, presets::NOTHING};
use rdma_harness::{history, words};
use reports::history::{NightReport, SeriesReport};

use super::{Place, Which, chosen, output};
use crate::exit::{Exit, UsageError};

#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness history note \"firmware of the leaf switch updated\"
  rdma-harness history note --night 40 --series node3 \"cable swapped\"
  rdma-harness history note --list
  rdma-harness history note --remove 7")]
pub(super) struct Note {
    /// What it says
    #[arg(required_unless_present_any = ["list", "remove"])]
    text: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Words of the names of the series it is about, in quotes where there are several [default: all series]
    #[arg(long, value_name = "SERIES")]
    series: Vec<String>,
    /// List the notes with their numbers
    #[arg(long, conflicts_with_all = ["text", "remove", "series"])]
    list: bool,
    /// Take back the note of this number
    #[arg(long, value_name = "ID", conflicts_with_all = ["text", "series"])]
    remove: Option<i64>,
}

impl Note {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        if let Some(id) = self.remove {
            if !place.open_to_write()?.remove_note(id)? {
                return Err(unknown("note", id, "note --list").into());
            }
            output::print(&format!("note {id} is taken back"))?;
            return Ok(Exit::Fine);
        }
        let report = self.which.report(&place.open()?)?;
        let Some(text) = &self.text else {
            let rows = report.notes.iter().map(|note| {
                (note.id, note.night, name(&report, note.series), note.text.as_str(), note.written_at_unix_ms)
            });
            output::print(&table(rows))?;
            return Ok(Exit::Fine);
        };
        if text.trim().is_empty() {
            return Err(UsageError("a note says something: give it a text".to_owned()).into());
        }
        let about = match self.series.as_slice() {
            [] => vec![None],
            words => chosen(&report, words)?.into_iter().map(Some).collect(),
        };
        let mut store = place.open_to_write()?;
        for series in about {
            let id = store.add_note(report.night.id, series, text, words::unix_ms())?;
            output::print(&format!("note {id} on night {}, {}", report.night.id, name(&report, series)))?;
        }
        Ok(Exit::Fine)
    }
}

#[derive(Args)]
#[command(after_help = "Examples:
  rdma-harness history ack write 64Ki node3 --reason \"node3 moved to the second leaf switch\"
  rdma-harness history ack node3 --all --reason \"new firmware, accepted\"
  rdma-harness history ack --list

What is acknowledged stays in every view and raises no alarm any more. What changes after it does.")]
pub(super) struct Ack {
    /// Words of the name of the series: any part, several are and
    #[arg(required_unless_present = "list", value_name = "SERIES")]
    series: Vec<String>,
    /// The suite; may be left out where the store has one
    #[arg(long, value_name = "NAME")]
    suite: Option<String>,
    /// The first night of the change [default: of what stands]
    #[arg(long, value_name = "N")]
    night: Option<i64>,
    /// Why it is known
    #[arg(long, value_name = "TEXT", required_unless_present = "list")]
    reason: Option<String>,
    /// Acknowledge it in every series that has these words
    #[arg(long)]
    all: bool,
    /// List what is acknowledged, with its numbers
    #[arg(long, conflicts_with_all = ["series", "night", "reason", "all"])]
    list: bool,
}

impl Ack {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        let which = Which { suite: self.suite.clone(), night: None };
        let report = which.report(&place.open()?)?;
        let Some(reason) = &self.reason else {
            let rows = report.acknowledgements.iter().map(|known| {
                let series = name(&report, Some(known.series));
                (known.id, known.night, series, known.reason.as_str(), known.written_at_unix_ms)
            });
            output::print(&table(rows))?;
            return Ok(Exit::Fine);
        };
        let ids = chosen(&report, &self.series)?;
        let meant: Vec<&SeriesReport> =
            report.series.iter().filter(|series| ids.contains(&series.id)).collect();
        let found: Vec<(&SeriesReport, i64)> =
            meant.iter().filter_map(|series| Some((*series, self.night_of(&report, series)?))).collect();
        match found.as_slice() {
            [] => return Err(UsageError(nothing(&meant, self.night)).into()),
            [_, _, ..] if !self.all => return Err(UsageError(several(&found)).into()),
            _ => {}
        }
        let mut store = place.open_to_write()?;
        for (series, night) in found {
            let id = store.add_acknowledgement(series.id, night, reason, words::unix_ms())?;
            output::print(&format!("acknowledged ({id}): {} since night {night}", series.key))?;
        }
        Ok(Exit::Fine)
    }

    /// The night to acknowledge a series from.
    fn night_of(&self, report: &NightReport, series: &SeriesReport) -> Option<i64> {
        let Some(night) = self.night else { return history::standing(report, series) };
        let found = report
            .findings
            .iter()
            .filter(|finding| finding.members.iter().any(|one| one.series == series.id));
        let nights =
            found.map(|finding| finding.since).chain(series.change_points.iter().map(|change| change.night));
        nights.into_iter().find(|known| *known == night)
    }
}

#[derive(Args)]
pub(super) struct Unack {
    /// Its number, as `history ack --list` has it
    id: i64,
}

impl Unack {
    pub(super) fn execute(self, place: &Place) -> anyhow::Result<Exit> {
        if !place.open_to_write()?.remove_acknowledgement(self.id)? {
            return Err(unknown("acknowledgement", self.id, "ack --list").into());
        }
        output::print(&format!("acknowledgement {} is taken back", self.id))?;
        Ok(Exit::Fine)
    }
}

fn unknown(what: &str, id: i64, list: &str) -> UsageError {
    UsageError(format!("there is no {what} {id}; `rdma-harness history {list}` lists what there is"))
}

/// What there is instead of something to acknowledge.
fn nothing(meant: &[&SeriesReport], night: Option<i64>) -> String {
    let had = |series: &SeriesReport| -> Vec<String> {
        let night = |change: &reports::history::ChangePoint| match &change.acknowledged {
            Some(_) => format!("night {} (acknowledged)", change.night),
            None => format!("night {}", change.night),
        };
        series.change_points.iter().map(night).collect()
    };
    let line = |series: &&SeriesReport| match had(series).as_slice() {
        [] => format!("\n  {}: never changed", series.key),
        nights => format!("\n  {}: changed at {}", series.key, nights.join(", ")),
    };
    let what = night.map_or("nothing stands to acknowledge".to_owned(), |night| {
        format!("nothing changed at night {night}")
    });
    let most = 10;
    let more =
        if meant.len() > most { format!("\n  and {} more", meant.len() - most) } else { String::new() };
    format!("{what}:{}{more}", meant.iter().take(most).map(line).collect::<String>())
}

fn several(found: &[(&SeriesReport, i64)]) -> String {
    let lines = found.iter().map(|(series, night)| format!("\n  {} since night {night}", series.key));
    format!(
        "{} series have something to acknowledge; give more words, or --all for all:{}",
        found.len(),
        lines.collect::<String>()
    )
}

fn name(report: &NightReport, series: Option<i64>) -> String {
    let Some(id) = series else { return "all series".to_owned() };
    let known = report.series.iter().find(|series| series.id == id);
    known.map_or_else(|| format!("series {id}"), |series| series.key.to_string())
}

/// Number, night, series, text, and when it was written.
fn table<'r>(rows: impl Iterator<Item = (i64, i64, String, &'r str, u64)>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(["id", "night", "written", "series", "text"]);
    for (id, night, series, text, written) in rows {
        table.add_row([id.to_string(), night.to_string(), words::moment(written), series, text.to_owned()]);
    }
    table.trim_fmt()
}
