//! The audit as a whole: what every finding owes, on every tree.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use host::Sysroot;
use schema::{Audit, Severity};

use super::{
    DoctorError, audit,
    planted::Planted,
    symptom::{Symptom, diagnose},
    text::{self, Look},
};

const TREES: [&str; 9] = [
    "two-socket-mlx5",
    "azure-hyperv",
    "guest-rxe",
    "bare-vm",
    "container-cpuset",
    "grace-cpuless",
    "managed-irqs",
    "netns-readonly",
    "counters-odd",
];

/// The names under which `explain` knows more; those of the sysctls are of their dotted names.
const CHECKS: [&str; 44] = [
    "irqbalance",
    "irq-affinity",
    "irq-default-affinity",
    "isolcpus",
    "nohz-full",
    "isolated-partition",
    "workqueue-cpus",
    "numa-node",
    "numa-memory",
    "numa-balancing",
    "governor",
    "epp",
    "turbo",
    "c-states",
    "pm-qos",
    "resume-latency",
    "smt",
    "thp",
    "huge-pages",
    "memlock",
    "iommu",
    "pcie-link",
    "pcie-max-read-request",
    "pcie-max-payload",
    "pcie-relaxed-ordering",
    "pcie-aspm",
    "pcie-aer",
    "firmware",
    "driver",
    "port-state",
    "mtu",
    "gid",
    "trust",
    "tos",
    "pfc",
    "global-pause",
    "dcbx",
    "dcqcn",
    "rings",
    "channels",
    "coalescing",
    "lag",
    "firewall",
    "kernel-log",
];

const LOOK: Look = Look { all: false, colour: false, width: 100 };

fn fixture(name: &str) -> Sysroot {
    Sysroot::new(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../host/fixtures").join(name))
}

fn of(name: &str) -> Audit {
    audit(&fixture(name), None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_finding_says_what_was_read_what_is_expected_by_whom_and_what_it_matters_to() {
    for tree in TREES {
        for finding in of(tree).findings {
            let context = format!("{tree}: {finding:#?}");
            for text in
                [&finding.check, &finding.subject, &finding.summary, &finding.expected, &finding.authority]
            {
                assert!(!text.trim().is_empty(), "{context}");
            }
            assert!(!finding.matters.is_empty(), "{context}");
            let judged = !matches!(finding.severity, Severity::NotApplicable | Severity::Unknown);
            assert!(!judged || !finding.readings.is_empty(), "judged without a reading: {context}");
            for reading in &finding.readings {
                assert!(reading.value.is_some() != reading.unknown.is_some(), "{context}");
            }
            let to_be_done = finding.severity == Severity::Wrong;
            assert!(!to_be_done || !finding.remedy.is_empty(), "wrong without a remedy: {context}");
        }
    }
}

#[test]
fn every_check_has_a_known_name_and_every_name_its_check() {
    let names: BTreeSet<String> =
        TREES.iter().flat_map(|tree| of(tree).findings).map(|finding| finding.check).collect();
    let known: BTreeSet<&str> = CHECKS.into_iter().chain(["nvconfig"]).collect();
    for name in &names {
        assert!(known.contains(name.as_str()) || name.starts_with("sysctl."), "{name}");
    }
    for name in known {
        assert!(names.contains(name), "no finding of {name}");
    }
    assert_eq!(names.iter().filter(|name| name.starts_with("sysctl.")).count(), 19);
}

#[test]
fn no_subject_is_asked_twice_of_one_thing() {
    for tree in TREES {
        let mut seen = BTreeSet::new();
        for finding in of(tree).findings {
            assert!(seen.insert((finding.check.clone(), finding.subject.clone())), "{tree}: {finding:?}");
        }
    }
}

#[test]
fn one_device_is_looked_at_alone_and_an_unknown_one_is_refused_with_those_there_are() {
    let one = audit(&fixture("two-socket-mlx5"), Some("mlx5_1")).expect("an audit");
    assert_eq!(one.devices, ["mlx5_1"]);
    assert!(one.findings.iter().all(|finding| ["mlx5_1", "host"].contains(&finding.subject.as_str())));
    let error = audit(&fixture("two-socket-mlx5"), Some("mlx5_9")).expect_err("no such device").to_string();
    assert!(error.contains("mlx5_9") && error.contains("mlx5_0, mlx5_1"), "{error}");
    let error = audit(&fixture("bare-vm"), Some("mlx5_0")).expect_err("none at all").to_string();
    assert!(error.contains("driver-load"), "{error}");
    let nothing = tempfile::tempdir().expect("a temporary directory");
    assert!(matches!(audit(&Sysroot::new(nothing.path()), None), Err(DoctorError::NoHost(_))));
}

#[test]
fn a_host_of_1024_cpus_is_a_few_findings_and_not_a_reading_for_each_cpu() {
    let tree = host::testing::many_cpus(1024);
    let audit = audit(&Sysroot::new(tree.path()), None).expect("an audit");
    assert!(audit.findings.len() < 200, "{}", audit.findings.len());
    let of_cpus = audit.findings.iter().filter(|finding| finding.check == "governor");
    assert!(of_cpus.clone().count() == 1 && of_cpus.flat_map(|finding| &finding.readings).count() < 4);
}

/// Texts that no kernel writes where numbers, lists, masks or words are expected.
const GARBAGE: [&[u8]; 7] = [
    b"",
    b"-1",
    b"N/A (no PMA)",
    b"99999999999999999999999",
    b"0-4294967295:1/0",
    b"[",
    &[0xff, 0xfe, 0x00, 0x0a],
];

#[test]
fn whatever_the_files_of_a_host_hold_the_audit_comes_to_its_end() {
    for (round, garbage) in GARBAGE.iter().enumerate() {
        let tree = host::testing::copy("two-socket-mlx5");
        // A third of the files at a time, so that what is read behind a broken one is broken too.
        let mut files = Vec::new();
        collect(tree.path(), &mut files);
        for file in files.iter().skip(round % 3).step_by(3) {
            fs::write(file, garbage).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        }
        let root = Sysroot::new(tree.path());
        let audit = audit(&root, None).expect("an audit");
        assert!(audit.findings.len() > 80, "{}", audit.findings.len());
        assert!(text::audit(&audit, LOOK).contains(" findings: "));
        for symptom in Symptom::ALL {
            assert!(!diagnose(&root, None, symptom).expect("an answer").is_empty());
        }
    }
}

/// The files below a folder, in order; links are not followed.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for entry in entries {
        let kind = fs::symlink_metadata(&entry).expect("it is there").file_type();
        if kind.is_dir() {
            collect(&entry, files);
        } else if kind.is_file() {
            files.push(entry);
        }
    }
}

#[test]
fn the_audit_reads_as_it_did() {
    for tree in ["two-socket-mlx5", "guest-rxe"] {
        golden(&format!("{tree}.txt"), &text::audit(&of(tree), LOOK));
    }
    let diagnoses =
        diagnose(&fixture("two-socket-mlx5"), Some("mlx5_1"), Symptom::LowBandwidth).expect("an answer");
    golden("low-bandwidth.txt", &text::diagnosis(&diagnoses[0], LOOK));
}

/// Compares with a file of `golden/`; with UPDATE_GOLDEN set, writes it.
fn golden(name: &str, text: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/doctor/golden").join(name);
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == text, "{} differs; UPDATE_GOLDEN=1 writes it anew. Now:\n{text}", file.display());
}

#[test]
fn no_line_but_a_path_or_a_command_is_wider_than_asked_and_colour_is_only_where_asked() {
    let narrow = text::audit(&of("two-socket-mlx5"), Look { width: 60, ..LOOK });
    for line in narrow.lines().filter(|line| line.chars().count() > 60) {
        let longest = line.split_whitespace().map(str::len).max().unwrap_or(0);
        assert!(longest > 40 || line.trim_start().starts_with("do "), "{line}");
    }
    assert!(!narrow.contains('\u{1b}'));
    assert!(
        text::audit(&of("two-socket-mlx5"), Look { colour: true, ..LOOK }).contains("\u{1b}[1;33mwarnings")
    );
}

fn concluded(host: &Planted, device: &str, symptom: Symptom) -> (bool, String, String) {
    let diagnoses = diagnose(&host.root(), Some(device), symptom).expect("an answer");
    assert_eq!(diagnoses.len(), 1);
    (diagnoses[0].found, diagnoses[0].conclusion.clone(), diagnoses[0].next.clone())
}

#[test]
fn a_port_is_down_for_its_carrier_and_never_for_pfc() {
    let host = Planted::on("two-socket-mlx5")
        .with("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n")
        .with("/sys/class/net/ens1np0/carrier", "0\n");
    let (found, conclusion, next) = concluded(&host, "mlx5_0", Symptom::PortDown);
    assert!(
        found && conclusion.contains("because the network device ens1np0 has no carrier"),
        "{conclusion}"
    );
    assert!(conclusion.ends_with("PFC and ECN do not take a port down"), "{conclusion}");
    assert!(next.starts_with("ethtool ens1np0"), "{next}");
    let (found, conclusion, _) = concluded(&Planted::on("two-socket-mlx5"), "mlx5_0", Symptom::PortDown);
    assert!(!found && conclusion == "nothing here explains it", "{conclusion}");
}

#[test]
fn low_bandwidth_is_first_the_pcie_link_and_loss_counts_by_its_share() {
    let host = Planted::on("two-socket-mlx5");
    let (_, conclusion, next) = concluded(&host, "mlx5_1", Symptom::LowBandwidth);
    assert!(conclusion.starts_with("most likely pcie-link: 8.0 GT/s x8 carries 63.0 Gb/s"), "{conclusion}");
    assert!(next.contains("lspci"), "{next}");
    let loss = |host: &Planted| {
        let diagnoses = diagnose(&host.root(), Some("mlx5_1"), Symptom::LowBandwidth).expect("an answer");
        diagnoses[0].steps.iter().find(|step| step.asked.contains("lost")).expect("asked").explains
    };
    assert_eq!(loss(&host), Some(true));
    let counters = "/sys/class/infiniband/mlx5_1/ports/1/counters";
    let many = host.with(&format!("{counters}/port_xmit_packets"), "90000000000\n");
    assert_eq!(loss(&many), Some(false), "640 of 9e10 packets");
}

#[test]
fn a_software_device_is_slow_because_it_is_one() {
    let host = Planted::on("guest-rxe");
    let (found, conclusion, _) = concluded(&host, "rxe0", Symptom::HighLatency);
    assert!(found && conclusion.contains("software device (rxe)"), "{conclusion}");
}

#[test]
fn sharing_a_priority_is_what_hurts_tcp_and_pause_before_it() {
    let host = Planted::on("two-socket-mlx5");
    let (_, conclusion, _) = concluded(&host, "mlx5_1", Symptom::TcpLatencyWithRoce);
    assert!(conclusion.starts_with("most likely global-pause"), "{conclusion}");
    let off = host.with("/.recorded/ethtool/ens2np0/pause.json", r#"{"autoneg": 0, "rx": 0, "tx": 0}"#);
    let (_, conclusion, _) = concluded(&off, "mlx5_1", Symptom::TcpLatencyWithRoce);
    assert!(conclusion.starts_with("most likely trust: pcp"), "{conclusion}");
}

#[test]
fn a_driver_that_does_not_load_is_followed_from_the_bus_upwards() {
    let asked =
        |host: &Planted| diagnose(&host.root(), None, Symptom::DriverLoad).expect("an answer").remove(0);
    let none = asked(&Planted::on("bare-vm"));
    assert!(
        none.found && none.conclusion.contains("no adapter of NVIDIA's is on the bus"),
        "{}",
        none.conclusion
    );
    let works = asked(&Planted::on("two-socket-mlx5"));
    assert!(!works.found, "{works:#?}");
    let failed = "[5.0] mlx5_core 0000:c1:00.0: mlx5_init_one failed with error code -16\n";
    let log = asked(&Planted::on("two-socket-mlx5").with(host::kernel_log::RECORDED, failed));
    assert!(
        log.found && log.conclusion.contains("mlx5_init_one failed with error code -16"),
        "{}",
        log.conclusion
    );
    let dead = "/sys/devices/pci0000:c0/0000:c0:01.1/0000:c1:00.0/config";
    let silent = Planted::on("two-socket-mlx5");
    fs::write(silent.root().path(dead), [0xff; 256]).expect("write");
    assert!(asked(&silent).conclusion.contains("reads as all ones"));
}

#[test]
fn a_symptom_of_a_host_without_devices_leads_to_the_driver() {
    let diagnoses = diagnose(&fixture("bare-vm"), None, Symptom::LowBandwidth).expect("an answer");
    assert!(diagnoses[0].found && diagnoses[0].next.ends_with("--symptom driver-load"));
    assert!("port-up".parse::<Symptom>().is_err_and(|error| error.to_string().contains("port-down")));
}
