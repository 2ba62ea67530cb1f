//! How agents get onto nodes, as far as no scheduler is needed: agents that join, strangers, and the files in `scripts/cluster`.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use e2e::{
    cluster::{Said, Suite},
    finish,
    programs::{PATIENCE, await_end, repository},
    rdma_harness,
};

const LIMIT: Duration = Duration::from_secs(300);

/// A controller that waits, and where: the words of its invitation.
fn waiting(suite: &Suite, arguments: &[&str]) -> (Child, Vec<String>) {
    let mut command = suite.run(&["--launcher", "join", "--listen", "127.0.0.1:0"]);
    let mut controller = command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(controller.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("agent --connect") {
        line.clear();
        assert_ne!(said.read_line(&mut line).unwrap(), 0, "it ended without an invitation");
    }
    let invitation = line.split_whitespace().map(str::to_owned).collect();
    // Nobody reads on: what it says from now on has room in the pipe.
    controller.stderr = Some(said.into_inner());
    (controller, invitation)
}

/// An agent as the invitation says.
fn join(invitation: &[String], more: &[&str]) -> Command {
    assert_eq!(invitation[0], "rdma-harness");
    let words = invitation[1..].iter().map(String::as_str).collect::<Vec<_>>();
    let mut command = rdma_harness(&words);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn agents_that_mpirun_or_a_job_would_start_are_told_apart_and_strangers_are_not_let_in() {
    let suite = Suite::lasting("100ms", "at_once = 2\n");
    let started = Instant::now();
    let (controller, invitation) = waiting(&suite, &["--nodes", "3", "--wait", "60"]);
    let token = fs::read_to_string(&invitation[5]).unwrap();

    let mut stranger = TcpStream::connect(&invitation[3]).unwrap();
    stranger.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let _silent = TcpStream::connect(&invitation[3]).unwrap();
    let wrong = suite.path("wrong");
    fs::write(&wrong, "0".repeat(64)).unwrap();
    let closed = Command::new("chmod").arg("600").arg(&wrong).status().unwrap();
    assert!(closed.success());
    let refused = finish(
        rdma_harness(&["agent", "--connect", &invitation[3], "--rank", "0", "--token-file"]).arg(&wrong),
        PATIENCE,
    );
    assert!(refused.expect(3).stderr.contains("token is another"));

    let agents = [
        join(&invitation, &["--node-name", "a"])
            .env("OMPI_COMM_WORLD_RANK", "2")
            .env("OMPI_COMM_WORLD_SIZE", "3")
            .spawn(),
        join(&invitation, &["--node-name", "b"]).env("JOB_COMPLETION_INDEX", "1").spawn(),
        join(&invitation, &["--node-name", "c", "--rank", "0"]).env("PMIX_RANK", "1").spawn(),
    ];
    let ran = await_end(controller, started, LIMIT);
    assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}");
    let said = Said::by(&ran);
    assert_eq!(said.names(), ["c", "b", "a"], "by the rank that each was told");
    assert_eq!(said.runs(), (6, 0));
    for agent in agents {
        let ended = await_end(agent.unwrap(), started, LIMIT).expect(0);
        assert!(!(ended.stdout + &ended.stderr).contains(token.trim()));
    }
    assert!(!ran.stderr.contains(token.trim()) && !ran.stdout.contains(token.trim()));
    assert!(ran.stderr.contains("sent away 127.0.0.1"), "{}", ran.stderr);
    assert!(!fs::exists(&invitation[5]).unwrap(), "the token is gone with the start");
}

#[test]
fn an_agent_that_nothing_tells_its_rank_or_its_token_says_what_to_do() {
    let agent = |arguments: &[&str]| finish(rdma_harness(&["agent"]).args(arguments), PATIENCE);
    let suite = Suite::lasting("100ms", "");
    let token = suite.path("token");
    fs::write(&token, "0".repeat(64)).unwrap();
    let file = token.to_str().unwrap();
    let connect = ["--connect", "127.0.0.1:9", "--token-file", file, "--wait", "0"];
    assert!(agent(&connect).expect(2).stderr.contains("--rank N"));
    let with_rank = [&connect[..], &["--rank", "0"]].concat();
    let open = agent(&with_rank).expect(3).stderr;
    assert!(open.contains("can be read by everyone"), "{open}");
    assert!(Command::new("chmod").args(["600", file]).status().unwrap().success());
    let away = agent(&with_rank).expect(3).stderr;
    assert!(away.contains("127.0.0.1:9 could not be reached within 0 s"), "{away}");
}

#[test]
fn outside_of_an_allocation_slurm_is_refused_with_the_line_that_makes_one() {
    let suite = Suite::lasting("100ms", "");
    let mut command = suite.run(&["--launcher", "slurm"]);
    let refused =
        finish(command.env_remove("SLURM_JOB_ID").env_remove("SLURM_JOB_NODELIST"), PATIENCE).expect(2);
    assert!(
        refused.stderr.contains("salloc --nodes=8") && refused.stderr.contains("cluster.sbatch"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_indexed_job_keeps_to_the_schemas_of_kubernetes() {
    let python = std::env::var_os("E2E_PYTHON").unwrap_or_else(|| "python3".into());
    let manifest = repository().join("scripts/cluster/indexed-job.yaml");
    let check = |version: &str, file: &std::path::Path| {
        let mut command = Command::new(&python);
        finish(command.args(["-m", "kubernetes_validate", "--strict", "-k", version]).arg(file), LIMIT)
    };
    for version in ["1.29", "1.33", "1.37"] {
        let checked = check(version, &manifest).expect(0);
        let said = checked.stdout + &checked.stderr;
        assert!(said.contains("passed for resource job/rdma-cluster"), "{said}");
        assert!(said.contains("passed for resource service/rdma-cluster"), "{said}");
    }
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("job.yaml");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&broken, text.replace("completionMode:", "completionMod:")).unwrap();
    assert_ne!(check("1.33", &broken).code, Some(0), "it tells wrong ones");
}
