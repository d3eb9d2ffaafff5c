//! Whose clock says what: offsets between two clocks by question and answer (the intersection of RFC 5905, section 8, for one peer).

use crate::message::{Reading, Time, ToldTime};

/// So many answers are enough: one of them met no queue.
pub const ASKED: usize = 32;

/// Question and answer about the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The question left, by one's own clock.
    pub asked_at: Time,
    /// The other clock, somewhere in between.
    pub at: Time,
    /// The answer came, by one's own clock.
    pub heard_at: Time,
}

impl Probe {
    /// The other clock was read at some moment between question and answer, so halfway is wrong by at most half of that time.
    pub fn reading(self) -> Reading {
        let travelled = self.heard_at.saturating_sub(self.asked_at);
        let halfway = self.asked_at + travelled / 2;
        let offset = i128::from(self.at) - i128::from(halfway);
        Reading { offset_ns: offset as i64, error_ns: travelled.div_ceil(2) }
    }
}

/// The best reading of some: that of the shortest way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readings {
    best: Option<(Reading, ToldTime)>,
    count: usize,
}

impl Readings {
    /// Takes one more into account.
    pub fn add(&mut self, probe: Probe) {
        let reading = probe.reading();
        self.count += 1;
        if self.best.is_none_or(|(best, _)| reading.error_ns < best.error_ns) {
            self.best = Some((reading, ToldTime { asked_at: probe.asked_at, at: probe.at }));
        }
    }

    /// The best, once there are enough of them, and what it rests on.
    pub fn enough(&self) -> Option<(Reading, ToldTime)> {
        self.best.filter(|_| self.count >= ASKED)
    }
}

impl Reading {
    /// When one's own clock reads what the other one calls `time`.
    pub fn own(self, time: Time) -> Time {
        time.saturating_add_signed(self.offset_ns.saturating_neg())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However the time is split between the two ways, the truth lies within the stated error.
        #[test]
        fn the_truth_lies_within_the_error(
            ahead in -10_000_000_000i64..10_000_000_000, ways in prop::collection::vec((0u64..50_000_000, 0u64..50_000_000), 1..40),
        ) {
            let (mut readings, mut now) = (Readings::default(), 1_000_000_000_000u64);
            for (there, back) in &ways {
                let at = (now + there).saturating_add_signed(ahead);
                readings.add(Probe { asked_at: now, at, heard_at: now + there + back });
                now += there + back + 1;
            }
            let (best, _) = readings.best.expect("one at least");
            prop_assert!((best.offset_ns - ahead).unsigned_abs() <= best.error_ns);
            let shortest = ways.iter().map(|(there, back)| there + back).min().unwrap_or(0);
            prop_assert_eq!(best.error_ns, shortest.div_ceil(2));
            prop_assert_eq!(readings.enough().is_some(), ways.len() >= ASKED);
        }
    }

    #[test]
    fn a_time_of_the_other_clock_is_a_time_of_ones_own() {
        let reading = Reading { offset_ns: -250, error_ns: 1 };
        assert_eq!(reading.own(1_000), 1_250);
        assert_eq!(Reading { offset_ns: 250, error_ns: 1 }.own(1_000), 750);
    }
}
