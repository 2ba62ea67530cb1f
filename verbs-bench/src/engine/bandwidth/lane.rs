//! One QP as the bandwidth loop sees it: its window, the stamps of what is in flight, and its list of work requests.

use schema::RunSpec;

use super::{stamps::Stamps, window::Window};
use crate::engine::post::Poster;

/// One QP.
pub struct Lane<P> {
    /// What may be posted.
    pub window: Window,
    /// When what is in flight was posted.
    pub stamps: Stamps,
    poster: P,
}

impl<P: Poster> Lane<P> {
    /// A lane whose poster has lists of `spec.post_list`.
    pub fn new(poster: P, spec: &RunSpec) -> Self {
        Lane { window: Window::new(spec), stamps: Stamps::new(spec.tx_depth), poster }
    }

    /// Posts whole lists while they fit, `most` of them at most (one at least), all with one stamp, and adds their signals to
    /// `owed`; 0 or an errno.
    #[inline(always)]
    pub fn post_burst(&mut self, tick: u64, most: u64, owed: &mut u64) -> i32 {
        let mut left = most;
        let mut signals = 0;
        loop {
            let taken = self.window.take_list();
            signals += taken.count;
            let errno = self.poster.post(taken);
            if errno != 0 {
                return errno;
            }
            left -= 1;
            if left == 0 || !self.window.has_room() {
                break;
            }
        }
        if signals > 0 {
            self.stamps.push(tick, signals);
            *owed += signals;
        }
        0
    }

    /// Posts what is left of the budget, a list at most, and adds its signals to `owed`; 0 or an errno.
    #[cold]
    #[inline(never)]
    pub fn post_last(&mut self, tick: u64, owed: &mut u64) -> i32 {
        let (length, signals) = self.window.take_last();
        *owed += signals.count;
        self.stamps.push(tick, signals.count);
        self.poster.post_last(length, signals)
    }
}
