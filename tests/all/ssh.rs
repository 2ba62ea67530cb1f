//! Campaigns whose sides are reached through ssh: a real sshd on the loopback interface, with keys and a configuration of its
//! own, each side on its own copy of a host's files.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Scenario, finish,
    programs::{await_end, program},
};
use schema::{KnobState, Outcome, Side, Stage};

use super::agents::{LIMIT, SCENARIO, Tree, campaign, knobs, start};

const SSHD: &str = "/usr/sbin/sshd";

/// An sshd that dies with its test.
pub(crate) struct Sshd {
    folder: tempfile::TempDir,
    port: u16,
    process: Child,
}

impl Sshd {
    #[track_caller]
    fn start() -> Self {
        Sshd::on(&["127.0.0.1"])
    }

    /// One that listens on these loopback addresses, on one port.
    #[track_caller]
    pub(crate) fn on(addresses: &[&str]) -> Self {
        assert!(
            Path::new(SSHD).exists(),
            "{SSHD} is missing: scripts/lib/deps.sh test installs openssh-server"
        );
        // Debian's sshd wants this folder when it is started by root; its service would have made it.
        let _ = fs::create_dir("/run/sshd");
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for key in ["host", "user"] {
            let status = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(at(key))
                .status();
            assert!(status.expect("ssh-keygen starts").success());
        }
        fs::copy(at("user.pub"), at("authorized")).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host_key = fs::read_to_string(at("host.pub")).unwrap();
        let known = addresses.iter().map(|address| format!("[{address}]:{port} {host_key}"));
        fs::write(at("known"), known.collect::<String>()).unwrap();
        let listen = addresses.iter().map(|address| format!("ListenAddress {address}\n")).collect::<String>();
        let config = format!(
            "Port {port}\n{listen}HostKey {0}/host\nAuthorizedKeysFile {0}/authorized\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n",
            folder.path().display()
        );
        fs::write(at("config"), config).unwrap();
        let log = fs::File::create(at("log")).unwrap();
        let process = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(at("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("sshd starts");
        let sshd = Sshd { folder, port, process };
        let deadline = Instant::now() + Duration::from_secs(20);
        while addresses.iter().any(|address| TcpStream::connect((*address, port)).is_err()) {
            assert!(Instant::now() < deadline, "sshd does not listen: {}", sshd.log());
            thread::sleep(Duration::from_millis(20));
        }
        sshd
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The ssh client with our keys and our known hosts, and nothing of the user's.
    pub(crate) fn client(&self) -> String {
        let folder = self.folder.path().display();
        format!(
            "ssh -F none -p {} -i {folder}/user -o IdentitiesOnly=yes -o UserKnownHostsFile={folder}/known \
             -o StrictHostKeyChecking=yes -o BatchMode=yes -o ServerAliveInterval=1 -o ServerAliveCountMax=3",
            self.port
        )
    }

    /// Kills the processes of every session, as a cut does that both ends notice.
    fn cut(&self) {
        for session in descendants(self.process.id()) {
            let name = fs::read_to_string(format!("/proc/{session}/comm")).unwrap_or_default();
            if name.starts_with("sshd") {
                let _ = Command::new("kill").args(["-KILL", &session.to_string()]).status();
            }
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.cut();
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let children = children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
    children.flat_map(|pid| std::iter::once(pid).chain(descendants(pid))).collect()
}

/// What is started as the agent of a host that is a tree: its name has a blank and a quote, which no shell may trip over.
fn agent(scenario: &Scenario, name: &str, tree: &Tree) -> PathBuf {
    let file = scenario.path(&format!("it's the {name}"));
    let (program, root) = (program("rdma-harness"), tree.path());
    let text = format!("#!/bin/sh\nexec {} \"$@\" --sysroot {}\n", program.display(), root.display());
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

/// A scenario whose sides are reached through ssh, on two trees.
fn far(sshd: &Sshd, text: &str) -> (Scenario, [Tree; 2], impl Fn(&[&str]) -> Command) {
    let scenario = Scenario::of("");
    let trees = [Tree::new(), Tree::of_another_boot()];
    let side = |name: &str, tree: &Tree| {
        format!(
            "[hosts.{name}]\nat = \"ssh:127.0.0.1\"\nagent = \"{}\"\n",
            agent(&scenario, name, tree).display()
        )
    };
    let text = text.replace("[hosts.requester]\n", &side("requester", &trees[0]));
    let text = text.replace("[hosts.responder]\n", &side("responder", &trees[1]));
    fs::write(scenario.path("depth.toml"), text).unwrap();
    let (client, folder) = (sshd.client(), scenario.path(""));
    let harness = move |arguments: &[&str]| {
        let mut command = e2e::rdma_harness(arguments);
        command.current_dir(&folder).args(["--store", "store.db"]).env("RDMA_HARNESS_SSH", &client);
        command
    };
    (scenario, trees, harness)
}

#[test]
fn both_sides_far_are_tuned_each_on_its_host_measured_and_turned_back() {
    let sshd = Sshd::start();
    let (scenario, trees, harness) = far(&sshd, SCENARIO);
    let before = trees.each_ref().map(Tree::snapshot);
    let ran = finish(&mut harness(&["run", "depth.toml"]), LIMIT);
    assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}\n{}", sshd.log());
    assert_eq!(trees.each_ref().map(Tree::snapshot), before);
    let campaign = campaign(&scenario);
    assert_eq!(campaign.runs.len(), 3);
    for run in &campaign.runs {
        assert!(run.record.outcome.is_completed(), "{}", run.record.outcome);
        assert!(run.record.evidence.iter().all(|evidence| evidence.place == "ssh:127.0.0.1"));
        for side in [Side::Requester, Side::Responder] {
            let turned = knobs(run, side).into_iter().map(|(state, _)| state).collect::<Vec<_>>();
            let wanted = if run.variant == "tuned" { vec![KnobState::Verified] } else { vec![] };
            assert_eq!(turned, wanted, "{side} of {}", run.variant);
        }
    }
}

#[test]
fn a_cut_link_fails_the_run_turns_both_hosts_back_and_the_campaign_can_go_on() {
    let sshd = Sshd::start();
    let long =
        SCENARIO.replace("name = \"tuned\"\nduration = \"50ms\"", "name = \"tuned\"\nduration = \"6s\"");
    let (scenario, trees, harness) = far(&sshd, &long);
    let before = trees.each_ref().map(Tree::snapshot);
    let controller = start(harness(&["run", "depth.toml"]));
    trees.iter().for_each(|tree| tree.wait_for("5000"));
    sshd.cut();
    let ended = await_end(controller, Instant::now(), LIMIT).expect(3);
    assert!(ended.stderr.contains("ssh:127.0.0.1") && ended.stderr.contains("is gone"), "{}", ended.stderr);
    trees.iter().for_each(|tree| tree.wait_for("1000"));
    assert_eq!(trees.each_ref().map(Tree::snapshot), before);
    let runs = campaign(&scenario).runs;
    assert_eq!(runs.len(), 2);
    let Outcome::Failed { stage, cause, .. } = &runs[1].record.outcome else {
        panic!("the cut was not seen")
    };
    assert_eq!(*stage, Stage::Launch);
    assert!(cause.contains("ssh:127.0.0.1"), "{cause}");

    let again = finish(&mut harness(&["run", "depth.toml", "--resume", "--retry-failed"]), LIMIT);
    assert!(matches!(again.code, Some(0 | 1 | 4)), "{again:?}");
    let runs = campaign(&scenario).runs;
    assert!(runs.len() == 3 && runs.iter().all(|run| run.record.outcome.is_completed()));
    assert_eq!(trees.each_ref().map(Tree::snapshot), before);
}

#[test]
fn a_host_that_does_not_let_us_in_or_has_no_agent_is_said_by_name() {
    let sshd = Sshd::start();
    let (scenario, _trees, harness) = far(&sshd, SCENARIO);
    let stranger =
        format!("{} -i /nonexistent -o IdentityFile=none", sshd.client().replace("/user", "/nobody"));
    let refused = finish(harness(&["run", "depth.toml"]).env("RDMA_HARNESS_SSH", stranger), LIMIT).expect(3);
    for word in ["the agent of the re", "ssh:127.0.0.1", "Permission denied"] {
        assert!(refused.stderr.contains(word), "no {word} in {}", refused.stderr);
    }
    let text = fs::read_to_string(scenario.path("depth.toml")).unwrap();
    fs::write(scenario.path("depth.toml"), text.replace("it's the responder", "nowhere")).unwrap();
    let refused = finish(&mut harness(&["run", "depth.toml"]), LIMIT).expect(3);
    for word in ["responder", "ssh:127.0.0.1", "it did not start", "nowhere"] {
        assert!(refused.stderr.contains(word), "no {word} in {}", refused.stderr);
    }
    assert!(!scenario.path("store.db").exists());
}
