//! Bad input is refused with exit code 2 before anything runs, and the message names the field.

use e2e::{finish, programs::PATIENCE, verbs_bench};

/// Flags of `run`, the name that must be in the message, and a word of the way out.
const REFUSED: [(&[&str], &str, &str); 26] = [
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
    (&["--transport", "ud"], "--transport", "carries send"),
    (&["--op", "swap"], "--op", "compare_swap"),
    (&["--rate", "250"], "--rate", "250/s"),
    (&["--search-rate", "p99<=50us"], "--search-rate", "p99=50us"),
    (&["--rate", "1k/s", "-Q", "4"], "--signal-interval", "leave it at 1"),
    (&["--wait", "event", "--test", "latency"], "--wait", "write_imm"),
    (&["--completion-timestamps"], "--completion-timestamps", "extended"),
    (&["-R"], "--connect-by", "tcp"),
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

#[test]
fn a_spec_is_whole_and_takes_no_flags_beside_it() {
    for flags in [["--tx-depth", "3"], ["--rate", "1k/s"], ["--device", "soft"], ["--pages", "2Mi"]] {
        let refused = finish(verbs_bench(&["run", "--json", "--spec", "-"]).args(flags), PATIENCE).expect(2);
        assert!(refused.stderr.contains("--spec"), "{flags:?}: {}", refused.stderr);
    }
}

/// Flags of `write-bw`, and what must be said.
#[test]
fn flags_of_the_perftest_commands() {
    for (flags, words) in [
        (["-s", "64k"], "write 64K"),
        (["-x", "257000000000"], "out of range"),
        (["-c", "XRC"], "XRC is not here"),
        (["--use_cuda", "0"], "GPU"),
        (["-C", "-F"], "no unit of time"),
        (["-t", "0"], "-t, --tx-depth"),
    ] {
        let refused = finish(verbs_bench(&["write-bw", "localhost"]).args(flags), PATIENCE).expect(2);
        assert!(refused.stderr.contains(words) && refused.stdout.is_empty(), "{flags:?}: {}", refused.stderr);
    }
}
