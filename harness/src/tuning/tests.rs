//! Tuning from end to end on a small tree; the crash matrix is in `tests/tuning_crashes.rs`.

use std::{fs, path::Path};

use host::Sysroot;
use schema::{Knob, KnobSetting, KnobState, Tuning};

use super::*;

const RMEM: &str = "proc/sys/net/core/rmem_max";
const TCP_RMEM: &str = "proc/sys/net/ipv4/tcp_rmem";

fn tree() -> (tempfile::TempDir, Site) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        (RMEM, "212992\n"),
        (TCP_RMEM, "4096\t131072\t6291456\n"),
        ("proc/sys/kernel/random/boot_id", "first\n"),
    ] {
        let file = dir.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let site = Site::new(Sysroot::new(dir.path()));
    (dir, site)
}

fn read(dir: &tempfile::TempDir, path: impl AsRef<Path>) -> String {
    fs::read_to_string(dir.path().join(path)).unwrap()
}

fn sysctl(item: &str, value: &str) -> KnobSetting {
    KnobSetting { knob: Knob::Sysctl, item: item.into(), value: value.into(), optional: false }
}

fn tuning(knobs: Vec<KnobSetting>) -> Tuning {
    Tuning { knobs, ..Tuning::default() }
}

fn both() -> Tuning {
    tuning(vec![
        sysctl("net.core.rmem_max", "134217728"),
        sysctl("net.ipv4.tcp_rmem", "4096 87380 134217728"),
    ])
}

#[test]
fn a_plan_writes_nothing_and_names_old_and_new() {
    let (dir, site) = tree();
    let plan = plan(&site, &both()).unwrap();
    assert_eq!(plan.steps.len(), 2);
    assert_eq!(
        (plan.steps[0].old.as_str(), plan.steps[0].new.as_str(), plan.steps[0].target.as_str()),
        ("212992", "134217728", "/proc/sys/net/core/rmem_max")
    );
    assert_eq!(read(&dir, RMEM), "212992\n");
    assert!(!site.state_dir.exists());
}

#[test]
fn what_is_so_already_is_no_write() {
    let (_dir, site) = tree();
    let plan = plan(&site, &tuning(vec![sysctl("net.ipv4.tcp_rmem", "4096 131072 6291456")])).unwrap();
    assert!(plan.steps.is_empty());
    assert_eq!(plan.others[0].state, KnobState::Unchanged);
}

#[test]
fn applied_verified_restored_and_the_journal_is_archived() {
    let (dir, site) = tree();
    let applied = apply(&site, plan(&site, &both()).unwrap()).unwrap();
    assert_eq!(read(&dir, RMEM), "134217728\n");
    assert!(applied.verify().iter().all(|record| record.state == KnobState::Verified));
    assert!(status(&site).tuned);
    let restored = applied.restore();
    assert!(restored.conflicts.is_empty(), "{restored:?}");
    assert!(restored.records.iter().all(|record| record.state == KnobState::Restored));
    assert_eq!(
        (read(&dir, RMEM), read(&dir, TCP_RMEM)),
        ("212992\n".into(), "4096\t131072\t6291456\n".into())
    );
    assert!(!status(&site).tuned);
    assert_eq!(fs::read_dir(site.state_dir.join("archive")).unwrap().count(), 1);
}

#[test]
fn what_is_dropped_is_turned_back() {
    let (dir, site) = tree();
    drop(apply(&site, plan(&site, &both()).unwrap()).unwrap());
    assert_eq!(read(&dir, RMEM), "212992\n");
    assert!(!status(&site).tuned);
}

#[test]
fn a_knob_that_is_not_there_refuses_all_or_is_left_out() {
    let (dir, site) = tree();
    let mut wanted = both();
    wanted.knobs.push(sysctl("net.core.netdev_max_backlog", "5000"));
    let refused = apply(&site, plan(&site, &wanted).unwrap()).err().unwrap();
    assert!(matches!(&refused, TuneError::Refused { refusals } if refusals.len() == 1), "{refused}");
    assert_eq!(read(&dir, RMEM), "212992\n");
    wanted.knobs[2].optional = true;
    let applied = apply(&site, plan(&site, &wanted).unwrap()).unwrap();
    assert_eq!(applied.records().last().unwrap().state, KnobState::Skipped);
}

#[test]
fn a_value_changed_since_the_plan_fails_and_turns_back_what_came_before() {
    let (dir, site) = tree();
    let plan = plan(&site, &both()).unwrap();
    fs::write(dir.path().join(TCP_RMEM), "1 2 3\n").unwrap();
    let error = apply(&site, plan).err().unwrap();
    let TuneError::Apply { records, conflicts, .. } = &error else { panic!("{error}") };
    assert_eq!((records[0].state, *conflicts), (KnobState::Restored, 0));
    assert_eq!((read(&dir, RMEM), read(&dir, TCP_RMEM)), ("212992\n".into(), "1 2 3\n".into()));
    assert!(!status(&site).tuned);
}

#[test]
fn a_strangers_value_is_left_alone_and_force_overrides_it() {
    let (dir, site) = tree();
    let applied = apply(&site, plan(&site, &both()).unwrap()).unwrap();
    fs::write(dir.path().join(RMEM), "777\n").unwrap();
    assert_eq!(applied.verify()[0].state, KnobState::Drifted);
    let restored = applied.restore();
    assert_eq!(restored.conflicts.len(), 1);
    assert!(restored.conflicts[0].note.contains("777"), "{restored:?}");
    assert_eq!((read(&dir, RMEM), read(&dir, TCP_RMEM)), ("777\n".into(), "4096\t131072\t6291456\n".into()));
    let refused = apply(&site, plan(&site, &both()).unwrap()).err().unwrap();
    assert!(matches!(refused, TuneError::Left { .. }), "{refused}");
    assert_eq!(recover(&site, false).unwrap().conflicts.len(), 1, "still there");
    assert!(recover(&site, true).unwrap().conflicts.is_empty());
    assert_eq!(read(&dir, RMEM), "212992\n");
    assert!(!status(&site).tuned);
}

#[test]
fn one_at_a_time() {
    let (_dir, site) = tree();
    let first = apply(&site, plan(&site, &both()).unwrap()).unwrap();
    let knobs = tuning(vec![sysctl("net.core.rmem_max", "1")]);
    let second = apply(&site, plan(&site, &knobs).unwrap()).err().unwrap();
    assert!(matches!(second, TuneError::Busy { pid, .. } if pid == std::process::id()), "{second}");
    assert!(matches!(recover(&site, true), Err(TuneError::Busy { .. })));
    first.restore();
}

#[test]
fn what_is_left_on_purpose_is_turned_back_later() {
    let (dir, site) = tree();
    let applied = apply(&site, plan(&site, &both()).unwrap()).unwrap();
    applied.leave().unwrap();
    assert_eq!(read(&dir, RMEM), "134217728\n");
    let again =
        apply(&site, plan(&site, &tuning(vec![sysctl("net.core.rmem_max", "1")])).unwrap()).err().unwrap();
    assert!(again.to_string().contains("tune restore"), "{again}");
    let recovered = recover(&site, false).unwrap();
    assert_eq!((recovered.records.len(), recovered.conflicts.len()), (2, 0));
    assert_eq!(read(&dir, RMEM), "212992\n");
    assert!(recover(&site, false).unwrap().records.is_empty());
}

#[test]
fn a_journal_of_another_boot_is_archived_and_nothing_is_written() {
    let (dir, site) = tree();
    apply(&site, plan(&site, &both()).unwrap()).unwrap().leave().unwrap();
    fs::write(dir.path().join("proc/sys/kernel/random/boot_id"), "second\n").unwrap();
    assert!(!status(&site).tuned);
    let recovered = recover(&site, false).unwrap();
    assert!(recovered.found.contains("another boot") && recovered.records.is_empty(), "{recovered:?}");
    assert_eq!(
        read(&dir, RMEM),
        "134217728\n",
        "the reboot has turned it back already: this tree only pretends"
    );
    apply(&site, plan(&site, &tuning(vec![sysctl("net.core.rmem_max", "1")])).unwrap()).unwrap();
}

#[test]
fn the_proof_sees_a_target_that_moved_and_a_journal_that_is_open() {
    let (dir, site) = tree();
    let proof = Proof::take(&site, &[&both()]);
    assert_eq!(proof.check(), []);
    fs::write(dir.path().join(TCP_RMEM), "4096 131072 6291456\n").unwrap();
    assert_eq!(proof.check(), [], "blanks for tabs are no change");
    fs::write(dir.path().join(RMEM), "1\n").unwrap();
    assert_eq!(proof.check().len(), 1);
    fs::write(dir.path().join(RMEM), "212992\n").unwrap();
    let applied = apply(&site, plan(&site, &both()).unwrap()).unwrap();
    assert_eq!(proof.check().len(), 3, "two targets and the journal");
    applied.restore();
    assert_eq!(proof.check(), []);
}

#[test]
fn a_wrong_value_is_named_before_anything_is_read() {
    let (_dir, site) = tree();
    for (item, value, wanted) in [
        ("net.core.rmem_max", "lots", "whole numbers"),
        ("kernel.core_pattern", "1", "not among the sysctls"),
        ("net.core/../../kernel.core_pattern", "1", "not among the sysctls"),
    ] {
        let error = plan(&site, &tuning(vec![sysctl(item, value)])).err().unwrap().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}
