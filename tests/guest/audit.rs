//! The audit of a real kernel, and a snapshot of it. Run by scripts/guest/tuning.sh with CPU 3 isolated.

use std::time::Duration;

use e2e::{finish, rdma_harness};
use schema::{Audit, Finding, Severity};

use crate::state::State;

const LIMIT: Duration = Duration::from_secs(120);

fn audit(arguments: &[&str]) -> Audit {
    let ran = finish(rdma_harness(&["doctor", "--json"]).args(arguments), LIMIT);
    // Findings of warnings and worse have exit codes of their own; the document is there either way.
    ran.json()
}

fn finding<'a>(audit: &'a Audit, check: &str, subject: &str) -> &'a Finding {
    audit
        .findings
        .iter()
        .find(|finding| finding.check == check && finding.subject == subject)
        .unwrap_or_else(|| panic!("no {check} of {subject}"))
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn the_audit_sees_what_the_guest_was_given_and_changes_nothing() {
    let before = State::read();
    let audit = audit(&[]);
    assert!(audit.privileged);
    assert_eq!(audit.devices, ["rxe0", "rxe1", "rxe2", "rxe3", "rxe4"]);
    let isolated = finding(&audit, "isolcpus", "host");
    assert!(isolated.readings.iter().any(|reading| reading.value.as_deref() == Some("3")), "{isolated:?}");
    let ticks = finding(&audit, "nohz-full", "host");
    assert!(ticks.readings.iter().any(|reading| reading.value.as_deref() == Some("3")), "{ticks:?}");
    let mtu = finding(&audit, "mtu", "rxe0");
    assert_eq!(mtu.severity, Severity::Warning, "1500 is too little for a path MTU of 4096: {mtu:?}");
    let vectors = finding(&audit, "irq-affinity", "rxe4");
    assert!(vectors.readings.iter().any(|reading| reading.at.contains("smp_affinity")), "{vectors:?}");
    assert_eq!(finding(&audit, "governor", "host").severity, Severity::NotApplicable);
    before.assert_is_back();
}

#[test]
#[ignore = "needs the tuning guest: run by scripts/test.sh"]
fn a_snapshot_of_the_guest_is_audited_like_the_guest() {
    let before = State::read();
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("guest").display().to_string();
    finish(&mut rdma_harness(&["snapshot", "--out", &out]), LIMIT).expect(0);
    let (live, tree) = (audit(&[]), audit(&["--sysroot", &out]));
    assert_eq!(live.devices, tree.devices);
    let of = |audit: &Audit| -> Vec<(String, String, Severity)> {
        let rows = audit.findings.iter();
        rows.map(|row| (row.check.clone(), row.subject.clone(), row.severity)).collect()
    };
    assert_eq!(of(&live), of(&tree));
    assert_ne!(live.hostname, tree.hostname, "a snapshot names nobody");
    before.assert_is_back();
}
