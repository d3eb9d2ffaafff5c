//! The only place that asks the operating system what time it is.

use unblink_core::record::PAUSE_FROM;
use unblink_core::time::{Instant, Nanos};

/// A time of day, for names and time stamps only.
pub type WallTime = std::time::SystemTime;

/// A monotone clock that starts at 0. Copies agree with each other. Reading it costs about 20 ns.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The value of `CLOCK_MONOTONIC` at the start, in ns.
    origin_ns: u64,
}

impl Clock {
    /// A clock that reads 0 now.
    pub fn start() -> Clock {
        Clock { origin_ns: monotonic_ns() }
    }

    /// What `CLOCK_MONOTONIC` read at the start, in ns.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Time since the start.
    #[inline]
    pub fn now(&self) -> Instant {
        Instant(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// The wall-clock time at `at`.
    pub fn wall(&self, at: Instant) -> WallTime {
        let (now, wall) = (self.now(), WallTime::now());
        wall + std::time::Duration::from_nanos(at.since(now).0)
            - std::time::Duration::from_nanos(now.since(at).0)
    }

    /// When it will be `wall`, by the wall clock as it goes now; `None` if that has passed.
    pub fn at(&self, wall: WallTime) -> Option<Instant> {
        let (now, ahead) = (self.now(), wall.duration_since(WallTime::now()).ok()?);
        Some(now + Nanos(u64::try_from(ahead.as_nanos()).ok()?))
    }

    /// When `CLOCK_MONOTONIC` reads so many ns, whatever the wall clock does meanwhile; 0 if that was before the start.
    pub fn at_monotonic(&self, ns: u64) -> Instant {
        Instant(ns.saturating_sub(self.origin_ns))
    }

    /// What `CLOCK_MONOTONIC` will read when this clock reads `at`, for timers with absolute deadlines.
    pub fn monotonic(&self, at: Instant) -> rustix::time::Timespec {
        timespec(Nanos(self.origin_ns.saturating_add(at.0)))
    }
}

/// Reads the clock that `std::time::Instant` reads too, but as a plain number: it needs no 128 bits, and timer
/// deadlines are on the same scale. It calls the C library, because rustix looks for the vDSO itself and ends a
/// program that runs under valgrind.
#[inline]
#[allow(unsafe_code)] // A C function.
fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is writable and lives for the call. The clock always exists on Linux, so the call can't fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// A worker's clock that notices when the worker was away. Each look at the clock notes the time since the last look,
/// unless the worker was asked to wait.
pub(crate) struct Watch {
    clock: Clock,
    last: Instant,
    pauses: Pauses,
    /// The absence since the last call of [`Watch::take_absence`].
    absence: Option<Absence>,
    /// Time in a script since the worker last looked at its sockets.
    script: Option<InScript>,
}

/// Many short calls of a script keep a worker from its sockets for as long as one long call does.
#[derive(Clone, Copy, Debug)]
struct InScript {
    /// Just before the first of them.
    from: Instant,
    /// All of them, until they are noted as an absence.
    spent: Nanos,
}

/// The time between two looks at the clock, the second of which came late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence {
    /// The look before. After a requested wait it is the moment just before the wait's end: until then nobody missed
    /// the worker.
    pub(crate) from: Instant,
    /// The late one.
    pub(crate) until: Instant,
    /// By how much it was late.
    pub(crate) away: Nanos,
}

/// Stretches in which a worker was away though it was not asked to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pauses {
    /// The longest.
    pub(crate) longest: Nanos,
    /// The sum of all that were at least [`PAUSE_FROM`] long.
    pub(crate) sum: Nanos,
}

impl Watch {
    pub(crate) fn new(clock: Clock) -> Watch {
        Watch { clock, last: clock.now(), pauses: Pauses::default(), absence: None, script: None }
    }

    /// The time now. The worker was not asked to wait since the last look.
    #[inline]
    pub(crate) fn now(&mut self) -> Instant {
        let now = self.clock.now();
        self.note(self.last, now, now.since(self.last));
        self.last = now;
        now
    }

    /// Since `began`, the last look, the worker has run a script. It was away for that time, which counts from the length on from
    /// which any absence does, in one call or in several.
    #[inline]
    pub(crate) fn in_script(&mut self, began: Instant) {
        let now = self.clock.now();
        let took = now.since(began);
        let InScript { from, spent } = self.script.unwrap_or(InScript { from: began, spent: Nanos::ZERO });
        let spent = spent + took;
        self.note(from, now, spent);
        let noted = spent >= PAUSE_FROM;
        self.script = Some(InScript {
            from: if noted { now } else { from },
            spent: if noted { Nanos::ZERO } else { spent },
        });
        self.last = now;
    }

    /// The worker looks at its sockets.
    #[inline]
    pub(crate) fn looks_at_sockets(&mut self) {
        self.script = None;
    }

    /// The time now, after a wait that should have ended at `until` at the latest.
    pub(crate) fn now_after_wait(&mut self, until: Instant) -> Instant {
        let now = self.clock.now();
        // What fell due exactly at the end has been waiting since then.
        let from = Instant(until.0.saturating_sub(1)).max(self.last);
        self.note(from, now, now.since(until.max(self.last)));
        self.last = now;
        now
    }

    /// The time of the last look.
    #[inline]
    pub(crate) fn last(&self) -> Instant {
        self.last
    }

    /// The clock, for times other than the worker's own.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The absence since the last call, if there was one.
    pub(crate) fn take_absence(&mut self) -> Option<Absence> {
        self.absence.take()
    }

    /// Whether there was one.
    #[inline]
    pub(crate) fn was_away(&self) -> bool {
        self.absence.is_some()
    }

    /// Pauses since the last call.
    pub(crate) fn take_pauses(&mut self) -> Pauses {
        std::mem::take(&mut self.pauses)
    }

    #[inline]
    fn note(&mut self, from: Instant, now: Instant, away: Nanos) {
        if away >= PAUSE_FROM {
            self.pauses.sum += away;
            // Two absences that nobody has asked for yet are joined into one.
            let first = self.absence.map_or(from, |absence| absence.from);
            let before = self.absence.map_or(Nanos::ZERO, |absence| absence.away);
            self.absence = Some(Absence { from: first, until: now, away: before + away });
        }
        self.pauses.longest = self.pauses.longest.max(away);
    }
}

/// A duration in the kernel's format.
pub(crate) fn timespec(d: Nanos) -> rustix::time::Timespec {
    rustix::time::Timespec { tv_sec: (d.0 / 1_000_000_000) as i64, tv_nsec: (d.0 % 1_000_000_000) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_was_asked_for_is_no_absence_however_late_it_ends() {
        let mut watch = Watch::new(Clock::start());
        // As if the last look had been a second ago, and the wait was to end 5 ms ago.
        watch.clock.origin_ns -= 2_000_000_000;
        let now = watch.clock.now();
        let end = Instant(now.0 - 5_000_000);
        watch.last = Instant(now.0 - 1_000_000_000);
        watch.now_after_wait(end);
        let Absence { from, until, away } = watch.take_absence().expect("it was late");
        assert_eq!(from, Instant(end.0 - 1));
        assert!(until >= now && away == until.since(end), "{until:?} {away:?}");
        // Without a wait all of the time since the last look counts.
        watch.last = Instant(watch.last.0 - 3_000_000);
        let last = watch.last;
        watch.now();
        assert_eq!(watch.take_absence().expect("it was away").from, last);
    }

    /// Whatever the wall clock reads, and however it was stepped.
    #[test]
    fn a_moment_of_the_monotonic_clock_is_one_of_every_clock() {
        let (early, late) = (Clock { origin_ns: 5_000 }, Clock { origin_ns: 12_000 });
        assert_eq!(
            (early.at_monotonic(20_000), late.at_monotonic(20_000)),
            (Instant(15_000), Instant(8_000))
        );
        assert_eq!(late.at_monotonic(11_999), Instant(0), "it has passed");
        let clock = Clock::start();
        assert_eq!(clock.at_monotonic(clock.origin_ns() + 7), Instant(7));
    }

    #[test]
    fn calls_of_a_script_add_up_until_the_worker_looks_at_its_sockets() {
        let mut watch = Watch::new(Clock::start());
        watch.clock.origin_ns -= 1_000_000_000;
        // As if a call had begun so long ago.
        let call = |watch: &mut Watch, us: u64| {
            let began = Instant(watch.clock.now().0 - us * 1_000);
            watch.in_script(began);
            began
        };
        watch.now();
        watch.take_absence();
        let first = call(&mut watch, 400);
        assert!(!watch.was_away());
        call(&mut watch, 700);
        let Absence { from, away, .. } = watch.take_absence().expect("together they were long");
        assert!(from == first && away >= Nanos::from_micros(1_100), "{away:?}");
        // What was noted is not noted again.
        call(&mut watch, 400);
        assert!(!watch.was_away());
        watch.looks_at_sockets();
        call(&mut watch, 500);
        assert!(!watch.was_away());
        call(&mut watch, 4_000);
        let Absence { away, .. } = watch.take_absence().expect("it was long");
        assert!(away >= Nanos::from_millis(4), "{away:?}");
    }
}
