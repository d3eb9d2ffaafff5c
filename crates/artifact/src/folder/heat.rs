//! The heat grid of an interval, as a line holds it.

use serde::{Deserialize, Serialize};
use unblink_core::heat::{COLUMNS_MAX, HeatGrid, ROWS};

/// No run is so long that its columns are wider (600 of them are 200 years).
const COLUMN_MAX_NS: u64 = 1 << 53;

#[derive(Serialize, Deserialize)]
pub(super) struct HeatLine {
    column_ns: u64,
    /// (column, row, count); rows from 0 are latency bins, then censored, then failed.
    cells: Vec<(usize, usize, u32)>,
}

impl HeatLine {
    pub(super) fn of(heat: &HeatGrid) -> HeatLine {
        HeatLine { column_ns: heat.column_width().0, cells: heat.nonzero().collect() }
    }

    pub(super) fn fill(&self, heat: &mut HeatGrid) -> Result<(), String> {
        if self.column_ns == 0 || self.column_ns > COLUMN_MAX_NS {
            return Err(format!("a heat column can't be {} ns wide", self.column_ns));
        }
        if heat.column_width().0 > self.column_ns {
            *heat = HeatGrid::default();
        }
        // The grid of the line decides the width; an empty cell far enough right widens this one.
        while heat.column_width().0 < self.column_ns {
            let beyond = heat.column_width().0 * COLUMNS_MAX as u64;
            heat.add(beyond, 0, 0);
        }
        heat.clear();
        for &(column, row, count) in &self.cells {
            if row >= ROWS {
                return Err(format!("the heat grid has no row {row}"));
            }
            let offset = (column as u64).checked_mul(self.column_ns);
            heat.add(offset.ok_or_else(|| format!("the heat grid has no column {column}"))?, row, count);
        }
        Ok(())
    }
}
