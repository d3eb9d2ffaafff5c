//! Arrivals for one origin that are due and not yet taken.

use crate::arrival::Arrival;
use crate::schedule::Cursor;
use crate::time::Instant;
use std::collections::VecDeque;

/// Arrivals that are held as such.
const HELD_MAX: usize = 256;
/// How many arrivals of the schedule are drawn again at a time, whosever they are; more only until the next of this line is
/// found.
const DRAWN_AT_ONCE: usize = 64;

/// A line of arrivals in order of intended time.
///
/// The oldest are held. Those behind them are only counted, and are drawn from the schedule again when their turn comes, so
/// that a backlog of a million takes no memory.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    held: VecDeque<Arrival>,
    /// The first of those that are only counted. There is one as long as any are counted.
    next: Option<Arrival>,
    /// Just behind that one.
    cursor: Cursor,
    counted: u64,
}

impl Queue {
    /// An empty line; `cursor` is of the schedule that its arrivals come from.
    pub(super) fn new(cursor: Cursor) -> Queue {
        Queue { held: VecDeque::with_capacity(HELD_MAX), next: None, cursor, counted: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.held.len() as u64 + self.counted
    }

    #[inline(always)]
    pub(super) fn head(&self) -> Option<Arrival> {
        self.held.front().copied()
    }

    /// The next arrival will be held as such.
    #[inline]
    pub(super) fn holds_next(&self) -> bool {
        self.counted == 0 && self.held.len() < HELD_MAX
    }

    /// The next arrival has fallen due; `behind` is the place just behind it.
    #[inline]
    pub(super) fn push(&mut self, arrival: Arrival, behind: &Cursor) {
        if self.holds_next() {
            self.held.push_back(arrival);
        } else if self.counted > 0 {
            self.counted += 1;
        } else {
            self.cursor.go_to(behind);
            (self.next, self.counted) = (Some(arrival), 1);
        }
    }

    /// The head is taken. `draw` gives the next arrival from the cursor's place on, and `is_mine` says whether it belongs
    /// here.
    #[inline]
    pub(super) fn pop(
        &mut self,
        draw: impl FnMut(&mut Cursor) -> Option<Arrival>,
        is_mine: impl Fn(&Arrival) -> bool,
    ) {
        self.take(draw, is_mine);
    }

    /// The same, and gives it.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        draw: impl FnMut(&mut Cursor) -> Option<Arrival>,
        is_mine: impl Fn(&Arrival) -> bool,
    ) -> Option<Arrival> {
        let head = self.held.pop_front();
        if self.counted > 0 && self.held.is_empty() {
            self.hold_more(draw, is_mine);
        }
        head
    }

    #[inline(never)]
    fn hold_more(
        &mut self,
        mut draw: impl FnMut(&mut Cursor) -> Option<Arrival>,
        is_mine: impl Fn(&Arrival) -> bool,
    ) {
        let mut drawn = 0;
        while drawn < DRAWN_AT_ONCE {
            let Some(next) = self.next.take() else { return };
            self.held.push_back(next);
            self.counted -= 1;
            while self.counted > 0 && self.next.is_none() {
                let Some(arrival) = draw(&mut self.cursor) else { return };
                drawn += 1;
                self.next = Some(arrival).filter(&is_mine);
            }
        }
    }

    /// When the arrival with `rank` before it should have started, if it is held or the first behind those.
    pub(super) fn intended(&self, rank: u64) -> Option<Instant> {
        let held = self.held.get(rank as usize);
        let next = || self.next.as_ref().filter(|_| rank == self.held.len() as u64);
        held.or_else(next).map(|arrival| arrival.intended)
    }

    /// Where those lie that are only counted, but for the first of them, and the rank of the one that comes next there.
    pub(super) fn counted_from(&self) -> (&Cursor, u64) {
        (&self.cursor, self.held.len() as u64 + 1)
    }
}
