//! What the cells of an interval must say: counts by time, and the highest levels, from the log.

use super::hold;
use super::recording::Snapshot;
use unblink_core::outcome::Outcome;
use unblink_core::record::{CELL_WIDTH, Cell};
use unblink_core::sim::ZERO;
use unblink_core::time::Instant;

/// What changes a level or a count.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Due,
    Sent,
    Ended(bool, Outcome),
}

/// An interval's moments in the order of the log, and what was under way when the first of them came.
#[derive(Clone, Default, Debug)]
pub(super) struct Moments {
    log: Vec<(Instant, Moment)>,
    in_flight: i64,
    backlog: i64,
    /// The levels at its border.
    at_start: (i64, i64),
    /// What the last turn of the interval before did after that one's end: cells from the border on, each with what it
    /// changes in the levels.
    begun: Vec<(Cell, (i64, i64))>,
}

impl Moments {
    pub(super) fn due(&mut self, at: Instant) {
        self.log.push((at, Moment::Due));
    }

    pub(super) fn sent(&mut self, at: Instant) {
        self.log.push((at, Moment::Sent));
    }

    pub(super) fn ended(&mut self, at: Instant, was_sent: bool, outcome: Outcome) {
        self.log.push((at, Moment::Ended(was_sent, outcome)));
    }

    /// What has just been noted, the end of one that had waited for too long, came before the `sends` that its turn has noted so
    /// far: a turn looks at all that waits and then sends.
    pub(super) fn came_before_sends(&mut self, sends: usize) {
        let Some((end, before)) = self.log.split_last() else { return };
        let is_later = |(at, moment): &&(Instant, Moment)| matches!(moment, Moment::Sent) && *at >= end.0;
        let later = before.iter().rev().take(sends).take_while(is_later).count();
        let from = before.len() - later;
        self.log[from..].rotate_right(1);
    }

    /// Holds the cells of `snapshot` against the log. Returns the next interval's beginning.
    pub(super) fn check(&self, snapshot: &Snapshot) -> Result<Moments, String> {
        let cells = &snapshot.cells;
        let length = snapshot.length.0.div_ceil(CELL_WIDTH.0).max(1) as usize;
        hold!(cells.len() == length, "{} cells of an interval of {:?}", cells.len(), snapshot.length);
        let place = |at: Instant| (at.since(ZERO + snapshot.start).0 / CELL_WIDTH.0) as usize;
        let last = self.log.iter().map(|&(at, _)| place(at) + 1).max().unwrap_or(0);
        let mut all = self.begun.clone();
        all.resize(all.len().max(length).max(last), Default::default());
        let (mut in_flight, mut backlog) = (self.in_flight, self.backlog);
        for &(at, moment) in &self.log {
            let (cell, change) = &mut all[place(at)];
            let (flight, waiting) = match moment {
                Moment::Due => (0, 1),
                Moment::Sent => (1, -1),
                Moment::Ended(was_sent, _) => (-i64::from(was_sent), -i64::from(!was_sent)),
            };
            in_flight += flight;
            backlog += waiting;
            change.0 += flight;
            change.1 += waiting;
            // Where a level falls it was higher before.
            if flight > 0 {
                cell.in_flight_max = cell.in_flight_max.max(in_flight as u64);
            }
            if waiting > 0 {
                cell.backlog_max = cell.backlog_max.max(backlog as u64);
            }
            match moment {
                Moment::Due => cell.due += 1,
                Moment::Sent => cell.sent += 1,
                Moment::Ended(was_sent, _) if was_sent => cell.ended_sent += 1,
                Moment::Ended(..) => cell.ended_unsent += 1,
            }
            match moment {
                Moment::Due | Moment::Sent => {}
                Moment::Ended(_, Outcome::Ok) => cell.ok += 1,
                Moment::Ended(_, Outcome::Failed(_)) => cell.failed += 1,
                Moment::Ended(_, Outcome::TimedOut) => cell.timed_out += 1,
                Moment::Ended(_, Outcome::Unfinished | Outcome::Unsent) => {}
            }
        }
        let mut levels = self.at_start;
        // What a turn did after the interval's end belongs to the next one, each at its own time.
        let begun = all.split_off(length);
        for (i, (mut cell, change)) in all.into_iter().enumerate() {
            cell.in_flight_max = cell.in_flight_max.max(levels.0 as u64);
            cell.backlog_max = cell.backlog_max.max(levels.1 as u64);
            hold!(cell == cells[i], "cell {i} should be {cell:?} and is {:?}", cells[i]);
            levels = (levels.0 + change.0, levels.1 + change.1);
        }
        let at_start = levels;
        begun.iter().for_each(|(_, change)| levels = (levels.0 + change.0, levels.1 + change.1));
        hold!(levels == (in_flight, backlog), "levels end at {levels:?}, not at {in_flight} and {backlog}");
        Ok(Moments { log: Vec::new(), in_flight, backlog, at_start, begun })
    }
}
