//! The timeline of an interval in its line.

use serde::{Deserialize, Serialize};
use unblink_core::record::{CELL_WIDTH, CELLS_MAX, Cell, Counted, Timeline};
use unblink_core::time::Nanos;

/// Numbers of a cell.
const FIGURES: usize = Cell::NAMES.len();

/// Its cells from the interval's start on.
#[derive(Serialize, Deserialize)]
pub(super) struct MomentsLine {
    cell_ns: u64,
    /// (due, sent, ok, failed, timed out, highest in flight, highest backlog, ended after they
    /// had been sent, ended unsent)
    cells: Vec<[u64; FIGURES]>,
}

impl MomentsLine {
    pub(super) fn of(timeline: &Timeline) -> Option<MomentsLine> {
        let cells: Vec<[u64; FIGURES]> = timeline.cells().iter().map(numbers).collect();
        (!cells.is_empty()).then(|| MomentsLine { cell_ns: timeline.cell_width().0, cells })
    }

    /// Writes them into `timeline`, which begins where the interval does.
    pub(super) fn fill(&self, timeline: &mut Timeline) -> Result<(), String> {
        let is_width =
            self.cell_ns.is_multiple_of(CELL_WIDTH.0) && (self.cell_ns / CELL_WIDTH.0).is_power_of_two();
        if !is_width || self.cells.len() > CELLS_MAX {
            return Err(format!("a timeline can't have {} cells of {} ns", self.cells.len(), self.cell_ns));
        }
        let end = timeline.start().0.checked_add(self.cell_ns.saturating_mul(CELLS_MAX as u64));
        if end.is_none() {
            return Err(format!("cells can't be {} ns wide", self.cell_ns));
        }
        timeline.widen(Nanos(self.cell_ns));
        for (i, numbers) in self.cells.iter().enumerate() {
            timeline.put(timeline.start() + Nanos(i as u64 * self.cell_ns), &cell(numbers));
        }
        Ok(())
    }
}

fn numbers(cell: &Cell) -> [u64; FIGURES] {
    let mut numbers = [0; FIGURES];
    let mut cell = *cell;
    numbers.iter_mut().zip(cell.counts_mut()).for_each(|(number, count)| *number = *count);
    numbers
}

fn cell(numbers: &[u64; FIGURES]) -> Cell {
    let mut cell = Cell::default();
    cell.counts_mut().zip(numbers).for_each(|(count, number)| *count = *number);
    cell
}
