//! Integer time. A run's clock starts at 0; nothing here knows what time of day it is.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A duration in whole nanoseconds, 0 to about 584 years.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// A point on a run's own monotone clock, in nanoseconds since the clock's start.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(pub u64);

/// Nanoseconds in a second.
pub const SECOND_NS: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND_NS: u64 = 1_000_000;
/// Nanoseconds in a microsecond.
pub const MICROSECOND_NS: u64 = 1_000;

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);

    /// `s` whole seconds.
    pub const fn from_secs(s: u64) -> Nanos {
        Nanos(s * SECOND_NS)
    }

    /// `ms` whole milliseconds.
    pub const fn from_millis(ms: u64) -> Nanos {
        Nanos(ms * MILLISECOND_NS)
    }

    /// `us` whole microseconds.
    pub const fn from_micros(us: u64) -> Nanos {
        Nanos(us * MICROSECOND_NS)
    }

    /// Seconds as a float, for display and for rates only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / SECOND_NS as f64
    }
}

impl Instant {
    /// Time from `earlier` to `self`; zero when `earlier` is the later one.
    #[inline]
    pub fn since(self, earlier: Instant) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;
    #[inline]
    fn add(self, d: Nanos) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl Sub<Nanos> for Instant {
    type Output = Instant;
    #[inline]
    fn sub(self, d: Nanos) -> Instant {
        Instant(self.0.saturating_sub(d.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    #[inline]
    fn add(self, d: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, d: Nanos) {
        *self = *self + d;
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    #[inline]
    fn sub(self, d: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(d.0))
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}ns", self.0)
    }
}
