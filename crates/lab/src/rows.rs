//! From cells to rows: the middle of the runs of each tool in each scenario.

use unblink_artifact::lab::{LabCell, LabPercentile, LabRow};

use crate::read::value_at;

/// A row for each tool in each scenario, in the order of the cells.
pub fn rows(cells: &[LabCell]) -> Vec<LabRow> {
    let mut rows: Vec<LabRow> = Vec::new();
    for cell in cells {
        let (scenario, tool) = (&cell.scenario.name, &cell.tool.name);
        if rows.iter().any(|row| row.scenario == *scenario && row.tool == *tool) {
            continue;
        }
        let all: Vec<&LabCell> =
            cells.iter().filter(|c| c.scenario.name == *scenario && c.tool.name == *tool).collect();
        rows.push(row(&all, cell));
    }
    rows
}

fn row(all: &[&LabCell], first: &LabCell) -> LabRow {
    let with_figures: Vec<&LabCell> = all.iter().copied().filter(|cell| cell.reported.is_some()).collect();
    let percentiles = first.percentiles.iter().map(|line| {
        // A run that does not say it at all can't stand in the middle.
        let mut of_runs: Vec<LabPercentile> = with_figures
            .iter()
            .flat_map(|cell| &cell.percentiles)
            .filter(|l| l.q == line.q)
            .copied()
            .collect();
        of_runs.sort_by_key(|line| line.reported_ns.unwrap_or(u64::MAX));
        of_runs.get(of_runs.len().saturating_sub(1) / 2).copied().unwrap_or(*line)
    });
    let of_all =
        |figure: &dyn Fn(&LabCell) -> Option<u64>| middle(all.iter().filter_map(|cell| figure(cell)));
    LabRow {
        scenario: first.scenario.name.clone(),
        tool: first.tool.name.clone(),
        model: first.tool.model,
        runs: with_figures.len() as u32,
        problem: all.iter().rev().find_map(|cell| cell.problem.clone()).filter(|_| with_figures.is_empty()),
        percentiles: percentiles.collect(),
        requests: of_all(&|cell| Some(cell.offered.requests)).unwrap_or(0),
        planned: first.offered.planned,
        connections: of_all(&|cell| Some(cell.offered.connections)).unwrap_or(0),
        seen_in_events: of_all(&|cell| Some(cell.offered.seen_in_events)),
        mean_ns: of_all(&|cell| cell.reported.as_ref()?.mean_ns),
        max_ns: of_all(&|cell| value_at(&cell.reported.as_ref()?.points, 1.0)),
        samples: of_all(&|cell| cell.reported.as_ref()?.samples),
        dropped: of_all(&|cell| cell.reported.as_ref()?.dropped),
    }
}

/// The middle of those that there are; of an even number the lower one.
fn middle(values: impl Iterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied()
}
