//! A snapshot of a fixture is audited like the fixture, and gives away nothing that was planted in it.

use std::{fs, path::Path};

use host::{Sysroot, testing};
use schema::{Audit, Finding};

use super::{redact::Redactor, *};
use crate::doctor;

const KEY: [u8; 32] = [5; 32];
const TREES: [&str; 9] = [
    "azure-hyperv",
    "bare-vm",
    "container-cpuset",
    "counters-odd",
    "grace-cpuless",
    "guest-rxe",
    "managed-irqs",
    "netns-readonly",
    "two-socket-mlx5",
];

/// A redactor of a tree whose key is known, so that what a token was can be told.
fn redactor_of(host: &Sysroot) -> Redactor {
    let name = host.read("/proc/sys/kernel/hostname").known().unwrap_or_default();
    let serial = host.read("/sys/class/dmi/id/product_serial").known();
    Redactor::with_key(KEY, &name, serial.into_iter().collect())
}

fn recorded(host: &Sysroot, redactor: Option<&Redactor>, out: &Path) -> Manifest {
    let tree = collect::collect(host, None).expect("collected");
    let (entries, manifest) = finished(tree, redactor);
    write::to_folder(&entries, out).expect("written");
    manifest
}

fn audit(host: &Sysroot) -> Audit {
    doctor::audit(host, None).expect("audited")
}

#[test]
fn an_audit_of_a_snapshot_is_the_audit_of_the_host() {
    for name in TREES {
        let host = testing::fixture(name);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let out = dir.path().join("copy");
        recorded(&host, None, &out);
        let (there, here) = (audit(&host), audit(&Sysroot::new(&out)));
        for (there, here) in there.findings.iter().zip(&here.findings) {
            assert_eq!(there, here, "{name}");
        }
        assert_eq!(there, here, "{name}");
    }
}

#[test]
fn an_audit_of_a_redacted_snapshot_differs_in_its_tokens_alone() {
    for name in TREES {
        let host = testing::fixture(name);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let out = dir.path().join("copy");
        let redactor = redactor_of(&host);
        recorded(&host, Some(&redactor), &out);
        let (there, here) = (audit(&host), audit(&Sysroot::new(&out)));
        let text = |finding: &Finding| serde_json::to_string(finding).expect("a finding is JSON");
        for (there, here) in there.findings.iter().zip(&here.findings) {
            let there = redactor.file(Kind::Addresses, text(there).as_bytes());
            assert_eq!(String::from_utf8_lossy(&there), text(here), "{name}");
        }
        assert_eq!(there.findings.len(), here.findings.len(), "{name}");
    }
}

/// Every file and every link of a folder, with what they hold.
fn everything(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            everything(&path, found);
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).expect("a link");
            found.push((path.display().to_string(), target.display().to_string().into_bytes()));
        } else {
            found.push((path.display().to_string(), fs::read(&path).expect("a file")));
        }
    }
}

/// Puts a secret where a host may have one, and names those that must not be found again.
fn plant(root: &Path) -> Vec<&'static str> {
    let append = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("mkdir");
        let mut all = fs::read(&path).unwrap_or_default();
        all.extend_from_slice(text.as_bytes());
        fs::write(path, all).expect("write");
    };
    append("sys/class/dmi/id/product_serial", "SN-0047-2211\n");
    append(
        "proc/cmdline",
        " ip=198.51.100.77::198.51.100.1:255.255.255.0:node-a root=UUID=8d5f6e70-1111-4222-8333-444455556666\n",
    );
    append(
        ".recorded/kernel-log",
        "[9.1] mlx5_core 0000:c1:00.0: node-a.lab.example peer 203.0.113.99 ac:1f:6b:77:88:99 SN-0047-2211\n",
    );
    append(".recorded/kernel-log", "[9.2] sudo: secret-user logged in\n");
    append("proc/4711/cmdline", "mysqld --password=secret-word\0");
    append("proc/4711/comm", "mysqld\n");
    append("etc/shadow", "root:secret-hash\n");
    append("etc/sysctl.d/99-own.conf", "# of node-a, see 8d5f6e70-1111-4222-8333-444455556666\n");
    let planted = root.join("sys/devices/pci0000:00/0000:00:01.1/0000:01:00.0/net/enxac1f6b00dd01");
    fs::create_dir_all(&planted).expect("mkdir");
    fs::write(planted.join("address"), "ac:1f:6b:00:dd:01\n").expect("write");
    let target = "../../devices/pci0000:00/0000:00:01.1/0000:01:00.0/net/enxac1f6b00dd01";
    std::os::unix::fs::symlink(target, root.join("sys/class/net/enxac1f6b00dd01")).expect("ln");
    vec![
        "SN-0047-2211",
        "node-a",
        "198.51.100.77",
        "203.0.113.99",
        "ac:1f:6b",
        "ae1f:6bff",
        "ac1f6b",
        "8d5f6e70",
        "secret-word",
        "secret-hash",
        "c000:0201",
        "c633:6401",
        // 203.0.113.10 and 198.51.100.20 in /proc/net/tcp
        "0A7100CB",
        "146433C6",
        // the gateway in /proc/net/route
        "FE7100CB",
        "ae1f6bfffe00c101",
        "1a2b3c4d-0000-4000-8000-000000000001",
        "secret-user logged",
    ]
}

#[test]
fn no_planted_secret_survives() {
    let tree = testing::copy("two-socket-mlx5");
    let secrets = plant(tree.path());
    let host = Sysroot::new(tree.path());
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("out");
    let manifest = record(&host, &Options::default(), &out).expect("recorded");
    assert!(manifest.redacted && manifest.files > 500, "{manifest:?}");
    let mut found = Vec::new();
    everything(&out, &mut found);
    let contains = |text: &[u8], secret: &str| {
        text.windows(secret.len()).any(|part| part.eq_ignore_ascii_case(secret.as_bytes()))
    };
    for secret in secrets {
        for (path, bytes) in &found {
            assert!(!contains(bytes, secret), "{secret} in {path}");
            assert!(!contains(path.as_bytes(), secret), "{secret} in the path {path}");
        }
    }
    let mac_named: Vec<&String> =
        found.iter().map(|(path, _)| path).filter(|path| path.contains("/enx")).collect();
    assert!(!mac_named.is_empty(), "a device named after its MAC is there under another name");
}

#[test]
fn what_was_equal_is_equal_and_made_of_each_other() {
    let host = testing::fixture("two-socket-mlx5");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("out");
    record(&host, &Options::default(), &out).expect("recorded");
    let copy = Sysroot::new(&out);
    let text = |path: &str| copy.read(path).known().unwrap_or_else(|| panic!("{path}"));
    let mac = text("/sys/class/net/ens1np0/address").replace(':', "");
    let gid = text("/sys/class/infiniband/mlx5_0/ports/1/gids/1").replace(':', "");
    // fe80:: and the MAC with ff:fe in its middle, the bit of its first byte turned.
    let first = u8::from_str_radix(&mac[..2], 16).expect("hexadecimal") ^ 2;
    assert_eq!(gid, format!("fe80000000000000{first:02x}{}fffe{}", &mac[2..6], &mac[6..]));
    assert_eq!(
        text("/sys/class/infiniband/mlx5_0/ports/1/gids/0"),
        text("/sys/class/infiniband/mlx5_0/ports/1/gids/1")
    );
    assert_ne!(mac, "ac1f6b00c101");
    assert_eq!(
        text("/sys/class/infiniband/mlx5_0/ports/1/gids/4").replace([':', '0'], ""),
        "",
        "an empty one stays"
    );
}

#[test]
fn a_missing_answer_is_missed_again_and_listed() {
    let host = testing::fixture("two-socket-mlx5");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("out");
    let manifest = record(&host, &Options::default(), &out).expect("recorded");
    let path = manifest.missed.iter().map(|missed| missed.path.as_str());
    let path = path.clone().find(|path| path.ends_with("mlx5_0/ports/1/gid_attrs/types/4")).expect("listed");
    assert!(matches!(Sysroot::new(&out).read(path), host::Value::NotApplicable(_)));
    let kept: Manifest =
        serde_json::from_str(&fs::read_to_string(out.join(".recorded/snapshot.json")).expect("a manifest"))
            .expect("JSON");
    assert_eq!(kept, manifest);
}

#[test]
fn a_tar_file_unpacks_to_the_folder() {
    let host = testing::fixture("counters-odd");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (tar, out) = (dir.path().join("host.tar"), dir.path().join("host"));
    let options = Options { keep_identities: true, ..Options::default() };
    record(&host, &options, &tar).expect("recorded");
    record(&host, &options, &out).expect("recorded");
    let unpacked = dir.path().join("unpacked");
    let mut archive = tar::Archive::new(fs::File::open(&tar).expect("the file"));
    archive.unpack(&unpacked).expect("unpacked");
    let (mut a, mut b) = (Vec::new(), Vec::new());
    everything(&out, &mut a);
    everything(&unpacked, &mut b);
    let relative = |list: Vec<(String, Vec<u8>)>, root: &Path| {
        let root = root.display().to_string();
        let mut list: Vec<_> =
            list.into_iter().map(|(path, bytes)| (path.replace(&root, ""), bytes)).collect();
        list.sort();
        list
    };
    assert_eq!(relative(a, &out), relative(b, &unpacked));
}

#[test]
fn one_device_leaves_the_other_out() {
    let host = testing::fixture("two-socket-mlx5");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("out");
    let one = Options { device: Some("mlx5_1".into()), ..Options::default() };
    record(&host, &one, &out).expect("recorded");
    assert_eq!(host::nic::names(&Sysroot::new(&out)), host::Value::Known(vec!["mlx5_1".to_owned()]));
    let none = Options { device: Some("mlx5_9".into()), ..Options::default() };
    let error = record(&host, &none, &dir.path().join("none")).expect_err("no such device").to_string();
    assert!(error.contains("mlx5_9") && error.contains("mlx5_0, mlx5_1"), "{error}");
    assert!(!dir.path().join("none").exists());
}

#[test]
fn nothing_is_overwritten_and_nothing_is_left_behind() {
    let host = testing::fixture("bare-vm");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let out = dir.path().join("out");
    fs::create_dir(&out).expect("mkdir");
    record(&host, &Options::default(), &out).expect("an empty folder is no hindrance");
    assert!(matches!(record(&host, &Options::default(), &out), Err(SnapshotError::InTheWay(_))));
    let nowhere = dir.path().join("no/such/folder/out");
    assert!(matches!(record(&host, &Options::default(), &nowhere), Err(SnapshotError::Write { .. })));
    assert_eq!(fs::read_dir(dir.path()).expect("the folder").count(), 1, "no half of a snapshot");
}
