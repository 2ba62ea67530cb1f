//! `rdma-harness doctor`: the audit of recorded hosts, through the program.

use std::path::PathBuf;

use e2e::{
    finish,
    programs::{Finished, PATIENCE, rdma_harness, repository},
};
use schema::{Audit, Diagnosis, Finding, Severity};
use serde_json::Value;

fn tree(name: &str) -> PathBuf {
    repository().join("host/fixtures").join(name)
}

fn doctor(name: &str, arguments: &[&str]) -> Finished {
    let root = tree(name);
    let root = root.to_str().expect("a path in UTF-8");
    finish(&mut rdma_harness(&[&["doctor", "--sysroot", root], arguments].concat()), PATIENCE)
}

fn find<'a>(audit: &'a Audit, check: &str, subject: &str) -> &'a Finding {
    let found = audit.findings.iter().find(|finding| finding.check == check && finding.subject == subject);
    found.unwrap_or_else(|| panic!("no finding of {check} about {subject}"))
}

#[test]
fn two_nics_on_two_nodes_each_get_their_own_answer() {
    let finished = doctor("two-socket-mlx5", &["--json"]).expect(0);
    let audit: Audit = finished.json();
    assert_eq!(audit.devices, ["mlx5_0", "mlx5_1"]);
    assert_eq!(find(&audit, "numa-node", "mlx5_0").summary, "node 1, CPUs 2-3,6-7");
    assert_eq!(find(&audit, "numa-node", "mlx5_1").summary, "node 0, CPUs 0-1,4-5");
    assert_eq!(find(&audit, "pcie-link", "mlx5_0").severity, Severity::Fine);
    let narrow = find(&audit, "pcie-link", "mlx5_1");
    assert_eq!(narrow.severity, Severity::Warning);
    assert!(narrow.readings.iter().any(|reading| reading.at.contains("0000:40:01.1")), "up to the root port");
    assert_eq!(find(&audit, "global-pause", "mlx5_1").severity, Severity::Warning);
}

#[test]
fn json_follows_the_schema_of_the_types() {
    let schema = schemars::schema_for!(Audit);
    let validator = jsonschema::validator_for(schema.as_value()).expect("a schema");
    for name in ["two-socket-mlx5", "azure-hyperv", "guest-rxe", "bare-vm", "grace-cpuless", "counters-odd"] {
        let finished = doctor(name, &["--json"]);
        let audit: Value = finished.json();
        let faults: Vec<String> = validator.iter_errors(&audit).map(|error| error.to_string()).collect();
        assert!(faults.is_empty(), "{name}: {faults:?}");
    }
}

#[test]
fn the_exit_code_tells_a_fault_from_a_clean_host_from_wrong_use_from_nothing_to_read() {
    let down = doctor("grace-cpuless", &[]).expect(1);
    assert!(down.stdout.contains("\nwrong (1)\n  port-state [mlx5_0]: 1: DOWN"), "{}", down.stdout);
    doctor("bare-vm", &[]).expect(0);
    let unknown = doctor("two-socket-mlx5", &["-d", "mlx5_7"]).expect(2);
    assert!(
        unknown.stderr.contains("mlx5_7") && unknown.stderr.contains("mlx5_0, mlx5_1"),
        "{}",
        unknown.stderr
    );
    doctor("two-socket-mlx5", &["--symptom", "slow"]).expect(2);
    let empty = tempfile::tempdir().expect("a temporary directory");
    let root = empty.path().to_str().expect("a path in UTF-8");
    let nothing = finish(&mut rdma_harness(&["doctor", "--sysroot", root]), PATIENCE).expect(3);
    assert!(
        nothing.stderr.contains(root) && nothing.stderr.contains("neither proc nor sys"),
        "{}",
        nothing.stderr
    );
}

#[test]
fn text_is_plain_when_piped_worst_first_and_counted_at_its_end() {
    let told = doctor("two-socket-mlx5", &["-d", "mlx5_1"]).expect(0).stdout;
    assert!(!told.contains('\u{1b}'), "plain when piped");
    let place = |words: &str| told.find(words).unwrap_or_else(|| panic!("no `{words}` in\n{told}"));
    assert!(place("\nwarnings (") < place("\nnotes ("));
    assert!(place("\nnotes (") < place("\nfine ("));
    assert!(place("\nfine (") < place(" findings: 0 wrong, "));
    assert!(!told.contains("mlx5_0"), "one device was asked for");
    let all = doctor("two-socket-mlx5", &["-d", "mlx5_1", "--all"]).expect(0).stdout;
    assert!(all.lines().count() > told.lines().count() && !all.contains("--all shows"), "{all}");
}

#[test]
fn a_symptom_ends_in_its_likely_cause_and_the_next_step() {
    let finished = doctor("grace-cpuless", &["--symptom", "port-down", "--json"]).expect(1);
    let diagnoses: Vec<Diagnosis> = finished.json();
    assert_eq!(diagnoses.len(), 1);
    assert!(diagnoses[0].conclusion.contains("enp1s0 is administratively down"), "{diagnoses:?}");
    assert_eq!(diagnoses[0].next, "ip link set enp1s0 up");
    let innocent = doctor("two-socket-mlx5", &["-d", "mlx5_0", "--symptom", "port-down"]).expect(0).stdout;
    assert!(innocent.contains("\nconclusion: nothing here explains it\n"), "{innocent}");
    let narrow = doctor("two-socket-mlx5", &["-d", "mlx5_1", "--symptom", "low-bandwidth"]).expect(1).stdout;
    assert!(narrow.contains("\nconclusion: most likely pcie-link"), "{narrow}");
    doctor("guest-rxe", &["--symptom", "high-latency"]).expect(1);
    doctor("bare-vm", &["--symptom", "driver-load"]).expect(1);
}

#[test]
fn this_very_host_is_read_without_a_fault_of_the_program() {
    let finished = finish(&mut rdma_harness(&["doctor", "--json"]), PATIENCE);
    assert!(matches!(finished.code, Some(0 | 1)), "{finished:?}");
    let audit: Audit = finished.json();
    assert!(audit.findings.len() > 20 && !audit.hostname.is_empty());
}
