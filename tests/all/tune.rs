//! `rdma-harness tune` on trees: planned, applied, verified, turned back, interrupted and killed.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    finish,
    programs::{Finished, PATIENCE, await_end, rdma_harness},
};
use host::testing::{self, Whole};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const RMEM: &str = "proc/sys/net/core/rmem_max";
const RMEM_IS: &str = "212992\n";

/// A tree to be tuned, and what it was.
struct Host {
    tree: tempfile::TempDir,
    before: Whole,
}

impl Host {
    fn of(fixture: &str) -> Host {
        let tree = testing::copy(fixture);
        let before = Whole::read(tree.path(), "run/rdma-harness");
        Host { tree, before }
    }

    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let root = self.tree.path().to_str().expect("a path in UTF-8");
        let mut command = rdma_harness(&["tune", "--sysroot", root]);
        command.args(arguments).env_remove("SSH_CONNECTION").current_dir(self.tree.path());
        command
    }

    fn tune(&self, arguments: &[&str]) -> Finished {
        finish(&mut self.command(arguments), PATIENCE)
    }

    fn at(&self, path: &str) -> PathBuf {
        self.tree.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).expect("a file of the tree")
    }

    #[track_caller]
    fn assert_untouched(&self) {
        let differ = Whole::read(self.tree.path(), "run/rdma-harness").differences(&self.before);
        assert!(differ.is_empty(), "{}", differ.join("\n"));
    }
}

/// A file outside the tree.
fn profile(folder: &Path, tune: &str) -> String {
    let file = folder.join("mine.toml");
    fs::write(&file, format!("[tune]\n{tune}\n")).expect("written");
    file.to_str().expect("a path in UTF-8").to_owned()
}

#[track_caller]
fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !there() {
        assert!(Instant::now() < until, "{what} did not come");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_plan_names_every_write_and_makes_none() {
    let host = Host::of("two-socket-mlx5");
    let text = host.tune(&["plan", "low-latency", "-d", "mlx5_0", "--poll-cpus", "1"]).expect(0).stdout;
    for part in [
        "process 812 (irqbalance)",
        "running -> paused",
        "/dev/cpu_dma_latency",
        "self_restoring",
        "mlx5_comp1@pci:0000:c1:00.0",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let plan: Value = host.tune(&["plan", "negative-control", "--json"]).expect(0).json();
    let steps = plan["steps"].as_array().expect("steps");
    let rmem = steps.iter().find(|step| step["target"] == "/proc/sys/net/core/rmem_max").expect("rmem_max");
    assert_eq!(
        (&rmem["old"], &rmem["new"], &rmem["class"]),
        (&"212992".into(), &"134217728".into(), &"instant".into())
    );
    assert!(!host.at("run/rdma-harness").exists());
    host.assert_untouched();
}

#[test]
fn what_is_applied_is_seen_verified_and_turned_back() {
    let host = Host::of("two-socket-mlx5");
    host.tune(&["apply", "negative-control"]).expect(0);
    assert_eq!(host.read(RMEM), "134217728\n");
    let status: Value = host.tune(&["status", "--json"]).expect(0).json();
    assert_eq!(status["tuned"], true);
    host.tune(&["verify"]).expect(0);
    host.tune(&["verify", "negative-control"]).expect(0);
    let again = host.tune(&["apply", "os-basics", "-d", "mlx5_0"]).expect(3);
    assert!(again.stderr.contains("tune restore"), "{}", again.stderr);
    fs::write(host.at(RMEM), "5\n").unwrap();
    assert!(host.tune(&["verify"]).expect(3).stdout.contains("someone else has changed it"));
    let conflict = host.tune(&["restore"]).expect(3);
    assert!(conflict.stdout.contains("someone else has put `5` there"), "{}", conflict.stdout);
    assert_eq!(host.read(RMEM), "5\n");
    host.tune(&["restore", "--force"]).expect(0);
    host.assert_untouched();
    assert!(host.tune(&["status"]).expect(0).stdout.contains("nothing is tuned"));
    host.tune(&["restore"]).expect(0);
}

#[test]
fn a_command_runs_tuned_and_the_host_is_turned_back_however_it_ends() {
    let host = Host::of("two-socket-mlx5");
    let ran = host.tune(&["apply", "negative-control", "--", "cat", RMEM]).expect(0);
    assert_eq!(ran.stdout, "134217728\n", "its output is its own");
    host.assert_untouched();
    let failed = host.tune(&["apply", "negative-control", "--", "false"]).expect(3);
    assert!(failed.stderr.contains("the host was turned back"), "{}", failed.stderr);
    host.assert_untouched();
    assert!(
        host.tune(&["apply", "negative-control", "--", "no-such-program"])
            .expect(3)
            .stderr
            .contains("no-such-program")
    );
    host.assert_untouched();
    let drifts = ["apply", "negative-control", "--", "sh", "-c", "echo 7 > proc/sys/net/core/rmem_max"];
    let drifted = host.tune(&drifts).expect(3);
    assert!(drifted.stderr.contains("did not stay: it is `7`"), "{}", drifted.stderr);
    fs::write(host.at(RMEM), RMEM_IS).unwrap();
    host.tune(&["recover"]).expect(0);
    host.assert_untouched();
}

/// A command that has written its pid to a file, and the harness around it.
fn with_sleeper(host: &Host) -> (Child, Pid) {
    let note = host.at("run/sleeper");
    let script = format!("echo $$ > {} && exec sleep 600", note.display());
    let mut command = host.command(&["apply", "low-latency", "-d", "mlx5_0", "--", "sh", "-c", &script]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the command", || fs::read_to_string(&note).is_ok_and(|text| text.ends_with('\n')));
    let pid = fs::read_to_string(&note).unwrap().trim().parse().unwrap();
    fs::remove_file(note).unwrap();
    (child, Pid::from_raw(pid).unwrap())
}

#[test]
fn a_signal_ends_the_command_and_turns_the_host_back() {
    let host = Host::of("two-socket-mlx5");
    let (harness, sleeper) = with_sleeper(&host);
    assert!(host.read("proc/812/stat").contains("(irqbalance) T "), "irqbalance is paused");
    kill_process(Pid::from_raw(harness.id() as i32).unwrap(), Signal::TERM).unwrap();
    let ended = await_end(harness, Instant::now(), PATIENCE).expect(3);
    assert!(ended.stderr.contains("signal"), "{}", ended.stderr);
    assert!(kill_process(sleeper, Signal::KILL).is_err(), "the command has ended");
    host.assert_untouched();
    assert!(host.tune(&["status"]).expect(0).stdout.contains("nothing is tuned"));
}

#[test]
fn killed_in_the_middle_it_is_refused_until_it_is_recovered() {
    let host = Host::of("two-socket-mlx5");
    let (mut harness, sleeper) = with_sleeper(&host);
    let busy = host.tune(&["recover"]).expect(3);
    assert!(busy.stderr.contains(&format!("process {}", harness.id())), "{}", busy.stderr);
    harness.kill().unwrap();
    harness.wait().unwrap();
    kill_process(sleeper, Signal::KILL).unwrap();
    let status = host.tune(&["status"]).expect(0).stdout;
    assert!(status.contains("which died before it had turned everything back"), "{status}");
    let refused = host.tune(&["apply", "negative-control"]).expect(3);
    assert!(refused.stderr.contains("tune recover"), "{}", refused.stderr);
    host.tune(&["recover"]).expect(0);
    host.assert_untouched();
    host.tune(&["recover"]).expect(0);
    host.assert_untouched();
}

#[test]
fn a_managed_interrupt_is_refused_with_the_reason_or_left_out() {
    let host = Host::of("managed-irqs");
    let folder = tempfile::tempdir().unwrap();
    let vectors = |optional: &str| profile(folder.path(), &format!("irq_affinity = \"list:3\"\n{optional}"));
    let completion = host.at("proc/irq/42/smp_affinity_list");
    let mode = fs::metadata(&completion).unwrap().permissions();
    fs::set_permissions(&completion, fs::Permissions::from_mode(0o444)).unwrap();
    let refused = host.tune(&["apply", "-d", "mlx5_0", &vectors("")]).expect(3);
    assert!(
        refused.stderr.contains("/proc/irq/42/smp_affinity_list is not changeable here"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("managed interrupt"), "{}", refused.stderr);
    let left_out = ["plan", "-d", "mlx5_0", &vectors("optional = [\"irq_affinity\"]"), "--json"];
    let plan: Value = host.tune(&left_out).expect(0).json();
    assert_eq!((&plan["steps"], &plan["others"][0]["state"]), (&Value::Array(vec![]), &"skipped".into()));
    fs::set_permissions(&completion, mode).unwrap();
    let plan: Value = host.tune(&["plan", "-d", "mlx5_0", &vectors(""), "--json"]).expect(0).json();
    let targets: Vec<&str> =
        plan["steps"].as_array().unwrap().iter().map(|s| s["target"].as_str().unwrap()).collect();
    assert!(
        targets.iter().all(|target| target.contains("mlx5_comp")),
        "the disk's are not touched: {targets:?}"
    );
    host.assert_untouched();
}

#[test]
fn a_namespace_says_which_sysctls_are_not_its_own() {
    let host = Host::of("netns-readonly");
    let plan: Value = host.tune(&["plan", "negative-control", "--json"]).expect(3).json();
    let refusals = plan["refusals"].as_array().expect("refusals");
    let why = |item: &str| {
        let refusal = refusals.iter().find(|refusal| refusal["item"] == item);
        refusal.map(|refusal| refusal["why"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert!(why("net.core.rmem_max").contains("network namespace"), "{refusals:?}");
    assert!(why("net.core.netdev_max_backlog").contains("not present"), "{refusals:?}");
    let refused = host.tune(&["apply", "negative-control"]).expect(3);
    assert!(refused.stderr.contains("nothing was written"), "{}", refused.stderr);
    host.assert_untouched();
}

#[test]
fn what_disturbs_a_link_is_asked_for_and_refused_where_it_cuts() {
    let host = Host::of("two-socket-mlx5");
    let folder = tempfile::tempdir().unwrap();
    let mtu = profile(folder.path(), "mtu = 4200");
    let unasked = host.tune(&["apply", &mtu, "-d", "mlx5_0"]).expect(3);
    assert!(unasked.stderr.contains("--allow-disruptive"), "{}", unasked.stderr);
    let cut = host.tune(&["apply", &mtu, "--netdev", "eno1", "--allow-disruptive"]).expect(3);
    assert!(cut.stderr.contains("eno1 carries the default route"), "{}", cut.stderr);
    host.assert_untouched();
    let asked =
        ["apply", &mtu, "-d", "mlx5_1", "--allow-disruptive", "--", "cat", "sys/class/net/ens2np0/mtu"];
    let ran = host.tune(&asked).expect(0);
    assert_eq!(ran.stdout, "4200\n");
    assert!(ran.stderr.contains("RoCE path MTU 1024 -> 4096"), "{}", ran.stderr);
    host.assert_untouched();
}

#[test]
fn a_check_turns_nothing() {
    let host = Host::of("two-socket-mlx5");
    host.tune(&["verify", "roce-lossless-check", "-d", "mlx5_0"]).expect(0);
    let other = host.tune(&["verify", "roce-lossless-check", "-d", "mlx5_1"]).expect(3).stdout;
    assert!(other.contains("should be `0`"), "its pause is on:\n{other}");
    let refused = host.tune(&["apply", "roce-lossless-check", "-d", "mlx5_0"]).expect(2);
    assert!(refused.stderr.contains("tune verify"), "{}", refused.stderr);
    host.assert_untouched();
}

#[test]
fn wrong_use_is_told_before_anything_is_touched() {
    let host = Host::of("two-socket-mlx5");
    let folder = tempfile::tempdir().unwrap();
    let wrong = profile(folder.path(), "pm_qos = \"fast\"\ngovenor = \"performance\"");
    let fleeting = host.tune(&["apply", "low-latency", "-d", "mlx5_0"]);
    for (finished, says) in [
        (host.tune(&["apply", "low-latencies"]), "did you mean `low-latency`?"),
        (host.tune(&["plan", &wrong]), "mine.toml:2:10"),
        (host.tune(&["plan", &wrong]), "did you mean `governor`?"),
        (host.tune(&["plan", "os-basics", "-d", "mlx5_9"]), "mlx5_0"),
        (host.tune(&["plan", "os-basics", "--poll-cpus", "2-"]), "--poll-cpus"),
        (fleeting, "pm_qos ends with the process that holds it"),
    ] {
        let finished = finished.expect(2);
        assert!(finished.stderr.contains(says), "no `{says}` in\n{}", finished.stderr);
    }
    assert!(!host.at("run/rdma-harness").exists());
    host.assert_untouched();
}
