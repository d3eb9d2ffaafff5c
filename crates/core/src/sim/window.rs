//! Stretches of time in which something is shut: on a clock, or at random.

use super::random::Random;
use crate::time::Nanos;
use std::collections::VecDeque;

/// Stretches on a clock, from the schedule's zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows {
    /// When the first begins.
    pub first: Nanos,
    /// How long each lasts.
    pub length: Nanos,
    /// From the beginning of one to that of the next; longer than `length`.
    pub every: Option<Nanos>,
    /// How many at the most.
    pub count: Option<u64>,
}

impl Windows {
    /// A single stretch.
    pub fn once(first: Nanos, length: Nanos) -> Windows {
        Windows { first, length, every: None, count: None }
    }

    /// The end of the stretch that holds `at`: its first moment belongs to it, its end does not.
    pub fn end_of(&self, at: Nanos) -> Option<Nanos> {
        if at < self.first {
            return None;
        }
        let since = at - self.first;
        let number = self.every.map_or(0, |every| since.0 / every.0.max(1));
        if self.count.is_some_and(|count| number >= count) {
            return None;
        }
        let begin = self.first + Nanos(self.every.map_or(0, |every| every.0 * number));
        let end = begin + self.length;
        (at < end).then_some(end)
    }
}

/// Stretches at random times, as a renewal process: from the end of one to the beginning of the next pass
/// `gap_min` and an exponential time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomWindows {
    /// How long each lasts.
    pub length: Nanos,
    /// The certain part of the gap.
    pub gap_min: Nanos,
    /// Mean of the random part of the gap.
    pub gap_mean: Nanos,
}

/// Stretches are drawn for so long ahead. No answer is waited for that long (a timeout is an hour at most), and work of a
/// server that is hopelessly overloaded may end in years.
const AHEAD_MAX: Nanos = Nanos::from_secs(3 * 3600);

/// The stretches drawn so far, as far as they still matter.
#[derive(Clone, Debug)]
pub(super) struct DrawnWindows {
    spec: RandomWindows,
    drawn: VecDeque<(Nanos, Nanos)>,
    random: Random,
}

impl DrawnWindows {
    pub(super) fn new(spec: RandomWindows, random: Random) -> DrawnWindows {
        DrawnWindows { spec, drawn: VecDeque::new(), random }
    }

    /// The end of the stretch that holds `at`; nothing before `past` is asked for any more.
    pub(super) fn end_of(&mut self, at: Nanos, past: Nanos) -> Option<Nanos> {
        if at > past + AHEAD_MAX {
            return None;
        }
        while self.drawn.len() > 1 && self.drawn[0].1 <= past {
            self.drawn.pop_front();
        }
        while self.drawn.back().is_none_or(|&(begin, _)| begin <= at) {
            let after = self.drawn.back().map_or(Nanos::ZERO, |&(_, end)| end);
            let begin = after + self.spec.gap_min + self.random.exponential(self.spec.gap_mean);
            self.drawn.push_back((begin, begin + self.spec.length));
        }
        let place = self.drawn.partition_point(|&(begin, _)| begin <= at);
        let (_, end) = *self.drawn.get(place.checked_sub(1)?)?;
        (at < end).then_some(end)
    }
}
