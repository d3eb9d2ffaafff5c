//! From the heat grid to the document's heat map.

use crate::document::{HeatColumn, Heatmap};
use unblink_analysis::quantile::nearest_rank;
use unblink_core::heat::{BINS, CENSORED_ROW, FAILED_ROW, HeatGrid, bin_edge_ns};

/// The grid as the document has it; no quantile of it exceeds the exact maximum.
pub(super) fn heatmap(grid: &HeatGrid, response_max_ns: u64) -> Heatmap {
    let width = grid.column_width().0;
    let column = |i: usize| {
        let cells = grid.column(i);
        HeatColumn {
            start_ns: i as u64 * width,
            cells: (0..BINS).filter(|&bin| cells[bin] > 0).map(|bin| (bin as u32, cells[bin])).collect(),
            censored: cells[CENSORED_ROW],
            failed: cells[FAILED_ROW],
            p50_ns: column_quantile(cells, 0.5, response_max_ns),
            p99_ns: column_quantile(cells, 0.99, response_max_ns),
        }
    };
    Heatmap {
        column_ns: width,
        bin_edges_ns: (0..BINS).map(bin_edge_ns).collect(),
        columns: (0..grid.columns_used())
            .filter(|&i| grid.column(i).iter().any(|&n| n > 0))
            .map(column)
            .collect(),
    }
}

/// Nearest rank over the bins, the censored above everything; the geometric middle of the bin.
fn column_quantile(cells: &[u32], q: f64, response_max_ns: u64) -> Option<u64> {
    let known: u64 = cells[..BINS].iter().map(|&n| u64::from(n)).sum();
    let count = known + u64::from(cells[CENSORED_ROW]);
    let rank = nearest_rank(q, count);
    if rank > known {
        return None;
    }
    let mut below = 0;
    let bin = (0..BINS).find(|&bin| {
        below += u64::from(cells[bin]);
        below >= rank
    })?;
    let middle = ((bin_edge_ns(bin) as f64) * (bin_edge_ns(bin + 1) as f64)).sqrt();
    Some((middle.round() as u64).min(response_max_ns))
}
