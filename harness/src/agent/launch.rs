//! Starts agents: beside the controller, in a network namespace, or on another host through ssh.

use std::{
    env, io,
    path::PathBuf,
    process::{Command, Stdio},
};

use crate::scenario::{Place, SideHost};

/// The ssh client and what it is told: never to ask for anything, and to notice a dead link within twenty seconds.
const SSH: &str = "ssh -o BatchMode=yes -o ServerAliveInterval=5 -o ServerAliveCountMax=3";
/// In the environment: another ssh command, its words separated by blanks.
const SSH_VARIABLE: &str = "RDMA_HARNESS_SSH";
/// In the environment: the program on hosts that are reached through ssh.
const REMOTE_VARIABLE: &str = "RDMA_HARNESS_REMOTE";
/// That program when nothing else is said: whatever the PATH there holds.
const REMOTE: &str = "rdma-harness";

/// How agents are started.
#[derive(Debug, Clone)]
pub struct Launcher {
    /// The verbs-bench of agents of this host.
    pub verbs_bench: Option<PathBuf>,
    /// Program and first arguments that reach another host.
    ssh: Vec<String>,
    /// The program there, where it is named.
    remote: Option<String>,
}

impl Launcher {
    /// As the environment says.
    pub fn from_environment(verbs_bench: Option<PathBuf>) -> Self {
        let ssh = env::var(SSH_VARIABLE).unwrap_or_else(|_| SSH.to_owned());
        let ssh = ssh.split_whitespace().map(str::to_owned).collect();
        Launcher { verbs_bench, ssh, remote: env::var(REMOTE_VARIABLE).ok() }
    }

    /// The program on nodes that a scheduler reaches: the one that is named for other hosts, else this one, since they share
    /// folders as a rule.
    ///
    /// # Errors
    /// When this program can't find itself.
    pub fn remote_program(&self) -> io::Result<PathBuf> {
        self.remote.as_ref().map_or_else(env::current_exe, |program| Ok(program.into()))
    }

    /// The command that starts an agent and joins its stdin and stdout.
    ///
    /// # Errors
    /// When this program can't find itself.
    pub fn command(&self, host: &SideHost) -> io::Result<Command> {
        self.command_of(host, &[])
    }

    /// As [`Launcher::command`], with more words on the agent's command line.
    ///
    /// # Errors
    /// When this program can't find itself.
    pub fn command_of(&self, host: &SideHost, more: &[String]) -> io::Result<Command> {
        let own = || match &host.agent {
            Some(agent) => Ok(PathBuf::from(agent)),
            None => env::current_exe(),
        };
        let mut command = match &host.at {
            Place::Local => Command::new(own()?),
            Place::Netns(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name]).arg(own()?);
                command
            }
            Place::Ssh(destination) => {
                let program = self.ssh.first().map_or("ssh", String::as_str);
                let mut command = Command::new(program);
                command.args(self.ssh.iter().skip(1)).args(["-T", "--", destination]);
                let remote = host.agent.as_deref().or(self.remote.as_deref()).unwrap_or(REMOTE);
                let more = more.iter().map(|word| format!(" {}", quoted(word))).collect::<String>();
                command.arg(format!("{} agent{more}", quoted(remote)));
                return Ok(piped(command));
            }
            Place::Joined(by) => return Err(io::Error::other(format!("{by} is started by someone else"))),
        };
        command.arg("agent").args(more);
        if let Some(file) = &self.verbs_bench {
            command.arg("--verbs-bench").arg(file);
        }
        Ok(piped(command))
    }
}

fn piped(mut command: Command) -> Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A word that a remote shell takes as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(host: &SideHost) -> Vec<String> {
        arguments_of(host, &[])
    }

    fn arguments_of(host: &SideHost, more: &[&str]) -> Vec<String> {
        let launcher = Launcher {
            verbs_bench: Some("/opt/vb".into()),
            ssh: vec!["ssh".into(), "-p".into(), "2222".into()],
            remote: None,
        };
        let more = more.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let command = launcher.command_of(host, &more).unwrap();
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_remote_agent_is_one_quoted_word_of_the_remote_shell() {
        let host = SideHost { at: Place::Ssh("me@far".into()), agent: Some("/opt/it's here/rh".into()) };
        assert_eq!(
            arguments(&host),
            ["ssh", "-p", "2222", "-T", "--", "me@far", r"'/opt/it'\''s here/rh' agent"]
        );
        let plain = SideHost { at: Place::Ssh("far".into()), agent: None };
        assert_eq!(arguments(&plain).last().unwrap(), "'rdma-harness' agent");
        let more = arguments_of(&plain, &["--node-name", "it's $HOME"]);
        assert_eq!(more.last().unwrap(), r"'rdma-harness' agent '--node-name' 'it'\''s $HOME'");
    }

    #[test]
    fn agents_of_this_host_are_this_program_and_use_the_named_engine() {
        let host = SideHost { at: Place::Netns("far".into()), agent: None };
        let words = arguments(&host);
        assert_eq!(words[..4], ["ip", "netns", "exec", "far"]);
        assert_eq!(words[5..], ["agent", "--verbs-bench", "/opt/vb"]);
        assert_eq!(words[4], env::current_exe().unwrap().to_string_lossy());
    }
}
