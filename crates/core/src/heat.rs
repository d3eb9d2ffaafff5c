//! Where the response times lie: a grid of intended time × log latency with a bounded size.
//!
//! Keyed by the *intended* time, so that a stall shows as the wedge that it is: each arrival that the
//! stall delays sits at the moment when it should have started.

use crate::near::Near;
use crate::time::{MILLISECOND_NS, Nanos};

/// Latency bins: twelve for each decade from 1 µs to 100 s; the first and the last are open-ended.
pub const BINS: usize = 96;
/// The row of a column that counts arrivals known only to be longer than their age.
pub const CENSORED_ROW: usize = BINS;
/// The row of a column that counts failed arrivals.
pub const FAILED_ROW: usize = BINS + 1;
/// Rows of a column: the latency bins, then censored, then failed.
pub const ROWS: usize = BINS + 2;
/// Columns at the most; a longer run doubles the column's width.
pub const COLUMNS_MAX: usize = 600;

const FIRST_WIDTH_NS: u64 = 100 * MILLISECOND_NS;

/// Lower edge of latency bin `i` in nanoseconds, `10^(3 + i/12)`; bin 0 also holds what lies below.
pub fn bin_edge_ns(i: usize) -> u64 {
    libm::pow(10.0, 3.0 + i as f64 / 12.0).round() as u64
}

/// Counts by (column of intended time, row). Folding keeps every count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeatGrid {
    edges_ns: Vec<u64>,
    /// By a latency's [`octile`]: the bin in which its smallest value lies.
    lowest_bin: [u8; OCTILES],
    /// How often the columns have become twice as wide.
    doublings: u32,
    columns_used: usize,
    cells: Vec<u32>,
    near: Near,
}

impl Default for HeatGrid {
    fn default() -> Self {
        let mut cells = vec![0; COLUMNS_MAX * ROWS];
        // Touch every page now, or the process would seem to grow while a run goes on.
        cells.iter_mut().step_by(1024).for_each(|cell| *std::hint::black_box(cell) = 0);
        // One edge more, which nothing reaches.
        let edges_ns: Vec<u64> = (0..BINS).map(bin_edge_ns).chain([u64::MAX]).collect();
        let lowest_bin = std::array::from_fn(|octile| {
            let smallest = octile_start_ns(octile);
            edges_ns[..BINS].partition_point(|&edge| edge <= smallest).saturating_sub(1) as u8
        });
        HeatGrid { edges_ns, lowest_bin, doublings: 0, columns_used: 0, cells, near: Near::default() }
    }
}

/// Values of [`octile`].
const OCTILES: usize = 64 * 8;

/// The eighth of the power of two in which `ns` lies. An octile is at most 9/8 wide and a bin 1.21, so that no more
/// than one bin begins inside one.
#[inline]
fn octile(ns: u64) -> usize {
    let ns = ns.max(8);
    let exponent = ns.ilog2();
    (exponent as usize) << 3 | (ns >> (exponent - 3)) as usize & 7
}

/// The smallest value in an octile.
fn octile_start_ns(octile: usize) -> u64 {
    match octile >> 3 {
        0..3 => 0,
        exponent => (8 + (octile as u64 & 7)) << (exponent - 3),
    }
}

impl HeatGrid {
    /// Width of a column of intended time.
    pub fn column_width(&self) -> Nanos {
        Nanos(FIRST_WIDTH_NS << self.doublings)
    }

    /// Columns up to the last one that holds anything.
    pub fn columns_used(&self) -> usize {
        self.columns_used
    }

    /// The latency bin that holds `latency`.
    #[inline]
    pub fn bin_of(&self, latency: Nanos) -> usize {
        let bin = usize::from(self.lowest_bin[octile(latency.0)]);
        (bin + usize::from(self.edges_ns[bin + 1] <= latency.0)).min(BINS - 1)
    }

    /// Counts of one column, [`ROWS`] long.
    pub fn column(&self, i: usize) -> &[u32] {
        &self.cells[i * ROWS..(i + 1) * ROWS]
    }

    /// Counts one arrival whose intended time lies `offset` after the start.
    #[inline]
    pub fn record(&mut self, offset: Nanos, row: usize) {
        self.add(offset.0, row, 1);
    }

    /// Adds `count` to the cell that holds the intended time `offset_ns`.
    #[inline]
    pub fn add(&mut self, offset_ns: u64, row: usize, count: u32) {
        let column = self.near.place_of(offset_ns).unwrap_or_else(|| self.find_column(offset_ns));
        let cell = &mut self.cells[column * ROWS + row];
        *cell = cell.saturating_add(count);
    }

    /// The column of an intended time; all up to it are used from now on.
    #[inline(never)]
    fn find_column(&mut self, offset_ns: u64) -> usize {
        let mut column = self.column_of(offset_ns);
        while column >= COLUMNS_MAX as u64 {
            self.fold();
            column = self.column_of(offset_ns);
        }
        let (width_ns, column) = (self.column_width().0, column as usize);
        self.columns_used = self.columns_used.max(column + 1);
        self.near = Near::new(column as u64 * width_ns, width_ns, column);
        column
    }

    /// Shifts first, so that the division is by a constant.
    #[inline]
    fn column_of(&self, offset_ns: u64) -> u64 {
        (offset_ns >> self.doublings) / FIRST_WIDTH_NS
    }

    /// Adds another grid; the wider column width wins.
    pub fn merge(&mut self, other: &HeatGrid) {
        while self.doublings < other.doublings {
            self.fold();
        }
        for column in 0..other.columns_used {
            let offset_ns = column as u64 * other.column_width().0;
            for (row, &count) in other.column(column).iter().enumerate() {
                if count > 0 {
                    self.add(offset_ns, row, count);
                }
            }
        }
    }

    /// Forgets every count but keeps the column width, so that parts of one run stay alike.
    pub fn clear(&mut self) {
        self.cells[..self.columns_used * ROWS].fill(0);
        self.columns_used = 0;
        self.near = Near::default();
    }

    /// Every cell that holds something: (column, row, count).
    pub fn nonzero(&self) -> impl Iterator<Item = (usize, usize, u32)> + '_ {
        self.cells[..self.columns_used * ROWS]
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(i, count)| (i / ROWS, i % ROWS, *count))
    }

    /// Doubles the width of the columns, in place.
    fn fold(&mut self) {
        for column in 0..COLUMNS_MAX {
            for row in 0..ROWS {
                let pair = if column < COLUMNS_MAX / 2 {
                    let left = self.cells[2 * column * ROWS + row];
                    let right = self.cells[(2 * column + 1) * ROWS + row];
                    left.saturating_add(right)
                } else {
                    0
                };
                self.cells[column * ROWS + row] = pair;
            }
        }
        self.doublings += 1;
        self.columns_used = self.columns_used.div_ceil(2);
        self.near = Near::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(grid: &HeatGrid) -> u64 {
        grid.nonzero().map(|(_, _, n)| u64::from(n)).sum()
    }

    #[test]
    fn bins_are_half_open_and_ends_are_open() {
        let grid = HeatGrid::default();
        for i in 1..BINS {
            assert_eq!(grid.bin_of(Nanos(bin_edge_ns(i))), i);
            assert_eq!(grid.bin_of(Nanos(bin_edge_ns(i) - 1)), i - 1);
        }
        let by_search = |ns| grid.edges_ns.partition_point(|&edge| edge <= ns).saturating_sub(1);
        for ns in (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1, 3 << bit]) {
            assert_eq!(grid.bin_of(Nanos(ns)), by_search(ns), "{ns}");
        }
        assert_eq!(grid.bin_of(Nanos(0)), 0);
        assert_eq!(grid.bin_of(Nanos(u64::MAX)), BINS - 1);
        assert_eq!(bin_edge_ns(0), 1_000);
        assert_eq!(bin_edge_ns(36), 1_000_000);
    }

    #[test]
    fn folding_and_merging_keep_every_count() {
        let (mut long, mut short) = (HeatGrid::default(), HeatGrid::default());
        for i in 0..10_000u64 {
            long.record(Nanos(i * 97 * MILLISECOND_NS), (i % ROWS as u64) as usize);
            short.record(Nanos(i * MILLISECOND_NS), 3);
        }
        assert_eq!((total(&long), total(&short)), (10_000, 10_000));
        assert!(long.columns_used() <= COLUMNS_MAX);
        let wide = long.column_width();
        short.merge(&long);
        assert_eq!(total(&short), 20_000);
        assert_eq!(short.column_width(), wide);
        short.clear();
        assert_eq!(total(&short), 0);
        assert_eq!(short.column_width(), wide);
    }
}
