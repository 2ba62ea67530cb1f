//! kill -9 at every step of tuning, for every knob, on a tree: after `recover` the tree is byte for byte what it was.
//!
//! The process that dies is this test again, started as `the_child`; it kills itself at a point that the library names. What lies
//! outside the journal's folder is compared whole: contents, modes, links.

use std::{
    env, fs,
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use host::{
    Sysroot,
    testing::{self, Whole},
};
use rdma_harness::tuning::{self, Site};
use rustix::process::{Signal, getpid, kill_process};
use schema::{Class, Knob, KnobSetting, KnobState, Tuning};

const ROOT: &str = "TUNING_CRASHES_ROOT";
const TUNING: &str = "TUNING_CRASHES_TUNING";
const DIE_AT: &str = "TUNING_CRASHES_DIE_AT";
const ACT: &str = "TUNING_CRASHES_ACT";
/// SIGKILL.
const KILLED: i32 = 9;

/// Every knob that can be turned, with a setting that differs from what the tree has.
const SETTINGS: &[(Knob, &str, &str)] = &[
    (Knob::Irqbalance, "", "pause"),
    (Knob::Sysctl, "net.ipv4.tcp_rmem", "4096 87380 134217728"),
    (Knob::NumaBalancing, "", "0"),
    (Knob::Thp, "enabled", "never"),
    (Knob::HugePages, "1:2Mi", "3000"),
    (Knob::Epp, "", "power"),
    (Knob::Governor, "", "powersave"),
    (Knob::Turbo, "", "off"),
    (Knob::PmQos, "", "2us"),
    (Knob::ResumeLatency, "poll", "0us"),
    (Knob::Aspm, "", "performance"),
    (Knob::WorkqueueMask, "", "0-1"),
    (Knob::IsolatedPartition, "", "poll"),
    (Knob::MaxReadRequest, "", "4096"),
    (Knob::Rings, "rx", "4096"),
    (Knob::Mtu, "", "4200"),
    (Knob::GlobalPause, "rx", "on"),
    (Knob::Pfc, "", "3,4"),
    (Knob::Coalescing, "rx_usecs", "0"),
    (Knob::IrqAffinity, "", "list:0-1"),
];

fn tuning(knobs: &[(Knob, &str, &str)]) -> Tuning {
    let setting = |(knob, item, value): &(Knob, &str, &str)| KnobSetting {
        knob: *knob,
        item: (*item).to_owned(),
        value: (*value).to_owned(),
        optional: false,
    };
    Tuning { knobs: knobs.iter().map(setting).collect(), allow_disruptive: true, ..Tuning::default() }
}

fn site(root: &Path) -> Site {
    let mut site = Site::new(Sysroot::new(root));
    site.device = Some("mlx5_0".into());
    site.poll_cpus = vec![6];
    site
}

fn whole(root: &Path) -> Whole {
    Whole::read(root, "run/rdma-harness")
}

#[track_caller]
fn assert_same(root: &Path, before: &Whole, when: &str) {
    let differ = whole(root).differences(before);
    assert!(differ.is_empty(), "{when}:\n{}", differ.join("\n"));
}

/// Runs this test again as a process that dies at a point; whether it did.
fn dies(root: &Path, tuning: &Tuning, act: &str, at: usize) -> bool {
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", "the_child", "--ignored", "--nocapture"])
        .env(ROOT, root)
        .env(TUNING, serde_json::to_string(tuning).unwrap())
        .env(ACT, act)
        .env(DIE_AT, at.to_string())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success() || status.signal() == Some(KILLED), "{act} {at}: {status}");
    !status.success()
}

#[test]
#[ignore = "the process that the other tests start and kill"]
fn the_child() {
    let root = env::var_os(ROOT).expect("it is started by the other tests");
    let tuning: Tuning = serde_json::from_str(&env::var(TUNING).unwrap()).unwrap();
    let die_at: usize = env::var(DIE_AT).unwrap().parse().unwrap();
    let mut site = site(Path::new(&root));
    let passed = AtomicUsize::new(0);
    site.observe(Arc::new(move |_| {
        if passed.fetch_add(1, Ordering::Relaxed) == die_at {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
    }));
    match env::var(ACT).unwrap().as_str() {
        "recover" => assert!(tuning::recover(&site, false).unwrap().conflicts.is_empty()),
        act => {
            let plan = tuning::plan(&site, &tuning).unwrap();
            assert!(plan.refusals.is_empty(), "{:?}", plan.refusals);
            let applied = tuning::apply(&site, plan).unwrap();
            if act == "apply" {
                kill_process(getpid(), Signal::KILL).unwrap();
            }
            assert!(applied.restore().conflicts.is_empty());
        }
    }
}

#[track_caller]
fn recover_twice(root: &Path, before: &Whole, when: &str) {
    let recover = || tuning::recover(&site(root), false).unwrap_or_else(|error| panic!("{when}: {error}"));
    let first = recover();
    assert!(first.conflicts.is_empty(), "{when}: {:?}", first.conflicts);
    let second = recover();
    assert!(
        second.records.is_empty(),
        "{when}: there was still something to turn back: {:?}",
        second.records
    );
    assert_same(root, before, when);
    assert!(!tuning::status(&site(root)).tuned, "{when}");
}

/// A host on which every knob has something to do: the top of its cgroups does not hand the cpuset controller down yet.
fn host() -> tempfile::TempDir {
    let tree = testing::copy("two-socket-mlx5");
    let control = tree.path().join("sys/fs/cgroup/cgroup.subtree_control");
    let text = fs::read_to_string(&control).unwrap();
    fs::write(control, text.replace("cpuset ", "")).unwrap();
    tree
}

/// Dies at each point of a whole life: applied, and turned back.
fn die_everywhere(tuning: &Tuning) -> usize {
    let tree = host();
    let before = whole(tree.path());
    for at in 0.. {
        let died = dies(tree.path(), tuning, "apply and restore", at);
        let when = format!("{:?} killed at point {at}", tuning.knobs[0].knob);
        recover_twice(tree.path(), &before, &when);
        if !died {
            return at;
        }
    }
    unreachable!("a life has an end")
}

#[test]
fn every_knob_that_can_be_turned_is_among_the_settings() {
    for knob in Knob::ALL.iter().filter(|knob| knob.class() != Class::Boot) {
        assert!(SETTINGS.iter().any(|(known, _, _)| known == knob), "{knob}");
    }
}

/// One test a knob, so that they run beside one another and a failure names its knob.
macro_rules! killed {
    ($($name:ident = $at:literal),+) => {$(
        #[test]
        fn $name() {
            let (knob, _, _) = SETTINGS[$at];
            assert_eq!(stringify!($name), knob.word());
            let points = die_everywhere(&tuning(&SETTINGS[$at..=$at]));
            // Made, header, planned, written, applied, verified, turned back, restored, closed, archived: each before and after.
            assert!(points > 20, "{points} points alone");
        }
    )+};
}

killed!(
    irqbalance = 0,
    sysctl = 1,
    numa_balancing = 2,
    thp = 3,
    huge_pages = 4,
    epp = 5,
    governor = 6,
    turbo = 7,
    pm_qos = 8,
    resume_latency = 9,
    aspm = 10,
    workqueue_cpus = 11,
    isolated_partition = 12,
    max_read_request = 13,
    rings = 14,
    mtu = 15,
    global_pause = 16,
    pfc = 17,
    coalescing = 18,
    irq_affinity = 19
);

#[test]
fn recovery_killed_at_every_step_is_recovered_from() {
    let tuning = tuning(&[SETTINGS[0], SETTINGS[1], SETTINGS[12], SETTINGS[15]]);
    let tree = host();
    let before = whole(tree.path());
    for at in 0.. {
        assert!(dies(tree.path(), &tuning, "apply", usize::MAX));
        assert_ne!(whole(tree.path()), before, "it was tuned when it died");
        let died = dies(tree.path(), &tuning, "recover", at);
        recover_twice(tree.path(), &before, &format!("recovery killed at point {at}"));
        if !died {
            assert!(at > 15, "{at} points alone");
            break;
        }
    }
}

#[test]
fn all_knobs_at_once_and_a_strangers_change_to_one_of_them() {
    let tuning = tuning(SETTINGS);
    let tree = host();
    let before = whole(tree.path());
    assert!(dies(tree.path(), &tuning, "apply", usize::MAX));
    let theirs = tree.path().join("proc/sys/net/ipv4/tcp_rmem");
    fs::write(&theirs, "1\t2\t3\n").unwrap();
    let recovered = tuning::recover(&site(tree.path()), false).unwrap();
    let [conflict] = recovered.conflicts.as_slice() else { panic!("{:?}", recovered.conflicts) };
    assert_eq!((conflict.knob, conflict.state), (Knob::Sysctl, KnobState::Conflict));
    assert!(conflict.note.contains("1\t2\t3"), "{}", conflict.note);
    assert_eq!(fs::read_to_string(&theirs).unwrap(), "1\t2\t3\n", "it was left alone");
    let differ = whole(tree.path()).differences(&before);
    assert!(
        matches!(differ.as_slice(), [only] if only.starts_with("proc/sys/net/ipv4/tcp_rmem:")),
        "everything else is turned back: {differ:?}"
    );
    assert!(tuning::status(&site(tree.path())).tuned, "and it is not forgotten");
    fs::write(&theirs, "4096\t131072\t6291456\n").unwrap();
    recover_twice(tree.path(), &before, "once the stranger has turned it back");
}

/// Bytes of the journal and of two files at each point of a life, the line that is being written torn at every byte.
#[test]
fn a_line_torn_at_any_byte_when_the_machine_died() {
    const FILES: [&str; 2] = ["proc/sys/net/core/rmem_max", "proc/sys/vm/stat_interval"];
    let tuning = tuning(&[(Knob::Sysctl, "net.core.rmem_max", "7"), (Knob::Sysctl, "vm.stat_interval", "8")]);
    let tree = tempfile::tempdir().unwrap();
    let old = [b"212992\n".to_vec(), b"1\n".to_vec()];
    let put = |root: &Path, journal: &[u8], contents: &[Vec<u8>; 2]| {
        for (file, bytes) in FILES.iter().zip(contents) {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), bytes).unwrap();
        }
        fs::create_dir_all(root.join("run/rdma-harness")).unwrap();
        fs::set_permissions(root.join("run/rdma-harness"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(root.join("run/rdma-harness/journal.tree"), journal).unwrap();
    };
    let take = |root: &Path| {
        let journal = fs::read(root.join("run/rdma-harness/journal.tree")).unwrap_or_default();
        (journal, FILES.map(|file| fs::read(root.join(file)).unwrap()))
    };
    put(tree.path(), b"", &old);
    fs::remove_file(tree.path().join("run/rdma-harness/journal.tree")).unwrap();
    let mut site = Site::new(Sysroot::new(tree.path()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (taken, root) = (seen.clone(), tree.path().to_owned());
    site.observe(Arc::new(move |point| {
        if point == "journal: a line not yet on disk" {
            taken.lock().unwrap().push(take(&root));
        }
    }));
    let applied = tuning::apply(&site, tuning::plan(&site, &tuning).unwrap()).unwrap();
    assert!(applied.restore().conflicts.is_empty());

    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 10, "a header, 2 x 3 lines there, 2 back, the end");
    // In memory where that can be: every recovery waits for the disk several times.
    let again = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    for (journal, contents) in seen.iter() {
        let last =
            journal[..journal.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for cut in last..=journal.len() {
            put(again.path(), &journal[..cut], contents);
            let recovered = tuning::recover(&Site::new(Sysroot::new(again.path())), false).unwrap();
            assert!(recovered.conflicts.is_empty(), "cut at {cut}: {recovered:?}");
            for (file, bytes) in FILES.iter().zip(&old) {
                assert_eq!(&fs::read(again.path().join(file)).unwrap(), bytes, "{file}, cut at {cut}");
            }
        }
    }
}
