//! Tools by scenarios, with the error of each.

use super::percentiles::TOOLS_WIDTH;
use super::words;
use crate::facts::Title;
use crate::svg::Picture;
use crate::svg::canvas::{Anchor, Canvas, Size};
use unblink_artifact::lab::{LabPercentile, LabRow};

/// A field of the matrix.
const ROW_HEIGHT: f64 = 24.0;
const HEAD_HEIGHT: f64 = 40.0;

/// Tools by scenarios, coloured by the error at p99.
pub(crate) fn matrix(title: Title, rows: &[LabRow], quantile: f64) -> Picture {
    let (mut tools, mut scenarios): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for row in rows {
        if !tools.contains(&row.tool.as_str()) {
            tools.push(&row.tool);
        }
        if !scenarios.contains(&row.scenario.as_str()) {
            scenarios.push(&row.scenario);
        }
    }
    let field = |tool: &str, scenario: &str| {
        rows.iter().find(|row| row.tool == tool && row.scenario == scenario)?.at(quantile)
    };
    let sizes = [("wide middle", 1_080.0, 16), ("narrow", 360.0, 4)];
    let sizes = sizes.map(|(class, width, columns)| {
        let block_height = HEAD_HEIGHT + tools.len() as f64 * ROW_HEIGHT + 14.0;
        let height = scenarios.len().div_ceil(columns) as f64 * block_height;
        let mut canvas = Canvas::new(&format!("matrix-{width}"), Size { width, height });
        // A few scenarios need not be as wide as the page.
        let step = ((width - TOOLS_WIDTH) / columns.min(scenarios.len().max(1)) as f64).min(96.0);
        for (i, block) in scenarios.chunks(columns).enumerate() {
            let top = i as f64 * block_height;
            for (j, scenario) in block.iter().enumerate() {
                let middle = TOOLS_WIDTH + (j as f64 + 0.5) * step;
                // Neighbours stand on two levels, so that long names have room.
                canvas.text(
                    "tick",
                    (middle, top + if j % 2 == 0 { 14.0 } else { 30.0 }),
                    Anchor::Middle,
                    scenario,
                );
                for (k, tool) in tools.iter().enumerate() {
                    let y = top + HEAD_HEIGHT + k as f64 * ROW_HEIGHT;
                    let at = (middle - step / 2.0 + 1.0, y + 1.0);
                    fill(&mut canvas, at, (step - 2.0, ROW_HEIGHT - 2.0), field(tool, scenario));
                }
            }
            for (k, tool) in tools.iter().enumerate() {
                let y = top + HEAD_HEIGHT + (k as f64 + 0.5) * ROW_HEIGHT + 4.0;
                canvas.text("name", (TOOLS_WIDTH - 8.0, y), Anchor::End, tool);
            }
        }
        (class, canvas)
    });
    let legend = [
        ("field good", "right"),
        ("field low-3", "too low: it hides"),
        ("field high-3", "too high"),
        ("field none", "does not say, or unclear"),
    ]
    .map(|(mark, name)| (mark, name.to_string()))
    .into();
    Picture { stem: "lab-matrix", title, legend, full: true, lines: None, sizes: sizes.into() }
}

fn fill(canvas: &mut Canvas, at: (f64, f64), size: (f64, f64), line: Option<&LabPercentile>) {
    let judged = line.and_then(|line| Some((line, line.error?, line.is_right?)));
    let class = match judged {
        None => "none",
        Some((_, _, true)) => "good",
        Some((_, error, _)) => match error {
            e if e < -0.8 => "low-3",
            e if e < -0.5 => "low-2",
            e if e < 0.0 => "low-1",
            e if e < 0.5 => "high-1",
            e if e < 1.0 => "high-2",
            _ => "high-3",
        },
    };
    canvas.rect(&format!("field {class}"), at.0, at.1, size.0, size.1);
    let text = line.map_or("–".into(), words::error);
    let text = if text == "right" { "✓".into() } else { text };
    canvas.text("in-field", (at.0 + size.0 / 2.0, at.1 + size.1 / 2.0 + 4.0), Anchor::Middle, &text);
}
