//! One child process in its own process group: what it says is heard as it comes, and it never outlives its handle.
//!
//! Spawned from the thread that waits, because a child that dies with its parent dies with the parent's thread.

use std::{
    io::{self, BufRead as _, BufReader, Read, Write as _},
    os::unix::process::CommandExt as _,
    process::{Child as Process, ChildStdin, Command, ExitStatus, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

/// The most of a child's output that is read, in bytes; a record is far smaller.
pub(super) const MOST_STDOUT: u64 = 256 << 20;
/// How much of what a child says last is kept.
const MOST_STDERR: u64 = 64 << 10;
/// How often a child that is about to end is looked at; the measurement is over by then.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// What a child did.
#[derive(Debug)]
pub(super) enum Heard {
    /// It wrote its first line.
    FirstLine(String),
    /// It closed its output; this is all it wrote after the first line that was heard.
    Closed(Vec<u8>),
}

/// What is heard of a child's output.
#[derive(Debug, Clone, Copy)]
pub(super) enum Listen {
    /// The first line, and the end.
    FirstLine,
    /// The first line if it is such a one, else with all the rest, and the end.
    FirstLineIf(fn(&str) -> bool),
    /// The end.
    End,
}

/// A running child.
pub(super) struct Child {
    process: Process,
    stderr: Option<JoinHandle<String>>,
    /// What it reads; none when it was told all.
    input: Option<Sender<Vec<u8>>>,
}

impl Child {
    /// Starts it; `tell` is told what it does, `input` to its standard input, and after that what [`Child::tell`] is told.
    pub(super) fn spawn(
        mut command: Command,
        listen: Listen,
        input: Vec<u8>,
        tell: impl Fn(Heard) + Send + 'static,
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
        thread::spawn(move || read_stdout(stdout, listen, tell));
        let stderr = thread::spawn(move || read_tail(stderr));
        let (tells, told) = channel();
        let _ = tells.send(input); // its other end is here
        thread::spawn(move || write_input(stdin, &told));
        Ok(Child { process, stderr: Some(stderr), input: Some(tells) })
    }

    /// Writes to its standard input, after what was written before.
    pub(super) fn tell(&self, input: Vec<u8>) {
        if let Some(tells) = &self.input {
            let _ = tells.send(input); // a child that ends early says why by itself
        }
    }

    /// It was told all.
    pub(super) fn told_all(mut self) -> Child {
        self.input = None;
        self
    }

    /// Waits for the end of a child that has nothing left to do; kills it after `patience`, or when it shall hurry.
    pub(super) fn finish(
        &mut self,
        patience: Duration,
        hurry: &AtomicBool,
    ) -> io::Result<(ExitStatus, String)> {
        let status = match self.ends_within(patience, hurry)? {
            Some(status) => status,
            None => self.kill()?,
        };
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        Ok((status, stderr))
    }

    /// Waits for its end, but no longer than `patience`, and not when it shall hurry.
    fn ends_within(&mut self, patience: Duration, hurry: &AtomicBool) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            match self.process.try_wait()? {
                None if Instant::now() < deadline && !hurry.load(Ordering::Relaxed) => {
                    thread::sleep(LOOK_EVERY)
                }
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

fn write_input(mut stdin: ChildStdin, told: &Receiver<Vec<u8>>) {
    while let Ok(input) = told.recv() {
        if stdin.write_all(&input).is_err() {
            return; // a child that ends early says why by itself
        }
    }
}

fn read_stdout(stdout: impl Read, listen: Listen, tell: impl Fn(Heard)) {
    let mut reader = BufReader::new(stdout.take(MOST_STDOUT));
    let is_heard = match listen {
        Listen::FirstLine => Some((|_| true) as fn(&str) -> bool),
        Listen::FirstLineIf(is_heard) => Some(is_heard),
        Listen::End => None,
    };
    let mut rest = Vec::new();
    if let Some(is_heard) = is_heard {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            Ok(1..) if is_heard(&line) => tell(Heard::FirstLine(line)),
            _ => rest = line.into_bytes(),
        }
    }
    let _ = reader.read_to_end(&mut rest); // what was read until then is judged by whoever parses it
    tell(Heard::Closed(rest));
}

/// Reads to the end, keeping the last part.
pub(super) fn read_tail(mut stderr: impl Read) -> String {
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

    fn hear() -> (impl Fn(Heard) + Send + 'static, std::sync::mpsc::Receiver<Heard>) {
        let (sender, heard) = channel();
        (move |what| sender.send(what).unwrap_or_default(), heard)
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn the_first_line_and_the_end_are_heard() {
        let (tell, heard) = hear();
        let command = shell("echo first; cat; echo oops >&2; exit 3");
        let child = Child::spawn(command, Listen::FirstLine, b"in".to_vec(), tell).unwrap();
        child.tell(b"put".to_vec());
        let mut child = child.told_all();
        assert!(matches!(heard.recv().unwrap(), Heard::FirstLine(line) if line == "first\n"));
        assert!(matches!(heard.recv().unwrap(), Heard::Closed(rest) if rest == b"input"));
        let (status, stderr) = child.finish(Duration::from_secs(10), &AtomicBool::new(false)).unwrap();
        assert_eq!((status.code(), stderr.as_str()), (Some(3), "oops\n"));
    }

    #[test]
    fn a_dropped_child_takes_its_children_with_it() {
        let (tell, heard) = hear();
        let child =
            Child::spawn(shell("sleep 600 & echo $!; wait"), Listen::FirstLine, vec![], tell).unwrap();
        let Heard::FirstLine(pid) = heard.recv().unwrap() else { panic!("no line") };
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
        let (tell, _heard) = hear();
        let mut child = Child::spawn(shell("exec sleep 600"), Listen::End, vec![], tell).unwrap();
        let patient = AtomicBool::new(false);
        let (status, _) = child.finish(Duration::from_millis(20), &patient).unwrap();
        assert!(!status.success());
        let (tell, _heard) = hear();
        let mut child = Child::spawn(shell("exec sleep 600"), Listen::End, vec![], tell).unwrap();
        let (status, _) = child.finish(Duration::from_secs(600), &AtomicBool::new(true)).unwrap();
        assert!(!status.success());
    }

    #[test]
    fn a_first_line_that_is_not_the_one_belongs_to_the_rest() {
        for (script, first) in [("echo ready; echo more", true), ("echo no; echo more", false), ("", false)] {
            let (tell, heard) = hear();
            let listen = Listen::FirstLineIf(|line| line == "ready\n");
            let _child = Child::spawn(shell(script), listen, vec![], tell).unwrap();
            let mut next = heard.recv().unwrap();
            if first {
                assert!(matches!(&next, Heard::FirstLine(line) if line == "ready\n"), "{next:?}");
                next = heard.recv().unwrap();
            }
            let Heard::Closed(rest) = next else { panic!("{next:?}") };
            let wanted = if first {
                "more\n"
            } else if script.is_empty() {
                ""
            } else {
                "no\nmore\n"
            };
            assert_eq!(String::from_utf8(rest).unwrap(), wanted);
        }
    }
}
