//! How much processor time may be spent on being punctual.

use unblink_core::dispatch::Grain;
use unblink_core::time::Nanos;

/// What a worker does in the last moments before an arrival falls due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pacing {
    /// Spins for as long as nearly every wake-up is late. If permitted, it runs at a real-time priority and lets no
    /// processor sleep.
    Precise,
    /// Spins for as long as most wake-ups are late.
    #[default]
    Balanced,
    /// Never spins, and sends together the arrivals of an open load that fall due within a millisecond.
    Frugal,
}

/// With [`Pacing::Frugal`] arrivals leave together once in this time. They are late by up to this time, which counts
/// as the generator's own lateness. Answers are read when they come.
const GRAIN: Nanos = Nanos::from_millis(1);

impl Pacing {
    /// Which arrivals of worker `worker` leave together. The workers take turns, so that they don't all want a
    /// processor at once, and so that the target does not get a whole millisecond's requests at its beginning.
    pub(crate) fn grain(self, worker: usize, workers: u32) -> Option<Grain> {
        let phase = Nanos(GRAIN.0 * worker as u64 / u64::from(workers.max(1)));
        (self == Pacing::Frugal).then_some(Grain { length: GRAIN, phase })
    }

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            Pacing::Precise => "precise",
            Pacing::Balanced => "balanced",
            Pacing::Frugal => "frugal",
        }
    }
}

/// How long before a deadline the worker is up. A given share of the wake-ups comes within this window. A sleep ends
/// late by the time that the kernel and the processor need to wake, which depends on the machine and on the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpinWindow {
    now: Nanos,
    min: Nanos,
    max: Nanos,
    /// How many wake-ups come within the window for each one that does not.
    within_per_late: u64,
}

/// The window grows by this fraction of itself when a wake-up comes later than it.
const GROWTH: u64 = 32;

impl SpinWindow {
    /// Begins with the widest window, because nothing is known of the machine yet.
    pub(crate) fn new(pacing: Pacing) -> SpinWindow {
        let (min, max, within_per_late) = match pacing {
            // With the work of 10,000 arrivals per second, this leaves room to sleep. A real-time thread that never
            // sleeps is taken off its processor for tens of milliseconds.
            Pacing::Precise => (Nanos::from_micros(10), Nanos::from_micros(60), 99),
            Pacing::Balanced => (Nanos::from_micros(2), Nanos::from_micros(40), 9),
            Pacing::Frugal => (Nanos::ZERO, Nanos::ZERO, 1),
        };
        SpinWindow { now: max, min, max, within_per_late }
    }

    /// How long before a deadline a sleep should end.
    #[inline]
    pub(crate) fn length(&self) -> Nanos {
        self.now
    }

    /// Notes that a sleep ended `late` after its deadline. The steps up and down are in the ratio of the shares of
    /// wake-ups that ask for them, so that the window settles at that quantile of their lateness (stochastic
    /// approximation: Robbins and Monro, 1951).
    pub(crate) fn learn(&mut self, late: Nanos) {
        let step = (self.now.0 / GROWTH).max(100);
        let next = if late > self.now {
            self.now.0 + step
        } else {
            self.now.0.saturating_sub((step / self.within_per_late).max(1))
        };
        self.now = Nanos(next).clamp(self.min, self.max);
    }
}

/// Whether to poll the sockets for a moment before going to sleep while answers are awaited. When a stalled server
/// comes back, its answers follow each other within microseconds. If the worker sleeps between two of them, each send
/// of the server costs an interrupt to the other processor and makes the scheduler find a place for the worker. An
/// answer that finds the worker asleep is also seen late by the time that waking takes, which is a large part of the
/// time that a quick server needs. As with an adaptive lock, polling is worth it as long as the last sleeps would
/// have been short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linger {
    /// The longest time to poll in vain. Zero means never to poll.
    length: Nanos,
    /// How many sleeps in a row were ended by an answer within `length`.
    brief: u32,
    /// How much longer it may poll. Sleeping earns credit.
    credit: Nanos,
}

impl Linger {
    /// A single brief sleep may be chance.
    const BRIEF_SLEEPS: u32 = 2;
    /// The longest time that a worker only polls. The limit lets it keep a real-time priority.
    const CREDIT_MAX: Nanos = Nanos::from_millis(30);

    pub(crate) fn new(pacing: Pacing) -> Linger {
        let length = match pacing {
            // Suits a quick server's answers: waking would take a tenth of their time.
            Pacing::Precise => Nanos::from_micros(300),
            // The time that sleeping and waking take in a virtual machine.
            Pacing::Balanced => Nanos::from_micros(20),
            Pacing::Frugal => Nanos::ZERO,
        };
        Linger { length, brief: 0, credit: Self::CREDIT_MAX }
    }

    /// The longest time to poll in vain.
    pub(crate) fn length(&self) -> Nanos {
        self.length
    }

    /// Whether to poll first.
    #[inline]
    pub(crate) fn pays(&self) -> bool {
        self.brief >= Self::BRIEF_SLEEPS && self.credit > Nanos::ZERO
    }

    /// Notes that a sleep of this length was ended by a socket or by its deadline. Whether it was brief matters only
    /// if an answer was awaited.
    pub(crate) fn slept(&mut self, length: Nanos, awaits_answers: bool, by_socket: bool) {
        self.credit = (self.credit + length).min(Self::CREDIT_MAX);
        if length >= self.length && awaits_answers {
            self.brief = 0;
        } else if by_socket && awaits_answers {
            self.brief = self.brief.saturating_add(1);
        }
    }

    /// Notes that it has polled for this long. If that was in vain, the next wait sleeps.
    pub(crate) fn polled(&mut self, length: Nanos, by_socket: bool) {
        self.credit = self.credit - length;
        if !by_socket && length >= self.length {
            self.brief = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BRIEF: Nanos = Nanos::from_micros(3);

    #[test]
    fn it_lingers_after_brief_sleeps_until_it_polls_in_vain() {
        let mut linger = Linger::new(Pacing::Balanced);
        linger.slept(BRIEF, true, true);
        assert!(!linger.pays(), "one brief sleep is chance");
        linger.slept(BRIEF, true, true);
        assert!(linger.pays());
        linger.polled(BRIEF, true);
        assert!(linger.pays());
        linger.polled(BRIEF, false);
        assert!(linger.pays(), "an arrival fell due before the answer came");
        linger.polled(linger.length(), false);
        assert!(!linger.pays());
    }

    #[test]
    fn long_sleeps_those_without_an_answer_to_come_and_frugal_never_linger() {
        for (pacing, micros, awaits, by_socket) in [
            (Pacing::Balanced, 50, true, true),
            (Pacing::Precise, 3, true, false),
            (Pacing::Precise, 3, false, true),
            (Pacing::Frugal, 3, true, true),
        ] {
            let mut linger = Linger::new(pacing);
            (0..5).for_each(|_| linger.slept(Nanos::from_micros(micros), awaits, by_socket));
            assert!(!linger.pays(), "{pacing:?}");
        }
        // An answer after 200 µs, then nothing to wait for until the next arrival.
        let mut linger = Linger::new(Pacing::Precise);
        for _ in 0..2 {
            linger.slept(Nanos::from_micros(200), true, true);
            linger.slept(Nanos::from_micros(700), false, false);
        }
        assert!(linger.pays());
    }

    #[test]
    fn whoever_only_polls_must_sleep_in_between() {
        let mut linger = Linger::new(Pacing::Precise);
        let (mut polled, mut slept) = (Nanos::ZERO, Nanos::ZERO);
        for _ in 0..10_000 {
            let answer = Nanos::from_micros(200);
            if linger.pays() {
                linger.polled(answer, true);
                polled += answer;
            } else {
                linger.slept(answer, true, true);
                slept += answer;
            }
        }
        assert!(polled > slept && polled.0 * 10 < slept.0 * 11, "{polled:?} {slept:?}");
    }

    /// Lateness that is spread evenly from 0 to `top`, in an order without a pattern.
    fn settle(pacing: Pacing, top: u64) -> u64 {
        let mut window = SpinWindow::new(pacing);
        let (mut sum, n) = (0, 20_000u64);
        for i in 0..2 * n {
            window.learn(Nanos(i * 7_919 % 10_007 * top / 10_007));
            sum += if i < n { 0 } else { window.length().0 };
        }
        sum / n
    }

    #[test]
    fn frugal_workers_take_turns() {
        let phases = |workers: u32| -> Vec<u64> {
            let grain = |worker| Pacing::Frugal.grain(worker, workers).expect("a grain");
            (0..workers as usize).map(|worker| grain(worker).phase.0).collect()
        };
        assert_eq!((phases(1), phases(4)), (vec![0], vec![0, 250_000, 500_000, 750_000]));
        assert_eq!(Pacing::Balanced.grain(0, 1), None);
    }

    #[test]
    fn the_window_settles_at_its_quantile_of_the_lateness() {
        let balanced = settle(Pacing::Balanced, 30_000);
        assert!((26_000..27_500).contains(&balanced), "{balanced}");
        let precise = settle(Pacing::Precise, 50_000);
        assert!((49_000..50_000).contains(&precise), "{precise}");
    }

    #[test]
    fn it_stays_within_its_bounds() {
        assert!((39_900..=40_000).contains(&settle(Pacing::Balanced, 1_000_000)));
        assert_eq!(settle(Pacing::Precise, 5), 10_000);
        assert_eq!(settle(Pacing::Frugal, 1_000_000), 0);
    }
}
