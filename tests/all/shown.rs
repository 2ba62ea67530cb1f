//! How a comparison is shown: in a pipe, on a terminal, with and without colours; and the report in a browser.

use std::{env, fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command, thread, time::Duration};

use e2e::{
    Scenario, finish,
    programs::{PATIENCE, program},
};

const LIMIT: Duration = Duration::from_secs(120);
/// What may steer colours, and must not leak from whoever runs the tests.
const STEERING: [&str; 6] = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS", "CI"];

#[track_caller]
fn measured() -> Scenario {
    let scenario = Scenario::depth();
    let ran = finish(&mut scenario.harness(&["run", "depth.toml"]), LIMIT);
    assert!(matches!(ran.code, Some(0 | 4)), "{ran:?}");
    scenario
}

fn steered(command: &mut Command, by: &[(&str, &str)]) -> String {
    STEERING.iter().for_each(|name| {
        command.env_remove(name);
    });
    command.envs(by.iter().copied());
    let shown = finish(command, PATIENCE);
    assert!(matches!(shown.code, Some(0 | 4)), "{shown:?}");
    shown.stdout
}

/// `compare` into a pipe.
fn piped(scenario: &Scenario, arguments: &[&str], by: &[(&str, &str)]) -> String {
    steered(&mut scenario.harness(&[&["compare"], arguments].concat()), by)
}

/// `compare` on a terminal of 120 columns.
fn on_a_terminal(scenario: &Scenario, arguments: &str, by: &[(&str, &str)]) -> String {
    let harness = program("rdma-harness");
    let line = format!("{} compare --store store.db {arguments}", harness.display());
    let mut command = Command::new("script");
    command.current_dir(scenario.path("")).args(["-qec", &line, "/dev/null"]);
    steered(&mut command, &[by, &[("COLUMNS", "120")]].concat())
}

fn is_coloured(text: &str) -> bool {
    text.contains("\u{1b}[1m")
}

fn has_pictures(text: &str) -> bool {
    text.contains("pair by pair, in time order") && text.contains('┊')
}

#[test]
fn colours_and_pictures_are_for_terminals_and_for_those_who_ask() {
    let scenario = measured();
    let terminal = |arguments, by: &[(&str, &str)]| {
        let text = on_a_terminal(&scenario, arguments, by);
        (is_coloured(&text), has_pictures(&text))
    };
    let xterm = ("TERM", "xterm-256color");
    assert_eq!(terminal("", &[xterm]), (true, true));
    assert_eq!(terminal("", &[xterm, ("NO_COLOR", "1")]), (false, true));
    assert_eq!(terminal("--color never", &[xterm]), (false, true));
    assert_eq!(terminal("", &[("TERM", "dumb")]), (false, false));
    let pipe = |arguments: &[&str], by: &[(&str, &str)]| {
        let text = piped(&scenario, arguments, by);
        (is_coloured(&text), has_pictures(&text))
    };
    assert_eq!(pipe(&[], &[xterm]), (false, false));
    assert_eq!(pipe(&[], &[xterm, ("CLICOLOR_FORCE", "1")]), (true, true));
    assert_eq!(pipe(&["--color", "always"], &[xterm]), (true, true));
    assert_eq!(
        pipe(&["--color", "always"], &[xterm, ("NO_COLOR", "1")]),
        (true, true),
        "what is asked goes first"
    );
    assert_eq!(pipe(&["--json", "--color", "always"], &[xterm]), (false, false), "JSON is for programs");
}

#[test]
fn the_verdict_is_the_first_and_the_last_line_and_all_lists_what_is_no_gate() {
    let scenario = measured();
    let few = piped(&scenario, &[], &[]);
    let lines: Vec<&str> = few.lines().collect();
    assert_eq!(lines.first(), lines.last());
    assert!(lines[0].contains("imulated"), "{few}");
    assert!(!few.contains("Beside the gates"), "{few}");
    let all = piped(&scenario, &["--all"], &[]);
    let beside = all.split("Beside the gates").nth(1).unwrap_or_else(|| panic!("{all}"));
    assert!(beside.contains("message rate") && beside.contains("latency under load"), "{all}");
}

/// A program of this name that writes what it was asked to open.
fn fake_opener(folder: &Path) -> String {
    let script = folder.join("xdg-open");
    fs::write(&script, "#!/bin/sh\nprintf %s \"$1\" > \"$OPENED.part\" && mv \"$OPENED.part\" \"$OPENED\"\n")
        .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", folder.display(), env::var("PATH").unwrap_or_default())
}

#[test]
fn a_report_opens_in_the_browser_of_the_desktop() {
    let scenario = measured();
    let bin = scenario.path("bin");
    fs::create_dir(&bin).unwrap();
    let mut command = scenario.harness(&["report", "--out", "report", "--open"]);
    let opened = scenario.path("opened");
    command.env("PATH", fake_opener(&bin)).env("OPENED", &opened).env("DISPLAY", ":77");
    let ran = finish(&mut command, PATIENCE).expect(0);
    assert_eq!(ran.stdout.trim(), "report/report.html");
    assert_eq!(ran.stderr, "");
    // The opener is on its own; nobody waits for a browser.
    let page = (0..600).find_map(|_| {
        thread::sleep(Duration::from_millis(50));
        fs::read_to_string(&opened).ok()
    });
    let page = page.expect("the opener was not called");
    assert!(Path::new(&page).is_absolute() && page.ends_with("/report/report.html"), "{page}");
}

#[test]
fn a_report_that_nothing_can_open_is_written_all_the_same() {
    let scenario = measured();
    let headless = |command: &mut Command| {
        ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME"].iter().for_each(|name| {
            command.env_remove(name);
        });
    };
    let mut command = scenario.harness(&["report", "--out", "report", "--open"]);
    headless(&mut command);
    let ran = finish(&mut command, PATIENCE).expect(0);
    assert!(
        ran.stderr.contains("none of DISPLAY") && ran.stderr.contains("report/report.html"),
        "{}",
        ran.stderr
    );
    assert!(scenario.path("report/report.html").exists());
    // A display, and no program that opens anything.
    let mut command = scenario.harness(&["report", "--out", "again", "--open"]);
    headless(&mut command);
    command.env("DISPLAY", ":77").env("PATH", scenario.path("nothing"));
    let ran = finish(&mut command, PATIENCE).expect(0);
    assert!(ran.stderr.contains("nothing opened") && ran.stderr.contains("xdg-utils"), "{}", ran.stderr);
    assert!(scenario.path("again/report.html").exists());
}
