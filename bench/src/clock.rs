//! The clocks of the bench: `CLOCK_MONOTONIC`, which every process of a run shares, and processor time.

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of a second.
pub(crate) const SECOND_NS: u64 = 1_000_000_000;

/// ns since the machine started.
#[inline]
pub(crate) fn now_ns() -> u64 {
    read_ns(ClockId::Monotonic)
}

/// Processor time of this process until now, in ns.
pub(crate) fn own_cpu_ns() -> u64 {
    read_ns(ClockId::ProcessCPUTime)
}

#[inline]
fn read_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Both count from the start of something: never negative.
    now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64
}

/// Sleeps until `at_ns` on that clock; at once back when it is over already.
pub(crate) fn sleep_until(at_ns: u64) {
    let at = Timespec { tv_sec: (at_ns / SECOND_NS) as i64, tv_nsec: (at_ns % SECOND_NS) as _ };
    while clock_nanosleep_absolute(ClockId::Monotonic, &at) == Err(Errno::INTR) {}
}
