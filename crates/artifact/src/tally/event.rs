//! When was an event? One event has one date, whichever figure it decides: when its worst arrivals began to fall due.

use super::Tally;
use unblink_core::heat::{BINS, CENSORED_ROW, bin_edge_ns};
use unblink_core::outcome::Outcome;
use unblink_core::record::Series;
use unblink_core::time::{Nanos, SECOND_NS};

/// From when to when the answers of an event were recorded.
pub(super) type Recorded = (Nanos, Nanos);

/// Stretches that overlap or touch are of one event.
pub(super) fn joined(stretches: impl Iterator<Item = Recorded>) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = stretches.collect();
    all.sort_unstable();
    let mut joined: Vec<Recorded> = Vec::new();
    for (from, to) in all {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

impl Tally {
    /// When the worst arrivals of an event fell due, in ns after t = 0; `None` where nothing was drawn of it. They fell
    /// due before they were recorded, by as long as they took.
    pub(super) fn event_at_ns(&self, recorded: Recorded) -> Option<u64> {
        let heat = &self.totals.heat;
        let width = heat.column_width().0;
        let cells = || {
            heat.nonzero()
                .filter(|&(column, row, _)| row <= CENSORED_ROW && self.is_recorded_in(column, row, recorded))
        };
        let worst = cells().map(|(_, row, _)| row).max()?;
        // The bin below, too: a stall's worst arrivals differ by the time between them.
        let lowest = if worst == CENSORED_ROW { worst } else { worst.saturating_sub(1) };
        let columns = || cells().filter(|&(_, row, _)| row >= lowest).map(|(column, ..)| column as u64);
        let (first, last) = (columns().min()?, columns().max()?);
        // To the nanosecond, if it is among the slowest that are listed.
        let listed = || {
            self.slowest.iter().filter(|slow| {
                slow.outcome == Outcome::Ok
                    && (first * width..(last + 1) * width).contains(&slow.intended.0)
                    && heat.bin_of(slow.response()) >= lowest
            })
        };
        let longest = listed().map(|slow| slow.response().0).max().unwrap_or(0);
        let began = listed().filter(|slow| slow.response().0 >= longest - longest / 100);
        Some(began.map(|slow| slow.intended.0).min().unwrap_or(first * width))
    }

    /// May an arrival of this cell have ended in the stretch?
    fn is_recorded_in(&self, column: usize, row: usize, (from, to): Recorded) -> bool {
        let width = self.totals.heat.column_width().0;
        let due = column as u64 * width;
        let (least, most) = match row {
            // What the end of the run cut off was recorded then.
            CENSORED_ROW if to.0 + SECOND_NS > self.end.0 => (0, self.end.0),
            CENSORED_ROW => (self.header.plan.timeout_ns, self.header.plan.timeout_ns + SECOND_NS),
            0 => (0, bin_edge_ns(1)),
            row if row + 1 < BINS => (bin_edge_ns(row), bin_edge_ns(row + 1)),
            row => (bin_edge_ns(row), self.totals.track(Series::Response).max_ns),
        };
        due.saturating_add(least) < to.0 && due.saturating_add(width).saturating_add(most) > from.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_touches_is_joined() {
        let s = Nanos::from_secs;
        let stretches = [(s(31), s(32)), (s(5), s(6)), (s(30), s(31)), (s(31), s(33))];
        assert_eq!(joined(stretches.into_iter()), [(s(5), s(6)), (s(30), s(33))]);
    }
}
