//! When the generator was away, so that nobody blames the target for it.
//!
//! While the generator is away, arrivals wait and answers lie unread. When it is back it sends at once what had fallen
//! due, so that the target meets a burst that nobody planned: as long as these arrivals are being answered, the absence
//! goes on for all others. A target that answers nothing has no burst to work off.

use crate::time::{Instant, Nanos};
use std::collections::VecDeque;

/// Absences that are remembered. What is older than all of them counts as one absence.
const KEPT_MAX: usize = 64;
/// An absence goes on for so many times its length at the most. To work off what L seconds of load left takes
/// L·ρ/(1 − ρ): 4·L for a target that is 80 % busy.
const CATCHING_UP_MAX: u64 = 4;

#[derive(Clone, Copy, Debug)]
struct Absence {
    from: Instant,
    /// The worker was back.
    back: Instant,
    /// It had caught up, if the target answered meanwhile.
    caught_up: Instant,
    answered: bool,
}

impl Absence {
    fn until(&self) -> Instant {
        if self.answered { self.caught_up } else { self.back }
    }
}

/// The latest absences of one worker.
#[derive(Debug)]
pub(super) struct Absences {
    kept: VecDeque<Absence>,
    forgotten_until: Instant,
    /// The worker is catching up: the latest absence may go on.
    is_catching_up: bool,
    /// Arrivals that fell due in the latest absence and have not ended.
    pending: u64,
}

impl Default for Absences {
    fn default() -> Self {
        Absences {
            kept: VecDeque::with_capacity(KEPT_MAX),
            forgotten_until: Instant(0),
            is_catching_up: false,
            pending: 0,
        }
    }
}

impl Absences {
    /// The worker last looked at `from` and then at `back`, which was `away` too late.
    pub(super) fn note(&mut self, from: Instant, back: Instant, away: Nanos) {
        let bound = back + Nanos(away.0.saturating_mul(CATCHING_UP_MAX));
        match self.kept.back_mut().filter(|last| self.is_catching_up && last.caught_up >= from) {
            Some(last) => (last.back, last.caught_up) = (back, last.caught_up.max(bound)),
            None => {
                if self.kept.len() == KEPT_MAX
                    && let Some(oldest) = self.kept.pop_front()
                {
                    self.forgotten_until = oldest.until();
                }
                self.kept.push_back(Absence { from, back, caught_up: bound, answered: false });
                self.pending = 0;
            }
        }
        self.is_catching_up = true;
    }

    /// The worker is catching up with what fell due during an absence. Quick.
    #[inline]
    pub(super) fn is_catching_up(&self) -> bool {
        self.is_catching_up
    }

    /// An arrival is taken note of; asked only while the worker is catching up.
    pub(super) fn due(&mut self, intended: Instant) {
        self.pending += u64::from(self.is_of_latest(intended));
    }

    /// An arrival has ended; asked only while the worker is catching up.
    pub(super) fn ended(&mut self, intended: Instant, answered: bool) {
        self.pending = self.pending.saturating_sub(u64::from(self.is_of_latest(intended)));
        if let Some(last) = self.kept.back_mut() {
            last.answered |= answered;
        }
    }

    fn is_of_latest(&self, intended: Instant) -> bool {
        self.kept.back().is_some_and(|last| last.from < intended && intended <= last.back)
    }

    /// Looks whether all that fell due during the latest absence has ended, or had time enough.
    pub(super) fn look(&mut self, now: Instant) {
        let pending = self.pending > 0;
        if let Some(last) = self.kept.back_mut()
            && self.is_catching_up
            && (!pending || now >= last.caught_up)
        {
            last.caught_up = last.caught_up.min(now).max(last.back);
            self.is_catching_up = false;
        }
    }

    /// Did the worker look all the time since `from`? Quick.
    #[inline]
    pub(super) fn none_since(&self, from: Instant) -> bool {
        self.kept.back().is_none_or(|last| last.until() <= from)
    }

    /// How much of the time between the two the worker was away.
    pub(super) fn within(&self, from: Instant, until: Instant) -> Nanos {
        let overlap = |start: Instant, end: Instant| end.min(until).since(start.max(from));
        let kept = self.kept.iter().rev().take_while(|absence| absence.until() > from);
        let known = kept.map(|absence| overlap(absence.from, absence.until()).0).sum::<u64>();
        Nanos(known) + overlap(Instant(0), self.forgotten_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant(0) + Nanos::from_millis(ms)
    }

    fn within(absences: &Absences, from: u64, until: u64) -> u64 {
        absences.within(at(from), at(until)).0 / 1_000_000
    }

    #[test]
    fn an_absence_lasts_until_all_is_caught_up_with() {
        let mut absences = Absences::default();
        assert!(absences.none_since(at(0)) && within(&absences, 0, 1_000) == 0);
        absences.note(at(100), at(120), Nanos::from_millis(15));
        [105, 115].into_iter().for_each(|ms| absences.due(at(ms)));
        absences.look(at(121));
        assert_eq!(
            [within(&absences, 0, 110), within(&absences, 110, 200)],
            [10, 10],
            "nothing answered yet"
        );
        absences.ended(at(50), true);
        absences.ended(at(105), true);
        absences.look(at(140));
        assert_eq!(within(&absences, 0, 140), 40, "one is still out");
        absences.ended(at(115), true);
        absences.look(at(150));
        assert_eq!((absences.is_catching_up(), within(&absences, 0, 999)), (false, 50));
        assert!(absences.none_since(at(150)) && !absences.none_since(at(149)));
        // Nothing had fallen due: the absence is over when the worker is back.
        absences.note(at(300), at(310), Nanos::from_millis(1));
        absences.look(at(310));
        assert_eq!(within(&absences, 200, 999), 10);
    }

    #[test]
    fn a_target_that_hangs_is_not_excused_for_long() {
        let mut absences = Absences::default();
        absences.note(at(100), at(102), Nanos::from_millis(2));
        absences.due(at(101));
        absences.look(at(103));
        assert_eq!(within(&absences, 0, 30_000), 2, "no answer, no burst");
        absences.ended(at(90), true);
        absences.look(at(20_000));
        assert_eq!(within(&absences, 0, 30_000), 10, "four times its length");
        assert!(!absences.is_catching_up());
    }

    #[test]
    fn absences_join_while_the_worker_catches_up() {
        let mut absences = Absences::default();
        absences.note(at(100), at(110), Nanos::from_millis(10));
        absences.due(at(105));
        absences.note(at(112), at(117), Nanos::from_millis(5));
        absences.due(at(115));
        absences.ended(at(105), true);
        absences.look(at(120));
        assert!(absences.is_catching_up());
        absences.ended(at(115), true);
        absences.look(at(125));
        assert_eq!(within(&absences, 0, 999), 25);
    }

    #[test]
    fn what_is_forgotten_counts_as_away() {
        let mut absences = Absences::default();
        for i in 0..=KEPT_MAX as u64 {
            absences.note(at(100 * i + 10), at(100 * i + 12), Nanos::from_millis(2));
            absences.look(at(100 * i + 12));
        }
        assert_eq!(within(&absences, 0, 100), 12);
        assert_eq!(within(&absences, 50, 250), 4);
    }
}
