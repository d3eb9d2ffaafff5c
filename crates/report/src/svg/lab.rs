//! What many tools say of one truth: all spectra in one picture, and errors as a matrix.

use super::axis::{Plot, Scale, duration_tick, value_axis};
use super::canvas::{Anchor, Canvas, Size, polyline};
use super::spectrum::{tail, x_axis};
use super::{Picture, half, lab_words as words};
use crate::facts::Title;
use unblink_artifact::document::LoadModel;
use unblink_artifact::lab::{LabBand, LabCell, LabPercentile, LabRow};

/// Room for names to the right of the lines.
const NAMES_WIDTH: f64 = 118.0;
/// From one name to the next.
const NAME_HEIGHT: f64 = 14.0;
/// Fewer points than this are a list and not a spectrum: each has a dot.
const LIST_MAX: usize = 12;
/// The slowest of a tool's samples say little: so many lie beyond the last point that is drawn.
const BEYOND_MIN: f64 = 5.0;

/// Every tool's spectrum over the truth of its scenario.
pub(crate) fn spectrum(scope: &str, title: Title, cells: &[&LabCell]) -> Picture {
    let sizes = [("wide", 1_080.0, 470.0), ("middle", 720.0, 440.0), ("narrow", 360.0, 460.0)];
    let sizes = sizes.map(|(class, width, height)| {
        let mut canvas = Canvas::new(&format!("{scope}-{width}"), Size { width, height });
        draw(&mut canvas, cells);
        (class, canvas)
    });
    let legend = vec![
        ("truth-band", "what users feel, exactly"),
        ("response", "claims an open load"),
        ("service", "claims a closed one"),
    ];
    Picture { stem: "lab-spectrum", title, legend, full: true, lines: None, sizes: sizes.into() }
}

/// The same of two modes of one program.
pub(crate) fn pair(scope: &str, title: Title, cells: &[&LabCell]) -> Picture {
    let legend = vec![
        ("truth-band", "what users feel, exactly"),
        ("response", "claims an open load"),
        ("service", "claims a closed one"),
    ];
    half("lab-pair", scope, title, legend, |canvas| draw(canvas, cells))
}

/// The points of a cell that its tool resolves.
fn points(cell: &LabCell) -> Vec<(f64, u64)> {
    let Some(reported) = &cell.reported else { return Vec::new() };
    let samples = reported.samples.unwrap_or(cell.offered.requests) as f64;
    let is_resolved = |q: f64| q > 0.0 && (1.0 - q) * samples >= BEYOND_MIN;
    reported.points.iter().filter(|point| is_resolved(point.q)).map(|p| (p.q, p.value_ns)).collect()
}

fn draw(canvas: &mut Canvas, cells: &[&LabCell]) {
    let mut plot = Plot::of(canvas, 62.0);
    plot.right = canvas.size.width - NAMES_WIDTH;
    let band: &[LabBand] = cells.first().map_or(&[], |cell| &cell.truth.band);
    let lines: Vec<(&LabCell, Vec<(f64, u64)>)> =
        cells.iter().map(|cell| (*cell, points(cell))).filter(|(_, points)| !points.is_empty()).collect();
    let values = || {
        let of_lines = lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.1));
        of_lines.chain(band.iter().flat_map(|point| [point.low_ns, point.high_ns]))
    };
    let (Some(low), Some(high)) = (values().min(), values().max()) else {
        plot.message(canvas, "No tool gave a figure.");
        return;
    };
    let shares = lines.iter().flat_map(|(_, points)| points.iter().map(|point| point.0));
    let end = shares.chain(band.iter().map(|point| point.q)).map(tail).fold(1.0, f64::max);
    let x = Scale::linear((0.0, end), (plot.left, plot.right));
    let y = Scale::durations(low, high, (plot.bottom, plot.top));
    value_axis(canvas, &plot, &y, "time, as reported", duration_tick);
    x_axis(canvas, &plot, &x, end);
    let upper = band.iter().map(|p| Some((x.at(tail(p.q)), y.at(p.high_ns as f64) - 2.5)));
    let lower = band.iter().rev().map(|p| Some((x.at(tail(p.q)), y.at(p.low_ns as f64) + 2.5)));
    canvas.path("truth-band", &(polyline(upper.chain(lower)) + "Z"));
    let mut ends = Vec::new();
    for (cell, points) in &lines {
        let class = class(cell.tool.model);
        let at = |&(q, ns): &(f64, u64)| (x.at(tail(q)), y.at(ns as f64));
        canvas.path(&format!("line {class} tool"), &polyline(points.iter().map(|point| Some(at(point)))));
        if points.len() <= LIST_MAX {
            points.iter().for_each(|point| canvas.dot(&format!("dot {class}"), at(point), 2.4));
        }
        if let Some(last) = points.last() {
            ends.push((at(last), class, cell.tool.name.as_str()));
        }
    }
    names(canvas, &plot, ends);
}

pub(super) fn class(model: LoadModel) -> &'static str {
    match model {
        LoadModel::Open => "response",
        LoadModel::Closed => "service",
    }
}

/// The name of each line beside its end, moved apart where they would cover each other.
fn names(canvas: &mut Canvas, plot: &Plot, mut ends: Vec<((f64, f64), &'static str, &str)>) {
    ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    let step = NAME_HEIGHT.min((plot.height() + 10.0) / ends.len().max(1) as f64);
    let mut places: Vec<f64> = Vec::with_capacity(ends.len());
    for (i, (at, ..)) in ends.iter().enumerate() {
        // As low as it must be below the last one, as high as those below it need; none beside the axis's labels.
        let lowest = plot.bottom - 2.0 - (ends.len() - 1 - i) as f64 * step;
        let free = places.last().map_or(plot.top - 6.0, |above| above + step);
        places.push(at.1.max(free).min(lowest.max(free)));
    }
    for (((x, y), class, name), place) in ends.into_iter().zip(places) {
        let left = plot.right + 14.0;
        canvas.path(
            "leader",
            &polyline([Some((x, y)), Some((plot.right + 2.0, place)), Some((left - 3.0, place))]),
        );
        canvas.text(&format!("name {class}-text"), (left, place + 4.0), Anchor::Start, name);
    }
}

/// A field of the matrix.
const ROW_HEIGHT: f64 = 24.0;
const HEAD_HEIGHT: f64 = 40.0;
const TOOLS_WIDTH: f64 = 124.0;

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
    let sizes = [("wide", 1_080.0, 16), ("middle", 720.0, 9), ("narrow", 360.0, 4)];
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
    let legend = vec![
        ("field good", "right"),
        ("field low-3", "too low: it hides"),
        ("field high-3", "too high"),
        ("field none", "does not say, or unclear"),
    ];
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
