//! `rdma-harness snapshot` through the program: a folder and a tar file that `doctor` reads like the host, and its refusals.

use std::{fs, process::Command};

use e2e::{finish, programs::PATIENCE, rdma_harness};
use host::testing;

fn sysroot(name: &str) -> String {
    testing::fixture(name).path("/").display().to_string()
}

#[test]
fn doctor_reads_a_snapshot_like_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("node-a").display().to_string();
    let root = sysroot("two-socket-mlx5");
    let taken = finish(
        &mut rdma_harness(&["snapshot", "--sysroot", &root, "--no-redact", "--out", &out, "--json"]),
        PATIENCE,
    );
    let manifest: serde_json::Value = taken.expect(0).json();
    assert_eq!(manifest["redacted"], false);
    let audit = |root: &str| finish(&mut rdma_harness(&["doctor", "--json", "--sysroot", root]), PATIENCE);
    let (host, copy) = (audit(&root), audit(&out));
    assert_eq!((host.code, &host.stdout), (copy.code, &copy.stdout));
    assert!(host.stdout.contains("node-a"), "the fixture has a name");
}

#[test]
fn a_tar_file_unpacks_to_a_host_without_a_name() {
    let folder = tempfile::tempdir().unwrap();
    let tar = folder.path().join("node-a.tar");
    let root = sysroot("two-socket-mlx5");
    let said = finish(
        rdma_harness(&["snapshot", "--sysroot", &root, "--device", "mlx5_1", "--out"]).arg(&tar),
        PATIENCE,
    )
    .expect(0)
    .stdout;
    assert!(said.contains("replaced: host names"), "{said}");
    let unpacked = folder.path().join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    let ran = Command::new("tar").arg("-xf").arg(&tar).arg("-C").arg(&unpacked).status().unwrap();
    assert!(ran.success());
    let place = unpacked.display().to_string();
    let audit = finish(&mut rdma_harness(&["doctor", "--json", "--sysroot", &place]), PATIENCE).stdout;
    assert!(audit.contains("mlx5_1") && !audit.contains("\"node-a\""), "{audit}");
    let audit: serde_json::Value = serde_json::from_str(&audit).unwrap();
    assert_eq!(audit["devices"], serde_json::json!(["mlx5_1"]));
}

#[test]
fn what_is_in_the_way_stays_and_an_unknown_device_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("kept"), "mine").unwrap();
    let root = sysroot("bare-vm");
    let out = folder.path().display().to_string();
    let refused =
        finish(&mut rdma_harness(&["snapshot", "--sysroot", &root, "--out", &out]), PATIENCE).expect(2);
    assert!(refused.stderr.contains("not an empty folder"), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("kept")).unwrap(), "mine");
    let other = folder.path().join("new").display().to_string();
    let refused = finish(
        &mut rdma_harness(&["snapshot", "--sysroot", &root, "--device", "mlx5_7", "--out", &other]),
        PATIENCE,
    )
    .expect(2);
    assert!(refused.stderr.contains("mlx5_7"), "{}", refused.stderr);
    assert!(!folder.path().join("new").exists());
}
