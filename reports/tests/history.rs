//! The views of a history, compared with what they were, and what must hold of the page whatever is on it.

mod common;

use common::{golden, self_contained};
use reports::{
    history::NightReport,
    render::{
        Look,
        history::{self, Campaigns, dashboard},
    },
    testing::{night_campaigns, night_report, quiet_night_report},
};
use schema::Fabric;

const LOOK: Look = Look { width: 110, colours: false, pictures: true, all: false };

fn page(report: &NightReport) -> String {
    dashboard(report, &night_campaigns()).unwrap()
}

#[test]
fn a_night_in_the_terminal_and_in_a_pipe() {
    let report = night_report();
    golden("history/night.txt", &history::terminal(&report, &LOOK));
    golden("history/narrow.txt", &history::terminal(&report, &Look { width: 80, ..LOOK }));
    golden("history/plain.txt", &history::terminal(&report, &Look::PLAIN));
    golden("history/lines.txt", &(history::lines(&report).join("\n") + "\n"));
    golden("history/quiet.txt", &history::terminal(&quiet_night_report(), &LOOK));
}

#[test]
fn a_series_in_full() {
    let report = night_report();
    let shown =
        [1, 4, 7, 9, 10, 11].map(|id| history::series(&report, id, &night_campaigns(), &LOOK).unwrap());
    golden("history/series.txt", &shown.join("\n"));
    let plain = history::series(&report, 1, &Campaigns::new(), &Look::PLAIN).unwrap();
    golden("history/series-plain.txt", &plain);
    assert!(history::series(&report, 999, &Campaigns::new(), &LOOK).is_none());
}

#[test]
fn the_page_of_a_night() {
    golden("history/night.html", &page(&night_report()));
}

#[test]
fn findings_come_first_and_lead_to_their_series_and_evidence() {
    let report = night_report();
    let page = page(&report);
    let series = page.find(r#"<section id="series">"#).unwrap();
    let findings = &page[page.find(r#"<section id="findings">"#).unwrap()..series];
    for finding in &report.findings {
        for member in &finding.members {
            assert!(findings.contains(&format!("#s{}\"", member.series)), "series {}", member.series);
        }
    }
    assert!(findings.contains(r#"<a href="night-117/campaign-234.html">campaign 234</a>"#));
    for one in &report.series {
        assert!(page[series..].contains(&format!(r#"id="s{}""#, one.id)), "series {} is not there", one.id);
    }
}

#[test]
fn a_night_with_nothing_to_say_has_no_findings_and_names_what_changed() {
    let page = page(&quiet_night_report());
    assert!(!page.contains(r#"id="findings""#));
    assert!(page.contains("requester.firmware 20.41.1000 → 20.43.1014"));
    assert!(page.contains("nothing is wrong in 11 series, 3 too young to tell"), "the claim");
}

#[test]
fn the_page_asks_nothing_of_the_network_and_lets_its_own_script_run_and_no_other() {
    self_contained(&page(&night_report()), "dashboard.html");
}

#[test]
fn what_is_simulated_says_so_in_every_view() {
    let mut report = night_report();
    report.series.iter_mut().for_each(|series| series.key.fabric = Fabric::Soft);
    assert!(page(&report).contains("SIMULATED: the software NIC. No network was measured."));
    assert!(history::terminal(&report, &Look::PLAIN).contains("SIMULATED"));
    assert!(history::series(&report, 1, &Campaigns::new(), &LOOK).unwrap().contains("SIMULATED"));
    report.series[0].key.fabric = Fabric::Verbs;
    assert!(page(&report).contains("SIMULATED: the software NIC in 11 of 12 series."));
}

#[test]
fn names_and_texts_of_people_are_text_and_no_markup() {
    let mut report = night_report();
    report.notes[0].text = "<img src=x onerror=alert(1)> \"quoted\"".into();
    report.series[0].key.workload = "a\"><script>alert(1)</script>".into();
    let page = page(&report);
    assert!(!page.contains("<img") && !page.contains("<script>alert"), "markup came through");
}

#[test]
fn a_history_of_one_night_without_a_value_has_every_view() {
    let mut report = night_report();
    report.nights.truncate(1);
    report.night = report.nights[0].clone();
    report.findings.clear();
    for series in &mut report.series {
        series.points.truncate(1);
        let first = &mut series.points[0];
        (first.value, first.low, first.high, first.runs) = (None, None, None, 0);
        series.change_points.clear();
        series.epochs.truncate(1);
    }
    assert!(page(&report).contains("none"));
    for series in &report.series {
        assert!(history::series(&report, series.id, &Campaigns::new(), &LOOK).unwrap().contains("none"));
    }
    report.series.clear();
    assert!(page(&report).contains("</html>"));
    assert!(!history::terminal(&report, &LOOK).is_empty());
}
