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

    /// What this machine's monotonic clock reads when this one reads `time`, in ns: the wall clock has no part in it.
    pub(crate) fn monotonic_ns(&self, time: u64) -> u64 {
        time.saturating_sub(self.less_monotonic_ns())
    }

    /// A time that somebody else's clock of this kind read.
    pub(crate) fn told(time: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An agent is told of its start by a time of day that was set once. However its machine's clock is stepped after that, and
    /// however wrong it was at that moment, the start lies as far ahead by the monotonic clock.
    #[test]
    fn a_step_of_the_wall_clock_moves_no_start() {
        const HOUR_NS: u64 = 3_600_000_000_000;
        let true_ns = OwnTime::start().less_monotonic_ns();
        for ahead_ns in [true_ns, true_ns + 5 * HOUR_NS, true_ns - 5 * HOUR_NS, 0] {
            let time = OwnTime::ahead_of_monotonic(ahead_ns);
            let (start_at, armed_at) = (time.now() + 2_500_000_000, time.clock.origin_ns());
            let ahead = time.monotonic_ns(start_at) - armed_at;
            assert!((2_500_000_000..3_500_000_000).contains(&ahead), "{ahead} with {ahead_ns}");
            // The run's own clock starts later, when the wall clock may read anything.
            let run = Clock::start();
            let to_go = run.at_monotonic(time.monotonic_ns(start_at)).since(run.now()).0;
            assert_eq!(run.origin_ns() + run.at_monotonic(time.monotonic_ns(start_at)).0, armed_at + ahead);
            assert!(to_go <= 2_500_000_000, "{to_go}");
        }
        assert_eq!(OwnTime::ahead_of_monotonic(500).monotonic_ns(400), 0, "before the machine was started");
    }
}
