//! What many tools say of one truth: their percentiles beside it, one program asked two ways, and errors as a matrix.

use super::words;
use crate::facts::Title;
use crate::svg::Picture;
use crate::svg::axis::{Plot, Scale, duration_axis_within, duration_tick, value_axis};
use crate::svg::canvas::{Anchor, Canvas, polyline};
use crate::svg::picture::{half, sized};
use crate::svg::spectrum::{tail, x_axis};
use unblink_artifact::document::LoadModel;
use unblink_artifact::lab::{LabBand, LabCell, LabPercentile, LabRow};

/// Room for names of tools to the left.
pub(super) const TOOLS_WIDTH: f64 = 124.0;
/// Room for names to the right of the lines.
const NAMES_WIDTH: f64 = 118.0;
/// From one name to the next.
const NAME_HEIGHT: f64 = 14.0;
/// Fewer points than this are a list and not a spectrum: each has a dot.
const LIST_MAX: usize = 12;
/// The slowest of a tool's samples say little: so many lie beyond the last point that is drawn.
const BEYOND_MIN: f64 = 5.0;

/// Percentiles that are shown side by side; on a phone the one that decides.
const SHOWN: [f64; 3] = [0.5, 0.99, 0.999];
const TOOL_HEIGHT: f64 = 16.5;
/// Above the tools: the percentile's name. Below: its axis.
const ABOVE: f64 = 30.0;
const BELOW: f64 = 44.0;
/// Between the edge of a panel and its plot, to the left and to the right.
const BEFORE: f64 = 10.0;
const BEHIND: f64 = 14.0;
/// What the longest words beside a dot take.
const WORDS: f64 = 140.0;

/// What each tool says of single percentiles, beside the truth: a row each, by what it says of the one that decides.
pub(crate) fn dots(scope: &str, title: Title, rows: &[&LabRow]) -> Picture {
    let rows = sorted(rows, words::DECIDING);
    let height = ABOVE + rows.len().max(1) as f64 * TOOL_HEIGHT + BELOW;
    let sizes = [("wide middle", 1_080.0, height), ("narrow", 360.0, height)];
    let legend = vec![
        ("truth-band", "what users feel"),
        ("dot response", "claims an open load"),
        ("dot service", "claims a closed one"),
    ];
    let draw = |canvas: &mut Canvas| {
        let shown: &[f64] = if canvas.size.width < 500.0 { &[words::DECIDING] } else { &SHOWN };
        draw_dots(canvas, &rows, shown);
    };
    Picture { full: true, ..sized("lab-spectrum", scope, title, legend, &sizes, draw) }
}

/// By what they say, those last that don't.
fn sorted<'a>(rows: &[&'a LabRow], quantile: f64) -> Vec<&'a LabRow> {
    let mut rows = rows.to_vec();
    let says = |row: &LabRow| match row.at(quantile) {
        Some(line) if line.is_longer => (1, 0),
        Some(LabPercentile { reported_ns: Some(ns), .. }) => (0, *ns),
        _ => (2, 0),
    };
    rows.sort_by_key(|row| says(row));
    rows
}

fn draw_dots(canvas: &mut Canvas, rows: &[&LabRow], shown: &[f64]) {
    let whole = Plot { top: ABOVE, ..Plot::of(canvas, TOOLS_WIDTH) };
    if rows.is_empty() {
        return whole.message(canvas, "No tool gave a figure.");
    }
    let place = |i: usize| whole.top + (i as f64 + 0.5) * TOOL_HEIGHT;
    for (i, row) in rows.iter().enumerate() {
        let y = place(i);
        canvas.line("grid", (whole.left, y), (whole.right, y));
        let class = format!("name {}-text", class(row.model));
        canvas.text(&class, (whole.left - 8.0, y + 4.0), Anchor::End, &row.tool);
    }
    let width = whole.width() / shown.len() as f64;
    for (i, &quantile) in shown.iter().enumerate() {
        let left = whole.left + i as f64 * width;
        let facet = Plot { left: left + BEFORE, right: left + width - BEHIND, ..whole };
        draw_facet(canvas, &facet, rows, quantile, place);
    }
}

/// One percentile of all tools. Each dot hangs on the truth.
fn draw_facet(
    canvas: &mut Canvas,
    plot: &Plot,
    rows: &[&LabRow],
    quantile: f64,
    place: impl Fn(usize) -> f64,
) {
    let lines = || rows.iter().filter_map(|row| row.at(quantile));
    let values =
        || lines().flat_map(|line| [line.truth_low_ns, line.truth_high_ns, line.reported_ns]).flatten();
    let label = crate::format::quantile_label(quantile);
    canvas.text("panel-name", (plot.left, 18.0), Anchor::Start, &label);
    let (Some(low), Some(high)) = (values().min(), values().max()) else { return };
    let x = Scale::durations(low, high, (plot.left, plot.right));
    duration_axis_within(canvas, plot, &x, (plot.left - BEFORE, plot.right + BEHIND));
    canvas.text("axis", (plot.right, plot.bottom + 37.0), Anchor::End, "as reported");
    let (low, high) = words::bounds_of_all(rows, quantile);
    let truth = low.map(|low| (low, high));
    let at_truth =
        truth.map(|(low, high)| (x.at(low as f64), high.map_or(plot.right, |high| x.at(high as f64))));
    if let Some((from, to)) = at_truth {
        let width = (to - from).max(3.0);
        canvas.rect("truth-band", from - (width - (to - from)) / 2.0, plot.top, width, plot.height());
    }
    canvas.data.clear();
    canvas.axes(None, plot, &x, &Scale::linear((0.0, 1.0), (plot.bottom, plot.top)));
    for (i, row) in rows.iter().enumerate() {
        let (y, class) = (place(i), class(row.model));
        let line = row.at(quantile);
        match line.and_then(|line| line.reported_ns) {
            Some(ns) => {
                let at = x.at(ns as f64);
                let near = at_truth.map(|(from, to)| at.clamp(from, to));
                if let Some(near) = near.filter(|near| (near - at).abs() > 1.0) {
                    canvas.line(&format!("off {class}"), (near, y), (at, y));
                }
                canvas.dot(&format!("dot {class}"), (at, y), 4.5);
            }
            None => {
                let is_longer = line.is_some_and(|line| line.is_longer);
                // Beside what users feel, where that reaches to the end.
                let band = at_truth.filter(|&(from, to)| to > plot.right - 1.0 && from > plot.left + WORDS);
                let right = band.map_or(plot.right, |(from, _)| from - 4.0);
                let (at, anchor, says) = match is_longer {
                    true => (right, Anchor::End, "longer than it knows →"),
                    false => (plot.left, Anchor::Start, "does not say"),
                };
                canvas.text("tick halo-text", (at, y + 4.0), anchor, says);
            }
        }
    }
}

/// The same of two modes of one program.
pub(crate) fn pair(scope: &str, title: Title, cells: &[&LabCell]) -> Picture {
    let legend = vec![
        ("truth-band", "what users feel"),
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
    x_axis(canvas, &plot, &x, end, "arrivals");
    let upper = band.iter().map(|p| Some((x.at(tail(p.q)), y.at(p.high_ns as f64) - 2.5)));
    let lower = band.iter().rev().map(|p| Some((x.at(tail(p.q)), y.at(p.low_ns as f64) + 2.5)));
    canvas.path("truth-band", &(polyline(upper.chain(lower)) + "Z"));
    let mut ends = Vec::new();
    for (cell, points) in &lines {
        let class = class(cell.tool.model);
        let at = |&(q, ns): &(f64, u64)| (x.at(tail(q)), y.at(ns as f64));
        // A line between two single percentiles would claim what lies between.
        match points.len() <= LIST_MAX {
            true => points.iter().for_each(|point| canvas.dot(&format!("dot {class}"), at(point), 4.0)),
            false => canvas
                .path(&format!("line {class} tool"), &polyline(points.iter().map(|point| Some(at(point))))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::read::Drawn;

    fn row(tool: &str, reported_ms: [Option<u64>; 3]) -> LabRow {
        let truth = [10, 110, 245];
        let line = |((q, truth_ms), reported): ((f64, u64), Option<u64>)| LabPercentile {
            q,
            truth_low_ns: Some(truth_ms * 1_000_000),
            truth_high_ns: Some(truth_ms * 1_020_000),
            log_ns: None,
            reported_ns: reported.map(|ms| ms * 1_000_000),
            is_longer: false,
            error: None,
            is_right: None,
        };
        LabRow {
            scenario: "stall".into(),
            tool: tool.into(),
            model: LoadModel::Open,
            runs: 1,
            problem: None,
            percentiles: SHOWN.into_iter().zip(truth).zip(reported_ms).map(line).collect(),
            requests: 0,
            planned: 0,
            connections: 0,
            seen_in_events: None,
            mean_ns: None,
            max_ns: None,
            samples: None,
            dropped: None,
        }
    }

    /// Chords between single percentiles made right tools look ten times too high.
    #[test]
    fn each_dot_stands_at_what_its_tool_says_and_no_chord_joins_them() {
        let rows = [
            row("late", [Some(12), Some(400), Some(500)]),
            row("right", [Some(10), Some(111), Some(246)]),
            row("silent", [Some(10), None, None]),
        ];
        let rows: Vec<&LabRow> = rows.iter().collect();
        let title = Title { finding: String::new(), plotted: String::new() };
        let picture = dots("stall", title, &rows);
        let body = &picture.sizes[0].1.body;
        assert!(!body.contains("<path"), "{body}");
        assert_eq!(body.matches("does not say").count(), 2);
        let names: Vec<usize> =
            ["right", "late", "silent"].iter().filter_map(|name| body.find(&format!(">{name}<"))).collect();
        assert!(names.len() == 3 && names.is_sorted(), "by what they say");

        // One percentile alone, whose axes the drawing tells.
        let mut canvas = Canvas::new("", crate::svg::canvas::Size { width: 460.0, height: 200.0 });
        let plot = Plot::of(&canvas, TOOLS_WIDTH);
        draw_facet(&mut canvas, &plot, &rows, 0.99, |i| 40.0 + i as f64 * TOOL_HEIGHT);
        let drawn = Drawn::of(&canvas);
        let dots = drawn.dots("dot response");
        assert_eq!(dots.len(), 2);
        assert!(drawn.is_x(dots[0].0, 400e6) && drawn.is_x(dots[1].0, 111e6), "{dots:?}");
        let [left, _, width, _] = drawn.rects("truth-band")[0];
        assert!((drawn.x(left + width / 2.0) / 111e6 - 1.0).abs() < 0.02, "{}", drawn.x(left));
        let off = drawn.lines("off response");
        assert!(
            off.len() == 1 && (off[0][1].0 - dots[0].0).abs() < 0.2,
            "the right one hangs on the truth: {off:?}"
        );
    }
}
