//! One child process in its own process group: its output comes as events, and it never outlives its handle.
//!
//! Spawned from the thread that waits, because a child that dies with its parent dies with the parent's thread.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child as Process, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::Sender,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use schema::Side;

/// The largest output a child may give; a record is far smaller.
const MOST_STDOUT: u64 = 256 << 20;
/// How much of what a child says last is kept.
const MOST_STDERR: u64 = 64 << 10;
/// How often a child that is about to end is looked at; the measurement is over by then.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What a child did.
#[derive(Debug)]
pub(super) enum Event {
    /// It wrote its first line.
    FirstLine(String),
    /// It closed its output; this is all it wrote after the first line that was an event.
    Closed(Side, Vec<u8>),
    /// Someone asked to stop.
    Interrupted,
}

/// What is made an event of a child's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Listen {
    /// The first line, and the end.
    FirstLine,
    /// The end.
    End,
}

/// A running child.
pub(super) struct Child {
    process: Process,
    stderr: Option<JoinHandle<String>>,
}

impl Child {
    /// Starts it; events go to `events`, `input` to its standard input.
    pub(super) fn spawn(
        mut command: Command,
        side: Side,
        listen: Listen,
        input: Vec<u8>,
        events: Sender<Event>,
    ) -> io::Result<Child> {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0) // Ctrl-C on the terminal reaches the harness alone, which then ends its children
            .spawn()?;
        let stdout = process.stdout.take().expect("stdout is piped");
        let stderr = process.stderr.take().expect("stderr is piped");
        let stdin = process.stdin.take().expect("stdin is piped");
        thread::spawn(move || read_stdout(stdout, side, listen, &events));
        let stderr = thread::spawn(move || read_tail(stderr));
        write_input(stdin, input);
        Ok(Child { process, stderr: Some(stderr) })
    }

    /// Waits for the end of a child that has nothing left to do; kills it after `patience`.
    pub(super) fn finish(&mut self, patience: Duration) -> io::Result<(ExitStatus, String)> {
        let status = match self.ends_within(patience)? {
            Some(status) => status,
            None => self.kill()?,
        };
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        Ok((status, stderr))
    }

    /// Waits for its end, but no longer than `patience`.
    pub(super) fn ends_within(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            match self.process.try_wait()? {
                None if Instant::now() < deadline => thread::sleep(LOOK_EVERY),
                ended => return Ok(ended),
            }
        }
    }

    /// Ends it and what it started.
    pub(super) fn kill(&mut self) -> io::Result<ExitStatus> {
        if self.process.try_wait()?.is_none() {
            let group = rustix::process::Pid::from_child(&self.process);
            // Already gone is fine: the wait below reaps it.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        self.process.wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.kill(); // nothing more can be done about it here
    }
}

fn write_input(mut stdin: ChildStdin, input: Vec<u8>) {
    thread::spawn(move || {
        let _ = stdin.write_all(&input); // a child that ends early says why by itself
    });
}

fn read_stdout(stdout: impl Read, side: Side, listen: Listen, events: &Sender<Event>) {
    let mut reader = BufReader::new(stdout.take(MOST_STDOUT));
    let send = |event| {
        let _ = events.send(event); // no one listens any more: the run is over
    };
    if listen == Listen::FirstLine {
        let mut line = String::new();
        if reader.read_line(&mut line).is_ok_and(|length| length > 0) {
            send(Event::FirstLine(line));
        }
    }
    let mut rest = Vec::new();
    let _ = reader.read_to_end(&mut rest); // what was read until then is judged by whoever parses it
    send(Event::Closed(side, rest));
}

/// Reads to the end, keeping the last part.
fn read_tail(mut stderr: impl Read) -> String {
    let (mut tail, mut chunk) = (Vec::new(), [0u8; 4096]);
    while let Ok(length @ 1..) = stderr.read(&mut chunk) {
        tail.extend_from_slice(&chunk[..length]);
        let surplus = tail.len().saturating_sub(MOST_STDERR as usize);
        tail.drain(..surplus);
    }
    String::from_utf8_lossy(&tail).into_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn lines_and_the_end_are_events() {
        let (events, heard) = channel();
        let command = shell("echo first; cat; echo oops >&2; exit 3");
        let mut child =
            Child::spawn(command, Side::Responder, Listen::FirstLine, b"input".to_vec(), events).unwrap();
        assert!(matches!(heard.recv().unwrap(), Event::FirstLine(line) if line == "first\n"));
        assert!(matches!(heard.recv().unwrap(), Event::Closed(_, rest) if rest == b"input"));
        let (status, stderr) = child.finish(Duration::from_secs(10)).unwrap();
        assert_eq!((status.code(), stderr.as_str()), (Some(3), "oops\n"));
    }

    #[test]
    fn a_dropped_child_takes_its_children_with_it() {
        let (events, heard) = channel();
        let child = Child::spawn(
            shell("sleep 600 & echo $!; wait"),
            Side::Requester,
            Listen::FirstLine,
            vec![],
            events,
        )
        .unwrap();
        let Event::FirstLine(pid) = heard.recv().unwrap() else { panic!("no line") };
        let grandchild = format!("/proc/{}/cmdline", pid.trim());
        drop(child);
        let gone = || std::fs::read_to_string(&grandchild).is_ok_and(|command| command.contains("sleep"));
        let deadline = Instant::now() + Duration::from_secs(10);
        while gone() && Instant::now() < deadline {
            thread::sleep(LOOK_EVERY);
        }
        assert!(!gone(), "the grandchild lives on");
    }

    #[test]
    fn a_child_that_does_not_end_is_killed() {
        let (events, _heard) = channel();
        let mut child =
            Child::spawn(shell("exec sleep 600"), Side::Requester, Listen::End, vec![], events).unwrap();
        let (status, _) = child.finish(Duration::from_millis(20)).unwrap();
        assert!(!status.success());
    }
}
