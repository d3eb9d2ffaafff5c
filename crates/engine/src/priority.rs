//! When a worker gets its processor: by a short time slice among ordinary threads, or by a real-time priority, where the
//! system permits it, and for as long as that is safe.

#![allow(unsafe_code)] // The scheduling policy of a thread has no safe interface.

use unblink_core::time::{Instant, Nanos};

/// Above every ordinary thread, below the kernel's own.
const PRIORITY: i32 = 10;
/// The loop looks at its share of the processor this often.
const STRETCH: Nanos = Nanos::from_millis(100);
/// Real-time threads may run for 95 % of a second at the most; then the kernel takes the processor away from them
/// for the rest, 50 ms (`sched(7)`, `sched_rt_runtime_us`). This keeps well below that.
const AWAKE_PERCENT_MAX: u64 = 85;

/// At which priority a worker ran.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Priority {
    /// As every thread: nothing else was asked for.
    #[default]
    Normal,
    /// At a real-time priority throughout.
    RealTime,
    /// At a real-time priority until it had too little time left to sleep.
    GivenUp,
    /// A real-time priority was asked for and refused by the system.
    Refused,
}

/// The calling thread's priority, and how long it was awake lately.
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
                ask_for_short_slice();
                self.priority = Priority::GivenUp;
            }
            (self.stretch_from, self.asleep) = (now, Nanos::ZERO);
        }
    }
}

/// The shortest slice that the kernel gives, in ns.
const SLICE_NS: u64 = 100_000;

/// Asks that the calling thread, an ordinary one, gets its processor in slices of 0.1 ms instead of some 3 ms. It gets
/// no more time in all; but when it wakes up it need not wait until a thread with a longer slice has had all of its own,
/// be it the one that writes down what the workers have recorded (`Documentation/scheduler/sched-eevdf.rst`; since Linux
/// 6.12, of no effect before). False when the system refuses.
pub(crate) fn ask_for_short_slice() -> bool {
    let size = size_of::<libc::sched_attr>();
    // SAFETY: every field is an integer, for which zeros are a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: 0 is the calling thread; the kernel writes no more than `size` bytes, which `attributes` has and lives for.
    let got = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    if got != 0 || attributes.sched_policy != libc::SCHED_OTHER as u32 {
        return false;
    }
    attributes.size = size as u32;
    attributes.sched_runtime = SLICE_NS;
    // SAFETY: as above; the kernel only reads `attributes`, whose `size` is its own.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) == 0 }
}

/// Sets the calling thread's policy. False when the system refuses.
fn set_policy(policy: i32, priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
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
    fn a_short_slice_keeps_policy_and_niceness() {
        let attributes = || {
            let status = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            // Behind the name in parentheses: priority, nice, …, policy (proc_pid_stat(5), fields 18, 19, 41).
            let fields: Vec<String> =
                status.rsplit(')').next().unwrap().split_whitespace().map(String::from).collect();
            (fields[16].clone(), fields[38].clone())
        };
        std::thread::spawn(move || {
            let before = attributes();
            // An ordinary thread may always ask, unless a sandbox forbids the call.
            let _ = ask_for_short_slice();
            assert_eq!(attributes(), before);
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
