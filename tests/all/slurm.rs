//! Clusters in an allocation of a real Slurm, which `scripts/slurm` runs on this host: four nodes below two leaf switches.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    Finished,
    cluster::{Said, Suite},
    finish,
    programs::{PATIENCE, program, repository},
};

use super::agents::Tree;

const LIMIT: Duration = Duration::from_secs(300);

/// A Slurm that ends with its test.
struct Slurm {
    folder: PathBuf,
    _parent: tempfile::TempDir,
}

impl Slurm {
    #[track_caller]
    fn start() -> Self {
        for tool in ["slurmctld", "slurmd", "srun", "munged"] {
            let path = env::var_os("PATH").unwrap_or_default();
            let found =
                env::split_paths(&path).chain(["/usr/sbin".into()]).any(|folder| folder.join(tool).exists());
            assert!(found, "{tool} is missing: scripts/lib/deps.sh cluster installs it");
        }
        let parent = tempfile::tempdir().unwrap();
        fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o755)).unwrap(); // munged is another user
        let folder = parent.path().join("slurm");
        let mut up = Command::new(repository().join("scripts/slurm"));
        finish(up.arg("up").arg(&folder).arg("4"), LIMIT).expect(0);
        Slurm { folder, _parent: parent }
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env("SLURM_CONF", self.folder.join("slurm.conf"));
        command
    }

    fn told(&self, words: &[&str]) -> Finished {
        finish(self.command(words[0]).args(&words[1..]), PATIENCE)
    }

    /// The template with a suite, for so many nodes; `more` goes to `cluster run`. A file `agent` beside the suite is the agent.
    fn batch(&self, suite: &Suite, file: &Path, nodes: &str, more: &[&str]) -> Batch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("batch{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let (output, errors) = (suite.path(&format!("{name}.out")), suite.path(&format!("{name}.err")));
        let mut sbatch = self.command("sbatch");
        sbatch.current_dir(suite.path("")).args(["--parsable", "--nodes", nodes]);
        sbatch.arg("--output").arg(&output).arg("--error").arg(&errors);
        sbatch.env("RDMA_HARNESS", program("rdma-harness")).env("STORE", suite.path("store.db"));
        let agent = suite.path("agent");
        if agent.exists() {
            sbatch.env("RDMA_HARNESS_REMOTE", agent);
        }
        sbatch.arg(repository().join("scripts/cluster/cluster.sbatch")).arg(file).arg("--json").args(more);
        let job = finish(&mut sbatch, PATIENCE).expect(0).stdout.trim().to_owned();
        Batch { job, output, errors }
    }

    /// Waits for the end of a job.
    #[track_caller]
    fn ended(&self, batch: &Batch) -> Finished {
        let started = Instant::now();
        let wanted = format!("JobId={} ", batch.job);
        loop {
            let shown = self.told(&["scontrol", "show", "job", "-o", &batch.job]).stdout;
            let value = |key: &str| {
                shown.split_whitespace().find_map(|word| word.strip_prefix(key)).unwrap_or_default()
            };
            assert!(shown.starts_with(&wanted), "{shown}");
            if ["COMPLETED", "FAILED", "CANCELLED", "NODE_FAIL", "TIMEOUT"].contains(&value("JobState=")) {
                let code = value("ExitCode=").split(':').next().and_then(|code| code.parse().ok());
                let read = |file: &Path| fs::read_to_string(file).unwrap_or_default();
                return Finished {
                    code,
                    stdout: read(&batch.output),
                    stderr: read(&batch.errors),
                    took: started.elapsed(),
                };
            }
            assert!(
                started.elapsed() < LIMIT,
                "{shown}\n{}",
                fs::read_to_string(&batch.errors).unwrap_or_default()
            );
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Agents of this Slurm's steps that live, with the node of each.
    fn agents(&self) -> Vec<(String, String)> {
        let ours = format!("SLURM_CONF={}", self.folder.join("slurm.conf").display());
        let mut agents = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
            let words = |bytes: Vec<u8>| {
                String::from_utf8_lossy(&bytes).split('\0').map(str::to_owned).collect::<Vec<_>>()
            };
            let (command, environment) = (words(read("cmdline")), words(read("environ")));
            let is_agent = command.get(1).is_some_and(|word| word == "agent")
                && command.iter().any(|word| word == "--connect");
            if is_agent && environment.contains(&ours) {
                let node = environment.iter().find_map(|word| word.strip_prefix("SLURMD_NODENAME="));
                let pid = entry.file_name().to_string_lossy().into_owned();
                agents.push((pid, node.unwrap_or_default().to_owned()));
            }
        }
        agents
    }

    #[track_caller]
    fn agents_gone(&self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.agents().is_empty() {
            assert!(Instant::now() < deadline, "agents live on: {:?}", self.agents());
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until so many agents live, and the first round is made.
    #[track_caller]
    fn measuring(&self, batch: &Batch, agents: usize) -> Vec<(String, String)> {
        let deadline = Instant::now() + LIMIT;
        loop {
            let living = self.agents();
            let said = fs::read_to_string(&batch.errors).unwrap_or_default();
            if living.len() == agents && said.contains("round") {
                return living;
            }
            assert!(Instant::now() < deadline, "{living:?}\n{said}");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let down = Command::new(repository().join("scripts/slurm")).arg("down").arg(&self.folder).output();
        if let Ok(down) = down
            && !down.status.success()
        {
            eprintln!("{}", String::from_utf8_lossy(&down.stderr));
        }
    }
}

/// A job, and where its output goes.
struct Batch {
    job: String,
    output: PathBuf,
    errors: PathBuf,
}

#[test]
fn a_batch_job_measures_every_pair_of_its_nodes() {
    let slurm = Slurm::start();
    let suite = Suite::lasting("100ms", "");
    let soft = repository().join("scenarios/cluster/soft.toml");
    let batch = slurm.batch(&suite, &soft, "4", &[]);
    let ran = slurm.ended(&batch).expect(0);
    let said = Said::by(&ran);
    assert_eq!(said.names(), ["node1", "node2", "node3", "node4"]);
    assert_eq!(said.leaves(), ["leaf1", "leaf1", "leaf2", "leaf2"].map(|leaf| Some(leaf.to_owned())));
    assert_eq!(said.runs().1, 0);
    assert!(slurm.agents().is_empty());
}

#[test]
fn a_drained_node_could_not_run_for_the_reason_that_slurm_has_and_the_others_are_measured() {
    let slurm = Slurm::start();
    slurm.told(&["scontrol", "update", "nodename=node3", "state=drain", "reason=bad cable 7"]).expect(0);
    let suite = Suite::lasting("100ms", "");
    let batch = slurm.batch(&suite, &suite.path("suite.toml"), "3", &["--nodes", "node[1-4]"]);
    let ran = slurm.ended(&batch).expect(3);
    let said = Said::by(&ran);
    let (state, why) = said.state(2);
    assert_eq!(state, "absent");
    assert!(
        why.contains("not in the allocation") && why.contains("DRAIN") && why.contains("bad cable 7"),
        "{why}"
    );
    assert_eq!([0, 1, 3].map(|rank| said.state(rank).0), ["present", "present", "present"]);
    assert!(ran.stderr.contains("bad cable 7"), "{}", ran.stderr);
}

#[test]
fn a_node_that_slurm_does_not_reach_is_left_out_and_the_step_started_again() {
    let slurm = Slurm::start();
    let suite = Suite::lasting("100ms", "");
    let pid = fs::read_to_string(slurm.folder.join("slurmd.node2.pid")).unwrap();
    // Its daemon is gone, and Slurm does not know yet: the job gets the node.
    assert!(Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap().success());
    let batch = slurm.batch(&suite, &suite.path("suite.toml"), "4", &[]);
    let ran = slurm.ended(&batch).expect(3);
    let said = Said::by(&ran);
    assert_eq!(said.state(1).0, "absent", "{}", ran.stderr);
    assert_eq!([0, 2, 3].map(|rank| said.state(rank).0), ["present", "present", "present"]);
}

#[test]
fn a_killed_agent_costs_its_own_pairs_and_nothing_else() {
    let slurm = Slurm::start();
    let suite = Suite::lasting("1s", "at_once = 1\n");
    let batch = slurm.batch(&suite, &suite.path("suite.toml"), "4", &[]);
    let agents = slurm.measuring(&batch, 4);
    let (pid, _) = agents.iter().find(|(_, node)| node == "node2").expect("node2 has an agent");
    assert!(Command::new("kill").args(["-KILL", pid]).status().unwrap().success());
    let ran = slurm.ended(&batch).expect(3);
    let said = Said::by(&ran);
    assert_eq!(said.state(1).0, "lost");
    assert_eq!([0, 2, 3].map(|rank| said.state(rank).0), ["present", "present", "present"]);
    let (runs, failed) = said.runs();
    assert!(failed > 0 && failed < runs, "{failed} of {runs}");
}

/// An agent whose host is a tree, another one on each node.
fn agents_on_trees(suite: &Suite) -> Vec<Tree> {
    let mut script = format!("#!/bin/sh\nexec {} \"$@\" --sysroot ", program("rdma-harness").display());
    let trees = (1..=4).map(|number| {
        let tree = Tree::new();
        let boot_id = format!("5d4c3b2a-0000-4000-8000-00000000000{number}\n");
        fs::write(tree.path().join("proc/sys/kernel/random/boot_id"), boot_id).unwrap();
        std::os::unix::fs::symlink(tree.path(), suite.path(&format!("node{number}"))).unwrap();
        tree
    });
    let trees = trees.collect();
    script += &format!("{}/\"$SLURMD_NODENAME\"\n", suite.path("").display());
    fs::write(suite.path("agent"), script).unwrap();
    fs::set_permissions(suite.path("agent"), fs::Permissions::from_mode(0o755)).unwrap();
    trees
}

#[test]
fn a_cancelled_job_turns_every_host_back() {
    let slurm = Slurm::start();
    let suite = Suite::tuned("2s", "\"net.core.netdev_max_backlog\" = 5000");
    let trees = agents_on_trees(&suite);
    let before = trees.iter().map(Tree::snapshot).collect::<Vec<_>>();
    let batch = slurm.batch(&suite, &suite.path("suite.toml"), "4", &[]);
    trees.iter().for_each(|tree| tree.wait_for("5000"));
    slurm.told(&["scancel", &batch.job]).expect(0);
    slurm.agents_gone();
    slurm.ended(&batch);
    for (tree, before) in trees.iter().zip(before) {
        assert_eq!(tree.snapshot(), before, "{}", fs::read_to_string(&batch.errors).unwrap());
    }
}

#[test]
fn a_cancelled_job_keeps_what_was_measured_and_another_goes_on() {
    let slurm = Slurm::start();
    let suite = Suite::lasting("1s", "at_once = 1\n");
    let file = suite.path("suite.toml");
    let batch = slurm.batch(&suite, &file, "4", &[]);
    slurm.measuring(&batch, 4);
    slurm.told(&["scancel", &batch.job]).expect(0);
    let stopped = slurm.ended(&batch);
    slurm.agents_gone();
    let said = fs::read_to_string(&batch.errors).unwrap();
    assert!(said.contains("--resume"), "{said}\n{stopped:?}");
    let again = slurm.batch(&suite, &file, "4", &["--resume"]);
    let ran = slurm.ended(&again);
    assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}");
    assert_eq!(Said::by(&ran).runs(), (12, 0));
}

#[test]
fn a_node_found_slow_is_drained_once_and_what_others_said_of_it_stays() {
    let slurm = Slurm::start();
    let suite = Suite::lasting("100ms", "");
    let hosts = suite.path("hosts");
    fs::write(&hosts, "node1\nnode2\nnode3 soft=latency=200us,rate=250Mbps\nnode4\n").unwrap();
    let more = ["--hostfile", &hosts.display().to_string()];
    slurm.ended(&slurm.batch(&suite, &suite.path("suite.toml"), "4", &more)).expect(1);
    let drain = |more: &[&str]| {
        let mut command = slurm.command(&program("rdma-harness").display().to_string());
        command.args(["cluster", "drain", "1", "--store"]).arg(suite.path("store.db")).args(more);
        finish(&mut command, PATIENCE).expect(0).stdout
    };
    let node3 = || slurm.told(&["scontrol", "show", "node", "-o", "node3"]).expect(0).stdout;
    let wanted = "scontrol update NodeName=node3 State=DRAIN Reason=\"rdma-harness: cluster 1: node3 ";
    let shown = drain(&[]);
    assert!(shown.starts_with(wanted) && shown.matches("scontrol").count() == 1, "{shown}");
    assert!(!node3().contains("DRAIN"), "shown only: {}", node3());
    drain(&["--apply"]);
    assert!(
        node3().contains("DRAIN") && node3().contains("Reason=rdma-harness: cluster 1: node3 "),
        "{}",
        node3()
    );
    let again = drain(&["--apply"]);
    assert!(again.contains("we drained it for this already") && again.contains("nothing to do"), "{again}");
    slurm.told(&["scontrol", "update", "nodename=node3", "reason=bad cable 7"]).expect(0);
    let left = drain(&["--apply", "--release"]);
    assert!(left.contains("node3 is left alone: somebody else's note is on it: bad cable 7"), "{left}");
    assert!(node3().contains("Reason=bad cable 7"), "{}", node3());
}
