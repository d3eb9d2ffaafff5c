//! How much processor time punctuality may cost.

use unblink_core::time::Nanos;

/// What a worker does in the last moments before an arrival falls due.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pacing {
    /// Spins for as long as nearly every wake-up is late, at a real-time priority and with no processor asleep, where
    /// that is permitted.
    Precise,
    /// Spins for as long as most wake-ups are late.
    #[default]
    Balanced,
    /// Never spins, and sends arrivals of an open load that fall due within a millisecond together.
    Frugal,
}

/// With [`Pacing::Frugal`] arrivals leave at multiples of this, and so up to so much late, which counts as the
/// generator's own lateness; answers are read when they come.
const GRAIN: Nanos = Nanos::from_millis(1);

impl Pacing {
    /// Arrivals that fall due within so much leave together.
    pub(crate) fn grain(self) -> Nanos {
        if self == Pacing::Frugal { GRAIN } else { Nanos::ZERO }
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

/// How long before a deadline the worker is up: the share `q` of the wake-ups comes within it. A sleep ends late
/// by what the kernel and the processor need to wake, which differs from machine to machine and with the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpinWindow {
    now: Nanos,
    min: Nanos,
    max: Nanos,
    /// Wake-ups that come within the window for each that does not.
    within_per_late: u64,
}

/// By this part of itself the window grows when a wake-up comes later than it.
const GROWTH: u64 = 32;

impl SpinWindow {
    /// The widest window first: nothing is known of the machine yet.
    pub(crate) fn new(pacing: Pacing) -> SpinWindow {
        let (min, max, within_per_late) = match pacing {
            // Together with the work of 10,000 arrivals per second this leaves room to sleep: a real-time thread
            // that never sleeps is taken off its processor for tens of milliseconds.
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

    /// A sleep has ended `late` after the time that it was to end. Steps up and down are as unequal as the shares
    /// of wake-ups that ask for them, so that the window settles at that quantile of their lateness (stochastic
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

/// Whether to poll the sockets for a moment before going to sleep. When a stalled server comes back, its answers
/// follow each other within microseconds; a worker that sleeps between two of them costs the server's send an
/// interrupt to the other processor, and sets the scheduler looking for a place for it, over and over. As with an
/// adaptive lock: it is worth polling as long as the last sleeps would have been shorter than going to sleep.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linger {
    allowed: bool,
    /// Sleeps in a row that a socket ended at once.
    brief: u32,
}

impl Linger {
    /// The longest that it polls in vain; what sleeping and waking cost in a virtual machine.
    pub(crate) const LENGTH: Nanos = Nanos::from_micros(20);
    /// One brief sleep is chance: an answer of a quick server.
    const BRIEF_SLEEPS: u32 = 2;

    pub(crate) fn new(pacing: Pacing) -> Linger {
        Linger { allowed: pacing != Pacing::Frugal, brief: 0 }
    }

    /// Whether to poll first.
    #[inline]
    pub(crate) fn pays(&self) -> bool {
        self.brief >= Self::BRIEF_SLEEPS
    }

    /// A sleep of this length is over; a socket ended it, or the time.
    pub(crate) fn slept(&mut self, length: Nanos, by_socket: bool) {
        let is_brief = self.allowed && by_socket && length < Self::LENGTH;
        self.brief = if is_brief { self.brief.saturating_add(1) } else { 0 };
    }

    /// A moment of polling is over. In vain: then the next wait sleeps.
    pub(crate) fn polled(&mut self, by_socket: bool) {
        if !by_socket {
            self.brief = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lingers_after_brief_sleeps_until_it_polls_in_vain() {
        let mut linger = Linger::new(Pacing::Balanced);
        linger.slept(Nanos::from_micros(3), true);
        assert!(!linger.pays(), "one brief sleep is chance");
        linger.slept(Nanos::from_micros(3), true);
        assert!(linger.pays());
        linger.polled(true);
        assert!(linger.pays());
        linger.polled(false);
        assert!(!linger.pays());
    }

    #[test]
    fn long_sleeps_those_that_the_time_ends_and_frugal_never_linger() {
        let cases = [(Pacing::Balanced, 50, true), (Pacing::Precise, 3, false), (Pacing::Frugal, 3, true)];
        for (pacing, micros, by_socket) in cases {
            let mut linger = Linger::new(pacing);
            (0..5).for_each(|_| linger.slept(Nanos::from_micros(micros), by_socket));
            assert!(!linger.pays(), "{pacing:?}");
        }
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
