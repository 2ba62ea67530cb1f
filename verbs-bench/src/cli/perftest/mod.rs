//! `verbs-bench write-bw` and its seven siblings: perftest's letters, defaults, rules and table over our engine.
//!
//! The flags are data: `flags` and `refused` hold one row for every flag of perftest 6.29, and the parser, the help, the page
//! `perftest-flags` and the comparison of both sides are made of the rows.

mod command;
mod draft;
mod flag;
mod flags;
mod json;
mod measure;
mod page;
mod print;
mod read;
mod refused;
mod serve;
mod size;
mod table;
#[cfg(test)]
mod tests;
mod tool;

pub(super) use command::Invocation;
pub(super) use page::page;

use flag::Flag;

/// Release of perftest whose flags the rows are.
const PERFTEST_RELEASE: &str = "6.29";

/// All rows: perftest's that are taken, ours, and perftest's that are not taken.
fn rows() -> impl Iterator<Item = &'static Flag> {
    flags::TAKEN.iter().chain(flags::OURS).chain(refused::REFUSED)
}

/// The flag that sets a field of the plan, as perftest spells it.
fn flag_of(field: &str) -> String {
    let sets = |flag: &&Flag| matches!(flag.answer, flag::Answer::Field(sets, _) if sets == field);
    match field {
        "requester" | "responder" => "--ib-dev, --ib-port".into(),
        "gid_index" => "--gid-index".into(),
        "duration" => "--duration".into(),
        "iterations" => "--iters".into(),
        field => rows().find(sets).map_or_else(|| super::flags::flag_of(field), Flag::typed),
    }
}
