//! What happened when, in cells of 100 ms: counts, and the highest levels within each.
//!
//! A row a second hides what is shorter: a pause of 400 ms lies between two looks at the levels, and failures every
//! 1.25 s look like a cycle of 5 s. A timeline is bounded: cells double their width when it is full.

use super::counted::counted;
use crate::near::Near;
use crate::outcome::Outcome;
use crate::time::{MILLISECOND_NS, Nanos};

/// Cells at the most; a longer timeline doubles their width. Those of a minute and of what is answered after it fit.
pub const CELLS_MAX: usize = 720;
/// Width of a cell, to begin with.
pub const CELL_WIDTH: Nanos = Nanos(100 * MILLISECOND_NS);

counted! {
    /// One stretch of time. Warm-up is counted too.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Cell {
        /// Fell due.
        due,
        /// Sent, for the first time.
        sent,
        /// Ended as `ok`.
        ok,
        /// Failed.
        failed,
        /// Found to take longer than the timeout.
        timed_out,
        /// Highest number of arrivals that were sent and had not ended.
        in_flight_max,
        /// Highest number of arrivals that were due and had neither been sent nor ended.
        backlog_max,
        /// Ended, in any way, after they had been sent.
        ended_sent,
        /// Ended without having been sent. Levels at the borders of cells follow from these two.
        ended_unsent,
    }
}

impl Cell {
    /// The same time, another worker: each may have been highest at another moment, so that the sum is a bound.
    fn beside(&mut self, other: &Cell) {
        self.add(other);
    }

    /// More time.
    fn follow(&mut self, next: &Cell) {
        let in_flight_max = self.in_flight_max.max(next.in_flight_max);
        let backlog_max = self.backlog_max.max(next.backlog_max);
        self.add(next);
        (self.in_flight_max, self.backlog_max) = (in_flight_max, backlog_max);
    }
}

/// Cells from a moment on, one beside the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    start: Nanos,
    /// How often the cells have become twice as wide.
    doublings: u32,
    used: usize,
    cells: Vec<Cell>,
    /// Levels at the start.
    at_start: Levels,
    /// Levels now.
    levels: Levels,
    near: Near,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Levels {
    in_flight: u64,
    backlog: u64,
}

impl Default for Timeline {
    fn default() -> Self {
        let mut cells = vec![Cell::default(); CELLS_MAX];
        // Touch every page now, or the process would seem to grow while a run goes on.
        cells.iter_mut().step_by(32).for_each(|cell| *std::hint::black_box(cell) = Cell::default());
        let (at_start, levels) = (Levels::default(), Levels::default());
        Timeline { start: Nanos::ZERO, doublings: 0, used: 0, cells, at_start, levels, near: Near::default() }
    }
}

impl Timeline {
    /// Where the first cell begins, after t = 0.
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// Width of a cell.
    pub fn cell_width(&self) -> Nanos {
        Nanos(CELL_WIDTH.0 << self.doublings)
    }

    /// The cells up to the last one that is known of.
    pub fn cells(&self) -> &[Cell] {
        &self.cells[..self.used]
    }

    /// Forgets everything and begins at `start` after t = 0.
    pub fn begin(&mut self, start: Nanos) {
        self.cells[..self.used].fill(Cell::default());
        (self.start, self.doublings, self.used, self.near) = (start, 0, 0, Near::default());
        (self.at_start, self.levels) = (Levels::default(), Levels::default());
    }

    /// Ends at `end`, where `next` goes on with what was under way then. A turn may have noted what came a little later, before
    /// anybody looked whether the interval is over: those cells are of `next`, or its arrivals would seem to come at once.
    pub(super) fn hand_on(&mut self, end: Nanos, next: &mut Timeline) {
        next.begin(end);
        let length = self.length_until(end);
        if length < self.used {
            next.widen(self.cell_width());
        }
        for late in length..self.used {
            let at = self.start + Nanos(late as u64 * self.cell_width().0);
            next.cell_at(at).follow(&self.cells[late]);
        }
        self.cells[length..].iter_mut().take(self.used - length).for_each(|cell| *cell = Cell::default());
        next.at_start = self.end_after(length);
        next.levels = self.levels;
    }

    /// An arrival fell due. Those of a turn are counted one after the other, each at its own time.
    #[inline]
    pub(super) fn due(&mut self, at: Nanos) {
        self.levels.backlog += 1;
        let level = self.levels.backlog;
        let cell = self.cell_at(at);
        cell.due += 1;
        cell.backlog_max = cell.backlog_max.max(level);
    }

    /// One that was due was sent.
    #[inline]
    pub(super) fn sent(&mut self, at: Nanos) {
        self.levels.backlog = self.levels.backlog.saturating_sub(1);
        self.levels.in_flight += 1;
        let level = self.levels.in_flight;
        let cell = self.cell_at(at);
        cell.sent += 1;
        cell.in_flight_max = cell.in_flight_max.max(level);
    }

    /// One has ended, and was sent before or wasn't.
    #[inline]
    pub(super) fn ended(&mut self, at: Nanos, was_sent: bool, outcome: Outcome) {
        let level = if was_sent { &mut self.levels.in_flight } else { &mut self.levels.backlog };
        *level = level.saturating_sub(1);
        let cell = self.cell_at(at);
        cell.ended_sent += u64::from(was_sent);
        cell.ended_unsent += u64::from(!was_sent);
        match outcome {
            Outcome::Ok => cell.ok += 1,
            Outcome::Failed(_) => cell.failed += 1,
            Outcome::TimedOut => cell.timed_out += 1,
            Outcome::Unfinished | Outcome::Unsent => {}
        }
    }

    /// Ends for good at `end`: what was counted a little later belongs to the last cell, as to the bank. What is under way
    /// at a cell's border follows from the counts before it, so that a cell in which nothing happened has its level.
    pub(super) fn close(&mut self, end: Nanos) {
        let length = self.length_until(end);
        for late in length..self.used {
            let cell = std::mem::take(&mut self.cells[late]);
            self.cells[length - 1].follow(&cell);
        }
        self.end_after(length);
    }

    /// How many cells there are up to `end`, and wider ones if there must be.
    fn length_until(&mut self, end: Nanos) -> usize {
        self.cell_at(end - Nanos(1));
        end.0.saturating_sub(self.start.0).div_ceil(self.cell_width().0).max(1) as usize
    }

    /// Has so many cells, and gives the levels behind them.
    fn end_after(&mut self, length: usize) -> Levels {
        (self.used, self.near) = (length, Near::default());
        let Levels { mut in_flight, mut backlog } = self.at_start;
        for cell in &mut self.cells[..length] {
            cell.in_flight_max = cell.in_flight_max.max(in_flight);
            cell.backlog_max = cell.backlog_max.max(backlog);
            in_flight = (in_flight + cell.sent).saturating_sub(cell.ended_sent);
            backlog = (backlog + cell.due).saturating_sub(cell.sent + cell.ended_unsent);
        }
        Levels { in_flight, backlog }
    }

    /// Makes the cells of an empty timeline as wide as `width`, which is a doubling of [`CELL_WIDTH`].
    pub fn widen(&mut self, width: Nanos) {
        while self.cell_width() < width {
            self.fold();
        }
    }

    /// Puts `cell` at the place that begins at `at`.
    pub fn put(&mut self, at: Nanos, cell: &Cell) {
        *self.cell_at(at) = *cell;
    }

    /// Adds what another worker recorded in the same time. Levels then are the sum of each worker's highest.
    pub fn beside(&mut self, other: &Timeline) {
        self.join(other, Cell::beside);
    }

    /// Adds what was recorded later. Levels then are the highest.
    pub fn follow(&mut self, next: &Timeline) {
        self.join(next, Cell::follow);
    }

    /// Levels that were known just before `end`.
    pub fn reach(&mut self, end: Nanos, in_flight: u64, backlog: u64) {
        let cell = self.cell_at(end - Nanos(1));
        cell.in_flight_max = cell.in_flight_max.max(in_flight);
        cell.backlog_max = cell.backlog_max.max(backlog);
    }

    fn join(&mut self, other: &Timeline, join: fn(&mut Cell, &Cell)) {
        while self.doublings < other.doublings {
            self.fold();
        }
        for (i, cell) in other.cells().iter().enumerate() {
            join(self.cell_at(other.start + Nanos(i as u64 * other.cell_width().0)), cell);
        }
    }

    /// The cell of a moment after t = 0; what lies before the start belongs to the first.
    #[inline]
    fn cell_at(&mut self, at: Nanos) -> &mut Cell {
        let place = self.near.place_of(at.0).unwrap_or_else(|| self.find_cell(at));
        &mut self.cells[place]
    }

    /// Where that cell is; all up to it are known of from now on.
    #[inline(never)]
    fn find_cell(&mut self, at: Nanos) -> usize {
        let offset = at.0.saturating_sub(self.start.0);
        // Shifted first, so that the division is by a constant.
        let mut place = (offset >> self.doublings) / CELL_WIDTH.0;
        while place >= CELLS_MAX as u64 {
            self.fold();
            place = (offset >> self.doublings) / CELL_WIDTH.0;
        }
        let (width_ns, place) = (self.cell_width().0, place as usize);
        self.used = self.used.max(place + 1);
        self.near = Near::new(self.start.0.saturating_add(place as u64 * width_ns), width_ns, place);
        place
    }

    /// Doubles the width of the cells, in place.
    fn fold(&mut self) {
        for place in 0..CELLS_MAX {
            let mut pair = Cell::default();
            if place < CELLS_MAX / 2 {
                pair = self.cells[2 * place];
                pair.follow(&self.cells[2 * place + 1]);
            }
            self.cells[place] = pair;
        }
        self.doublings += 1;
        (self.used, self.near) = (self.used.div_ceil(2), Near::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = MILLISECOND_NS;

    fn ms(n: u64) -> Nanos {
        Nanos(n * MS)
    }

    fn levels(timeline: &Timeline) -> Vec<(u64, u64)> {
        timeline.cells().iter().map(|cell| (cell.in_flight_max, cell.backlog_max)).collect()
    }

    #[test]
    fn a_stall_between_two_seconds_shows_its_height() {
        // 100/s for a second; from 250 ms to 650 ms nothing is answered, then all at once.
        let mut timeline = Timeline::default();
        let mut open = 0;
        for i in 0..100 {
            let at = ms(i * 10);
            timeline.due(at);
            timeline.sent(at);
            open += 1;
            if !(250..650).contains(&(i * 10)) {
                for _ in 0..std::mem::take(&mut open) {
                    timeline.ended(at + ms(1), true, Outcome::Ok);
                }
            }
        }
        timeline.close(ms(1_000));
        let in_flight: Vec<u64> = levels(&timeline).iter().map(|of| of.0).collect();
        // 25 fell due before 250 ms; the 41st after that is sent at 650 ms, before the answers come.
        assert_eq!(in_flight, [1, 1, 5, 15, 25, 35, 41, 1, 1, 1]);
        assert_eq!(timeline.cells().iter().map(|cell| cell.ok).sum::<u64>(), 100);
        assert_eq!(timeline.levels, Levels::default());
    }

    #[test]
    fn a_cell_in_which_nothing_happens_has_the_level_at_its_border() {
        let mut timeline = Timeline::default();
        (0..7).for_each(|_| timeline.due(ms(20)));
        (0..5).for_each(|_| timeline.sent(ms(120)));
        let mut next = Timeline::default();
        timeline.hand_on(ms(1_000), &mut next);
        assert_eq!(levels(&timeline)[..3], [(0, 7), (5, 7), (5, 2)]);
        assert_eq!(levels(&timeline)[9], (5, 2));
        next.ended(ms(1_050), true, Outcome::TimedOut);
        next.ended(ms(1_950), false, Outcome::Unsent);
        next.close(ms(2_000));
        assert_eq!((levels(&next)[0], levels(&next)[1], levels(&next)[9]), ((5, 2), (4, 2), (4, 2)));
        assert_eq!(next.cells()[0].timed_out, 1);
    }

    #[test]
    fn arrivals_that_were_noticed_late_stand_where_they_fell_due() {
        // Nobody looked for 300 ms.
        let mut timeline = Timeline::default();
        (0..30).for_each(|i| timeline.due(ms(i * 10)));
        (0..30).for_each(|_| timeline.sent(ms(300)));
        timeline.close(ms(400));
        assert_eq!(levels(&timeline), [(0, 10), (0, 20), (0, 30), (30, 30)]);
    }

    #[test]
    fn what_comes_a_little_after_the_end_belongs_to_the_last_cell() {
        let mut timeline = Timeline::default();
        timeline.begin(ms(3_000));
        timeline.due(ms(3_999));
        timeline.sent(ms(4_000));
        timeline.close(ms(4_000));
        assert_eq!(timeline.cells().len(), 10);
        assert_eq!((timeline.cells()[9].due, timeline.cells()[9].sent), (1, 1));
        let mut whole = Timeline::default();
        whole.begin(ms(3_000));
        whole.follow(&timeline);
        assert_eq!(whole.cells(), timeline.cells());
    }

    #[test]
    fn what_a_turn_noted_after_the_end_is_in_the_next_timeline() {
        let (mut timeline, mut next) = (Timeline::default(), Timeline::default());
        // Nobody looked from 950 ms to 1,150 ms, and then the interval ended.
        (0..23).for_each(|i| timeline.due(ms(i * 50)));
        (0..23).for_each(|_| timeline.sent(ms(1_150)));
        timeline.hand_on(ms(1_000), &mut next);
        let due = |timeline: &Timeline| timeline.cells().iter().map(|cell| cell.due).collect::<Vec<u64>>();
        assert_eq!((due(&timeline), due(&next)), (vec![2; 10], vec![2, 1]));
        assert_eq!(next.cells()[1].sent, 23);
        // What is under way at the border is what was due before it.
        assert_eq!(next.at_start, Levels { in_flight: 0, backlog: 20 });
        assert_eq!(next.levels, Levels { in_flight: 23, backlog: 0 });
        // The memory of the first is clean where it was used.
        assert!(timeline.cells[10..].iter().all(|cell| *cell == Cell::default()));
    }

    #[test]
    fn folding_keeps_every_count_and_the_highest_level() {
        let (mut whole, mut part) = (Timeline::default(), Timeline::default());
        for second in 0..3_000u64 {
            for i in 0..20 {
                part.due(ms(second * 1_000 + i * 50));
                part.sent(ms(second * 1_000 + i * 50));
                if second != 1_700 || i == 19 {
                    let open = if second == 1_700 { 20 } else { 1 };
                    (0..open).for_each(|_| part.ended(ms(second * 1_000 + i * 50), true, Outcome::Ok));
                }
            }
            let mut next = Timeline::default();
            part.hand_on(ms(second * 1_000 + 1_000), &mut next);
            whole.follow(&std::mem::replace(&mut part, next));
        }
        assert_eq!(whole.cell_width(), ms(6_400));
        assert_eq!(whole.cells().iter().map(|cell| cell.ok).sum::<u64>(), 60_000);
        let highest: Vec<u64> = whole.cells().iter().map(|cell| cell.in_flight_max).collect();
        assert_eq!(highest.iter().filter(|&&level| level == 20).count(), 1);
        assert_eq!(highest[1_700_000 / 6_400], 20);
    }

    #[test]
    fn workers_levels_add_up_to_a_bound() {
        let of = |early: u64, late: u64| {
            let mut timeline = Timeline::default();
            for (n, at) in [(early, 10), (late, 90)] {
                (0..n).for_each(|_| timeline.due(ms(at)));
                (0..n).for_each(|_| timeline.sent(ms(at)));
                (0..n).for_each(|_| timeline.ended(ms(at), true, Outcome::Ok));
            }
            timeline.close(ms(100));
            timeline
        };
        let mut both = Timeline::default();
        both.beside(&of(9, 1));
        both.beside(&of(2, 7));
        assert_eq!(levels(&both), [(16, 16)], "no less than the 11 that were in flight at 10 ms");
        assert_eq!(both.cells()[0].sent, 19);
    }
}
