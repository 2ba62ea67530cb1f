//! What the evidence of a run is worth saying about its pair: each counter with its number, so that those of many runs add up.

use schema::{Judgement, Level, RunRecord};

/// What was judged a warning or worse, one remark a counter: `responder: 3412 local_ack_timeout_err`.
pub(super) fn of(record: &RunRecord) -> Vec<String> {
    record.judgements.iter().filter(|judgement| judgement.level >= Level::Warn).flat_map(told).collect()
}

fn told(judgement: &Judgement) -> Vec<String> {
    let Judgement { side, check, found, .. } = judgement;
    let side = side.map_or(String::new(), |side| format!("{side}: "));
    let counters: Option<Vec<String>> = found.split(", ").map(counter).collect();
    match counters {
        Some(counters) => counters.into_iter().map(|counter| format!("{side}{counter}")).collect(),
        None => vec![format!("{side}{check}: {found}")],
    }
}

/// `3412 local_ack_timeout_err` of `local_ack_timeout_err +3412`, whatever it is held against; none of any other text.
fn counter(text: &str) -> Option<String> {
    let (name, rest) = text.split_once(" +")?;
    let number = rest.split_once(' ').map_or(rest, |(number, _)| number);
    number.parse::<u64>().ok().map(|number| format!("{number} {name}"))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use schema::{Fabric, Outcome, RunSpec, Side, Test};

    use super::*;

    fn judgement(side: Option<Side>, level: Level, found: &str) -> Judgement {
        let text = String::new;
        Judgement {
            side,
            check: "loss".into(),
            level,
            found: found.into(),
            threshold: text(),
            meaning: text(),
        }
    }

    #[test]
    fn each_counter_is_a_remark_with_its_number_and_the_rest_is_told_as_it_is() {
        let mut record = RunRecord::start(RunSpec::new(Test::Bandwidth), Fabric::Soft, 0, Outcome::Completed);
        record.judgements = vec![
            judgement(Some(Side::Requester), Level::Note, "rx_bytes +7"),
            judgement(
                Some(Side::Responder),
                Level::Warn,
                "out_of_sequence +3412, rnr nak +2 of 1,000 packets",
            ),
            judgement(Some(Side::Requester), Level::Fail, "the port went down, twice"),
            judgement(None, Level::Warn, "1024 bytes"),
        ];
        assert_eq!(
            of(&record),
            [
                "responder: 3412 out_of_sequence",
                "responder: 2 rnr nak",
                "requester: loss: the port went down, twice",
                "loss: 1024 bytes"
            ]
        );
    }
}
