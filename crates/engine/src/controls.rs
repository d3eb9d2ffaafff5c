//! Ending a run early.

use crate::clock::Clock;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use unblink_core::time::{Instant, Nanos};

/// The time between the user's wish to stop and the end of the schedule. By then every worker has heard of it.
const STOP_LEAD: Nanos = Nanos::from_millis(20);
/// Where nobody leads the run, there is no lease.
const NO_LEASE: u64 = u64::MAX;
/// What workers read of a lease that has ended: every moment lies behind it.
const ENDED: u64 = 0;

/// Ends a run early, from any thread.
#[derive(Debug)]
pub struct Controls {
    clock: Clock,
    stop_at: AtomicU64,
    aborted: AtomicBool,
    /// Nothing is sent from then on, in ns by the clock; [`NO_LEASE`] or [`ENDED`].
    lease: AtomicU64,
    /// Held by whoever changes the lease: where the load ended with it.
    lease_ended: Mutex<Option<Instant>>,
    /// By worker.
    looked: Box<[Looked]>,
    wakers: Vec<OwnedFd>,
}

/// When a worker of a run with a lease looked at the schedule last. It has taken note of what fell due until then, and of
/// nothing after that.
#[derive(Debug, Default)]
#[repr(align(64))] // each is written all the time, by one worker
struct Looked(AtomicU64);

impl Controls {
    /// Controls for `workers` workers, which measure time by `clock`.
    pub(crate) fn new(clock: Clock, workers: usize) -> Result<Controls, Errno> {
        let wakers = (0..workers).map(|_| eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC));
        let (stop_at, aborted) = (AtomicU64::new(u64::MAX), AtomicBool::new(false));
        let looked = (0..workers).map(|_| Looked::default()).collect();
        let (lease, lease_ended) = (AtomicU64::new(NO_LEASE), Mutex::default());
        let wakers = wakers.collect::<Result<_, _>>()?;
        Ok(Controls { clock, stop_at, aborted, lease, lease_ended, looked, wakers })
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

    /// Lets nothing fall due at all. No worker has been told of the `start` yet, which has passed.
    pub(crate) fn withhold_all(&self, start: Instant) {
        self.stop_at.fetch_min(start.0, Ordering::Relaxed);
    }

    /// Ends the run at once and keeps what was recorded.
    pub fn abort(&self) {
        self.stop();
        // A thread that sees this flag sees the stop too.
        self.aborted.store(true, Ordering::Release);
        self.wake();
    }

    /// The run has a lease: nothing is sent from `at` on, unless a later end of it is told before anybody finds it ended.
    /// An earlier one changes nothing.
    pub fn lease_until(&self, at: Instant) {
        let ended = self.lock_lease();
        if ended.is_some() {
            return;
        }
        let before = self.lease.load(Ordering::Relaxed);
        let until = if before == NO_LEASE { at.0 } else { at.0.max(before) };
        self.lease.store(until.max(ENDED + 1), Ordering::SeqCst);
        if before == NO_LEASE {
            // Until now nobody noted when they looked, and some may hear of the lease a moment later.
            let now = (self.clock.now() + STOP_LEAD).0;
            for looked in &self.looked {
                looked.0.fetch_max(now, Ordering::SeqCst);
            }
        }
    }

    /// Nothing is sent from now on: the lease has ended.
    pub fn end_lease(&self) {
        self.end_lease_as(&mut self.lock_lease());
    }

    /// Where the load ended with the lease, once that has ended.
    pub(crate) fn lease_ended(&self) -> Option<Instant> {
        *self.lock_lease()
    }

    /// Whether a worker may look at the schedule at `now`, which it has just read: the lease, if there is one, has not ended.
    /// Else a stop is known that lies behind all that any worker has taken note of.
    #[inline]
    pub(crate) fn may_look(&self, worker: usize, now: Instant) -> bool {
        self.lease.load(Ordering::Relaxed) == NO_LEASE || self.looks(worker, now)
    }

    /// Whether what a worker has taken note of may be sent at `now`.
    #[inline]
    pub(crate) fn may_send(&self, now: Instant) -> bool {
        now.0 < self.lease.load(Ordering::Relaxed) || !self.finds_ended(now)
    }

    /// Whether something may be asked now beside the load, on its behalf. Nothing is after a stop, unless requests `follow` answers and
    /// so go on until they are cut off; and nothing at all is without a lease.
    pub fn may_ask(&self, follow: bool) -> bool {
        let now = self.clock.now();
        let is_stopped = self.stop_at().is_some_and(|at| at <= now) && !follow;
        !is_stopped && !self.is_aborted() && self.may_send(now)
    }

    fn looks(&self, worker: usize, now: Instant) -> bool {
        loop {
            if now.0 < self.lease.load(Ordering::Relaxed) {
                // In this order, and whoever ends the lease does it in the other one: either this worker sees the end, or
                // its look is seen.
                let looked = &self.looked[worker].0;
                if looked.load(Ordering::Relaxed) < now.0 {
                    looked.store(now.0, Ordering::SeqCst);
                }
                if self.lease.load(Ordering::SeqCst) != ENDED {
                    return true;
                }
            }
            if self.finds_ended(now) {
                return false;
            }
        }
    }

    /// Ends the lease if that is over at `now`. A process that was stopped does this before it sends anything.
    #[cold]
    fn finds_ended(&self, now: Instant) -> bool {
        let mut ended = self.lock_lease();
        if now.0 < self.lease.load(Ordering::Relaxed) {
            return false;
        }
        self.end_lease_as(&mut ended);
        true
    }

    /// What fell due since the workers looked last was sent by nobody, and counts as what falls due later.
    fn end_lease_as(&self, ended: &mut Option<Instant>) {
        if ended.is_some() {
            return;
        }
        self.lease.store(ENDED, Ordering::SeqCst);
        let looked = self.looked.iter().map(|looked| looked.0.load(Ordering::SeqCst));
        let at = looked.max().unwrap_or_default() + 1;
        *ended = Some(Instant(at));
        self.stop_at.fetch_min(at, Ordering::Relaxed);
        self.wake();
    }

    fn lock_lease(&self) -> MutexGuard<'_, Option<Instant>> {
        self.lease_ended.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn led() -> Controls {
        let controls = Controls::new(Clock::start(), 2).expect("two wakers");
        controls.lease_until(Instant(5 * SECOND));
        controls
    }

    #[test]
    fn nobody_sends_after_the_lease_and_the_load_ended_where_the_last_one_looked() {
        let controls = led();
        assert!(controls.may_look(0, Instant(3 * SECOND)) && controls.may_look(1, Instant(2 * SECOND)));
        assert!(controls.may_send(Instant(5 * SECOND - 1)));
        // It stood still until then.
        assert!(!controls.may_send(Instant(15 * SECOND)));
        assert_eq!(controls.stop_at(), Some(Instant(3 * SECOND + 1)));
        assert_eq!(controls.lease_ended(), controls.stop_at());
        // Over is over, whatever the time was when the other one read it.
        assert!(!controls.may_look(1, Instant(4 * SECOND)) && !controls.may_send(Instant(4 * SECOND)));
        controls.lease_until(Instant(60 * SECOND));
        assert!(!controls.may_look(0, Instant(16 * SECOND)));
        assert_eq!(controls.stop_at(), Some(Instant(3 * SECOND + 1)));
    }

    #[test]
    fn a_word_moves_the_end_of_the_lease_and_an_older_one_does_not() {
        let controls = led();
        controls.lease_until(Instant(9 * SECOND));
        controls.lease_until(Instant(6 * SECOND));
        assert!(controls.may_look(0, Instant(8 * SECOND)) && controls.may_send(Instant(8 * SECOND)));
        controls.end_lease();
        assert!(!controls.may_look(0, Instant(8 * SECOND)) && !controls.may_look(1, Instant(1)));
        assert_eq!(controls.stop_at(), Some(Instant(8 * SECOND + 1)));
    }

    #[test]
    fn an_earlier_stop_stays_where_it_is() {
        let controls = led();
        controls.stop_from(Instant(2 * SECOND));
        assert!(controls.may_look(0, Instant(3 * SECOND)) && !controls.may_look(0, Instant(5 * SECOND)));
        assert_eq!(controls.stop_at(), Some(Instant(2 * SECOND)));
        assert_eq!(controls.lease_ended(), Some(Instant(3 * SECOND + 1)));
    }

    #[test]
    fn what_is_asked_beside_a_load_ends_with_it() {
        let controls = Controls::new(Clock::start(), 1).expect("a waker");
        assert!(controls.may_ask(false) && controls.may_ask(true));
        controls.stop_from(Instant(u64::MAX - 1));
        assert!(controls.may_ask(false), "it is ahead");
        controls.withhold_all(Instant(0));
        assert!(!controls.may_ask(false) && controls.may_ask(true), "steps of journeys go on");
        controls.abort();
        assert!(!controls.may_ask(true));
        let led = led();
        assert!(led.may_ask(true));
        led.end_lease();
        assert!(!led.may_ask(true));
        // Nobody has found it ended yet.
        let led = Controls::new(Clock::start(), 1).expect("a waker");
        led.lease_until(Instant(0));
        assert!(!led.may_ask(true));
    }

    #[test]
    fn without_a_lease_nothing_is_noted() {
        let controls = Controls::new(Clock::start(), 1).expect("a waker");
        assert!(controls.may_look(0, Instant(u64::MAX - 1)) && controls.may_send(Instant(u64::MAX - 1)));
        assert_eq!((controls.looked[0].0.load(Ordering::SeqCst), controls.stop_at()), (0, None));
    }
}
