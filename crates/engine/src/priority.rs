//! A real-time priority for a worker, if the system permits it and for as long as it is safe.

#![allow(unsafe_code)] // The scheduling policy of a thread has no safe interface.

use std::marker::PhantomData;
use unblink_core::time::{Instant, Nanos};

/// Above every ordinary thread and below the kernel's own threads.
const PRIORITY: i32 = 10;
/// How often the loop checks its share of the processor.
const STRETCH: Nanos = Nanos::from_millis(100);
/// Real-time threads may run for at most 95 % of a second. Then the kernel takes the processor away from them for the
/// rest, 50 ms (`sched(7)`, `sched_rt_runtime_us`). This limit stays well below that.
const AWAKE_PERCENT_MAX: u64 = 85;

/// The priority at which a worker ran.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Priority {
    /// The ordinary priority: no other was asked for.
    #[default]
    Normal,
    /// At a real-time priority throughout.
    RealTime,
    /// At a real-time priority until the worker had too little time left to sleep.
    GivenUp,
    /// A real-time priority was asked for and refused by the system.
    Refused,
}

/// The calling thread's priority, and how long it has slept lately.
pub(crate) struct RealTime {
    priority: Priority,
    stretch_from: Instant,
    asleep: Nanos,
}

impl RealTime {
    /// Leaves the priority alone.
    pub(crate) fn not_asked_for() -> RealTime {
        RealTime { priority: Priority::Normal, stretch_from: Instant(0), asleep: Nanos::ZERO }
    }

    /// Raises the calling thread's priority, if the system permits it.
    pub(crate) fn ask_for(now: Instant) -> RealTime {
        let is_granted = set_policy(libc::SCHED_FIFO, PRIORITY);
        let priority = if is_granted { Priority::RealTime } else { Priority::Refused };
        RealTime { priority, stretch_from: now, asleep: Nanos::ZERO }
    }

    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    /// The thread has slept for `slept` until `now`. Gives the priority up, for good, when sleep becomes too rare.
    #[inline]
    pub(crate) fn note(&mut self, now: Instant, slept: Nanos) {
        if self.priority != Priority::RealTime {
            return;
        }
        self.asleep += slept;
        let passed = now.since(self.stretch_from);
        if passed >= STRETCH {
            if (passed - self.asleep.min(passed)).0 * 100 > passed.0 * AWAKE_PERCENT_MAX {
                set_policy(libc::SCHED_OTHER, 0);
                self.priority = Priority::GivenUp;
            }
            (self.stretch_from, self.asleep) = (now, Nanos::ZERO);
        }
    }
}

/// While this lives, the calling thread does not take a processor from another thread the moment it wakes up
/// (`SCHED_BATCH`). A worker that hands it the record of a second can go on with its own work. The thread keeps its
/// share of the processor and gets it when nobody has anything due.
#[derive(Debug)]
pub(crate) struct Background {
    is_set: bool,
    /// The policy belongs to one thread, so this value stays on it.
    _thread: PhantomData<*const ()>,
}

impl Background {
    pub(crate) fn begin() -> Background {
        let is_ordinary = policy() == Some(libc::SCHED_OTHER);
        Background { is_set: is_ordinary && set_policy(libc::SCHED_BATCH, 0), _thread: PhantomData }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if self.is_set {
            set_policy(libc::SCHED_OTHER, 0);
        }
    }
}

/// The calling thread's policy. The kernel is asked directly, because musl's `sched_getscheduler` is not implemented.
fn policy() -> Option<i32> {
    // SAFETY: 0 is the calling thread; no memory is involved.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    i32::try_from(policy).ok().filter(|&policy| policy >= 0)
}

/// Sets the calling thread's policy. False when the system refuses.
fn set_policy(policy: i32, priority: i32) -> bool {
    // SAFETY: all zeroes is a valid value of this structure of numbers. It has fields in musl that it lacks in glibc.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = priority;
    // SAFETY: the thread is the calling one and the parameters live for the call, which only reads them.
    unsafe { libc::pthread_setschedparam(libc::pthread_self(), policy, &raw const parameters) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_up_when_sleep_becomes_too_rare() {
        let mut real_time =
            RealTime { priority: Priority::RealTime, stretch_from: Instant(0), asleep: Nanos::ZERO };
        // 20 % asleep.
        for i in 1..=1000u64 {
            real_time.note(Instant(i * 1_000_000), Nanos(200_000));
        }
        assert_eq!(real_time.priority(), Priority::RealTime);
        for i in 1001..=1110u64 {
            real_time.note(Instant(i * 1_000_000), Nanos(100_000));
        }
        assert_eq!(real_time.priority(), Priority::GivenUp);
    }

    #[test]
    fn what_is_in_the_background_comes_back() {
        std::thread::spawn(move || {
            let before = policy();
            let background = Background::begin();
            assert!(policy() == Some(libc::SCHED_BATCH) || !background.is_set);
            drop(background);
            assert_eq!(policy(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn asking_is_answered() {
        let granted = std::thread::spawn(|| RealTime::ask_for(Instant(0)).priority()).join().unwrap();
        assert!(matches!(granted, Priority::RealTime | Priority::Refused));
        assert_eq!(RealTime::not_asked_for().priority(), Priority::Normal);
    }
}
