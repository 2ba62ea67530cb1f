//! The audit of a node among others: what is wrong with it, and the facts by which it can be compared with its peers.

use host::Sysroot;
use schema::{Configuration, Finding, NodeAudit, Severity};

use super::{Devices, DoctorError, check::Check, facts, findings, view::View};

const PRESENT: Check = Check {
    name: "driver",
    expected: "a host to read, with the RDMA device that is asked for",
    authority: "what was asked: the device of a suite or of a host file",
    matters: &[],
};

/// Audits a host with these of its devices. What stands in the way of an audit is a finding like any other.
pub fn of_node(sysroot: &Sysroot, devices: &Devices) -> NodeAudit {
    match View::of(sysroot, devices) {
        Ok(view) => NodeAudit { facts: facts::of(&view), findings: worth_a_warning(&view) },
        Err(error @ DoctorError::NoDevice { .. }) => {
            let mut audit = of_node(sysroot, &Devices::None);
            audit.findings.insert(0, missing(devices, &error));
            audit
        }
        Err(error) => NodeAudit { facts: Configuration::default(), findings: vec![missing(devices, &error)] },
    }
}

fn worth_a_warning(view: &View) -> Vec<Finding> {
    let counts = |finding: &Finding| matches!(finding.severity, Severity::Warning | Severity::Wrong);
    findings(view).into_iter().filter(counts).collect()
}

fn missing(devices: &Devices, error: &DoctorError) -> Finding {
    let subject = match devices {
        Devices::One(name) => name,
        Devices::All | Devices::None => super::check::HOST,
    };
    PRESENT.about(subject).remedy("rdma-harness doctor --symptom driver-load").wrong(error.to_string())
}

#[cfg(test)]
mod tests {
    use host::testing::fixture;

    use super::*;

    #[test]
    fn only_what_is_worth_a_warning_is_found_of_the_device_that_is_asked_for() {
        let audit = of_node(&fixture("two-socket-mlx5"), &Devices::One("mlx5_1".into()));
        assert!(!audit.findings.is_empty() && !audit.facts.0.is_empty());
        for finding in &audit.findings {
            assert!(matches!(finding.severity, Severity::Warning | Severity::Wrong), "{finding:?}");
            assert!(!finding.subject.starts_with("mlx5_0"), "{finding:?}");
        }
    }

    #[test]
    fn a_device_that_is_missing_is_wrong_and_the_host_is_told_all_the_same() {
        let audit = of_node(&fixture("two-socket-mlx5"), &Devices::One("mlx5_9".into()));
        let first = &audit.findings[0];
        assert_eq!((first.severity, first.subject.as_str()), (Severity::Wrong, "mlx5_9"));
        assert!(first.summary.contains("it has mlx5_0"), "{}", first.summary);
        assert!(audit.facts.0.contains_key("kernel") && !audit.facts.0.contains_key("firmware"));
    }

    #[test]
    fn what_is_no_host_has_no_facts() {
        let nothing = tempfile::tempdir().unwrap();
        let audit = of_node(&Sysroot::new(nothing.path()), &Devices::All);
        assert_eq!(audit.facts, Configuration::default());
        assert_eq!(audit.findings.len(), 1);
        assert_eq!(audit.findings[0].severity, Severity::Wrong);
    }
}
