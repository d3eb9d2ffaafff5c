//! Waits until a given moment or until a socket is ready, whichever comes first.
//!
//! A relative epoll timeout wakes 0.1 % late (a second wakes 1.1 ms late). Long waits therefore use a timer with an
//! absolute deadline, and short ones use the timeout. The last stretch is spun. Each round of the spin polls the
//! sockets too, so that answers are not kept waiting. The length of that stretch follows from how late wake-ups have
//! been; [`Pacing`] says how much of it is worth its cost. Only its very end goes
//! by without a look at the sockets. When answers come in quick succession, sleeping between
//! them costs both sides more than polling does: see [`Linger`].

use crate::clock::{Clock, Pauses, Watch, timespec};
use crate::pacing::{Linger, Pacing, SpinWindow};
use crate::priority::{Priority, RealTime};
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::num::NonZeroU64;
use unblink_core::dispatch::LOOK_EVERY;
use unblink_core::time::{Instant, Nanos};

/// Waits of at least this length use a timer with an absolute deadline.
const TIMER_FROM: Nanos = Nanos::from_millis(5);
/// A wait ends by so much sooner when it has slept: the worker then takes a turn in which nothing is due. What it needs
/// for the next one has been forgotten by the processor's caches meanwhile, and costs microseconds to read again.
const WARM_UP: Nanos = Nanos::from_micros(5);
/// Sockets are not polled any more when less than this is left: that takes a few hundred nanoseconds, and what falls due meanwhile
/// would wait for its end.
const LAST_LOOK: Nanos = Nanos(400);
/// The most sockets that one wait reports.
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
    /// When the timer goes off, while it is set.
    timer_at: Option<Instant>,
    pacing: Pacing,
    spin: SpinWindow,
    real_time: RealTime,
    /// Whether the kernel has `epoll_pwait2` (Linux 5.11) and nothing keeps us from using it.
    has_fine_timeouts: bool,
    linger: Linger,
    events: Vec<epoll::Event>,
    /// Time spent waiting since the last call of [`Pacer::take_figures`].
    waited: Nanos,
}

impl Pacer {
    /// A pacer for the calling thread, whose timer slack it sets to 1 ns.
    pub(crate) fn new(clock: Clock, pacing: Pacing) -> Result<Pacer, Errno> {
        // Some containers don't allow this. Later wake-ups then count as the generator's lateness.
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
            timer_at: None,
            pacing,
            spin: SpinWindow::new(pacing),
            real_time: RealTime::not_asked_for(),
            has_fine_timeouts: true,
            linger: Linger::new(pacing),
            events: Vec::with_capacity(EVENTS_MAX),
            waited: Nanos::ZERO,
        })
    }

    /// The load is about to begin. From now on, lateness matters.
    pub(crate) fn begin(&mut self) {
        if self.pacing == Pacing::Precise {
            self.real_time = RealTime::ask_for(self.watch.now());
        }
    }

    /// The priority at which the thread ran.
    pub(crate) fn priority(&self) -> Priority {
        self.real_time.priority()
    }

    /// Where sockets are registered.
    pub(crate) fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    /// What the last wait reported: (token, flags). It may include the timer's own event.
    #[inline]
    pub(crate) fn event(&self, i: usize) -> Option<(u64, epoll::EventFlags)> {
        self.events.get(i).map(|e| (e.data.u64(), e.flags))
    }

    /// The worker's clock.
    #[inline]
    pub(crate) fn watch(&mut self) -> &mut Watch {
        &mut self.watch
    }

    /// The worker's own pauses and the time spent waiting, since the last call.
    pub(crate) fn take_figures(&mut self) -> (Pauses, Nanos) {
        (self.watch.take_pauses(), std::mem::take(&mut self.waited))
    }

    /// Waits until `wake` or until a socket is ready, or until it has slept and is about to spin. The worker has just looked at its clock and may be awaiting
    /// answers. Returns the time afterwards.
    pub(crate) fn wait(&mut self, wake: Instant, awaits_answers: bool) -> Instant {
        let now = self.watch.last();
        self.watch.looks_at_sockets();
        if wake <= now {
            self.poll(Patience::None);
            let after = self.watch.now();
            self.real_time.note(after, Nanos::ZERO);
            return after;
        }
        let after = self.wait_until(now, wake, awaits_answers);
        self.waited += after.since(now);
        after
    }

    fn wait_until(&mut self, mut now: Instant, wake: Instant, awaits_answers: bool) -> Instant {
        self.events.clear();
        while now < wake && self.events.is_empty() {
            let ahead = wake.since(now);
            let spin = self.spin.length();
            if ahead > spin {
                // A signal, or the timer of an earlier wait, may end this sleep too early. The loop then sleeps
                // again.
                let until = wake - spin;
                if awaits_answers && self.linger.pays() {
                    let after = self.poll_until(until.min(now + self.linger.length()));
                    self.linger.polled(after.since(now), !self.events.is_empty());
                    now = after;
                    continue;
                }
                let look = if awaits_answers { until.min(now + LOOK_EVERY) } else { until };
                self.sleep(now, look);
                let after = self.watch.now_after_wait(if look < until { look } else { wake });
                self.real_time.note(after, after.since(now));
                self.linger.slept(after.since(now), awaits_answers, !self.events.is_empty());
                if self.events.is_empty() && after >= until {
                    self.spin.learn(after.since(until));
                    if after + WARM_UP <= wake {
                        return after;
                    }
                }
                now = after;
            } else {
                if ahead >= LAST_LOOK {
                    self.poll(Patience::None);
                }
                now = self.watch.now();
                self.real_time.note(now, Nanos::ZERO);
            }
        }
        now
    }

    /// Polls until a socket is ready, or until `end`.
    fn poll_until(&mut self, end: Instant) -> Instant {
        loop {
            self.poll(Patience::None);
            let now = self.watch.now();
            self.real_time.note(now, Nanos::ZERO);
            if now >= end || !self.events.is_empty() {
                return now;
            }
        }
    }

    fn sleep(&mut self, now: Instant, until: Instant) {
        let ahead = until.since(now);
        if (ahead >= TIMER_FROM || !self.has_fine_timeouts) && self.arm(now, until).is_ok() {
            return self.poll(Patience::Endless);
        }
        self.events.clear();
        let timeout = timespec(ahead);
        let waited = epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout));
        self.has_fine_timeouts &= waited != Err(Errno::NOSYS);
        self.drop_timer_alone();
    }

    fn poll(&mut self, patience: Patience) {
        // EINTR is a wake-up like any other, since the caller looks at the clock.
        let _ = wait_coarsely(&self.epoll, &mut self.events, patience);
        self.drop_timer_alone();
    }

    /// The timer's event only ends a wait. If it came alone, it is dropped.
    fn drop_timer_alone(&mut self) {
        if let [only] = self.events.as_slice()
            && only.data.u64() == TIMER_TOKEN
        {
            self.events.clear();
        }
    }

    /// Makes sure that the timer ends a wait at `at` at the latest. A timer set to an earlier time is left alone.
    /// Otherwise a loop whose sockets wake it thousands of times a second would set the timer each time.
    fn arm(&mut self, now: Instant, at: Instant) -> Result<(), Errno> {
        if self.timer_at.is_some_and(|set| now < set && set <= at) {
            return Ok(());
        }
        let setting = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: self.watch.clock().monotonic(at),
        };
        self.timer_at = None;
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &setting)?;
        self.timer_at = Some(at);
        Ok(())
    }
}

/// How long to wait if it is not a matter of milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Patience {
    None,
    Endless,
}

/// Calls `epoll_wait`, which costs the kernel less than `epoll_pwait2`: it has no time and no signal mask to copy.
#[allow(unsafe_code)] // rustix has the other one alone.
fn wait_coarsely(epoll: &OwnedFd, events: &mut Vec<epoll::Event>, patience: Patience) -> Result<(), Errno> {
    const { assert!(size_of::<epoll::Event>() == size_of::<libc::epoll_event>()) };
    let timeout = if patience == Patience::None { 0 } else { -1 };
    events.clear();
    let room = i32::try_from(events.capacity()).unwrap_or(i32::MAX);
    // SAFETY: the descriptor is open, and the buffer has room for as many events as the call is told. Both event
    // types are the kernel's own `struct epoll_event`.
    let n = unsafe { libc::epoll_wait(epoll.as_raw_fd(), events.as_mut_ptr().cast(), room, timeout) };
    let n = usize::try_from(n).map_err(|_| Errno::INTR)?;
    // SAFETY: the kernel has filled the first `n` events, and `n` is at most the capacity.
    unsafe { events.set_len(n) };
    Ok(())
}
