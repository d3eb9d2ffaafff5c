//! Waiting until a moment, or until a socket has something to say, whichever is first.
//!
//! A relative epoll timeout wakes 0.1 % late (a second wakes 1.1 ms late), so long waits use a timer with
//! an absolute deadline, short ones the timeout, and the last stretch is spun: each round polls the
//! sockets too, so that answers are not kept waiting.

use crate::clock::{Clock, Pauses, Watch, timespec};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::num::NonZeroU64;
use unblink_core::time::{Instant, Nanos};

/// The last stretch before a deadline is spun.
const SPIN: Nanos = Nanos::from_micros(40);
/// From this length on a timer with an absolute deadline is armed.
const TIMER_FROM: Nanos = Nanos::from_millis(5);
/// Sockets that one wait reports at the most.
const EVENTS_MAX: usize = 256;

/// The token of the timer; sockets use (generation, slot).
pub(crate) const TIMER_TOKEN: u64 = u64::MAX;
/// The token by which the control thread wakes a worker.
pub(crate) const CONTROL_TOKEN: u64 = u64::MAX - 1;

/// Waits on one epoll instance.
pub(crate) struct Pacer {
    watch: Watch,
    epoll: OwnedFd,
    timer: OwnedFd,
    events: Vec<epoll::Event>,
    /// Time spent waiting since it was last asked for.
    waited: Nanos,
}

impl Pacer {
    /// A pacer for the calling thread, whose timer slack it sets to 1 ns.
    pub(crate) fn new(clock: Clock) -> Result<Pacer, Errno> {
        // Not allowed in some containers; a later wake-up is then seen as the generator's lateness.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let data = epoll::EventData::new_u64(TIMER_TOKEN);
        epoll::add(&epoll, &timer, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        Ok(Pacer {
            watch: Watch::new(clock),
            epoll,
            timer,
            events: Vec::with_capacity(EVENTS_MAX),
            waited: Nanos::ZERO,
        })
    }

    /// Where sockets are registered.
    pub(crate) fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    /// What the last wait reported: (token, flags).
    pub(crate) fn event(&self, i: usize) -> Option<(u64, epoll::EventFlags)> {
        self.events.get(i).map(|e| (e.data.u64(), e.flags))
    }

    /// The worker's clock.
    pub(crate) fn watch(&mut self) -> &mut Watch {
        &mut self.watch
    }

    /// Own pauses and time spent waiting, since the last call.
    pub(crate) fn take_figures(&mut self) -> (Pauses, Nanos) {
        (self.watch.take_pauses(), std::mem::take(&mut self.waited))
    }

    /// Waits until `wake` or until a socket is ready. Returns the time afterwards.
    pub(crate) fn wait(&mut self, wake: Instant) -> Instant {
        self.events.clear();
        let now = self.watch.now();
        if wake <= now {
            self.poll(Some(Nanos::ZERO));
            return self.watch.now();
        }
        let after = self.wait_until(now, wake);
        self.waited += after.since(now);
        after
    }

    fn wait_until(&mut self, mut now: Instant, wake: Instant) -> Instant {
        while now < wake && self.events.is_empty() {
            let ahead = wake.since(now);
            now = if ahead > SPIN {
                // A signal, or the timer of an earlier wait, may end this one before its time: then the
                // loop sleeps again.
                self.sleep(ahead - SPIN, wake - SPIN);
                self.watch.now_after_wait(wake)
            } else {
                self.poll(Some(Nanos::ZERO));
                self.watch.now()
            };
        }
        now
    }

    fn sleep(&mut self, ahead: Nanos, until: Instant) {
        if ahead < TIMER_FROM || self.arm(until).is_err() {
            self.poll(Some(ahead));
        } else {
            self.poll(None);
        }
    }

    fn poll(&mut self, timeout: Option<Nanos>) {
        self.events.clear();
        let timeout = timeout.map(timespec);
        // EINTR is a wake-up like any other: the caller looks at the clock.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout.as_ref());
        self.events.retain(|e| e.data.u64() != TIMER_TOKEN);
    }

    fn arm(&mut self, at: Instant) -> Result<(), Errno> {
        let setting = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: self.watch.clock().monotonic(at),
        };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting).map(|_| ())
    }
}
