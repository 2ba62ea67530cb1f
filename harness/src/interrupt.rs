//! The wish to stop, raised by Ctrl-C or SIGTERM, and heard at once by whoever waits.
//!
//! Waiting costs no wake-ups: a harness that polls would disturb what is being measured beside it.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{RecvTimeoutError, channel},
    },
    time::Duration,
};

type Wake = Box<dyn Fn() + Send>;

#[derive(Default)]
struct State {
    raised: bool,
    wake: Option<Wake>,
}

/// A wish to stop; clones share it.
#[derive(Clone, Default)]
pub struct Interrupt(Arc<Mutex<State>>);

/// Ends the watch when dropped.
pub struct Watch<'i>(&'i Interrupt);

impl Interrupt {
    /// Asks to stop.
    pub fn raise(&self) {
        let mut state = self.state();
        state.raised = true;
        if let Some(wake) = &state.wake {
            wake();
        }
    }

    /// Whether someone asked.
    pub fn is_raised(&self) -> bool {
        self.state().raised
    }

    /// Has `wake` called when someone asks, at once if someone did already. One watch at a time.
    pub fn watch(&self, wake: impl Fn() + Send + 'static) -> Watch<'_> {
        let mut state = self.state();
        if state.raised {
            wake();
        }
        state.wake = Some(Box::new(wake));
        Watch(self)
    }

    /// Sleeps; false if it was cut short.
    pub fn sleep(&self, duration: Duration) -> bool {
        let (sender, receiver) = channel();
        let _watch = self.watch(move || {
            let _ = sender.send(()); // a sleeper that woke by itself listens no more
        });
        receiver.recv_timeout(duration) == Err(RecvTimeoutError::Timeout)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.0.state().wake = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_when_the_wish_is_raised() {
        let interrupt = Interrupt::default();
        let other = interrupt.clone();
        let raiser = std::thread::spawn(move || other.raise());
        assert!(!interrupt.sleep(Duration::from_secs(60)));
        assert!(interrupt.is_raised());
        assert!(!interrupt.sleep(Duration::from_secs(60)), "it stays raised");
        raiser.join().unwrap();
    }

    #[test]
    fn an_undisturbed_sleep_is_whole() {
        assert!(Interrupt::default().sleep(Duration::from_millis(1)));
    }
}
