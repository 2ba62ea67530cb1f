//! Clusters whose nodes are reached through ssh: eight agents on addresses of the loopback network, by a real sshd.

use std::time::Duration;

use e2e::{
    cluster::{Said, Suite},
    finish,
    programs::program,
};

use super::ssh::Sshd;

const LIMIT: Duration = Duration::from_secs(300);
const ADDRESSES: [&str; 8] =
    ["127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6", "127.0.0.7", "127.0.0.8", "127.0.0.9"];

#[test]
fn every_pair_of_eight_nodes_is_measured_and_one_that_is_not_there_is_told_of() {
    let sshd = Sshd::on(&ADDRESSES);
    let suite = Suite::lasting("100ms", "at_once = 4\n");
    let run = |nodes: &str| {
        let mut command = suite.run(&["--launcher", "ssh", "--nodes", nodes]);
        command.env("RDMA_HARNESS_SSH", sshd.client()).env("RDMA_HARNESS_REMOTE", program("rdma-harness"));
        finish(&mut command, LIMIT)
    };

    let ran = run("127.0.0.[2-9]");
    assert!(matches!(ran.code, Some(0 | 1 | 4)), "{ran:?}\n{}", sshd.log());
    let said = Said::by(&ran);
    assert_eq!(said.names(), ADDRESSES);
    assert_eq!(said.runs(), (56, 0), "both directions of 28 pairs");

    // 127.0.0.10 is an address of this host as well, and nobody listens there.
    let ran = run("127.0.0.[2-3,10]");
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let said = Said::by(&ran);
    let (state, why) = said.state(2);
    assert_eq!(state, "absent");
    assert!(why.contains("Connection refused"), "{why}");
    assert_eq!((said.state(0).0.as_str(), said.state(1).0.as_str()), ("present", "present"));
}
