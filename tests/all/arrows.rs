//! The arrows between the rooms, as ARCHITECTURE.md draws them, held against what cargo says.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{Metadata, MetadataCommand};
use e2e::programs::repository;

/// Room, and the rooms it may use.
const ALLOWED: [(&str, &[&str]); 8] = [
    ("schema", &[]),
    ("libnuma-sys", &[]),
    ("nic-control", &[]),
    ("host", &["schema", "nic-control"]),
    ("reports", &["schema"]),
    ("verbs-bench", &["schema", "host", "libnuma-sys"]),
    ("rdma-harness", &["schema", "host", "reports"]),
    ("e2e", &["schema", "host"]),
];

/// Crates that bring C libraries of RDMA hosts with them.
const C_LIBRARIES: [&str; 2] = ["rdma-sys", "libnuma-sys"];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(repository().join("Cargo.toml"))
        .other_options(["--locked".to_owned()])
        .no_deps()
        .exec()
        .expect("cargo metadata answers")
}

/// Per workspace package, everything it names in its manifest (for building, testing or running).
fn edges(metadata: &Metadata) -> BTreeMap<String, BTreeSet<String>> {
    let names =
        |package: &cargo_metadata::Package| package.dependencies.iter().map(|d| d.name.clone()).collect();
    metadata
        .workspace_packages()
        .into_iter()
        .map(|package| (package.name.to_string(), names(package)))
        .collect()
}

#[test]
fn every_room_uses_only_what_it_may() {
    let edges = edges(&metadata());
    let rooms: BTreeSet<&str> = edges.keys().map(String::as_str).collect();
    assert_eq!(
        rooms,
        ALLOWED.iter().map(|(room, _)| *room).collect(),
        "a room without a rule, or a rule without a room"
    );
    for (room, allowed) in ALLOWED {
        for used in edges[room].iter().filter(|used| rooms.contains(used.as_str()) && *used != room) {
            assert!(
                allowed.contains(&used.as_str()),
                "{room} uses {used}; ARCHITECTURE.md says which arrows are allowed"
            );
        }
    }
}

#[test]
fn only_the_engine_links_the_c_libraries() {
    for (room, used) in edges(&metadata()) {
        for library in C_LIBRARIES.iter().filter(|library| used.contains(**library)) {
            assert_eq!(room, "verbs-bench", "{room} uses {library}");
        }
    }
}

#[test]
fn the_other_rooms_forbid_unsafe_code() {
    let roots = [
        "schema/src/lib.rs",
        "host/src/lib.rs",
        "reports/src/lib.rs",
        "harness/src/lib.rs",
        "tests/src/lib.rs",
    ];
    for root in roots {
        let text = std::fs::read_to_string(repository().join(root))
            .unwrap_or_else(|error| panic!("{root}: {error}"));
        assert!(text.contains("#![forbid(unsafe_code)]"), "{root} does not forbid unsafe code");
    }
}
