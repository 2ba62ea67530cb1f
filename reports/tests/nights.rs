//! The exports of a judged night, compared with what they were. `UPDATE_GOLDEN=1 cargo test -p reports` writes them anew.

use std::{env, fs, path::PathBuf};

use pretty_assertions::assert_eq;
use reports::{
    export::night,
    testing::{night_history, night_report, quiet_night_report},
};

fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/nights").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|cause| panic!("{}: {cause}; UPDATE_GOLDEN=1 writes it", path.display()));
    assert_eq!(text, expected, "{name} changed; if that is meant, UPDATE_GOLDEN=1 writes it anew");
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
