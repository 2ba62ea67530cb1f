//! The views of every sample, compared with what they were. `UPDATE_GOLDEN=1 cargo test -p reports` writes them anew.

use std::{env, fs, path::PathBuf};

use pretty_assertions::assert_eq;
use reports::{CompareOptions, Comparison, compare, export, render, testing};
use schema::Campaign;

fn golden(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path)
        .unwrap_or_else(|cause| panic!("{}: {cause}; UPDATE_GOLDEN=1 writes it", path.display()));
    assert_eq!(text, expected, "{name} changed; if that is meant, UPDATE_GOLDEN=1 writes it anew");
}

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
            let drawing = &figure[figure.find("</desc>").unwrap()..figure.find("</svg>").unwrap()];
            let caption = &figure[figure.find("<figcaption").unwrap()..];
            assert!(drawing.contains("simulated: soft (model "), "{name}: a drawing does not say simulated");
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
    let campaign = testing::twenty_points();
    let comparison = compare(&campaign, &CompareOptions::default());
    let page = render::html(&campaign, &comparison).unwrap();
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}
