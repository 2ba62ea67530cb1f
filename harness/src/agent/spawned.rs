//! The process of an agent between its start and the first order: where many are started at once, it is told here whether one
//! is there at all, before anyone waits for it.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child as Process, ChildStdin, ChildStdout, Command},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    child::read_tail,
    ended::last_words,
    protocol::{Order, Report},
    wire::{self, MOST_REPORT},
};
use crate::interrupt::Interrupt;

/// How often one who waits looks whether to go on waiting; nothing is measured yet.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a process that closed its output may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// An agent's process, with both ends of its link.
pub struct Spawned {
    pub(super) process: Process,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: BufReader<ChildStdout>,
    pub(super) stderr: JoinHandle<String>,
}

impl Spawned {
    /// Starts it.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn new(mut command: Command) -> io::Result<Spawned> {
        // Ctrl-C on the terminal reaches the controller alone, which then tells its agents.
        let mut process = command.process_group(0).spawn()?;
        let stdin = process.stdin.take().expect("the launcher pipes stdin");
        let stdout = BufReader::new(process.stdout.take().expect("the launcher pipes stdout"));
        let stderr = process.stderr.take().expect("the launcher pipes stderr");
        let stderr = thread::spawn(move || read_tail(stderr));
        Ok(Spawned { process, stdin, stdout, stderr })
    }

    /// Waits until an agent answers: asks it for the time, which takes no acquaintance.
    ///
    /// # Errors
    /// Why there is none, in words; the process is gone then, or, if it does not listen, is ended.
    pub fn answering(mut self, within: Duration, interrupt: &Interrupt) -> Result<Spawned, String> {
        let asked = wire::send(&mut self.stdin, &Order::Clock {});
        match asked.map_err(|error| error.to_string()).and_then(|()| self.first_report(within, interrupt)) {
            Ok(Report::Clock { .. }) => Ok(self),
            Ok(other) => Err(self.end(format!("it was asked for the time and said {other:?}"))),
            Err(why) => Err(self.end(why)),
        }
    }

    fn first_report(&mut self, within: Duration, interrupt: &Interrupt) -> Result<Report, String> {
        let deadline = Instant::now() + within;
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            if interrupt.is_raised() {
                return Err("interrupted".into());
            }
            if Instant::now() >= deadline {
                return Err(format!("it said nothing within {} s", within.as_secs()));
            }
            if !self.is_readable() {
                continue;
            }
            let said = self.stdout.fill_buf().map_err(|error| error.to_string())?;
            if said.is_empty() {
                return Err("the link to it ended".into());
            }
            let end = said.iter().position(|byte| *byte == b'\n').map_or(said.len(), |at| at + 1);
            line.extend_from_slice(&said[..end]);
            self.stdout.consume(end);
            if line.len() as u64 > MOST_REPORT {
                return Err(format!("it says more than {MOST_REPORT} bytes that are no message"));
            }
        }
        let report = wire::receive(&mut line.as_slice(), MOST_REPORT).map_err(|error| error.to_string())?;
        report.ok_or_else(|| "the link to it ended".into())
    }

    fn is_readable(&self) -> bool {
        let mut fds = [PollFd::new(self.stdout.get_ref(), PollFlags::IN)];
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_EVERY.subsec_nanos()) };
        matches!(poll(&mut fds, Some(&timeout)), Ok(1..))
    }

    /// Ends the process; what it said last tells more than how the link ended.
    fn end(self, why: String) -> String {
        let Spawned { mut process, mut stdin, stdout, stderr } = self;
        let _ = stdin.flush();
        drop((stdin, stdout)); // an agent goes by itself now
        let deadline = Instant::now() + LAST_WORDS;
        let status = loop {
            match process.try_wait() {
                Ok(None) if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
                Ok(Some(status)) => break Some(status),
                _ => break None,
            }
        };
        if status.is_none() {
            let _ = process.kill(); // nothing of the host was turned yet
            let _ = process.wait();
        }
        if !stderr.is_finished() {
            thread::sleep(LOOK_EVERY); // the reader of what it said may lag by a moment
        }
        // A grandchild may hold the pipe open; its words are not worth waiting for.
        let said =
            if stderr.is_finished() { last_words(&stderr.join().unwrap_or_default()) } else { String::new() };
        match status.filter(|status| !status.success()) {
            _ if !said.is_empty() => said,
            Some(status) => format!("{why} ({status})"),
            None => why,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn spawned(script: &str) -> Spawned {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Spawned::new(command).unwrap()
    }

    fn refusal(script: &str, within: Duration) -> String {
        spawned(script).answering(within, &Interrupt::default()).err().expect("it is no agent")
    }

    #[test]
    fn one_that_tells_the_time_is_there_and_what_it_says_next_is_kept() {
        let script = r#"read order; [ "$order" = '{"clock":{}}' ] || exit 1
            printf '{"clock":{"monotonic_ns":1}}\n{"alive":{}}\n'; read next"#;
        let mut agent = spawned(script).answering(Duration::from_secs(30), &Interrupt::default()).unwrap();
        let next = wire::receive::<Report>(&mut agent.stdout, MOST_REPORT).unwrap();
        assert_eq!(next, Some(Report::Alive {}));
        drop(agent.stdin);
        agent.process.wait().unwrap();
    }

    #[test]
    fn one_that_is_not_there_is_told_by_its_last_words() {
        let why = refusal("echo 'Permission denied (publickey).' >&2; exit 255", Duration::from_secs(30));
        assert_eq!(why, "Permission denied (publickey).");
        let why = refusal("exit 7", Duration::from_secs(30));
        assert!(why.contains("exit status: 7"), "{why}");
    }

    #[test]
    fn a_greeting_of_the_remote_shell_is_shown() {
        let why = refusal("echo Welcome to node7; read order", Duration::from_secs(30));
        assert!(why.contains("Welcome to node7"), "{why}");
    }

    #[test]
    fn one_that_says_nothing_is_not_waited_for_for_ever() {
        let why = refusal("exec sleep 600", Duration::from_millis(100));
        assert!(why.contains("said nothing within"), "{why}");
    }

    #[test]
    fn nobody_waits_after_an_interrupt() {
        let interrupt = Interrupt::default();
        interrupt.raise();
        let why = spawned("exec sleep 600").answering(Duration::from_secs(600), &interrupt).err();
        assert_eq!(why.as_deref(), Some("interrupted"));
    }
}
