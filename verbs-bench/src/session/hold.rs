//! A run that stands ready until it is told its moment: it says so, and takes the moment from a line, in bounded time.

use std::{
    fs::File,
    io::{self, Read as _, Write},
    net::TcpStream,
    os::fd::AsFd as _,
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use schema::{
    Holding, StartAt,
    hold::{MOST_AHEAD_S, MOST_HELD_S},
};

use super::start_up::monotonic_ns;

/// How long it stands ready at most.
pub(super) const MOST_HELD: Duration = Duration::from_secs(MOST_HELD_S);
/// How far ahead the moment may lie.
pub(super) const MOST_AHEAD: Duration = Duration::from_secs(MOST_AHEAD_S);
/// The longest line that names a moment, in bytes.
const MOST_MOMENT: usize = 1 << 10;

/// Why no moment was told.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The input ended.
    #[error("standard input ended before the line that was due")]
    Ended,
    /// Nothing came.
    #[error("no line of standard input named the moment within {MOST_HELD_S} s")]
    Silence,
    /// What came is something else.
    #[error(
        "the line that was due is {{\"start_at_monotonic_ns\":N}}, N by CLOCK_MONOTONIC of this host: {0}"
    )]
    Garbage(String),
    /// Too much came.
    #[error("a line of standard input is longer than {0} bytes")]
    TooLong(usize),
    /// Nobody means that.
    #[error(
        "the moment lies {ahead_s:.1} s ahead, the most is {MOST_AHEAD_S} s; CLOCK_MONOTONIC differs from host to host: name the moment by the clock of this one"
    )]
    TooFar {
        /// From now to the moment.
        ahead_s: f64,
    },
}

/// The lines of an input, of bounded length.
pub struct Lines {
    input: File,
    read: Vec<u8>,
}

impl Lines {
    /// Those of standard input, which nothing else may read.
    ///
    /// # Errors
    /// When the process has none.
    pub fn of_stdin() -> io::Result<Lines> {
        Ok(Lines::of(io::stdin().as_fd().try_clone_to_owned()?.into()))
    }

    fn of(input: File) -> Lines {
        Lines { input, read: Vec::new() }
    }

    /// The next line of at most so many bytes, without its end, as soon as it comes.
    ///
    /// # Errors
    /// When the input ends before, or more comes than is a line.
    pub fn next(&mut self, most: usize) -> Result<String, HoldError> {
        loop {
            if let Some(line) = self.take(most)? {
                return Ok(line);
            }
            self.fill()?;
        }
    }

    /// The next line; none when the peer says something first.
    fn next_unless(&mut self, peer: &TcpStream, until: Instant) -> Result<Option<String>, HoldError> {
        loop {
            if let Some(line) = self.take(MOST_MOMENT)? {
                return Ok(Some(line));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(HoldError::Silence);
            }
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            let mut heard = [PollFd::new(peer, PollFlags::IN), PollFd::new(&self.input, PollFlags::IN)];
            match poll(&mut heard, Some(&left)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(io::Error::from(errno).into()),
            }
            match heard.map(|heard| !heard.revents().is_empty()) {
                [true, _] => return Ok(None),
                [false, true] => self.fill()?,
                [false, false] => {}
            }
        }
    }

    /// A line that was read whole.
    fn take(&mut self, most: usize) -> Result<Option<String>, HoldError> {
        match self.read.iter().position(|byte| *byte == b'\n') {
            Some(length) if length <= most => {
                let line: Vec<u8> = self.read.drain(..=length).take(length).collect();
                Ok(Some(String::from_utf8_lossy(&line).into_owned()))
            }
            None if self.read.len() <= most => Ok(None),
            _ => Err(HoldError::TooLong(most)),
        }
    }

    fn fill(&mut self) -> Result<(), HoldError> {
        let mut chunk = [0; 4096];
        match self.input.read(&mut chunk) {
            Ok(0) => Err(HoldError::Ended),
            Ok(length) => {
                self.read.extend_from_slice(&chunk[..length]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Who is told that a run stands ready, and tells its moment.
pub struct Hold {
    lines: Lines,
    output: Box<dyn Write>,
}

impl Hold {
    /// The moment is to come from these lines, once `output` has the word.
    pub fn new(lines: Lines, output: Box<dyn Write>) -> Self {
        Hold { lines, output }
    }

    /// Says that it stands ready and waits for its moment; none when the peer says something first.
    pub(super) fn until_told(&mut self, peer: &TcpStream) -> Result<Option<Instant>, HoldError> {
        let word = serde_json::to_string(&Holding { holding: true }).map_err(io::Error::other)?;
        writeln!(self.output, "{word}")?;
        self.output.flush()?;
        let line = self.lines.next_unless(peer, Instant::now() + MOST_HELD)?;
        line.map(|line| {
            let start: StartAt =
                serde_json::from_str(&line).map_err(|error| HoldError::Garbage(error.to_string()))?;
            moment(start.start_at_monotonic_ns)
        })
        .transpose()
    }
}

/// The moment as this process counts; now, where it has passed.
fn moment(at_monotonic_ns: u64) -> Result<Instant, HoldError> {
    let ahead = Duration::from_nanos(at_monotonic_ns.saturating_sub(monotonic_ns()));
    if ahead > MOST_AHEAD {
        return Err(HoldError::TooFar { ahead_s: ahead.as_secs_f64() });
    }
    Ok(Instant::now() + ahead)
}

#[cfg(test)]
mod tests {
    use std::{io::PipeWriter, net::TcpListener, os::fd::OwnedFd};

    use super::*;

    /// Lines, who writes them, and both ends of a connection.
    fn ready() -> (Lines, PipeWriter, TcpStream, TcpStream) {
        let (input, output) = io::pipe().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Lines::of(OwnedFd::from(input).into()), output, listener.accept().unwrap().0, there)
    }

    fn told(writes: &[u8]) -> (Result<Option<Instant>, HoldError>, Vec<u8>) {
        let (lines, mut output, here, _there) = ready();
        output.write_all(writes).unwrap();
        drop(output);
        let (mut says, mut said) = (io::pipe().unwrap(), Vec::new());
        let told = Hold::new(lines, Box::new(says.1)).until_told(&here);
        says.0.read_to_end(&mut said).unwrap();
        (told, said)
    }

    fn start_at(at: u64) -> Vec<u8> {
        format!("{{\"start_at_monotonic_ns\":{at}}}\n").into_bytes()
    }

    #[test]
    fn a_moment_is_the_hosts_and_one_that_has_passed_is_now() {
        let before = Instant::now();
        let (told_past, said) = told(&start_at(1));
        let past = told_past.unwrap().unwrap();
        assert!(past >= before && past <= Instant::now());
        assert_eq!(said, b"{\"holding\":true}\n");
        let ahead = Duration::from_secs(30);
        let (told_ahead, _) = told(&start_at(monotonic_ns() + 30_000_000_000));
        let moment = told_ahead.unwrap().unwrap();
        assert!(moment >= before + ahead && moment <= Instant::now() + ahead);
    }

    #[test]
    fn what_names_no_moment_is_refused_by_name() {
        for (writes, cause) in [
            (b"".as_slice(), "ended before"),
            (b"{\"start_at_monotonic_ns\":1}", "ended before"),
            (b"{\"start_at_monotonic_ns\":-1}\n", "line 1 column"),
            (b"now\n", "start_at_monotonic_ns"),
            (&start_at(monotonic_ns() + 90_000_000_000), "s ahead, the most is 60 s"),
            (&start_at(u64::MAX), "s ahead"),
            (&[b' '; 5_000], "longer than 1024 bytes"),
        ] {
            let error = told(writes).0.unwrap_err().to_string();
            assert!(error.contains(cause), "{error}");
        }
    }

    #[test]
    fn a_peer_that_speaks_or_goes_ends_the_wait() {
        for speaks in [true, false] {
            let (lines, _output, here, mut there) = ready();
            if speaks {
                there.write_all(b"x").unwrap();
            }
            drop(there);
            assert_eq!(Hold::new(lines, Box::new(io::sink())).until_told(&here).unwrap(), None);
        }
    }

    #[test]
    fn silence_ends_at_its_deadline_and_lines_come_one_by_one() {
        let (mut lines, mut output, here, _there) = ready();
        output.write_all(b"first\nsecond\nthi").unwrap();
        assert_eq!(lines.next(100).unwrap(), "first");
        let soon = || Instant::now() + Duration::from_millis(5);
        assert_eq!(lines.next_unless(&here, soon()).unwrap().as_deref(), Some("second"));
        assert!(matches!(lines.next_unless(&here, soon()), Err(HoldError::Silence)));
        output.write_all(b"rd\n").unwrap();
        assert_eq!(lines.next_unless(&here, soon()).unwrap().as_deref(), Some("third"));
    }
}
