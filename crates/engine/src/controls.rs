//! Ending a run early.

use crate::clock::Clock;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use unblink_core::time::{Instant, Nanos};

/// The time between the user's wish to stop and the end of the schedule. By then every worker has heard of it.
const STOP_LEAD: Nanos = Nanos::from_millis(20);

/// Ends a run early, from any thread.
#[derive(Debug)]
pub struct Controls {
    clock: Clock,
    stop_at: AtomicU64,
    aborted: AtomicBool,
    wakers: Vec<OwnedFd>,
}

impl Controls {
    /// Controls for `workers` workers, which measure time by `clock`.
    pub(crate) fn new(clock: Clock, workers: usize) -> Result<Controls, Errno> {
        let wakers = (0..workers).map(|_| eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC));
        let (stop_at, aborted) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        Ok(Controls { clock, stop_at, aborted, wakers: wakers.collect::<Result<_, _>>()? })
    }

    /// Lets nothing fall due from now on. What is under way is waited for. True unless the run had already been
    /// stopped.
    pub fn stop(&self) -> bool {
        self.stop_from(Instant(0))
    }

    /// Like [`Controls::stop`], but from `at` on if that is still ahead. True unless an equal or earlier stop was
    /// known before.
    pub fn stop_from(&self, at: Instant) -> bool {
        let at = (self.clock.now() + STOP_LEAD).0.max(at.0);
        let is_first = self.stop_at.fetch_min(at, Ordering::Relaxed) > at;
        self.wake();
        is_first
    }

    /// Ends the run at once and keeps what was recorded.
    pub fn abort(&self) {
        self.stop();
        // A thread that sees this flag sees the stop too.
        self.aborted.store(true, Ordering::Release);
        self.wake();
    }

    #[inline]
    pub(crate) fn stop_at(&self) -> Option<Instant> {
        match self.stop_at.load(Ordering::Relaxed) {
            u64::MAX => None,
            at => Some(Instant(at)),
        }
    }

    #[inline]
    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }

    pub(crate) fn wake_fd(&self, worker: usize) -> &OwnedFd {
        &self.wakers[worker]
    }

    fn wake(&self) {
        for waker in &self.wakers {
            let _ = rustix::io::write(waker, &1u64.to_ne_bytes());
        }
    }
}
