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

/// A duration as the kernel takes it.
pub(crate) fn timespec(d: Nanos) -> rustix::time::Timespec {
    rustix::time::Timespec { tv_sec: (d.0 / 1_000_000_000) as i64, tv_nsec: (d.0 % 1_000_000_000) as _ }
}
