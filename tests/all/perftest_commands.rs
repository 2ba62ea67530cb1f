//! `write-bw` and its siblings as a perftest user types them: two calls of one program, a table that scripts cut.

use std::{
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

use e2e::{
    finish,
    programs::{Finished, PATIENCE, await_end},
    verbs_bench,
};
use schema::RunRecord;

/// One side without HOST, listening on a port that was free.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(tool: &str, flags: &[&str]) -> Self {
        let free =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
        let port = free.port().to_string();
        let mut child = verbs_bench(&[tool, "-d", "soft", "-p", &port])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("verbs-bench starts");
        // A connection that says nothing is no session: the server goes on listening.
        for _ in 0..200 {
            if TcpStream::connect(("127.0.0.1", free.port())).is_ok() {
                return Server { child, port };
            }
            thread::sleep(Duration::from_millis(50));
        }
        let _ = child.kill();
        let _ = child.wait();
        panic!("nothing listens on port {port}")
    }

    /// Both sides to their end: the client's, then the server's.
    fn with_client(self, tool: &str, flags: &[&str]) -> (Finished, Finished) {
        let mut client = verbs_bench(&[tool, "-d", "soft", "-p", &self.port]);
        let client = finish(client.args(flags).arg("127.0.0.1"), PATIENCE);
        (client, await_end(self.child, Instant::now(), PATIENCE))
    }
}

/// The columns of the row of a size.
fn row(text: &str, bytes: &str) -> Vec<String> {
    let row = text.lines().find(|line| line.split_whitespace().next() == Some(bytes));
    let row = row.unwrap_or_else(|| panic!("no row of {bytes} in:\n{text}"));
    row.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_table_has_perftests_columns_and_the_sides_are_compared() {
    let server = Server::start("write-bw", &["-n", "1000", "-s", "4096", "-F"]);
    let (client, server) = server.with_client("write-bw", &["-n", "3000", "-s", "4096", "-Q", "10"]);
    let client = client.expect(0);
    let columns = row(&client.stdout, "4096");
    assert_eq!((columns.len(), columns[1].as_str(), columns[2].as_str()), (5, "3000", "-"));
    let (mib_per_sec, mpps): (f64, f64) = (columns[3].parse().unwrap(), columns[4].parse().unwrap());
    assert!((mib_per_sec / (mpps * 4096.0 * 1e6 / 1_048_576.0) - 1.0).abs() < 0.01, "{columns:?}");
    assert!(client.stdout.contains(" CQ Moderation   : 10\n"), "{}", client.stdout);
    let server = server.expect(0);
    assert!(
        server.stderr.contains("-n, --iters: iterations 1000 here, iterations 3000"),
        "{}",
        server.stderr
    );
    assert!(!server.stderr.contains("--size"), "what is the same is not worth a word:\n{}", server.stderr);
}

#[test]
fn a_limit_that_is_not_reached_is_exit_code_1() {
    let server = Server::start("write-bw", &[]);
    let (client, server) = server.with_client("write-bw", &["-s", "64", "-y", "1000000"]);
    let client = client.expect(1);
    assert!(client.stderr.contains("--limit_msgrate 1000000: 64 B reached"), "{}", client.stderr);
    assert_eq!(row(&client.stdout, "64")[1], "5000", "the table is printed all the same");
    server.expect(0);
}

#[test]
fn latency_by_count_and_its_json() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.json");
    let flags = ["-n", "2000", "--out_json_file", file.to_str().unwrap()];
    let (client, server) = Server::start("write-lat", &[]).with_client("write-lat", &flags);
    let columns = row(&client.expect(0).stdout, "2");
    assert_eq!((columns.len(), columns[1].as_str()), (9, "2000"));
    server.expect(0);
    let document: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(document["results"]["n_iterations"], 2_000);
    let record: RunRecord = serde_json::from_value(document["record"].clone()).expect("our record");
    assert_eq!(document["results"]["t_max"], record.points[0].latency_ns.max as f64 / 1e3);
}

#[test]
fn a_rate_and_a_count_end_when_the_count_is_there() {
    let flags = ["-n", "2000", "-s", "64", "--rate_limit", "50000", "--rate_units", "p"];
    let (client, server) = Server::start("write-bw", &[]).with_client("write-bw", &flags);
    let client = client.expect(0);
    assert_eq!(row(&client.stdout, "64")[1], "2000");
    assert!(client.stdout.contains("64 B asked 50000 messages/s"), "{}", client.stdout);
    server.expect(0);
}

#[test]
fn nobody_there_is_exit_code_3() {
    let nobody =
        finish(&mut verbs_bench(&["read-lat", "-d", "soft", "-p", "1", "127.0.0.1"]), PATIENCE).expect(3);
    assert!(nobody.stderr.contains("127.0.0.1:1"), "{}", nobody.stderr);
}
