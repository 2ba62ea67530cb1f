//! The requester's side of a perftest call: plan, measure, print, and the exit code that limits decide.

use schema::RunRecord;

use super::{
    draft::{Draft, Plan},
    flag_of, json,
    print::{Output, Print},
    table,
};
use crate::{
    cli::{
        EXIT_FAILED, EXIT_USAGE, complain, run,
        target::{self, Target},
    },
    connect::auth::Token,
};

/// Exit code of a measurement that stayed below a limit.
const EXIT_BELOW: u8 = 1;

/// Measures with the responder on `host`; returns the exit code.
pub(super) fn measure(draft: &Draft, host: &str) -> u8 {
    let (plan, target) = match prepare(draft, host) {
        Ok(prepared) => prepared,
        Err(faults) => {
            faults.iter().for_each(complain);
            return EXIT_USAGE;
        }
    };
    let print = &draft.print;
    let record = target.measure(&plan.spec, None, print.record || print.output != Output::Table);
    show(print, &record, &plan.notes);
    if let Some(file) = &print.json_file
        && let Err(error) = json::write(file, &record, print.gbits)
    {
        complain(format!("--out_json_file {}: {error}", file.display()));
        return EXIT_FAILED;
    }
    if !record.outcome.is_completed() {
        complain(&record.outcome);
        return EXIT_FAILED;
    }
    let below = below_limits(print, &record);
    below.iter().for_each(complain);
    if below.is_empty() { 0 } else { EXIT_BELOW }
}

fn prepare(draft: &Draft, host: &str) -> Result<(Plan, Target), Vec<String>> {
    let plan = draft.plan().map_err(|error| vec![error])?;
    run::refuse_faults(&plan.spec, false, flag_of)?;
    let address = target::address(host, Some(draft.port)).map_err(|error| vec![error])?;
    let token = draft.token_file.as_deref().map(Token::read).transpose().map_err(|error| vec![error])?;
    Ok((plan, Target { address: Some(address), source: draft.bind_source, token }))
}

fn show(print: &Print, record: &RunRecord, notes: &[String]) {
    if print.record {
        match serde_json::to_string_pretty(record) {
            Ok(json) => println!("{json}"),
            Err(error) => complain(format!("the record cannot be written as JSON: {error}")),
        }
    } else {
        print!("{}", table::render(record, print, notes));
    }
}

/// Each size and each limit by itself: one that holds does not excuse another.
fn below_limits(print: &Print, record: &RunRecord) -> Vec<String> {
    let mut below = Vec::new();
    for point in &record.points {
        let measured = [
            ("--limit_bw", print.limit_bw, table::bandwidth(point, print.gbits), table::unit(print.gbits)),
            ("--limit_msgrate", print.limit_msgrate, table::message_rate(point), "Mpps"),
        ];
        for (flag, limit, value, unit) in measured {
            if let Some(limit) = limit
                && value < limit
            {
                below.push(format!("{flag} {limit}: {} B reached {value:.6} {unit}", point.msg_bytes.get()));
            }
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sample;

    #[test]
    fn each_size_and_each_limit_counts() {
        let record = sample::bandwidth();
        let limits =
            |bw, msgrate| Print { limit_bw: bw, limit_msgrate: msgrate, gbits: true, ..Print::default() };
        assert_eq!(below_limits(&limits(None, None), &record), Vec::<String>::new());
        // 64 B reach 5.12 Gb/s and 10 Mpps, 64 KiB reach 94.4 Gb/s and 0.18 Mpps.
        assert_eq!(below_limits(&limits(Some(10.0), None), &record).len(), 1);
        assert_eq!(below_limits(&limits(None, Some(1.0)), &record).len(), 1);
        assert_eq!(below_limits(&limits(Some(100.0), Some(11.0)), &record).len(), 4);
    }
}
