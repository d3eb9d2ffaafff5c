//! How near each tool of a finished lab comes to the truth: `cargo run --release -p unblink-lab --example nearness --
//! unblink-lab-60s/lab.json [TOOL]`.
//!
//! For each scenario the middle of all runs, as a table: up to p99 in milliseconds beyond the exact range, p99.9 beyond
//! what the server's log says, or the exact range where the server could not see requests wait. In bold what is off by
//! more than 1 ms and 1 %, or for `fast` 50 µs and 1 %.

#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for a terminal.

use std::process::ExitCode;
use unblink_artifact::lab::{LabDocument, LabPercentile};

const MS: f64 = 1e6;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("which lab? Give the path of its lab.json");
        return ExitCode::from(2);
    };
    let tool = arguments.next();
    let document: LabDocument = match std::fs::read(&path)
        .map_err(|e| e.to_string())
        .and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()))
    {
        Ok(document) => document,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    println!("| scenario | tool | p50 | p90 | p95 | p99 | p99.9 | sent |\n|---|---|---|---|---|---|---|---|");
    for row in document.rows.iter().filter(|row| tool.as_ref().is_none_or(|tool| *tool == row.tool)) {
        let is_blind = document.cells.iter().any(|c| c.scenario.name == row.scenario && c.log.is_blind);
        let within = row.percentiles.iter().filter(|p| p.q <= 0.999);
        let cells: Vec<String> = within.map(|p| cell(&row.scenario, p, is_blind)).collect();
        println!(
            "| `{}` | {} | {} | {} of {} |",
            row.scenario,
            row.tool,
            cells.join(" | "),
            row.requests,
            row.planned
        );
    }
    ExitCode::SUCCESS
}

fn cell(scenario: &str, percentile: &LabPercentile, is_blind: bool) -> String {
    let (low, high) = match percentile.q > 0.99 && !is_blind {
        true => (percentile.log_ns, percentile.log_ns),
        false => (percentile.truth_low_ns, percentile.truth_high_ns),
    };
    // A truth without a value, beyond the timeout, is met by a report that says so.
    let Some((low, high)) = low.zip(high) else {
        return if percentile.is_longer { "beyond, as it is" } else { "–" }.into();
    };
    let Some(reported) = percentile.reported_ns else { return "–".into() };
    let off_ns = match reported {
        below if below < low => -((low - below) as f64),
        above => above.saturating_sub(high) as f64,
    };
    let least = if scenario == "fast" { MS / 20.0 } else { MS };
    let is_near = off_ns.abs() <= least.max(high as f64 / 100.0);
    let text = format!("{:+.2}", off_ns / MS);
    if is_near { text } else { format!("**{text}**") }
}
