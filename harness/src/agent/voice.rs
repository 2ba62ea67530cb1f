//! What one end of a link says: a thread writes it, so that neither end is held up by one that does not read, and says a sign of
//! life whenever nothing else was said for long.

use std::{
    io::Write,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use serde::Serialize;

use super::wire::send;

/// Signs of life within a silence that the other end bears, so that a lost packet is none.
const SIGNS: u32 = 6;

/// What the thread that writes is told.
enum Post<M> {
    Message(Box<M>),
    /// To say that this end is still there whenever nothing else was said for so long.
    SignEvery(Duration),
    /// To end; whoever waits for it holds the other end of this.
    End(Sender<()>),
}

/// Says messages on a link, one whole line after the other, whoever says them. With the last of its clones it ends.
#[derive(Debug)]
pub(super) struct Voice<M>(Sender<Post<M>>);

impl<M> Clone for Voice<M> {
    fn clone(&self) -> Self {
        Voice(self.0.clone())
    }
}

impl<M: Serialize + Send + 'static> Voice<M> {
    /// Starts to speak; `sign` is the sign of life, and `broken` is called when nobody can hear any more.
    pub(super) fn start(
        output: impl Write + Send + 'static,
        sign: M,
        broken: impl FnOnce() + Send + 'static,
    ) -> Voice<M> {
        let (voice, posted) = channel();
        thread::spawn(move || write(output, &posted, &sign, broken));
        Voice(voice)
    }

    /// Says a message, after those that were said before.
    pub(super) fn say(&self, message: M) {
        self.post(Post::Message(Box::new(message)));
    }

    /// From now on says that this end is there, often enough for another that bears this silence.
    pub(super) fn keep_alive(&self, silence: Duration) {
        self.post(Post::SignEvery(silence / SIGNS));
    }

    /// Ends with what was said by now, and waits until that is written, but no longer than `patience`.
    pub(super) fn end(&self, patience: Duration) {
        let (ends, ended) = channel();
        self.post(Post::End(ends));
        let _ = ended.recv_timeout(patience); // who does not read by then does not get it
    }

    fn post(&self, post: Post<M>) {
        let _ = self.0.send(post); // that the link is broken was told already
    }
}

fn write<M: Serialize>(mut output: impl Write, posted: &Receiver<Post<M>>, sign: &M, broken: impl FnOnce()) {
    let mut every = None;
    loop {
        let post = match every {
            Some(pause) => posted.recv_timeout(pause),
            None => posted.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let sent = match post {
            Ok(Post::Message(message)) => send(&mut output, &*message),
            Ok(Post::SignEvery(pause)) => {
                every = Some(pause);
                Ok(())
            }
            Err(RecvTimeoutError::Timeout) => send(&mut output, sign),
            Ok(Post::End(ended)) => {
                let _ = ended.send(()); // nobody waits any longer
                return;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if sent.is_err() {
            return broken();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, BufRead as _, BufReader},
        time::Instant,
    };

    use super::*;

    #[test]
    fn many_speak_in_whole_lines_and_the_end_comes_after_them() {
        let (reader, output) = io::pipe().unwrap();
        let voice = Voice::start(output, String::new(), || ());
        voice.keep_alive(Duration::from_micros(600));
        let speakers: Vec<_> = (0..8)
            .map(|speaker| {
                let voice = voice.clone();
                thread::spawn(move || {
                    (0..50).for_each(|_| voice.say(format!("{speaker}").repeat(9_000)));
                })
            })
            .collect();
        let lines = thread::spawn(move || BufReader::new(reader).lines().collect::<Result<Vec<_>, _>>());
        speakers.into_iter().for_each(|speaker| speaker.join().unwrap());
        voice.end(Duration::from_secs(60));
        let lines = lines.join().unwrap().unwrap();
        let said: Vec<&String> = lines.iter().filter(|line| *line != "\"\"").collect();
        assert_eq!(said.len(), 8 * 50);
        for line in said {
            let letters = &line[1..line.len() - 1];
            assert!(letters.len() == 9_000 && letters.bytes().all(|byte| byte == letters.as_bytes()[0]));
        }
    }

    #[test]
    fn a_broken_link_is_told_and_one_that_is_not_read_holds_nobody_up() {
        let (reader, output) = io::pipe().unwrap();
        let (tell, told) = channel();
        let voice = Voice::start(output, (), move || tell.send(()).unwrap());
        drop(reader);
        voice.say(());
        assert_eq!(told.recv(), Ok(()));
        let (_reader, output) = io::pipe().unwrap();
        let voice = Voice::start(output, String::new(), || ());
        (0..20_000).for_each(|_| voice.say("x".repeat(100)));
        let asked = Instant::now();
        voice.end(Duration::from_millis(20));
        assert!(asked.elapsed() < Duration::from_secs(30));
    }
}
