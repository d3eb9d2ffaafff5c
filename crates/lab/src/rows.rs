//! From cells to rows: the middle of the runs of each tool in each scenario.

use unblink_artifact::lab::{LabCell, LabPercentile, LabRow};

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
    LabRow {
        scenario: first.scenario.name.clone(),
        tool: first.tool.name.clone(),
        model: first.tool.model,
        runs: with_figures.len() as u32,
        problem: all.iter().rev().find_map(|cell| cell.problem.clone()).filter(|_| with_figures.is_empty()),
        percentiles: percentiles.collect(),
        requests: middle(all.iter().map(|cell| cell.offered.requests)),
        planned: first.offered.planned,
        connections: middle(all.iter().map(|cell| cell.offered.connections)),
    }
}

fn middle(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}
