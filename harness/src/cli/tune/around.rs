//! Runs a command while a host is tuned, to its end or until someone asks to stop; never longer, and never in a signal handler.

use std::{
    process::Command,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow};
use rdma_harness::{interrupt::Interrupt, tuning::Applied};
use rustix::process::{Pid, Signal, kill_process};

/// How long a command may take to end once it was asked to; then it is killed, for the host has to be turned back.
const GRACE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Waits until someone asks to stop.
pub(super) fn hold(interrupt: &Interrupt) {
    while interrupt.sleep(Duration::from_secs(3600)) {}
}

/// Runs a command; an error if it can't be started or does not end well.
pub(super) fn run(command: &[String], applied: &Applied, interrupt: &Interrupt) -> anyhow::Result<()> {
    let (program, arguments) = command.split_first().context("a command has a program")?;
    let started = applied.start_within(|| Command::new(program).args(arguments).spawn());
    let mut child = started.with_context(|| format!("starting {program}"))?;
    let (ended, wait) = channel();
    let asked = ended.clone();
    let pid = child.id();
    let _watch = interrupt.watch(move || {
        let _ = asked.send(true); // the command has ended, and nobody waits
    });
    let waiter = thread::spawn(move || {
        let status = child.wait();
        let _ = ended.send(false); // nobody listens any more if it was killed
        status
    });
    if wait.recv() == Ok(true) {
        end(pid, &wait);
    }
    let status = waiter.join().map_err(|_| anyhow!("waiting for {program} failed"))??;
    if status.success() { Ok(()) } else { Err(anyhow!("{program}: {status}; the host was turned back")) }
}

/// Asks a command to end, and ends it after a while.
fn end(pid: u32, wait: &Receiver<bool>) {
    let signal = |signal| {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal); // it may have ended by itself
        }
    };
    signal(Signal::TERM);
    let until = Instant::now() + GRACE;
    loop {
        match wait.recv_timeout(LOOK_EVERY) {
            Ok(false) | Err(RecvTimeoutError::Disconnected) => return,
            _ if Instant::now() > until => break,
            _ => {}
        }
    }
    signal(Signal::KILL);
}
