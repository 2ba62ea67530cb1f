//! The factors of a plan in text: what each does, which combinations are measured, and what cannot be told apart.

use std::fmt::Write as _;

use comfy_table::{Table, presets::NOTHING};
use reports::{compare::factorial_design, render};

use crate::plan::Plan;

/// Groups of what can't be told apart that are listed before the rest is counted.
const MOST_GROUPS: usize = 12;

/// The design and its factors; empty for a plan of listed variants.
pub(in crate::plan) fn show(plan: &Plan) -> String {
    let Some(design) = factorial_design(&plan.factors, &plan.variants) else { return String::new() };
    let mut text = format!("\nfactors: {}\n{}\n", render::design_name(&design), table(plan));
    let _ = writeln!(
        text,
        "each is off in {0} of the {1} runs of a block and on in {0}; {2}",
        design.combinations / 2,
        design.combinations,
        render::design_limits(&design)
    );
    if !design.confounded.is_empty() {
        let _ = writeln!(text, "\ncannot be told from each other");
        for group in design.confounded.iter().take(MOST_GROUPS) {
            let _ = writeln!(text, " {}", group.join(" = "));
        }
        if let Some(more) = design.confounded.len().checked_sub(MOST_GROUPS).filter(|more| *more > 0) {
            let _ = writeln!(text, " and {more} more groups");
        }
    }
    text
}

fn table(plan: &Plan) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(["name", "where it is on"]);
    for factor in &plan.factors {
        table.add_row([factor.name.clone(), render::does(factor)]);
    }
    table.trim_fmt()
}
