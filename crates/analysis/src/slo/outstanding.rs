//! What hangs has no record yet: how many have waited for longer than a limit at the end of an interval.

use super::{Figure, Measure, Objective, Stretch, Unit};
use std::collections::VecDeque;
use unblink_core::record::Interval;
use unblink_core::time::Nanos;

/// Counts what has been open for longer than an age: answers or first events that are awaited, or gaps.
///
/// How old each of them is, is not recorded. But no more can be younger than the age than have begun within it: arrivals
/// that fell due, or events that came, each of which begins one gap at the most.
#[derive(Clone, Debug)]
pub struct Outstanding {
    measure: Measure,
    age: Nanos,
    /// Answers that have begun and have not ended.
    streaming: u64,
    /// (start, begun) of the intervals of which a part lies within `age`.
    recent: VecDeque<(Nanos, u64)>,
}

impl Outstanding {
    /// Those of `measure` that are open for longer than `age`.
    pub fn longer_than(measure: Measure, age: Nanos) -> Outstanding {
        Outstanding { measure, age, streaming: 0, recent: VecDeque::new() }
    }

    /// Those that are beyond the limit of an objective on all arrivals; `None` if one is that no age is beyond. `is_only`:
    /// the run has one request. Of several, some may have no events, and nothing tells these from others that await one.
    pub fn beyond(measure: Measure, objective: &Objective, is_only: bool) -> Option<Outstanding> {
        let is_time = objective.figure.unit() == Unit::Time && objective.figure != Figure::Mean;
        let is_known = measure != Measure::First || is_only;
        let age = Nanos(objective.limit.ceil() as u64);
        (is_time && is_known).then(|| Outstanding::longer_than(measure, age))
    }

    /// Takes in the next interval, from the begin of the run on. Gives how many are surely open for longer than the age at its
    /// end, and those of them that were sent.
    pub fn add(&mut self, interval: &Interval) -> (u64, u64) {
        let counters = &interval.bank.counters;
        let both = [&counters.events, &counters.warmup_events];
        let streaming = self.streaming + both.iter().map(|of| of.begun).sum::<u64>();
        self.streaming = streaming.saturating_sub(both.iter().map(|of| of.over).sum());
        let due = counters.measured.due + counters.warmup.due;
        let level = interval.gauges.in_flight + interval.gauges.backlog;
        let (begun, open, sent) = match self.measure {
            Measure::Response => (due, level, interval.gauges.in_flight),
            Measure::First => {
                let awaited = |all: u64| all.saturating_sub(self.streaming);
                (due, awaited(level), awaited(interval.gauges.in_flight))
            }
            Measure::Gap => (both.iter().map(|of| of.events).sum(), self.streaming, self.streaming),
        };
        let stuck = self.longer(interval.start, interval.length, begun, open);
        (stuck, stuck.min(sent))
    }

    /// Of `open` at the end of an interval in which `begun` began: all that can't have begun within the age.
    fn longer(&mut self, start: Nanos, length: Nanos, begun: u64, open: u64) -> u64 {
        self.recent.push_back((start, begun));
        let since = Nanos((start + length).0.saturating_sub(self.age.0));
        while self.recent.get(1).is_some_and(|(next, _)| *next <= since) {
            self.recent.pop_front();
        }
        let young: u64 = self.recent.iter().map(|(_, begun)| begun).sum();
        // Before a whole age has passed, nothing can be older.
        if self.recent.front().is_some_and(|(first, _)| *first > since) {
            return 0;
        }
        open.saturating_sub(young)
    }
}

impl Stretch {
    /// The same part with what hangs at its end, as [`Outstanding::add`] gives it.
    pub fn with_stuck(self, (stuck, stuck_sent): (u64, u64)) -> Stretch {
        Stretch { stuck, stuck_sent, ..self }
    }
}
