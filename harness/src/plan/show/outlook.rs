//! The lines of a plan that promise something: when it looks, how long it takes, how small an effect it sees.

use std::{fmt::Write as _, time::Duration};

use schema::{Nanos, StopRule};

use super::{percent, table};
use crate::{
    plan::{CHANGE_IN_MARGINS, Expectation, Noise, Outlook, Plan, Probably, Sight},
    words::time,
};

/// Spreads of pairs for which a sight is spelled out where none was measured, in percent.
const LADDER: [f64; 3] = [1.0, 2.0, 5.0];

/// The lines, each ended.
pub(super) fn show(plan: &Plan, outlook: &Outlook) -> String {
    let mut text = String::new();
    if let StopRule::WhenDecided { max_time_ns, .. } = plan.design.stop {
        let blocks: Vec<String> = outlook.looks.iter().map(|look| look.blocks.to_string()).collect();
        let budget = max_time_ns.map_or(String::new(), |most| {
            format!(", or before a block that would probably end after {}", words(most))
        });
        let _ = writeln!(
            text,
            "looks      after {} blocks; it stops when every gate is decided{budget}",
            blocks.join(", ")
        );
    }
    let _ = writeln!(text, "takes      {}", takes(plan, outlook));
    if let Some(expects) = expects(outlook) {
        let _ = writeln!(text, "expects    {expects}");
    }
    let _ = writeln!(text, "sees       {}", sees(outlook));
    if let Some(noise) =
        outlook.earlier.as_ref().filter(|noise| !noise.gates.is_empty() && !outlook.sees.is_empty())
    {
        let _ = writeln!(text, "{}", by_gate(noise, &outlook.sees));
    }
    text
}

fn words(nanos: Nanos) -> String {
    time(Duration::from_nanos(nanos.get()))
}

fn takes(plan: &Plan, outlook: &Outlook) -> String {
    let Some(most) = outlook.at_most_ns else {
        return "a time that is not known before it ran once: its runs end by count".into();
    };
    let source = match &outlook.earlier {
        Some(noise) if outlook.time_measured => format!("as {} took", noise.source()),
        _ => "estimated".into(),
    };
    if plan.design.stop == StopRule::AllBlocks {
        return format!("about {}, {source}", words(most));
    }
    if outlook.is_too_short() {
        let first = outlook.looks.first().map_or(0, |look| look.blocks);
        return format!(
            "at most {}, {source}: that is spent before the first look, after {first} blocks, and there would be no verdict (max_time in [design])",
            words(most)
        );
    }
    let least = outlook.at_least_ns.map_or(String::new(), |least| format!("{} at least, ", words(least)));
    format!("{least}{} at most, {source}", words(most))
}

/// What a campaign that may stop early probably takes; nothing for another.
fn expects(outlook: &Outlook) -> Option<String> {
    match &outlook.probably[..] {
        [] => None,
        [Probably { sd_in_margins: None, unchanged, changed }] => {
            let source = outlook.earlier.as_ref().map_or_else(String::new, Noise::source);
            Some(format!(
                "blocks if nothing differs, and if every gate changes by {CHANGE_IN_MARGINS} margins: {} and {}, as {source} measured",
                blocks(unchanged, true),
                blocks(changed, true)
            ))
        }
        ladder => {
            let rung = |of: &Probably| {
                let (unchanged, changed) = (blocks(&of.unchanged, false), blocks(&of.changed, false));
                format!(
                    "{unchanged} and {changed} where pairs vary by {}",
                    of.sd_in_margins.unwrap_or_default()
                )
            };
            let rungs: Vec<String> = ladder.iter().map(rung).collect();
            Some(format!(
                "blocks if nothing differs, and if every gate changes by {CHANGE_IN_MARGINS} margins: {} margins",
                rungs.join(", ")
            ))
        }
    }
}

/// `13 (26 s)`, `29 (undecided in 64%)`.
fn blocks(expectation: &Expectation, with_time: bool) -> String {
    /// Below this it would be left out that some campaigns end without a verdict.
    const DECIDED: f64 = 0.95;
    let time = expectation.time_ns.filter(|_| with_time).map(words);
    let undecided = (expectation.decided < DECIDED)
        .then(|| format!("undecided in {:.0}%", (1.0 - expectation.decided) * 100.0));
    let notes: Vec<String> = time.into_iter().chain(undecided).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    format!("{:.0}{notes}", expectation.blocks)
}

fn sees(outlook: &Outlook) -> String {
    if outlook.sees.is_empty() {
        let blocks = outlook.looks.last().map_or(0, |look| look.blocks);
        let (questions, fewest) = (outlook.questions, outlook.fewest_blocks);
        return format!(
            "nothing: {blocks} pairs, and a verdict on {questions} questions needs {fewest} (blocks in [design])"
        );
    }
    let each = |sight: &Sight| format!("with {} blocks {:.2}", sight.blocks, sight.effect_in_sd);
    let all: Vec<String> = outlook.sees.iter().map(each).collect();
    let level = format!("power 80%, each of {} gates at the level left to it", outlook.questions);
    let mut text = format!("{} standard deviations of the pairs ({level})", all.join(", "));
    if outlook.earlier.as_ref().is_none_or(|noise| noise.gates.is_empty()) {
        let rung = |noise: &f64| {
            let at =
                |sight: &Sight| format!("{:.2}%", ((noise / 100.0 * sight.effect_in_sd).exp_m1()) * 100.0);
            format!("{noise}%: {}", outlook.sees.iter().map(at).collect::<Vec<_>>().join(" and "))
        };
        let rungs: Vec<String> = LADDER.iter().map(rung).collect();
        let _ =
            write!(text, "; that deviation is not known before measuring: if it is {}", rungs.join(", if "));
    }
    text
}

/// What is seen of each gate, by the spread its pairs had before.
fn by_gate(noise: &Noise, sees: &[Sight]) -> String {
    let mut table = table(&[]);
    let blocks = sees.iter().map(|sight| format!("{} blocks see", sight.blocks));
    let header = ["gate".to_owned(), "deviation".to_owned()].into_iter().chain(blocks);
    table.set_header(header.collect::<Vec<_>>());
    for (n, gate) in noise.gates.iter().enumerate() {
        let name = format!("{} of {} at {}", gate.metric, gate.workload, gate.msg_bytes);
        let effects = sees.iter().filter_map(|sight| sight.effects.get(n));
        let row = [name, share(gate.sd_ln)].into_iter().chain(effects.map(|effect| share(*effect)));
        table.add_row(row.collect::<Vec<_>>());
    }
    let indented =
        table.trim_fmt().lines().map(|line| format!("           {line}")).collect::<Vec<_>>().join("\n");
    format!("           as {} measured:\n{indented}", noise.source())
}

/// Two digits of a share in percent: more were not measured.
fn share(share: f64) -> String {
    let percent = percent(share);
    if percent < 0.01 {
        return "below 0.01%".into();
    }
    let digits = if percent >= 10.0 {
        0
    } else if percent >= 1.0 {
        1
    } else {
        2
    };
    format!("{percent:.digits$}%")
}
