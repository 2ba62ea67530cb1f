//! Settles when a campaign looks at its gates, and refuses looks that could not decide anything.

use schema::{Nanos, StopRule};

use crate::scenario::{At, Fault, Span, WrittenStop};

/// Looks that are laid out where the scenario does not say how far apart they are.
const LOOKS: u32 = 5;

/// The rule as it is carried out. `fewest` is the number of pairs below which no verdict on these questions is possible,
/// `useful` the first look that could find a difference in one of them, where any could.
pub(super) fn settle(
    written: &WrittenStop,
    blocks: u32,
    fewest: u32,
    useful: Option<u32>,
) -> Result<StopRule, Box<Fault>> {
    let most = || written.blocks.clone().unwrap_or_else(|| written.span.clone());
    if blocks < fewest {
        let what = format!("{blocks} are fewer than the {fewest} pairs that a verdict on all gates needs");
        return Err(Box::new(
            Fault::new("design.blocks", most(), what)
                .beside(written.span.clone(), "so it would never be decided")
                .advice(format!(
                    "write at least {fewest}, and about twice that to leave room to decide early"
                )),
        ));
    }
    let first_look = written.first_look.as_ref().map_or(useful.unwrap_or(blocks), |look| look.value);
    if let Some(look) = written.first_look.as_ref().filter(|look| look.value < fewest || look.value > blocks)
    {
        return Err(Box::new(first_look_fault(look, blocks, fewest, most())));
    }
    let between = blocks - first_look;
    let look_every =
        written.look_every.as_ref().map_or(between.div_ceil(LOOKS - 1).max(1), |every| every.value);
    if let Some(every) = written.look_every.as_ref().filter(|every| every.value > between.max(1)) {
        let what =
            format!("{look_every} is more than the {between} blocks between the first look and the last");
        return Err(Box::new(
            Fault::new("design.look_every", every.span.clone(), what)
                .beside(most(), "the last look is after these")
                .advice(format!("write at most {}, or leave it out for {LOOKS} looks", between.max(1))),
        ));
    }
    let max_time_ns: Option<Nanos> = written.max_time.as_ref().map(|time| time.value);
    Ok(StopRule::WhenDecided { first_look, look_every, max_time_ns })
}

fn first_look_fault(look: &At<u32>, blocks: u32, fewest: u32, most: Span) -> Fault {
    let fault = |what: String| Fault::new("design.first_look", look.span.clone(), what);
    if look.value < fewest {
        fault(format!("{} pairs can't settle anything; a verdict on all gates needs {fewest}", look.value))
            .advice("write more, or leave it out for the first look that can find something")
    } else {
        fault(format!("{} is more than the {blocks} blocks that are made at most", look.value))
            .beside(most, "the most blocks")
            .advice(format!("write {blocks} or less, or more blocks"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<T>(value: T) -> Option<At<T>> {
        Some(At { value, span: 3..4 })
    }

    fn written(first_look: Option<u32>, look_every: Option<u32>) -> WrittenStop {
        let (first_look, look_every) = (first_look.and_then(at), look_every.and_then(at));
        WrittenStop { span: 0..1, blocks: Some(1..2), first_look, look_every, max_time: at(Nanos(7)) }
    }

    fn rule(first_look: u32, look_every: u32) -> StopRule {
        StopRule::WhenDecided { first_look, look_every, max_time_ns: Some(Nanos(7)) }
    }

    #[test]
    fn what_is_not_written_makes_five_looks_from_the_first_useful_one_on() {
        let settle = |look, every, blocks, useful| settle(&written(look, every), blocks, 6, useful);
        assert_eq!(settle(None, None, 30, Some(6)), Ok(rule(6, 6)));
        assert_eq!(settle(None, None, 40, Some(9)), Ok(rule(9, 8)));
        assert_eq!(
            settle(None, None, 9, None),
            Ok(rule(9, 1)),
            "a difference is seen by all blocks or not at all"
        );
        assert_eq!(settle(Some(10), None, 10, Some(7)), Ok(rule(10, 1)), "one look is a fixed design");
        assert_eq!(settle(Some(10), Some(5), 30, Some(9)), Ok(rule(10, 5)));
    }

    #[test]
    fn looks_that_could_not_decide_are_refused_at_their_place() {
        for (first_look, look_every, blocks, fewest, field, what) in [
            (None, None, 8, 9, "design.blocks", "8 are fewer than the 9 pairs"),
            (Some(5), None, 20, 6, "design.first_look", "5 pairs can't settle anything"),
            (Some(21), None, 20, 6, "design.first_look", "21 is more than the 20 blocks"),
            (Some(6), Some(15), 20, 6, "design.look_every", "15 is more than the 14 blocks"),
        ] {
            let fault = settle(&written(first_look, look_every), blocks, fewest, Some(fewest)).unwrap_err();
            assert_eq!(fault.field, field);
            assert!(fault.what.contains(what) && !fault.advice.is_empty(), "{fault:?}");
        }
    }
}
