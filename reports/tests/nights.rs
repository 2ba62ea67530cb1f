//! The exports of a judged night, compared with what they were. `UPDATE_GOLDEN=1 cargo test -p reports` writes them anew.

mod common;

use reports::{
    export::night,
    testing::{night_history, night_report, quiet_night_report},
};

fn golden(name: &str, text: &str) {
    common::golden(&format!("nights/{name}"), text);
}

#[test]
fn a_night_with_every_kind_of_finding() {
    let report = night_report();
    golden("metrics.prom", &night::prometheus(&report));
    golden("metrics.openmetrics.txt", &night::open_metrics(&report));
    golden("otava.csv", &night::wide_csv(&report));
    golden("otava.yaml", &night::otava_config(&report, "otava.csv"));
    golden("bencher.json", &night::bencher(&report));
    golden("bigger-is-better.json", &night::bigger_is_better(&report));
    golden("smaller-is-better.json", &night::smaller_is_better(&report));
}

#[test]
fn a_night_with_nothing_to_say() {
    golden("quiet.prom", &night::prometheus(&quiet_night_report()));
}

#[test]
fn the_runs_behind_a_night() {
    let mut history = night_history();
    history.nights.drain(..18);
    for series in &mut history.series {
        series.values.retain(|value| value.night > 118);
    }
    golden("runs.csv", &night::long_csv(&history));
}
