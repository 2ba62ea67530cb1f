//! Waits for agents that someone else starts: mpirun, a Kubernetes Job, a person.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::mpsc::Sender,
};

use super::{
    Ask, LaunchError,
    gate::Gate,
    muster::{muster, name_by_comers},
    seats::{Named, Numbered},
};
use crate::{
    agent::{
        join::{JoinToken, TokenError},
        link::Event,
    },
    cluster::{Mustered, Rank, WantedNode},
    interrupt::Interrupt,
};

/// Where the token lies that agents are started with.
enum TokenFile {
    /// In a file that was named, and stays.
    Named(PathBuf),
    /// In one of ours, which goes with this value.
    Drawn(tempfile::TempDir),
}

impl TokenFile {
    fn path(&self) -> PathBuf {
        match self {
            TokenFile::Named(file) => file.clone(),
            TokenFile::Drawn(folder) => folder.path().join("token"),
        }
    }
}

/// Waits for the wanted nodes' agents.
pub(super) fn start(
    ask: &Ask,
    mut wanted: Vec<WantedNode>,
    events: &Sender<Event<Rank>>,
    interrupt: &Interrupt,
) -> Result<Vec<Mustered>, LaunchError> {
    let (token, file) = token(ask.token_file.as_deref())?;
    let gate = Gate::open(ask.listen).map_err(|cause| LaunchError::Listen { address: ask.listen, cause })?;
    invite(ask, wanted.len(), gate.address(), &file.path());
    let done = || interrupt.is_raised();
    let comers = if ask.is_numbered() {
        let seats = Numbered { count: wanted.len() as u32 };
        let comers = gate.admit(&token, &seats, ask.wait, &ask.say, done);
        name_by_comers(&mut wanted, &comers);
        comers
    } else {
        let seats = Named::new((0..).zip(&wanted));
        gate.admit(&token, &seats, ask.wait, &ask.say, done)
    };
    drop(file); // the token is void from here on
    muster(wanted, comers, events, |_, _| format!("no agent of it came within {} s", ask.wait.as_secs()))
}

fn token(file: Option<&Path>) -> Result<(JoinToken, TokenFile), TokenError> {
    let Some(file) = file else {
        let folder = tempfile::Builder::new().prefix("rdma-harness-").tempdir();
        let folder = folder.map_err(|cause| TokenError::Io { from: "a temporary folder".into(), cause })?;
        let token = JoinToken::drawn()?;
        token.write(&folder.path().join("token"))?;
        return Ok((token, TokenFile::Drawn(folder)));
    };
    let named = TokenFile::Named(file.to_owned());
    if file.exists() {
        return Ok((JoinToken::read(file)?, named));
    }
    let token = JoinToken::drawn()?;
    token.write(file)?;
    Ok((token, named))
}

/// Says how agents are started.
fn invite(ask: &Ask, count: usize, listens: SocketAddr, token: &Path) {
    let host = match &ask.controller {
        Some(host) => host.clone(),
        None if listens.ip().is_unspecified() => {
            rustix::system::uname().nodename().to_string_lossy().into_owned()
        }
        None => listens.ip().to_string(),
    };
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let (port, token) = (listens.port(), token.display());
    ask.say.line(&format!("waiting {} s for {count} agents at {host}:{port}; on each node, with a copy of the token that only its user can read:", ask.wait.as_secs()));
    ask.say.line(&format!("  rdma-harness agent --connect {host}:{port} --token-file {token}"));
    ask.say.line("mpirun, srun and Indexed Jobs tell each its rank; elsewhere add --rank 0, --rank 1, ..");
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, Mutex, mpsc::channel},
        thread,
        time::Duration,
    };

    use schema::LauncherKind;

    use super::{
        super::{Say, wanted},
        *,
    };
    use crate::agent::{
        join::{Target, dial},
        protocol::Identity,
    };

    /// An agent started as the invitation says.
    fn invited(line: &str, rank: u32) {
        let words = line.split_whitespace().collect::<Vec<_>>();
        assert_eq!(words[..3], ["rdma-harness", "agent", "--connect"]);
        let token = JoinToken::read(Path::new(words[5])).unwrap();
        let (size, node, switches) = (None, None, vec!["leaf1".to_owned()]);
        let identity = Identity { told_by: "kubernetes".into(), rank, size, node, switches, address: None };
        let target = words[3].parse::<Target>().unwrap();
        let wait = Duration::from_secs(60);
        let hostname = Some("pod".to_owned());
        let (input, _output) =
            dial(&target, &token, &identity, hostname, wait, &Interrupt::default()).unwrap();
        std::io::read_to_string(input).unwrap();
    }

    fn ask(wait: Duration, say: Say) -> Ask {
        let listen = Some("127.0.0.1:0".parse().unwrap());
        Ask { nodes: Some("3".into()), listen, wait, say, ..Ask::new(LauncherKind::Join) }
    }

    #[test]
    fn those_who_follow_the_invitation_come_and_the_token_is_gone_afterwards() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let said = lines.clone();
        let say = Say::new(move |line| {
            said.lock().unwrap().push(line.to_owned());
            if line.contains("agent --connect") {
                for rank in 0..2 {
                    let line = line.to_owned();
                    thread::spawn(move || invited(&line, rank));
                }
            }
        });
        let ask = ask(Duration::from_secs(2), say);
        let (events, _heard) = channel();
        let mustered = start(&ask, wanted(&ask).unwrap(), &events, &Interrupt::default()).unwrap();
        let names = mustered.iter().map(|node| node.node.name.as_str()).collect::<Vec<_>>();
        assert_eq!(names, ["pod.0", "pod.1", "node3"]);
        assert_eq!(mustered[1].node.switches, ["leaf1"]);
        assert_eq!(mustered[1].node.address, Some("127.0.0.1".parse().unwrap()));
        assert_eq!(mustered[0].came.as_ref().unwrap().place.to_string(), "kubernetes:pod");
        assert!(mustered[2].came.as_ref().err().unwrap().contains("came within 2 s"));
        let lines = lines.lock().unwrap();
        let token = lines.iter().find_map(|line| line.split("--token-file ").nth(1)).unwrap();
        assert!(!Path::new(token).exists());
    }

    #[test]
    fn a_named_token_file_is_made_once_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let (drawn, _) = token(Some(&file)).unwrap();
        let (read, kept) = token(Some(&file)).unwrap();
        assert!(drawn == read);
        drop(kept);
        assert!(file.exists());
    }

    #[test]
    fn an_address_that_is_not_ours_is_refused_by_name() {
        let say = Say::new(|_| {});
        let ask = Ask { listen: Some("192.0.2.1:5".parse().unwrap()), ..ask(Duration::from_secs(60), say) };
        let refused = start(&ask, wanted(&ask).unwrap(), &channel().0, &Interrupt::default());
        let text = refused.err().unwrap().to_string();
        assert!(text.contains("192.0.2.1:5") && text.contains("--listen"), "{text}");
    }
}
