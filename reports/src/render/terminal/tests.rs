//! What the terminal shows, in every width and with and without colours.

use super::*;
use crate::{CompareOptions, compare, testing};

const LOOK: Look = Look { width: 140, colours: false, pictures: true, all: false };

fn shown(name: &str, look: Look) -> String {
    let campaign = testing::named(name).unwrap();
    terminal(&compare(&campaign, &CompareOptions::default()), &look)
}

/// A text without the escapes that style it.
fn seen(text: &str) -> String {
    let mut seen = String::new();
    for (n, part) in text.split('\u{1b}').enumerate() {
        seen.push_str(if n == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    seen
}

#[test]
fn the_verdict_is_first_and_last_and_simulation_beside_it() {
    for name in testing::NAMES {
        let text = shown(name, LOOK);
        let lines: Vec<&str> = text.lines().collect();
        let verdicts = lines.iter().filter(|line| line.contains(": ") && **line == lines[0]).count();
        assert_eq!(verdicts, 2, "{text}");
        assert_eq!(text.matches("SIMULATED, no network was measured").count(), 2, "{text}");
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    for name in testing::NAMES {
        for width in [60, 100, 140, 200] {
            let plain = shown(name, Look { width, ..LOOK });
            let coloured = shown(name, Look { width, colours: true, ..LOOK });
            assert!(coloured.contains("\u{1b}["), "{coloured}");
            assert_eq!(seen(&coloured), plain);
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for name in testing::NAMES {
        for width in [60, 80, 100, 120, 140, 200] {
            for all in [false, true] {
                let text = shown(name, Look { width, all, ..LOOK });
                let widest =
                    text.lines().max_by_key(|line| unicode_width::UnicodeWidthStr::width(*line)).unwrap();
                assert!(
                    unicode_width::UnicodeWidthStr::width(widest) <= width,
                    "{name} at {width}: {widest}"
                );
            }
        }
    }
}

#[test]
fn exploratory_cells_are_listed_when_asked_for_and_have_no_verdict() {
    let few = shown("several_sizes", LOOK);
    assert!(!few.contains("Beside the gates"), "{few}");
    let all = shown("several_sizes", Look { all: true, ..LOOK });
    let beside = all.split("Beside the gates").nth(1).unwrap();
    assert!(beside.contains("p99 latency under load") && !beside.contains("Not a gate"), "{all}");
}

#[test]
fn a_pipe_gets_one_line_a_gate_and_no_pictures() {
    let text = shown("several_sizes", Look::PLAIN);
    assert!(!text.contains(['\u{1b}', '●', '▇', '┊']), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("▲ Improved")).count(), 8, "{text}");
}
