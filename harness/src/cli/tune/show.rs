//! Plans and records as tables. A knob with many targets of one value is one row.

use comfy_table::{Table, presets::NOTHING};
use rdma_harness::tuning::Plan;
use schema::KnobRecord;

use super::super::output;

/// One row before it is drawn: knob, target, what becomes of it, class or state, note.
type Row = [String; 5];

/// Every write, and what is not written.
pub(super) fn plan(plan: &Plan) -> String {
    let mut rows: Vec<Row> = plan
        .steps
        .iter()
        .map(|step| {
            let change = format!("{} -> {}", quiet(&step.old), step.new);
            [
                named(step.knob.word(), &step.item),
                step.target.clone(),
                change,
                step.class.to_string(),
                step.note.clone(),
            ]
        })
        .collect();
    rows.extend(plan.others.iter().map(row));
    rows.extend(plan.refusals.iter().map(|refusal| {
        let knob = named(refusal.knob.word(), &refusal.item);
        [knob, String::new(), String::new(), "refused".to_owned(), refusal.why.clone()]
    }));
    draw(["knob", "target", "old -> new", "class", "note"], rows)
}

/// What became of every target, on stdout.
pub(super) fn records(records: &[KnobRecord], json: bool) -> anyhow::Result<()> {
    if json {
        return output::print(&serde_json::to_string_pretty(records)?);
    }
    output::print(&table(records))
}

/// The same on stderr, where stdout is the command's.
pub(super) fn records_beside(records: &[KnobRecord]) -> anyhow::Result<()> {
    eprintln!("{}", table(records));
    Ok(())
}

fn table(records: &[KnobRecord]) -> String {
    draw(["knob", "target", "old -> asked", "state", "note"], records.iter().map(row).collect())
}

fn row(record: &KnobRecord) -> Row {
    let old = record.old.as_deref().map_or("unknown".to_owned(), quiet);
    let change = match (&record.effective, old == record.asked) {
        (_, true) => record.asked.clone(),
        (Some(now), _) if *now != record.asked && record.old.as_ref() != Some(now) => {
            format!("{old} -> {} (is {now})", record.asked)
        }
        _ => format!("{old} -> {}", record.asked),
    };
    let knob = named(record.knob.word(), &record.item);
    [knob, record.target.clone(), change, record.state.to_string(), record.note.clone()]
}

fn draw(header: [&str; 5], rows: Vec<Row>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header);
    for (row, count) in folded(rows) {
        let [knob, target, change, word, note] = row;
        let target = if count > 1 { format!("{target} and {} more", count - 1) } else { target };
        table.add_row([knob, target, change, word, note]);
    }
    table.trim_fmt()
}

/// Rows that differ only in their target are one, with how many there are.
fn folded(rows: Vec<Row>) -> Vec<(Row, usize)> {
    let mut folded: Vec<(Row, usize)> = Vec::new();
    for row in rows {
        match folded.last_mut() {
            Some((last, count)) if last[0] == row[0] && last[2..] == row[2..] => *count += 1,
            _ => folded.push((row, 1)),
        }
    }
    folded
}

fn named(knob: &str, item: &str) -> String {
    if item.is_empty() { knob.to_owned() } else { format!("{knob} {item}") }
}

/// A value for a table: the kernel's tabs as blanks, nothing as a word.
fn quiet(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() { "(empty)".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_targets_of_one_value_are_one_row() {
        let row = |target: &str, change: &str| ["governor", target, change, "instant", ""].map(str::to_owned);
        let text = draw(
            ["a", "b", "c", "d", "e"],
            vec![row("cpu0", "x -> y"), row("cpu1", "x -> y"), row("cpu2", "z -> y")],
        );
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.contains("cpu0 and 1 more") && text.contains("cpu2"), "{text}");
    }
}
