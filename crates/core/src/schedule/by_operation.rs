//! How many arrivals ask for which operation, counted from the schedule alone.

use super::streams::{self, Stream};
use super::{STREAMS, Schedule};
use crate::mix::{Asked, Place};
use crate::share::Share;
use crate::time::Nanos;

impl Schedule {
    /// Where arrival `index` stands in its load.
    #[inline]
    pub fn place(&self, index: u64) -> Place {
        match self.process.seed() {
            None => Place { sequence: 0, sequences: 1, ordinal: index },
            Some(_) => Place { sequence: index % STREAMS, sequences: STREAMS, ordinal: index / STREAMS },
        }
    }

    /// How many arrivals of `share` until just before `to` must be looked at one by one to count them by operation, about;
    /// 0 where counting is a matter of divisions.
    pub fn to_draw(&self, share: Share, to: Nanos, asked: &Asked) -> u64 {
        let is_dealt = self.process.seed().is_none() && share != Share::WHOLE;
        if asked.has_blocks() && !is_dealt { 0 } else { self.expected_before(to) / u64::from(share.of) }
    }

    /// Adds to `counts` the arrivals of `share` from the first of `window` until just before the second, of each operation;
    /// those beyond the last of `counts` are counted there. [`Schedule::to_draw`] says how long that may take.
    pub fn count_by_operation(&self, share: Share, window: [Nanos; 2], asked: &Asked, counts: &mut [u64]) {
        let [from, to] = window;
        let ends = [from.min(to), to].map(|end| self.units_before(end).min(self.end_units));
        match self.process.seed() {
            None => {
                let [first, end] = ends.map(|units| units.div_ceil(self.units_per_request) as u64);
                if share == Share::WHOLE {
                    return asked.count(self.place(0), first..end, counts);
                }
                // Which one of each group is drawn, so they are looked at one by one.
                for group in share.count_before(first)..share.count_before(end) {
                    let operation = asked.at(self.place(share.in_group(group))) as usize;
                    counts[operation.min(counts.len() - 1)] += 1;
                }
            }
            Some(seed) => {
                for number in streams::of_share(share) {
                    let mut stream = Stream::new(self, seed, number);
                    let [first, end] = ends.map(|units| {
                        stream.go_to(units, self);
                        stream.ordinal()
                    });
                    asked.count(self.place(number), first..end, counts);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::{Mix, Order};
    use crate::schedule::{Bursts, Cursor, Phase, Process, Rate};

    #[test]
    fn counts_are_those_of_the_arrivals_one_by_one() {
        let phases = [
            Phase::hold(Rate::per_second(700), Nanos::from_secs(1)),
            Phase { from: Rate::per_second(700), to: Rate::per_second(90), duration: Nanos::from_secs(2) },
        ];
        let weighted = |order| {
            let mix = Mix { weights: Some(vec![60, 25, 10, 5]), order, ..Mix::default() };
            [None, Some(&[2, 0][..])].map(|only| (Asked::new(&mix, 4, only, 0).unwrap(), 4))
        };
        let turn =
            [(1, 1), (2, 2), (7, 7), (7, 3), (3_000, 10)].map(|(all, places)| (Asked::all(all), places));
        let [shuffled, random] = [Order::Shuffled { seed: 1 }, Order::Random { seed: 1 }].map(weighted);
        let asked: Vec<_> = turn.into_iter().chain(shuffled).chain(random).collect();
        let bursts = Bursts { peak_milli: 5_000, on: Nanos::from_millis(200), off: Nanos::from_secs(1) };
        for process in [Process::Even, Process::Poisson { seed: 5 }, Process::Bursty { seed: 5, bursts }] {
            let schedule = Schedule::new(&phases, process, 1_500);
            for (asked, places) in &asked {
                for (from, to) in [(0, 3_000), (400, 1_900), (1_000, 1_000), (903, 904)] {
                    let (from, to) = (Nanos::from_millis(from), Nanos::from_millis(to));
                    let mut expected = vec![0; *places];
                    let mut cursor = Cursor::new(&schedule, 0, 1);
                    while let Some((index, due)) = cursor.next(&schedule) {
                        let operation = asked.at(schedule.place(index)) as usize;
                        expected[operation.min(places - 1)] += u64::from((from..to).contains(&due));
                    }
                    let mut counts = vec![0; *places];
                    schedule.count_by_operation(Share::WHOLE, [from, to], asked, &mut counts);
                    let mut in_shares = vec![0; *places];
                    for first in 0..5 {
                        let share = Share { first, of: 5 };
                        schedule.count_by_operation(share, [from, to], asked, &mut in_shares);
                    }
                    assert_eq!(in_shares, expected, "{asked:?}");
                    assert_eq!(counts, expected, "{asked:?}");
                }
            }
        }
    }

    #[test]
    fn shuffled_arrivals_are_counted_without_drawing_any() {
        let hold = [Phase::hold(Rate::per_second(1_000_000), Nanos::from_secs(300))];
        let schedule = Schedule::new(&hold, Process::Even, u64::MAX);
        let asked = |order| {
            Asked::new(&Mix { weights: Some(vec![3, 1]), order, ..Mix::default() }, 2, None, 0).unwrap()
        };
        let mut counts = [0; 2];
        let shuffled = asked(Order::Shuffled { seed: 1 });
        let window = [Nanos::ZERO, schedule.end()];
        schedule.count_by_operation(Share::WHOLE, window, &shuffled, &mut counts);
        assert_eq!(counts, [225_000_000, 75_000_000]);
        assert_eq!(schedule.to_draw(Share::WHOLE, schedule.end(), &shuffled), 0);
        assert_eq!(
            schedule.to_draw(Share::WHOLE, schedule.end(), &asked(Order::Random { seed: 1 })),
            300_000_000
        );
    }
}
