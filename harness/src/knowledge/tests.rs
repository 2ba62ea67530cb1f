//! The entries against each other, against the tree they name, and against docs/tuning.md.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use schema::Class;

use super::{entry::*, *};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn what_doctor_checks_has_its_knob_and_every_doctor_trial_its_check() {
    let tree = host::Sysroot::new(repository().join("host/fixtures/two-socket-mlx5"));
    let audit = crate::doctor::audit(&tree, None).expect("an audit");
    let checks: BTreeSet<&str> = audit.findings.iter().map(|finding| finding.check.as_str()).collect();
    for check in &checks {
        let entry = by_id(check).unwrap_or_else(|| panic!("no entry for the check {check}"));
        assert!(entry.is_knob() && entry.status.contains(&Status::Audited), "{check}");
    }
    for finding in &audit.findings {
        let entry = by_id(&finding.check).expect("an entry");
        assert_eq!(entry.matters, finding.matters, "{}: what it matters to is told twice", entry.id);
    }
    for (entry, trial) in trials() {
        if let Trial::Doctor(check) = trial {
            assert!(checks.contains(check.as_str()), "{}: no check {check}", entry.id);
        }
    }
}

#[test]
fn every_claim_of_both_guides_and_every_further_knob_has_its_entry() {
    let known: BTreeSet<String> =
        entries().iter().flat_map(|entry| &entry.rows).map(Row::to_string).collect();
    let numbers = (1..=32).map(|n| format!("1-{n}")).chain((1..=26).map(|n| format!("2-{n}")));
    let all = numbers.chain((1..=34).map(|n| format!("x-{n}"))).chain(["1-16b".to_owned()]);
    assert_eq!(known, all.collect());
}

#[test]
fn ids_are_unique_and_entries_are_whole() {
    let mut ids = BTreeSet::new();
    for entry in entries() {
        let id = &entry.id;
        assert!(ids.insert(id), "{id} twice");
        assert_eq!(
            entry.says.is_empty(),
            entry.verdict.is_none(),
            "{id}: a claim has a verdict, and only a claim"
        );
        assert!(
            entry.is_knob() || !entry.says.is_empty() || !entry.see.is_empty(),
            "{id} is neither knob nor claim"
        );
        assert!(!entry.is_knob() || !entry.read.is_empty(), "{id}: a knob is read somewhere");
        assert_eq!(entry.set.is_empty(), entry.undo.is_empty(), "{id}: what is set is undone");
        assert!(!entry.source.is_empty() && !entry.status.is_empty(), "{id}");
        assert!(
            entry.in_short().len() < 260,
            "{id}: the first sentence is for a table: {}",
            entry.in_short()
        );
        for other in &entry.see {
            assert!(by_id(other).is_some_and(|other| other.id != *id), "{id} refers to {other}");
        }
        let texts = [&entry.title, &entry.says, &entry.why].into_iter().chain(&entry.read).chain(&entry.set);
        for text in texts.chain(&entry.undo).chain(&entry.source) {
            assert!(text.is_ascii() && !text.contains('\n'), "{id}: {text}");
        }
    }
}

#[test]
fn no_two_entries_have_a_name_in_common() {
    let mut names = BTreeSet::new();
    for entry in entries() {
        for name in entry.aliases.iter().chain([&entry.id]) {
            assert!(names.insert(name.to_lowercase()), "{name} is given twice, at {}", entry.id);
            assert!(matches!(find(name), Found::One(found) if found.id == entry.id), "{name} is not found");
        }
    }
}

#[test]
fn what_is_applied_is_a_knob_of_profiles_with_the_same_class() {
    for entry in entries() {
        let Some(knob) = entry.knob else {
            let managed = entry.id == "managed-irqs";
            assert!(managed || !entry.status.contains(&Status::Applied), "{} names no knob", entry.id);
            continue;
        };
        let fits = match entry.class {
            Some(Handling::SelfRestoring) => knob.class() == Class::SelfRestoring,
            Some(Handling::Instant) => knob.class() == Class::Instant,
            Some(Handling::Disruptive) => knob.class() == Class::Disruptive,
            // What is never applied is planned, or only looked at.
            Some(Handling::Boot | Handling::ReadOnly) => knob.class() == Class::Boot,
            None => false,
        };
        assert!(fits, "{}: {:?} is no {:?}", entry.id, knob.class(), entry.class);
    }
    for knob in schema::Knob::ALL {
        assert!(entries().iter().any(|entry| entry.knob == Some(*knob)), "no entry explains {knob:?}");
    }
}

fn trials() -> impl Iterator<Item = (&'static Entry, &'static Trial)> {
    entries().iter().flat_map(|entry| entry.trial.iter().map(move |trial| (entry, trial)))
}

/// A file of the repository.
#[track_caller]
fn file(entry: &Entry, path: &str) -> String {
    fs::read_to_string(repository().join(path))
        .unwrap_or_else(|error| panic!("{}: {path}: {error}", entry.id))
}

#[test]
fn every_scenario_that_is_named_is_there_and_every_profile_has_the_knob() {
    for (entry, trial) in trials() {
        match trial {
            Trial::Scenario(name) => {
                file(entry, &format!("scenarios/{name}"));
            }
            Trial::Profile(name) => {
                let text = file(entry, &format!("scenarios/profiles/{name}.toml"));
                let item = entry.id.strip_prefix("sysctl.");
                let turned = item.or(entry.knob.map(|knob| knob.word()));
                // A claim that is told by a profile as a whole has no knob of its own.
                let has = turned.is_none_or(|word| {
                    text.contains(&format!("{word} ="))
                        || text.contains(&format!("{word}]"))
                        || text.contains(&format!("{word}\" ="))
                });
                assert!(has, "{}: the profile {name} does not turn {turned:?}", entry.id);
            }
            _ => {}
        }
    }
}

#[test]
fn every_test_that_is_named_is_there() {
    for entry in entries() {
        for test in &entry.test {
            let (path, name) = test.split_once("::").unwrap_or_else(|| panic!("{}: {test}", entry.id));
            // The crash matrix makes its tests by a macro, a knob each: `name = 3`.
            let made = [format!("fn {name}("), format!("\n    {name} = ")];
            let text = file(entry, path);
            assert!(made.iter().any(|made| text.contains(made)), "{}: no test {name} in {path}", entry.id);
        }
        let shown = entry.status.iter().any(|status| *status != Status::Explained);
        assert!(!shown || !entry.test.is_empty(), "{}: {:?}, and no test shows it", entry.id, entry.status);
    }
}

#[test]
fn the_document_is_written_from_the_entries() {
    let file = repository().join("docs/tuning.md");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, document()).expect("written");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == document(), "docs/tuning.md differs from the entries; UPDATE_GOLDEN=1 writes it anew");
}

#[track_caller]
fn found(question: &str) -> &'static str {
    match find(question) {
        Found::One(entry) => &entry.id,
        other => panic!("`{question}`: {other:?}"),
    }
}

#[test]
fn a_knob_is_found_by_its_name_its_path_and_its_last_word() {
    for question in [
        "net.core.rmem_max",
        "rmem_max",
        "/proc/sys/net/core/rmem_max",
        "sysctl.net.core.rmem_max",
        "RMEM_MAX",
    ] {
        assert_eq!(found(question), "sysctl.net.core.rmem_max");
    }
    assert_eq!(found("smp_affinity"), "irq-affinity");
    assert_eq!(found("/proc/irq/default_smp_affinity"), "irq-default-affinity");
    assert_eq!(found("/dev/cpu_dma_latency"), "pm-qos");
    assert_eq!(found("/sys/devices/system/cpu/cpu3/power/pm_qos_resume_latency_us"), "resume-latency");
    assert_eq!(found("kernel.numa_balancing"), "numa-balancing");
}

#[test]
fn a_claim_is_found_by_its_number_and_by_its_words() {
    assert_eq!(found("1-18"), "echo-2-smp-affinity");
    assert_eq!(found("guide 1, claim 18"), "echo-2-smp-affinity");
    assert_eq!(found("x-9"), "irq-default-affinity");
    assert_eq!(found("echo 2 smp_affinity"), "echo-2-smp-affinity");
    assert_eq!(found("'echo 2 > /proc/irq/118/smp_affinity'"), "echo-2-smp-affinity");
    assert_eq!(found("mtu 4096"), "mtu");
    assert_eq!(found("does RoCE need an MTU of 4096?"), "mtu");
    assert_eq!(found("ib_write_bw -r 1000"), "perftest-r-1000");
    assert_eq!(found("watch port_xmit_data for loss"), "port-xmit-data");
    assert_eq!(found("perf record -e mlx5:sw_irq"), "mlx5-sw_irq");
}

#[test]
fn a_word_that_several_have_lists_them_and_a_slip_is_recognised() {
    let Found::Several(several) = find("pause") else { panic!("pause is in several") };
    assert!(several.iter().any(|entry| entry.id == "global-pause"), "{several:?}");
    assert!(matches!(find("numa"), Found::Several(_)), "one word that many have");
    assert!(matches!(find("rx_discards_phy"), Found::Several(_)), "in reasons only");
    let Found::None(near) = find("rmem_mxa") else { panic!("there is no such thing") };
    assert!(near.contains(&"sysctl.net.core.rmem_max"), "{near:?}");
    assert_eq!(find("xyzzy"), Found::None(Vec::new()));
    assert_eq!(find(""), Found::None(Vec::new()));
}

/// Compares with a file of `golden/`; with UPDATE_GOLDEN set, writes it.
#[track_caller]
fn golden(name: &str, text: &str) {
    let file = repository().join("harness/src/knowledge/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(file.parent().expect("a folder")).expect("mkdir");
        fs::write(&file, text).expect("written");
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == text, "{} differs; UPDATE_GOLDEN=1 writes it anew. Now:\n{text}", file.display());
}

#[test]
fn pages_are_as_they_were() {
    for (name, width) in [("echo-2-smp-affinity", 100), ("irq-affinity", 100), ("mtu", 60)] {
        golden(&format!("explain-{name}.txt"), &show(by_id(name).unwrap(), width));
    }
    let names = ["mtu", "pm-qos", "tcp-latency-with-roce"];
    let entries: Vec<&Entry> = names.iter().filter_map(|name| by_id(name)).collect();
    golden("explain-list.txt", &list(&entries, 80));
}

#[test]
fn prose_keeps_to_the_width_and_commands_are_not_broken() {
    for entry in entries() {
        let page = show(entry, 60);
        let commands: Vec<&String> = entry.read.iter().chain(&entry.set).chain(&entry.undo).collect();
        let trials: Vec<String> = entry.trial.iter().map(Trial::to_string).collect();
        for line in page.lines().filter(|line| line.chars().count() > 60) {
            let line = line.trim_start().to_owned();
            let is_word = !line.contains(' ');
            assert!(is_word || commands.contains(&&line) || trials.contains(&line), "{}: {line}", entry.id);
        }
    }
}

proptest::proptest! {
    #[test]
    fn no_question_panics(question in "\\PC{0,40}") {
        find(&question);
    }
}
