//! How many arrivals ask for which operation, counted from the schedule alone.

use super::streams::{self, Stream};
use super::{Process, STREAMS, Schedule};
use crate::share::Share;
use crate::time::Nanos;

impl Schedule {
    /// Arrivals from `from` until just before `to` for each of so many operations; those beyond the last of `places`
    /// are counted there.
    pub fn counts_by_operation(&self, from: Nanos, to: Nanos, operations: u64, places: usize) -> Vec<u64> {
        let mut turns = Turns { counts: vec![0; places], operations };
        let ends = [from.min(to), to].map(|end| self.units_before(end).min(self.end_units));
        match self.process {
            Process::Even => {
                let [first, end] = ends.map(|units| units.div_ceil(self.units_per_request) as u64);
                turns.add(first, end);
            }
            Process::Poisson { seed } => {
                for number in streams::of_share(Share::WHOLE) {
                    let mut stream = Stream::new(self, seed, number);
                    let begins_with = number * operations / STREAMS;
                    let [first, end] = ends.map(|units| {
                        stream.go_to(units, self);
                        begins_with + stream.ordinal()
                    });
                    turns.add(first, end);
                }
            }
        }
        turns.counts
    }
}

/// Arrivals take the operations in turn.
struct Turns {
    counts: Vec<u64>,
    operations: u64,
}

impl Turns {
    /// Those whose turn is `first` or a later one before `end`.
    fn add(&mut self, first: u64, end: u64) {
        let operations = self.operations;
        // Of the numbers below `end`, those that leave the remainder `rest`.
        let below = |end: u64, rest: u64| (end + operations - 1 - rest) / operations;
        let Some((last, alone)) = self.counts.split_last_mut() else { return };
        let mut left = end - first;
        for (count, rest) in alone.iter_mut().zip(0..operations) {
            let n = below(end, rest) - below(first, rest);
            *count += n;
            left -= n;
        }
        *last += left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{Cursor, Phase, Rate};

    #[test]
    fn counts_are_those_of_the_arrivals_one_by_one() {
        let phases = [
            Phase::hold(Rate::per_second(700), Nanos::from_secs(1)),
            Phase { from: Rate::per_second(700), to: Rate::per_second(90), duration: Nanos::from_secs(2) },
        ];
        for process in [Process::Even, Process::Poisson { seed: 5 }] {
            let schedule = Schedule::new(&phases, process, 1_500);
            for (operations, places) in [(1, 1), (2, 2), (7, 7), (7, 3), (3_000, 10)] {
                for (from, to) in [(0, 3_000), (400, 1_900), (1_000, 1_000)] {
                    let (from, to) = (Nanos::from_millis(from), Nanos::from_millis(to));
                    let mut expected = vec![0; places];
                    let mut cursor = Cursor::new(&schedule, 0, 1);
                    while let Some((index, due)) = cursor.next(&schedule) {
                        let operation = schedule.operation(index, operations) as usize;
                        expected[operation.min(places - 1)] += u64::from((from..to).contains(&due));
                    }
                    assert_eq!(schedule.counts_by_operation(from, to, operations, places), expected);
                }
            }
        }
    }
}
