//! Latency over time as cells of (intended time × log latency), so that an event shows as its wedge.

use super::axis::{Plot, Scale, duration_tick, time_axis, value_axis};
use super::canvas::{Anchor, Canvas, n, polyline};
use std::collections::BTreeMap;
use std::fmt::Write;
use unblink_artifact::document::{HeatColumn, Heatmap, RunDocument};

/// Steps of colour from few to many arrivals.
pub(crate) const LEVELS: usize = 8;
/// Height of the strips above the cells.
const STRIP: f64 = 14.0;

/// Start and end of the pictures over time.
pub(crate) fn span(doc: &RunDocument) -> Option<(u64, u64)> {
    let heat = &doc.heatmap;
    let rows = &doc.series.rows;
    let from = rows
        .first()
        .map(|row| row.start_ns)
        .into_iter()
        .chain(heat.columns.first().map(|c| c.start_ns))
        .min()?;
    let row_end = rows.last().map(|row| row.start_ns.saturating_add(row.length_ns));
    let heat_end = heat.columns.last().map(|column| column.start_ns.saturating_add(heat.column_ns));
    let to = row_end.into_iter().chain(heat_end).max()?;
    Some((from, to))
}

/// Fewest arrivals in a column whose p99 is drawn: below it, p99 is no more than the maximum.
const P99_ARRIVALS_MIN: u64 = 100;
/// The same for the median.
const P50_ARRIVALS_MIN: u64 = 5;

/// Whether a column's p99 may be drawn anywhere in the picture.
pub(crate) fn has_p99(doc: &RunDocument) -> bool {
    doc.heatmap.columns.iter().any(|column| arrivals(column) >= P99_ARRIVALS_MIN && column.p99_ns.is_some())
}

fn arrivals(column: &HeatColumn) -> u64 {
    column.cells.iter().map(|cell| u64::from(cell.1)).sum::<u64>() + u64::from(column.censored)
}

/// Draws cells, strips and percentile lines of the whole run.
pub(crate) fn draw(canvas: &mut Canvas, doc: &RunDocument) {
    draw_span(canvas, &doc.heatmap, doc, span(doc), values(&doc.heatmap));
}

/// Draws a part of the run, in which the columns are wide enough to be told apart. `scale` sets the axis of
/// latency where pictures are compared.
pub(crate) fn draw_close(
    canvas: &mut Canvas,
    doc: &RunDocument,
    (from_ns, to_ns): (u64, u64),
    scale: Option<(u64, u64)>,
) {
    let part = part(&doc.heatmap, from_ns, to_ns);
    draw_span(canvas, &part, doc, Some((from_ns, to_ns)), scale.or(values(&part)));
}

/// The columns that start in `from_ns..to_ns`.
pub(crate) fn part(heat: &Heatmap, from_ns: u64, to_ns: u64) -> Heatmap {
    let columns = heat.columns.iter().filter(|c| (from_ns..to_ns).contains(&c.start_ns)).cloned().collect();
    Heatmap { column_ns: heat.column_ns, bin_edges_ns: heat.bin_edges_ns.clone(), columns }
}

/// Lower edge of the lowest cell and upper edge of the highest.
pub(crate) fn values(heat: &Heatmap) -> Option<(u64, u64)> {
    let bins = || heat.columns.iter().flat_map(|column| column.cells.iter().map(|cell| cell.0 as usize));
    let edge = |bin: usize| heat.bin_edges_ns.get(bin).copied();
    let (low, high) = (edge(bins().min()?)?, bins().max()?);
    Some((low.max(1), edge(high + 1).or(edge(high))?))
}

fn draw_span(
    canvas: &mut Canvas,
    heat: &Heatmap,
    doc: &RunDocument,
    span: Option<(u64, u64)>,
    values: Option<(u64, u64)>,
) {
    let mut plot = Plot::of(canvas, 62.0);
    let censored = heat.columns.iter().any(|column| column.censored > 0);
    let failed = heat.columns.iter().any(|column| column.failed > 0);
    let Some(span) = span.filter(|_| !heat.columns.is_empty()) else {
        plot.message(canvas, "Nothing was measured.");
        return;
    };
    let (strips_top, strips) = (plot.top, usize::from(censored) + usize::from(failed));
    if strips > 0 {
        plot.top += strips as f64 * (STRIP + 4.0) + 6.0;
    }
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let y = values.map(|(low, high)| Scale::durations(low, high, (plot.bottom, plot.top)));

    // One drawn column per pixel at the most: what lies closer is summed.
    let per_column = span.1.saturating_sub(span.0).div_ceil(heat.column_ns.max(1)).max(1);
    let merged = per_column.div_ceil((plot.width() / 2.0) as u64).max(1);
    let width_ns = merged.saturating_mul(heat.column_ns);
    let columns = merge(&heat.columns, width_ns);
    let width = x.at(span.0 as f64 + width_ns as f64) - plot.left;
    canvas.hatching();
    if span.0 < crate::facts::measured_from_ns(doc) {
        warm_up(canvas, doc, &plot, &x, strips_top);
    }
    time_axis(canvas, &plot, &x, "when the arrival was due");
    if let Some(y) = &y {
        value_axis(canvas, &plot, y, "response time", duration_tick);
        draw_cells(canvas, heat, &columns, &plot, (&x, y), width);
    } else {
        plot.message(canvas, &format!("No response times: {}.", crate::facts::nothing(doc)));
    }
    draw_strips(canvas, &columns, &plot, &x, (strips_top, width), (censored, failed));
    if let Some(y) = &y {
        percentiles(canvas, heat, &x, y);
    }
    canvas.data = vec![
        ("hover", "heat".into()),
        ("plot", format!("{} {} {} {}", plot.left, strips_top, plot.right, plot.bottom)),
        ("x", x.domain()),
        ("y", y.map_or("1 10".into(), |y| y.domain())),
        // Where the cells begin; without any, everything is strips.
        ("y0", n(if y.is_some() { plot.top } else { plot.bottom })),
    ];
}

/// Draws the cells by level of colour. A cell is a stroke as wide as its column: half the bytes of a
/// rectangle, and there are thousands.
fn draw_cells(
    canvas: &mut Canvas,
    heat: &Heatmap,
    columns: &BTreeMap<u64, Merged>,
    plot: &Plot,
    (x, y): (&Scale, &Scale),
    width: f64,
) {
    let edge = |bin: usize| heat.bin_edges_ns.get(bin).map(|&ns| y.at(ns as f64));
    let most = columns.values().flat_map(|column| column.cells.values()).copied().max().unwrap_or(1);
    let mut levels = vec![String::new(); LEVELS];
    for (start, column) in columns {
        let left = x.at(*start as f64);
        let middle = (left + (left + width).min(plot.right)) / 2.0;
        let mut runs: Vec<(usize, u32, u32)> = Vec::new();
        for (&bin, &count) in &column.cells {
            let level = level(count, most);
            match runs.last_mut() {
                Some((of, _, to)) if *of == level && to.checked_add(1) == Some(bin) => *to = bin,
                _ => runs.push((level, bin, bin)),
            }
        }
        for (level, from, to) in runs {
            // The first bin also holds everything below its edge, the last everything above.
            let bottom = edge(from as usize).filter(|_| from > 0).unwrap_or(plot.bottom);
            let top = edge(to as usize + 1).unwrap_or(plot.top);
            let _ = write!(levels[level], "M{} {}V{}", n2(middle), n(bottom + 0.1), n(top));
        }
    }
    let stroke = n2(width.min(plot.width()) + 0.15);
    for (i, d) in levels.iter().enumerate().filter(|(_, d)| !d.is_empty()) {
        let _ = write!(canvas.body, r#"<path class="c{i}" stroke-width="{stroke}" d="{d}"/>"#);
    }
}

struct Merged {
    cells: BTreeMap<u32, u64>,
    censored: u64,
    failed: u64,
}

fn merge(columns: &[HeatColumn], width_ns: u64) -> BTreeMap<u64, Merged> {
    let mut merged: BTreeMap<u64, Merged> = BTreeMap::new();
    for column in columns {
        let sum = merged.entry(column.start_ns / width_ns.max(1) * width_ns).or_insert_with(|| Merged {
            cells: BTreeMap::new(),
            censored: 0,
            failed: 0,
        });
        for &(bin, count) in &column.cells {
            *sum.cells.entry(bin).or_default() += u64::from(count);
        }
        sum.censored += u64::from(column.censored);
        sum.failed += u64::from(column.failed);
    }
    merged
}

/// Level of colour, by the logarithm of the count.
fn level(count: u64, most: u64) -> usize {
    if most <= 1 {
        return LEVELS / 2;
    }
    let share = (count.max(1) as f64).ln() / (most as f64).ln();
    ((share * LEVELS as f64) as usize).min(LEVELS - 1)
}

/// Censored arrivals hatched on top, failed ones in magenta below them.
fn draw_strips(
    canvas: &mut Canvas,
    columns: &BTreeMap<u64, Merged>,
    plot: &Plot,
    x: &Scale,
    (top, width): (f64, f64),
    (censored, failed): (bool, bool),
) {
    let mut y = top;
    let mut strip = |canvas: &mut Canvas, name: &str, of: &dyn Fn(&Merged) -> u64, hatched: bool| {
        canvas.rect("strip", plot.left, y, plot.width(), STRIP);
        canvas.text("tick", (plot.left - 8.0, y + STRIP - 3.0), Anchor::End, name);
        let mut run: Option<(f64, f64)> = None;
        let flush = |canvas: &mut Canvas, run: Option<(f64, f64)>| {
            if let Some((from, to)) = run {
                let to = to.max(from + 1.5);
                if hatched {
                    canvas.hatched(from, y, to - from, STRIP);
                } else {
                    canvas.rect("failure", from, y, to - from, STRIP);
                }
            }
        };
        for (start, column) in columns {
            if of(column) == 0 {
                continue;
            }
            let from = x.at(*start as f64);
            let to = (from + width).min(plot.right);
            match &mut run {
                Some((_, end)) if from <= *end + 0.2 => *end = to,
                _ => flush(canvas, run.replace((from, to))),
            }
        }
        flush(canvas, run);
        y += STRIP + 4.0;
    };
    if censored {
        strip(canvas, "longer", &|column| column.censored, true);
    }
    if failed {
        strip(canvas, "failed", &|column| column.failed, false);
    }
}

/// Median and p99 of every column, to the width of a bin; broken where they are not known.
fn percentiles(canvas: &mut Canvas, heat: &Heatmap, x: &Scale, y: &Scale) {
    // A quantile is given by its bin's lower edge: draw it in the middle of the bin.
    let middle = |edge: u64| {
        let bin = heat.bin_edges_ns.partition_point(|&e| e <= edge).saturating_sub(1);
        match heat.bin_edges_ns.get(bin + 1) {
            Some(&next) => (heat.bin_edges_ns[bin] as f64 * next as f64).sqrt(),
            None => edge as f64,
        }
    };
    for (class, of, arrivals_min) in [
        ("p50", (|column: &HeatColumn| column.p50_ns) as fn(&HeatColumn) -> Option<u64>, P50_ARRIVALS_MIN),
        ("p99", |column: &HeatColumn| column.p99_ns, P99_ARRIVALS_MIN),
    ] {
        let mut expected = None;
        let mut points = Vec::new();
        for column in &heat.columns {
            if expected.is_some_and(|start| column.start_ns > start) {
                points.push(None);
            }
            let (start, length) = (column.start_ns as f64, heat.column_ns as f64);
            let value = of(column).filter(|_| arrivals(column) >= arrivals_min);
            let point = |at: f64| value.map(|value| (x.at(at), y.at(middle(value))));
            if x.at(start + length) - x.at(start) < 6.0 {
                points.push(point(start + length / 2.0));
            } else {
                // Wide columns are seen as such: a level each, not a slope between them.
                points.extend([point(start), point(start + length)]);
            }
            expected = Some(column.start_ns.saturating_add(heat.column_ns));
        }
        let d = polyline(points);
        canvas.path(&format!("halo {class}"), &d);
        canvas.path(&format!("over {class}"), &d);
    }
}

/// Shades the warm-up or the transient that is left out: they enter no other figure.
pub(crate) fn warm_up(canvas: &mut Canvas, doc: &RunDocument, plot: &Plot, x: &Scale, top: f64) {
    if let Some(name) = crate::facts::left_out_name(doc) {
        let end = x.at(crate::facts::measured_from_ns(doc) as f64);
        if end > plot.left {
            canvas.rect("warm-up", plot.left, top, end - plot.left, plot.bottom - top);
            canvas.text("tick", (plot.left + 4.0, plot.bottom - 6.0), Anchor::Start, name);
        }
    }
}

/// Two decimals: the widths of hundreds of columns must not add up to gaps.
fn n2(value: f64) -> String {
    format!("{}", (value * 100.0).round() / 100.0)
}
