//! `rdma-harness explain`: knobs and claims by name, by number and in words.

use e2e::{
    finish,
    programs::{Finished, PATIENCE, rdma_harness},
};
use serde_json::Value;

fn explain(arguments: &[&str]) -> Finished {
    finish(&mut rdma_harness(&[&["explain"], arguments].concat()), PATIENCE)
}

#[test]
fn a_claim_in_the_words_it_was_told_in_gets_its_verdict_and_the_reason() {
    for (question, id, says) in [
        (&["echo", "2", "smp_affinity"][..], "echo-2-smp-affinity", "It binds it to CPU 1"),
        (&["mtu 4096"], "mtu", "An MTU of 4096 gives a RoCE MTU of 2048"),
        (&["ib_write_bw -r 1000"], "perftest-r-1000", "-r is the depth of the receive queue"),
        (&["rmem_max"], "sysctl.net.core.rmem_max", "myth on verbs"),
        (&["port_xmit_data"], "port-xmit-data", "bytes are the value times 4"),
        (&["guide", "2", "claim", "6"], "mlnx-tune-pfc", "no such interface"),
    ] {
        let told = explain(question).expect(0).stdout;
        assert_eq!(told.lines().next(), Some(id), "{question:?}");
        // Lines are broken anywhere.
        let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(says), "no `{says}` in\n{told}");
    }
}

#[test]
fn a_knob_is_told_with_how_it_is_read_set_undone_and_tried() {
    let told = explain(&["irq-affinity"]).expect(0).stdout;
    for part in
        ["\nRead\n", "\nSet\n  echo 4 > ", "\nUndo\n  echo OLD > ", "\nClass\n  instant", "\nTry it here\n"]
    {
        assert!(told.contains(part), "no `{part}` in\n{told}");
    }
    assert!(!told.contains('\u{1b}'), "plain when piped");
}

#[test]
fn json_is_the_entry_and_the_list_has_every_one() {
    let one: Value = explain(&["pm-qos", "--json"]).expect(0).json();
    assert_eq!(one[0]["id"], "pm-qos");
    assert_eq!((one[0]["class"].as_str(), one[0]["knob"].as_str()), (Some("self-restoring"), Some("pm_qos")));
    let all: Value = explain(&["--list", "--json"]).expect(0).json();
    let all = all.as_array().expect("a list");
    let listed = explain(&["--list"]).expect(0).stdout;
    assert_eq!(listed.lines().count(), all.len());
    for entry in all {
        let id = entry["id"].as_str().expect("an id");
        assert!(listed.lines().any(|line| line.split_whitespace().next() == Some(id)), "{id} is not listed");
    }
}

#[test]
fn every_claim_is_found_in_its_own_words_and_told_with_its_verdict_and_reason() {
    let all: Value = explain(&["--list", "--json"]).expect(0).json();
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    for entry in all.as_array().expect("a list") {
        let (id, says) = (text(entry, "id"), text(entry, "says"));
        if says.is_empty() {
            continue;
        }
        let told = explain(&["--", says.as_str()]).expect(0).stdout;
        let is_it = told.lines().next() == Some(&id);
        let is_listed = told.lines().any(|line| line.starts_with(&format!("{id} ")));
        assert!(is_it || is_listed, "`{says}` does not lead to {id}:\n{told}");

        let told = explain(&[id.as_str()]).expect(0).stdout;
        let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
        let verdict = match text(entry, "verdict").as_str() {
            "partly" => "holds in part".to_owned(),
            word => word.replace('-', " "),
        };
        assert!(flat.contains(&format!("Verdict {verdict} Why {}", text(entry, "why"))), "{told}");
    }
}

#[test]
fn several_are_listed_and_the_unknown_is_refused_with_the_nearest() {
    let listed = explain(&["pause"]).expect(0).stdout;
    assert!(listed.starts_with("Several are near") && listed.contains("\nglobal-pause "), "{listed}");
    let refused = explain(&["rmem_mxa"]).expect(2);
    assert!(refused.stderr.contains("did you mean sysctl.net.core.rmem_max"), "{}", refused.stderr);
    let refused = explain(&["xyzzy"]).expect(2);
    assert!(refused.stderr.contains("explain --list"), "{}", refused.stderr);
    explain(&[]).expect(2);
}
