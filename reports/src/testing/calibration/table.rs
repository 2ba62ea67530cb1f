//! The results as Markdown.

use std::fmt::{self, Display, Write};

use super::{Bounds, Group, Setting, Tally, bounds};

/// A setting and what came of it.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What was simulated.
    pub setting: Setting,
    /// What came out.
    pub tally: Tally,
}

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Setting { noise, gates, blocks, sd_in_margins, effect_in_margins, looks } = self.setting;
        let plural = if gates == 1 { "gate" } else { "gates" };
        write!(f, "{}, {gates} {plural}, {blocks} blocks", noise.name())?;
        if let Some((first, every)) = looks {
            write!(f, " at most, looks from {first} every {every}")?;
        }
        write!(f, ", sd {sd_in_margins}, effect {effect_in_margins}")
    }
}

/// The tables of all groups, each with its rows in the group's order.
pub fn markdown(groups: &[(Group, Vec<Row>)]) -> String {
    groups.iter().fold(String::new(), |mut text, (group, rows)| {
        // Writing into a String cannot fail.
        let _ = write!(text, "**{}**\n\n{}\n", group.title, of_group(group, rows));
        text
    })
}

fn of_group(group: &Group, rows: &[Row]) -> String {
    match group.bounds {
        Bounds::NoEffect => no_effect(rows),
        Bounds::Difference => table(
            &["effect / sd", "pairs", "found", "by Student's t alone", "interval holds the truth"],
            rows.iter().map(|row| {
                let Row { setting, tally } = row;
                let effect = setting.effect_in_margins / setting.sd_in_margins;
                vec![
                    format!("{effect}"),
                    setting.blocks.to_string(),
                    percent(tally.significant, tally.campaigns),
                    percent(tally.t_significant, tally.campaigns),
                    percent(tally.covered, tally.intervals),
                ]
            }),
        ),
        Bounds::Sameness => table(
            &[
                "margin / sd",
                "pairs",
                "interval within the margin",
                "verdict equivalent or negligible",
                "unstable",
            ],
            rows.iter().map(|Row { setting, tally }| {
                vec![
                    format!("{:.2}", 1.0 / setting.sd_in_margins),
                    setting.blocks.to_string(),
                    percent(tally.within, tally.campaigns),
                    percent(tally.same, tally.campaigns),
                    percent(tally.unstable, tally.campaigns),
                ]
            }),
        ),
        Bounds::Verdict => verdict(rows),
    }
}

/// A line for all spreads of a noise: the worst of each, since a bound holds for every spread.
fn no_effect(rows: &[Row]) -> String {
    let lines = rows.chunk_by(|a, b| line(a) == line(b)).map(|rows| {
        let setting = rows[0].setting;
        let claims = worst(rows, |tally| (tally.claims, tally.campaigns));
        let sd =
            rows.iter().find(|row| row.tally.claims == claims.0).map_or(0.0, |row| row.setting.sd_in_margins);
        let mut line = vec![
            setting.noise.name().to_owned(),
            setting.gates.to_string(),
            blocks(&setting),
            worst_percent(rows, |tally| (tally.significant, tally.campaigns)),
            format!("{} (sd {sd})", percent(claims.0, claims.1)),
            range(rows, |tally| (tally.unstable, tally.campaigns)),
            range(rows, |tally| (tally.covered, tally.intervals)),
        ];
        if setting.looks.is_some() {
            line.push(used(rows));
        }
        line
    });
    let mut head = vec![
        "noise",
        "gates",
        "blocks",
        "differs",
        "improved or regressed",
        "unstable",
        "interval holds the truth",
    ];
    if rows.iter().any(|row| row.setting.looks.is_some()) {
        head.push("blocks made");
    }
    table(&head, lines)
}

fn line(row: &Row) -> Setting {
    Setting { sd_in_margins: 0.0, ..row.setting }
}

fn verdict(rows: &[Row]) -> String {
    let head = [
        "effect, margins",
        "sd, margins",
        "gates",
        "blocks",
        "right verdict",
        "wrong way",
        "unstable",
        "inconclusive",
        "interval holds the truth",
        "blocks made",
    ];
    table(
        &head,
        rows.iter().map(|row| {
            let Row { setting, tally } = row;
            let wrong = if setting.effect_in_margins > 0.0 { tally.wrong_way } else { tally.claims };
            vec![
                setting.effect_in_margins.to_string(),
                setting.sd_in_margins.to_string(),
                setting.gates.to_string(),
                blocks(setting),
                percent(bounds::right(row), tally.campaigns),
                percent(wrong, tally.campaigns),
                percent(tally.unstable, tally.campaigns),
                percent(tally.inconclusive, tally.campaigns),
                percent(tally.covered, tally.intervals),
                used(std::slice::from_ref(row)),
            ]
        }),
    )
}

fn blocks(setting: &Setting) -> String {
    let looks = |(first, every)| format!("{} at most, looks from {first} every {every}", setting.blocks);
    setting.looks.map_or_else(|| setting.blocks.to_string(), looks)
}

/// Blocks made on average: of one row, or from the row with fewest to that with most.
fn used(rows: &[Row]) -> String {
    let mean = |row: &Row| row.tally.blocks as f64 / row.tally.campaigns.max(1) as f64;
    let (low, high) = ends(rows.iter().map(mean));
    if format!("{low:.1}") == format!("{high:.1}") {
        format!("{low:.1}")
    } else {
        format!("{low:.1} to {high:.1}")
    }
}

fn range(rows: &[Row], of: fn(&Tally) -> (u64, u64)) -> String {
    let (low, high) = ends(rows.iter().map(|row| share(of(&row.tally))));
    if rows.len() == 1 {
        format!("{:.1} %", 100.0 * low)
    } else {
        format!("{:.1} to {:.1} %", 100.0 * low, 100.0 * high)
    }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn worst(rows: &[Row], of: fn(&Tally) -> (u64, u64)) -> (u64, u64) {
    let counts = rows.iter().map(|row| of(&row.tally));
    counts.max_by(|a, b| share(*a).total_cmp(&share(*b))).unwrap_or((0, 0))
}

fn worst_percent(rows: &[Row], of: fn(&Tally) -> (u64, u64)) -> String {
    let (count, total) = worst(rows, of);
    percent(count, total)
}

fn percent(count: u64, of: u64) -> String {
    format!("{:.2} %", 100.0 * share((count, of)))
}

fn share((count, of): (u64, u64)) -> f64 {
    count as f64 / of.max(1) as f64
}

fn table(head: &[&str], lines: impl Iterator<Item = Vec<String>>) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = row(&head.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>());
    text += &row(&vec!["---".to_owned(); head.len()]);
    text.extend(lines.map(|line| row(&line)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::calibration::{Noise, rows};
    use pretty_assertions::assert_eq;

    #[test]
    fn a_noise_has_one_line_with_the_worst_of_its_spreads() {
        let setting = Setting {
            noise: Noise::Step,
            gates: 4,
            blocks: 10,
            sd_in_margins: 0.5,
            effect_in_margins: 0.0,
            looks: None,
        };
        let quiet =
            Tally { campaigns: 200, significant: 8, intervals: 800, covered: 760, ..Tally::default() };
        let loud = Tally { claims: 1, unstable: 150, covered: 768, significant: 2, ..quiet };
        let rows = [
            Row { setting, tally: quiet },
            Row { setting: Setting { sd_in_margins: 3.0, ..setting }, tally: loud },
        ];
        assert_eq!(
            no_effect(&rows),
            "| noise | gates | blocks | differs | improved or regressed | unstable | interval holds the truth |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n\
             | step of 10 margins | 4 | 10 | 4.00 % | 0.50 % (sd 3) | 0.0 to 75.0 % | 95.0 to 96.0 % |\n"
        );
    }

    #[test]
    fn every_setting_is_in_a_table() {
        for group in rows::all() {
            let tally = Tally { campaigns: 10, intervals: 10, ..Tally::default() };
            let rows: Vec<Row> =
                group.settings.iter().map(|setting| Row { setting: *setting, tally }).collect();
            let lines = of_group(&group, &rows).lines().count();
            let expected = match group.bounds {
                Bounds::NoEffect => rows.chunk_by(|a, b| line(a) == line(b)).count(),
                _ => rows.len(),
            };
            assert_eq!(lines, expected + 2, "{}", group.title);
        }
    }
}
