//! The views of every sample, compared with what they were. `UPDATE_GOLDEN=1 cargo test -p reports` writes them anew.

mod common;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use common::golden;
use reports::{CompareOptions, Comparison, compare, export, render, testing};
use schema::Campaign;
use sha2::{Digest as _, Sha256};

fn sample(name: &str) -> (Campaign, Comparison) {
    let campaign = testing::named(name).unwrap();
    let comparison = compare(&campaign, &CompareOptions::default());
    (campaign, comparison)
}

#[test]
fn markdown_of_every_sample() {
    for name in testing::NAMES {
        let (campaign, comparison) = sample(name);
        golden(&format!("{name}.md"), &render::markdown(&campaign, &comparison));
    }
}

#[test]
fn html_of_the_sample_with_failed_runs() {
    let (campaign, comparison) = sample("failed_runs");
    golden("failed_runs.html", &render::html(&campaign, &comparison).unwrap());
}

#[test]
fn every_view_of_the_sample_that_was_watched() {
    let (campaign, comparison) = sample("watched");
    golden("watched.html", &render::html(&campaign, &comparison).unwrap());
    golden("watched.txt", &render::table(&comparison));
    golden("watched.json", &render::json(&comparison));
}

#[test]
fn an_invalid_run_cannot_be_missed_in_any_view() {
    let (campaign, comparison) = sample("watched");
    let invalid = campaign.runs.iter().find(|run| !run.record.is_valid()).unwrap();
    let words =
        format!("Run {} (deep): thread-cpu (requester): pinned to CPU 2, seen on CPU 5", invalid.number());
    let views = [
        render::html(&campaign, &comparison).unwrap(),
        render::markdown(&campaign, &comparison),
        render::table(&comparison),
    ];
    for view in views {
        assert!(view.contains("1 run is invalid by the evidence and counts for nothing"), "{view}");
        assert!(view.contains(&words), "{view}");
    }
    assert!(export::csv(&campaign).lines().any(|line| line.contains(",invalid,")));
}

#[test]
fn a_pruned_campaign_keeps_its_verdict_and_says_so_in_every_view() {
    let (mut campaign, whole) = sample("watched");
    let empty = schema::EncodedHistogram::encode(&schema::histogram::new_latency_histogram(), 0);
    for run in &mut campaign.runs {
        run.pruned_at_unix_ms = Some(1_800_000_000_000);
        run.record.evidence.clear();
        for point in &mut run.record.points {
            point.intervals.clear();
            point.histogram = empty.clone();
        }
    }
    let comparison = compare(&campaign, &CompareOptions::default());
    assert_eq!(comparison.verdict, whole.verdict);
    let runs = format!("{} runs", campaign.runs.len());
    assert!(render::table(&comparison).contains(&format!("evidence of {runs} was pruned")));
    for view in [render::html(&campaign, &comparison).unwrap(), render::markdown(&campaign, &comparison)] {
        assert!(view.contains(&format!("{runs} were pruned, last on 2027-01-15")), "{view}");
    }
    let hlog = String::from_utf8(export::hlog(&campaign, |_| true).unwrap()).unwrap();
    assert_eq!(hlog.matches("was pruned").count(), campaign.runs.len());
}

#[test]
fn table_json_and_csv() {
    let (_, comparison) = sample("unstable");
    golden("unstable.txt", &render::table(&comparison));
    golden("unstable.json", &render::json(&comparison));
    let small = testing::Sample { blocks: 2, ..Default::default() }.campaign();
    golden("two_blocks.csv", &export::csv(&small));
}

#[test]
fn every_figure_of_a_simulated_campaign_says_so() {
    for name in testing::NAMES {
        let (campaign, comparison) = sample(name);
        let page = render::html(&campaign, &comparison).unwrap();
        let figures: Vec<&str> =
            page.split("<figure").skip(1).map(|rest| rest.split("</figure>").next().unwrap()).collect();
        assert!(figures.len() >= 4, "{name} has {} figures", figures.len());
        for figure in figures {
            let drawings: Vec<&str> = figure.split("<svg").skip(1).collect();
            let caption = &figure[figure.find("<figcaption").unwrap()..];
            assert!(!drawings.is_empty(), "{name}: a figure has no drawing");
            for drawing in drawings {
                let drawing = &drawing[drawing.find("</title>").unwrap()..drawing.find("</svg>").unwrap()];
                assert!(
                    drawing.contains("simulated: soft (model "),
                    "{name}: a drawing does not say simulated"
                );
            }
            assert!(caption.contains("simulated: soft (model "), "{name}: a caption does not say simulated");
        }
        assert!(page.contains("<b>SIMULATED</b>"));
    }
}

#[test]
fn a_page_asks_nothing_of_the_network_and_no_colour_is_left_unnamed() {
    let (campaign, comparison) = sample("several_sizes");
    let page = render::html(&campaign, &comparison).unwrap();
    for foreign in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(foreign), "the page contains {foreign}");
    }
    // A stand-in colour that stayed would be nearly black in dark mode.
    assert!(!page.contains("#0102"), "a figure has a colour without a class");
}

#[test]
fn the_policy_of_the_page_lets_its_own_script_run_and_no_other() {
    let (campaign, comparison) = sample("improved");
    let page = render::html(&campaign, &comparison).unwrap();
    let script = &page[page.find("<script>").unwrap() + 8..page.find("</script>").unwrap()];
    let hash = BASE64.encode(Sha256::digest(script));
    assert!(page.contains(&format!("script-src 'sha256-{hash}';")), "report.html has to say sha256-{hash}");
    assert!(page.contains("default-src 'none';"));
}

#[test]
fn every_spot_of_a_drawing_has_its_number_in_the_table_below() {
    for name in testing::NAMES {
        let (campaign, comparison) = sample(name);
        let page = render::html(&campaign, &comparison).unwrap();
        for figure in page.split("<figure").skip(1) {
            let figure = figure.split("</figure>").next().unwrap();
            let body = &figure[figure.find("<tbody>").unwrap()..];
            let rows: Vec<Vec<&str>> = body
                .split("<tr>")
                .skip(1)
                .map(|row| {
                    row.split("<td>").skip(1).map(|cell| cell.split("</td>").next().unwrap()).collect()
                })
                .collect();
            for spots in figure.split("data-spots=\"").skip(1) {
                let spots = spots.split('"').next().unwrap();
                assert!(!spots.is_empty(), "{name}: a drawing without values: {}", &figure[..80]);
                for spot in spots.split(',') {
                    let [_, _, row, column] = spot.split(' ').collect::<Vec<_>>()[..] else {
                        panic!("{spot}")
                    };
                    let (row, column): (usize, usize) = (row.parse().unwrap(), column.parse().unwrap());
                    assert!(!rows[row][column].is_empty(), "{name}: {spot} of {}", &figure[..80]);
                }
            }
        }
    }
}

#[test]
fn a_name_cannot_break_the_page() {
    let (mut campaign, _) = sample("improved");
    let evil = "</svg><script>alert(1)</script>|\n";
    campaign.question = evil.into();
    for run in &mut campaign.runs {
        run.workload = evil.into();
        run.record.fabric_label = evil.into();
    }
    campaign.workloads[0].name = evil.into();
    let comparison = compare(&campaign, &CompareOptions::default());
    let page = render::html(&campaign, &comparison).unwrap();
    assert!(!page.contains("<script>alert"));
    let markdown = render::markdown(&campaign, &comparison);
    assert!(!markdown.contains("<script>"));
}

#[test]
fn a_campaign_with_nothing_in_it_renders() {
    let (mut campaign, _) = sample("improved");
    campaign.runs.clear();
    let comparison = compare(&campaign, &CompareOptions::default());
    assert_eq!(comparison.exit_code(), 4);
    assert!(render::html(&campaign, &comparison).unwrap().contains("only 0 usable pairs"));
    campaign.workloads.clear();
    campaign.variants.clear();
    let comparison = compare(&campaign, &CompareOptions::default());
    assert!(render::html(&campaign, &comparison).unwrap().contains("Nothing was measured"));
    assert!(render::markdown(&campaign, &comparison).contains("Nothing was measured"));
    assert_eq!(
        render::table(&comparison).lines().last().unwrap(),
        "Inconclusive: nothing was measured that could be judged."
    );
}

#[test]
fn twenty_points_of_thirty_runs_stay_below_two_megabytes() {
    let campaign = testing::large();
    let measured = campaign.runs.iter().filter(|run| run.variant == "deep").count();
    assert_eq!((campaign.workloads[0].specs["deep"].msg_bytes.len(), measured), (20, 30));
    let comparison = compare(&campaign, &CompareOptions::default());
    let page = render::html(&campaign, &comparison).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn a_campaign_of_one_variant_says_what_was_measured_and_that_there_is_nothing_to_compare() {
    let (campaign, comparison) = sample("one_variant");
    let page = render::html(&campaign, &comparison).unwrap();
    for (said, there) in [
        ("Measured", true),
        ("One variant was measured, so there is nothing to compare.", true),
        (">Effects<", false),
        ("A/A", false),
        ("Inconclusive", false),
    ] {
        assert_eq!(page.contains(said), there, "{said}");
    }
    let mut failed = campaign;
    failed.runs.iter_mut().for_each(testing::fail);
    let comparison = compare(&failed, &CompareOptions::default());
    assert!(render::markdown(&failed, &comparison).contains("**Could not run.**"));
}
