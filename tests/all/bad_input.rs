//! Bad input is refused with exit code 2 before anything runs, and the message names the field.

use e2e::{finish, programs::PATIENCE, verbs_bench};

/// Flags of `run`, the name that must be in the message, and a word of the way out.
const REFUSED: [(&[&str], &str, &str); 18] = [
    (&["--size", "64k"], "--size", "64Ki"),
    (&["--size", "0"], "--size", "smallest is 1"),
    (&["--size", "4Gi"], "--size", "largest"),
    (&["--size", "8", "--size", "8"], "--size", "twice"),
    (&["--gid-index", "257"], "gid", "255"),
    (&["--tx-depth", "0"], "tx-depth", "1"),
    (&["--post-list", "16", "--tx-depth", "8"], "post-list", "tx_depth"),
    (&["--signal-interval", "16", "--tx-depth", "8"], "signal-interval", "tx_depth"),
    (&["--cpu", "4095"], "cpu", "4095"),
    (&["--cpu", "first"], "--cpu", "auto"),
    (&["--memory-node", "77"], "memory", "77"),
    (&["--duration", "5"], "--duration", "5s"),
    (&["--duration", "0s"], "duration", "0"),
    (&["--path-mtu", "1500"], "path-mtu", "1024"),
    (&["--soft-model", "latncy=2us"], "--soft-model", "latncy"),
    (&["--soft-fault", "error=NOPE@3"], "--soft-fault", "NOPE"),
    (&["--test", "latency", "--tx-depth", "8"], "tx-depth", "latency"),
    (&["--peer-device", "mlx5_0"], "peer-device", "software NIC"),
];

#[test]
fn flags_of_verbs_bench() {
    for (flags, field, way_out) in REFUSED {
        let refused =
            finish(verbs_bench(&["run", "--device", "soft", "--json"]).args(flags), PATIENCE).expect(2);
        assert_eq!(refused.stdout, "", "{flags:?} printed a record");
        for word in [field, way_out] {
            assert!(refused.stderr.contains(word), "{flags:?}: no `{word}` in:\n{}", refused.stderr);
        }
    }
}

#[test]
fn a_spec_with_an_unknown_field() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spec.json");
    let mut spec = serde_json::to_value(schema::RunSpec::new(schema::Test::Latency)).unwrap();
    spec["tx_dpth"] = 3.into();
    std::fs::write(&file, spec.to_string()).unwrap();
    let refused =
        finish(&mut verbs_bench(&["run", "--json", "--spec", file.to_str().unwrap()]), PATIENCE).expect(2);
    assert!(refused.stderr.contains("tx_dpth") && refused.stderr.contains("spec.json"), "{}", refused.stderr);
}
