//! Wall-clock time, for names, time stamps and the days and hours of guards only.

use jiff::Timestamp;
use std::time::{Duration, SystemTime};
use unblink_core::time::Nanos;
use unblink_engine::clock::Clock;

/// RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(at: SystemTime) -> String {
    let at = Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Now, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    rfc3339(SystemTime::now())
}

/// Now.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}

/// Now, for what happens beside a load.
pub(crate) fn now_by_the_wall() -> SystemTime {
    SystemTime::now()
}

/// Now, as the name of a folder: sortable and without a colon.
pub(crate) fn folder_name() -> String {
    timestamp().strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

/// So long ago; before 1970 nothing was measured.
pub(crate) fn before(length: Nanos) -> Timestamp {
    let ago = timestamp().checked_sub(Duration::from_nanos(length.0));
    ago.ok().filter(|&at| at > Timestamp::UNIX_EPOCH).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A time of day that is set once and then never stepped, however the machine's clock is: for what machines tell each other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnTime {
    clock: Clock,
    began_ns: u64,
}

impl OwnTime {
    /// Set now.
    pub(crate) fn start() -> OwnTime {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        OwnTime { clock: Clock::start(), began_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// Goes on as one did that read so much more than this machine's monotonic clock.
    pub(crate) fn ahead_of_monotonic(ahead_ns: u64) -> OwnTime {
        let clock = Clock::start();
        OwnTime { clock, began_ns: ahead_ns + clock.origin_ns() }
    }

    /// What it reads less this machine's monotonic clock, which is the same for as long as the machine runs.
    pub(crate) fn less_monotonic_ns(&self) -> u64 {
        self.began_ns - self.clock.origin_ns()
    }

    /// Nanoseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        self.began_ns + self.clock.now().0
    }

    /// What the machine's clock will read when this one reads `time`, as it goes now.
    pub(crate) fn wall(&self, time: u64) -> SystemTime {
        let now = self.now();
        SystemTime::now() + Duration::from_nanos(time.saturating_sub(now))
            - Duration::from_nanos(now.saturating_sub(time))
    }

    /// A time that somebody else's clock of this kind read.
    pub(crate) fn told(time: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(time)
    }
}
