//! `verbs-bench perftest-flags`: every flag of perftest, and what becomes of it here.

use std::fmt::Write as _;

use super::{
    PERFTEST_RELEASE,
    flag::{Answer, Flag},
    flags, refused,
};
use crate::cli::flags::flag_of;

/// The page; ends with a newline.
pub(in crate::cli) fn page() -> String {
    let mut text = format!(
        "Every flag of perftest {PERFTEST_RELEASE}. In long names _ and - are the same, and a beginning that is unique is enough.\n"
    );
    section(
        &mut text,
        "Taken by write-bw and its siblings, with perftest's meaning; right of it the flag of `run`",
        |flag| matches!(flag.answer, Answer::Field(..) | Answer::Here(_)),
    );
    section(&mut text, "Taken, and nothing changes", |flag| matches!(flag.answer, Answer::Always(_)));
    section(&mut text, "Refused", |flag| matches!(flag.answer, Answer::Not(_)));
    let _ = writeln!(text, "\nOur own beside them");
    flags::OURS.iter().for_each(|flag| line(&mut text, flag));
    text
}

fn section(text: &mut String, title: &str, is_in: fn(&Flag) -> bool) {
    let _ = writeln!(text, "\n{title}");
    flags::TAKEN.iter().chain(refused::REFUSED).filter(|flag| is_in(flag)).for_each(|flag| line(text, flag));
}

fn line(text: &mut String, flag: &Flag) {
    let value = flag.value.map_or(String::new(), |value| format!(" {value}"));
    let what = match flag.answer {
        Answer::Field(field, _) => format!("{:<26}{}", of_run(field), flag.help),
        Answer::Here(_) => format!("{:<26}{}", "", flag.help),
        Answer::Always(why) | Answer::Not(why) => why.to_owned(),
    };
    let _ = writeln!(text, "  {:<32} {}", flag.typed() + &value, what.trim_end());
}

/// The flag of `run` for a field.
fn of_run(field: &str) -> String {
    match field {
        "stop" => "--duration, --iterations".into(),
        "warmup_ns" => "--warmup".into(),
        "data_check" => "--no-data-check".into(),
        "pace" => "--rate".into(),
        field => flag_of(field),
    }
}
