//! Agents whose stdin and stdout are their link: here, in network namespaces, and through ssh.

use std::{
    io,
    sync::{
        Mutex, PoisonError,
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

use super::super::{Mustered, Rank, WantedNode};
use crate::{
    agent::{
        Launcher, Spawned,
        link::{Event, Link},
        protocol::RELEASE,
    },
    interrupt::Interrupt,
    scenario::{Place, SideHost},
};

/// The most connections that are set up at the same time: a jump host takes a limited number of strangers.
const AT_ONCE: usize = 32;

/// Starts an agent on every node and waits until it answers, some at a time; by rank.
pub(super) fn start(
    wanted: Vec<WantedNode>,
    launcher: &Launcher,
    wait: Duration,
    events: &Sender<Event<Rank>>,
    interrupt: &Interrupt,
) -> Vec<Mustered> {
    let workers = wanted.len().min(AT_ONCE);
    let queue = Mutex::new((0..).zip(wanted));
    let (done, mustered) = channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (queue, done, events) = (&queue, done.clone(), events.clone());
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((rank, node)) = next else { return };
                    let came = start_one(rank, &node, launcher, wait, &events, interrupt);
                    let _ = done.send((rank, Mustered { node, came, identity: None })); // heard below
                }
            });
        }
    });
    drop(done);
    let mut mustered = mustered.into_iter().collect::<Vec<_>>();
    mustered.sort_by_key(|(rank, _)| *rank);
    mustered.into_iter().map(|(_, node)| node).collect()
}

fn start_one(
    rank: Rank,
    node: &WantedNode,
    launcher: &Launcher,
    wait: Duration,
    events: &Sender<Event<Rank>>,
    interrupt: &Interrupt,
) -> Result<Link<Rank>, String> {
    if interrupt.is_raised() {
        return Err("interrupted".into());
    }
    let host = node.host.clone().unwrap_or_default();
    let who = ["--rank".to_owned(), rank.to_string(), "--node-name".to_owned(), node.name.clone()];
    let command = launcher.command_of(&host, &who).map_err(|error| not_started(&host, &error))?;
    let agent = Spawned::new(command).map_err(|error| not_started(&host, &error))?;
    let agent = agent
        .answering(wait, interrupt)
        .map_err(|why| format!("its agent did not start: {why}{}", hint(&host)))?;
    Ok(Link::of(agent, rank, host.at, events.clone()))
}

fn not_started(host: &SideHost, error: &io::Error) -> String {
    let what = match &host.at {
        Place::Ssh(_) => "the ssh client",
        Place::Netns(_) => "`ip` of iproute2",
        Place::Local | Place::Joined(_) => "its agent",
    };
    format!("{what} could not be started: {error}")
}

fn hint(host: &SideHost) -> String {
    match &host.at {
        Place::Ssh(destination) => format!(
            "; try `ssh -o BatchMode=yes {destination} rdma-harness --version`: this is release {RELEASE}, and agent= in the host file names another program"
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    use super::*;
    use crate::agent::protocol::Report;

    /// A program that is an agent as far as telling the time, once, and then says a word that tells which it is.
    const AGENT: &str = r#"#!/bin/sh
read order
printf '{"clock":{"monotonic_ns":1}}\n{"clock":{"monotonic_ns":%s}}\n' "$3"
read end
"#;

    fn wanted(folder: &Path, name: &str, script: &str) -> WantedNode {
        let file = folder.join(name);
        fs::write(&file, script).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        let agent = Some(file.to_str().unwrap().to_owned());
        WantedNode {
            name: name.into(),
            host: Some(SideHost { at: Place::Local, agent }),
            device: None,
            soft: None,
            address: None,
            switches: Vec::new(),
        }
    }

    #[test]
    fn those_that_come_have_links_by_rank_and_the_others_a_reason() {
        let folder = tempfile::tempdir().unwrap();
        let mut nodes =
            (0..40).map(|number| wanted(folder.path(), &format!("node{number}"), AGENT)).collect::<Vec<_>>();
        nodes[7] = wanted(folder.path(), "node7", "#!/bin/sh\necho 'no route to host' >&2\nexit 255\n");
        nodes[9].host = Some(SideHost { at: Place::Local, agent: Some("/nowhere/agent".into()) });
        let (events, heard) = channel();
        let launcher = Launcher::from_environment(None);
        let mustered = start(nodes, &launcher, Duration::from_secs(60), &events, &Interrupt::default());
        drop(events);
        assert_eq!(mustered.len(), 40);
        for (rank, node) in mustered.iter().enumerate() {
            assert_eq!(node.node.name, format!("node{rank}"));
            match (rank, &node.came) {
                (7, Err(why)) => assert!(why.contains("no route to host"), "{why}"),
                (9, Err(why)) => assert!(why.contains("could not be started"), "{why}"),
                (_, Ok(link)) => assert_eq!(link.key as usize, rank),
                (_, Err(why)) => panic!("{rank}: {why}"),
            }
        }
        drop(mustered); // the agents go, and with them the last that can tell something
        let mut told = Vec::new();
        for event in heard {
            if let Event::Report(rank, Report::Clock { monotonic_ns }) = event {
                assert_eq!(u64::from(rank), monotonic_ns);
                told.push(rank);
            }
        }
        told.sort_unstable();
        assert_eq!(told, (0..40).filter(|rank| ![7, 9].contains(rank)).collect::<Vec<_>>());
    }

    #[test]
    fn an_interrupt_starts_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let node = wanted(folder.path(), "node1", "#!/bin/sh\ntouch \"$0.started\"\n");
        let interrupt = Interrupt::default();
        interrupt.raise();
        let launcher = Launcher::from_environment(None);
        let mustered = start(vec![node], &launcher, Duration::from_secs(60), &channel().0, &interrupt);
        assert!(mustered[0].came.is_err());
        assert!(!folder.path().join("node1.started").exists());
    }
}
