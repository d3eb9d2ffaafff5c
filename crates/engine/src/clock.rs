//! The only place that asks the operating system what time it is.

use unblink_core::time::{Instant, Nanos};

/// A time of day, for names and time stamps only.
pub type WallTime = std::time::SystemTime;

/// A monotone clock that starts at 0. Copies agree with each other. Reading it costs about 20 ns.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: std::time::Instant,
}

impl Clock {
    /// A clock that reads 0 now.
    pub fn start() -> Clock {
        Clock { origin: std::time::Instant::now() }
    }

    /// Time since the start.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant(self.origin.elapsed().as_nanos() as u64)
    }

    /// The wall-clock time at `at`.
    pub fn wall(&self, at: Instant) -> WallTime {
        let (now, wall) = (self.now(), WallTime::now());
        wall + std::time::Duration::from_nanos(at.since(now).0)
            - std::time::Duration::from_nanos(now.since(at).0)
    }

    /// What `CLOCK_MONOTONIC` will read when this clock reads `at`, for timers with absolute deadlines.
    pub fn monotonic(&self, at: Instant) -> rustix::time::Timespec {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let ahead = at.since(self.now());
        let nanos = now.tv_nsec as u64 + ahead.0;
        rustix::time::Timespec {
            tv_sec: now.tv_sec + (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as _,
        }
    }
}

/// From this length on a stretch between two looks at the clock counts as a pause of our own. Reading one
/// socket or sending one request takes far less.
pub(crate) const PAUSE_FROM: Nanos = Nanos::from_millis(1);

/// A worker's clock that notices when the worker was away: each look notes the time since the last one,
/// unless waiting was what the worker was asked to do.
pub(crate) struct Watch {
    clock: Clock,
    last: Instant,
    pauses: Pauses,
}

/// Stretches in which a worker was away though it was not asked to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pauses {
    /// The longest.
    pub(crate) longest: Nanos,
    /// All that were at least [`PAUSE_FROM`] long, together.
    pub(crate) sum: Nanos,
}

impl Watch {
    pub(crate) fn new(clock: Clock) -> Watch {
        Watch { clock, last: clock.now(), pauses: Pauses::default() }
    }

    /// The time now; the worker was not asked to wait since the last look.
    #[inline]
    pub(crate) fn now(&mut self) -> Instant {
        let now = self.clock.now();
        self.note(now.since(self.last));
        self.last = now;
        now
    }

    /// The time now, after a wait that was to end at `until` at the latest.
    pub(crate) fn now_after_wait(&mut self, until: Instant) -> Instant {
        let now = self.clock.now();
        self.note(now.since(until.max(self.last)));
        self.last = now;
        now
    }

    /// The clock, for what is not the worker's own time.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Pauses since the last call.
    pub(crate) fn take_pauses(&mut self) -> Pauses {
        std::mem::take(&mut self.pauses)
    }

    #[inline]
    fn note(&mut self, away: Nanos) {
        if away >= PAUSE_FROM {
            self.pauses.sum += away;
        }
        self.pauses.longest = self.pauses.longest.max(away);
    }
}

/// A duration as the kernel takes it.
pub(crate) fn timespec(d: Nanos) -> rustix::time::Timespec {
    rustix::time::Timespec { tv_sec: (d.0 / 1_000_000_000) as i64, tv_nsec: (d.0 % 1_000_000_000) as _ }
}
