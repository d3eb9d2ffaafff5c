//! Latency over time as cells of (intended time × log latency), so that an event shows as its wedge.

use super::axis::{Plot, Scale, duration_tick, lowest, time_axis, value_axis};
use super::canvas::{Anchor, Canvas, n, polyline};
use super::strips::{self, Share};
use crate::facts::{self, RowPercentile};
use std::collections::BTreeMap;
use std::fmt::Write;
use unblink_artifact::document::{HeatColumn, Heatmap, RunDocument};

/// Steps of colour from few to many arrivals.
pub(crate) const LEVELS: usize = 8;

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

/// Whether p99 is drawn anywhere in the picture.
pub(crate) fn has_p99(doc: &RunDocument) -> bool {
    facts::p99_over_time(doc).iter().any(|of| of.value.is_some())
}

/// The same of the median.
pub(crate) fn has_p50(doc: &RunDocument) -> bool {
    facts::p50_over_time(doc).iter().any(|of| of.value.is_some())
}

/// Draws cells, strips and percentile lines of the whole run.
pub(crate) fn draw(canvas: &mut Canvas, doc: &RunDocument) {
    let lines = [("p50", facts::p50_over_time(doc)), ("p99", facts::p99_over_time(doc))];
    let drawn =
        || lines.iter().flat_map(|(_, line)| line.iter().filter_map(|of| of.value)).map(|of| of.ns.max(1));
    let ends = [values(&doc.heatmap), drawn().min().zip(drawn().max())];
    let values = ends.into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let values = values.map(|values| super::objectives::with_limits(doc, values));
    draw_span(canvas, &doc.heatmap, doc, span(doc), values, &Over { lines: &lines, gap: None });
}

/// Draws the cells of a part of the run, in which columns are wide enough to be told apart. `scale` sets the axis of
/// latency where pictures are compared.
pub(crate) fn draw_close(
    canvas: &mut Canvas,
    doc: &RunDocument,
    (from_ns, to_ns): (u64, u64),
    scale: Option<(u64, u64)>,
    gap: Option<&Gap>,
) {
    let part = part(&doc.heatmap, from_ns, to_ns);
    draw_span(canvas, &part, doc, Some((from_ns, to_ns)), scale.or(values(&part)), &Over { lines: &[], gap });
}

/// The columns that start in `from_ns..to_ns`.
pub(crate) fn part(heat: &Heatmap, from_ns: u64, to_ns: u64) -> Heatmap {
    let columns = heat.columns.iter().filter(|c| (from_ns..to_ns).contains(&c.start_ns)).cloned().collect();
    Heatmap { column_ns: heat.column_ns, bin_edges_ns: heat.bin_edges_ns.clone(), columns }
}

/// Lower edge of the lowest cell, or of that of p1, and upper edge of the highest.
pub(crate) fn values(heat: &Heatmap) -> Option<(u64, u64)> {
    let bins = bins(heat);
    let edge = |bin: usize| heat.bin_edges_ns.get(bin).copied();
    // A few that were answered at once would press all others into the upper end of the axis.
    let (least, p1) = (edge(*bins.keys().next()?)?.max(1), p1_ns(heat)?);
    let low = lowest(least, p1);
    let high = *bins.keys().next_back()?;
    Some((low.max(1), edge(high + 1).or(edge(high))?))
}

/// Arrivals by bin.
fn bins(heat: &Heatmap) -> BTreeMap<usize, u64> {
    let mut bins: BTreeMap<usize, u64> = BTreeMap::new();
    for cell in heat.columns.iter().flat_map(|column| &column.cells) {
        *bins.entry(cell.0 as usize).or_default() += u64::from(cell.1);
    }
    bins
}

/// Lower edge of the bin in which p1 of the answered lies.
pub(super) fn p1_ns(heat: &Heatmap) -> Option<u64> {
    let bins = bins(heat);
    let (all, mut seen) = (bins.values().sum::<u64>(), 0);
    let p1 = bins.iter().find(|(_, n)| {
        seen += **n;
        seen * 100 >= all
    });
    heat.bin_edges_ns.get(*p1?.0).copied()
}

/// About how many of the measured arrivals took less: of a bin that reaches beyond, as many as its part below.
pub(super) fn number_below(doc: &RunDocument, ns: f64) -> u64 {
    let edges = &doc.heatmap.bin_edges_ns;
    let part = |bin: usize| {
        let (from, to) = (edges.get(bin).copied()? as f64, edges.get(bin + 1).copied()? as f64);
        (to > from).then(|| ((ns - from) / (to - from)).clamp(0.0, 1.0))
    };
    let measured_from = doc.measured_from_ns();
    let columns = doc.heatmap.columns.iter().filter(|column| column.start_ns >= measured_from);
    let cells = columns.flat_map(|column| &column.cells);
    cells.map(|cell| f64::from(cell.1) * part(cell.0 as usize).unwrap_or(0.0)).sum::<f64>().round() as u64
}

/// What is drawn over the cells.
struct Over<'a> {
    lines: &'a [(&'a str, Vec<RowPercentile>)],
    gap: Option<&'a Gap>,
}

/// A stretch in which nothing was asked, and what is to be said of it.
pub(crate) struct Gap {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) says: [String; 2],
}

/// A bracket over the gap, with its words under it.
fn bracket(canvas: &mut Canvas, gap: &Gap, plot: &Plot, x: &Scale) {
    let (from, to) = (x.at(gap.from_ns as f64), x.at(gap.to_ns as f64));
    let top = plot.top + plot.height() * 0.3;
    let (foot, middle) = (top + 8.0, (from + to) / 2.0);
    canvas.path("bracket", &polyline([(from, foot), (from, top), (to, top), (to, foot)].map(Some)));
    for (line, says) in gap.says.iter().enumerate() {
        canvas.text("label", (middle, top + 24.0 + line as f64 * 17.0), Anchor::Middle, says);
    }
}

fn draw_span(
    canvas: &mut Canvas,
    heat: &Heatmap,
    doc: &RunDocument,
    span: Option<(u64, u64)>,
    values: Option<(u64, u64)>,
    over: &Over<'_>,
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
        plot.top += strips as f64 * strips::PITCH + 5.0;
    }
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let y = values.map(|(low, high)| Scale::durations(low, high, (plot.bottom, plot.top)));

    // One drawn column per pixel at most: what lies closer is put together.
    let per_column = span.1.saturating_sub(span.0).div_ceil(heat.column_ns.max(1)).max(1);
    let merged = per_column.div_ceil((plot.width() / 2.0) as u64).max(1);
    let width_ns = merged.saturating_mul(heat.column_ns);
    let columns = merge(&heat.columns, width_ns);
    let width = x.at(span.0 as f64 + width_ns as f64) - plot.left;
    canvas.hatching();
    if span.0 < doc.measured_from_ns() {
        warm_up(canvas, doc, &plot, &x, strips_top);
    }
    time_axis(canvas, &plot, &x, "when the arrival was due");
    if let Some(y) = &y {
        value_axis(canvas, &plot, y, "response time", duration_tick);
        draw_cells(canvas, heat, &columns, &plot, (&x, y), width);
        below(canvas, heat, &plot, y);
    } else {
        plot.message(canvas, &format!("No response times: {}.", crate::facts::nothing(doc)));
    }
    draw_strips(canvas, &columns, &plot, &x, (strips_top, width), (censored, failed));
    if let Some(y) = &y {
        over.lines.iter().for_each(|(class, line)| percentiles(canvas, class, line, &x, y));
        let inside = |of: &&RowPercentile| of.value.is_some();
        let point = |of: &RowPercentile| {
            (
                x.at((of.from_ns / 2 + of.to_ns / 2) as f64),
                y.at(of.value.map_or(0.0, |value| value.ns as f64)),
            )
        };
        let curves: Vec<Vec<(f64, f64)>> =
            over.lines.iter().map(|(_, line)| line.iter().filter(inside).map(point).collect()).collect();
        super::objectives::draw_times(canvas, doc, &plot, y, |_| None, &curves, &mut Vec::new());
    }
    if let Some(gap) = over.gap {
        bracket(canvas, gap, &plot, &x);
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
        for (&bin, &count) in column.cells.iter().filter(|(bin, _)| !is_below(heat, **bin, y)) {
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

/// The bin of cells whose upper end, and all below it, lies under the axis.
fn is_below(heat: &Heatmap, bin: u32, y: &Scale) -> bool {
    heat.bin_edges_ns.get(bin as usize + 1).is_some_and(|&ns| ns as f64 <= y.ends().0)
}

/// How many arrivals have no cell because they lie below the axis.
fn below(canvas: &mut Canvas, heat: &Heatmap, plot: &Plot, y: &Scale) {
    let cells = heat.columns.iter().flat_map(|column| &column.cells);
    let n: u64 = cells.filter(|cell| is_below(heat, cell.0, y)).map(|cell| u64::from(cell.1)).sum();
    if n > 0 {
        let text = format!("{} below", crate::format::plural(n, "arrival", "arrivals"));
        canvas.text("tick halo-text", (plot.right - 4.0, plot.bottom - 6.0), Anchor::End, &text);
    }
}

struct Merged {
    cells: BTreeMap<u32, u64>,
    answered: u64,
    censored: u64,
    failed: u64,
}

fn merge(columns: &[HeatColumn], width_ns: u64) -> BTreeMap<u64, Merged> {
    let mut merged: BTreeMap<u64, Merged> = BTreeMap::new();
    for column in columns {
        let sum = merged.entry(column.start_ns / width_ns.max(1) * width_ns).or_insert_with(|| Merged {
            cells: BTreeMap::new(),
            answered: 0,
            censored: 0,
            failed: 0,
        });
        for &(bin, count) in &column.cells {
            // The fullest of them, so that a colour means the same in every size of the picture.
            let fullest = sum.cells.entry(bin).or_default();
            *fullest = u64::from(count).max(*fullest);
            sum.answered += u64::from(count);
        }
        sum.censored += u64::from(column.censored);
        sum.failed += u64::from(column.failed);
    }
    merged
}

/// What the colours stand for: (class, fewest and most arrivals of a cell), at most four of those that can occur.
pub(crate) fn steps(heat: &Heatmap) -> Vec<(&'static str, u64, u64)> {
    const CLASSES: [&str; LEVELS] = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
    const SHOWN_MAX: usize = 4;
    let counts = || heat.columns.iter().flat_map(|column| column.cells.iter().map(|cell| u64::from(cell.1)));
    let Some(most) = counts().max() else { return Vec::new() };
    let fewest = |of: usize| {
        let (mut from, mut to) = (1, most + 1);
        while from < to {
            let middle = from + (to - from) / 2;
            if level(middle, most) < of { from = middle + 1 } else { to = middle }
        }
        from
    };
    let steps: Vec<_> = (0..LEVELS)
        .map(|of| (CLASSES[of], fewest(of), if of + 1 < LEVELS { fewest(of + 1) - 1 } else { most }))
        .filter(|(_, from, to)| from <= to)
        .collect();
    let last = steps.len().saturating_sub(1);
    let mut shown: Vec<usize> = (0..SHOWN_MAX).map(|i| (i * last).div_ceil(SHOWN_MAX - 1)).collect();
    shown.dedup();
    shown.into_iter().filter_map(|i| steps.get(i).copied()).collect()
}

/// Level of colour, by the logarithm of the count.
pub(crate) fn level(count: u64, most: u64) -> usize {
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
    let shares = |of: fn(&Merged) -> u64| -> Vec<Share> {
        let share = |(start, column): (&u64, &Merged)| {
            let (from, to) = strips::place(x, plot, *start, width);
            Share { from, to, part: of(column), whole: column.answered + column.censored + column.failed }
        };
        columns.iter().map(share).collect()
    };
    if censored {
        strips::draw(canvas, plot, top, "longer", true, &shares(|column| column.censored));
    }
    if failed {
        let top = if censored { top + strips::PITCH } else { top };
        strips::draw(canvas, plot, top, "failed", false, &shares(|column| column.failed));
    }
}

/// Height of the hatching over a percentile that is only known to be longer.
const BOUND: f64 = 8.0;

/// A percentile of each row; broken where it is not known. Where it is a lower bound the line ends, and what lies above
/// the bound is hatched.
fn percentiles(canvas: &mut Canvas, class: &str, line: &[RowPercentile], x: &Scale, y: &Scale) {
    let mut points = Vec::new();
    let mut bounds = Vec::new();
    for of in line {
        let (from, to) = (x.at(of.from_ns as f64), x.at(of.to_ns as f64));
        match of.value {
            Some(value) if value.censored => {
                let level = y.at(value.ns as f64);
                bounds.extend([Some((from, level)), Some((to, level)), None]);
                canvas.hatched(from, level - BOUND, to - from, BOUND);
                points.push(None);
            }
            // Wide rows are seen as such: a level each, not a slope between them.
            value if to - from >= 6.0 => {
                let point = |at: f64| value.map(|value| (at, y.at(value.ns as f64)));
                points.extend([point(from), point(to)]);
            }
            value => points.push(value.map(|value| ((from + to) / 2.0, y.at(value.ns as f64)))),
        }
    }
    let (known, bound) = (polyline(points), polyline(bounds));
    for (class, d) in [(class.to_string(), known), (format!("{class} bound"), bound)] {
        canvas.path(&format!("halo {class}"), &d);
        canvas.path(&format!("over {class}"), &d);
    }
}

/// Shades the warm-up or the transient that is left out: they enter no other figure.
pub(crate) fn warm_up(canvas: &mut Canvas, doc: &RunDocument, plot: &Plot, x: &Scale, top: f64) {
    if let Some(name) = crate::facts::left_out_name(doc) {
        let end = x.at(doc.measured_from_ns() as f64);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_lucky_arrival_does_not_take_the_axis() {
        let mut doc = crate::fixture::stall();
        let before = values(&doc.heatmap).expect("cells");
        doc.heatmap.columns[3].cells.insert(0, (1, 1));
        let after = values(&doc.heatmap).expect("cells");
        assert!(after.0 >= before.0 && after.1 == before.1, "{before:?} {after:?}");
        let mut canvas = Canvas::new("", crate::svg::canvas::Size { width: 1_080.0, height: 330.0 });
        draw(&mut canvas, &doc);
        assert!(canvas.body.contains("arrival below<"), "what is left out is said");
    }

    #[test]
    fn the_legends_numbers_are_those_of_the_colours() {
        for most in [1, 2, 3, 7, 8, 9, 100, 65_537, u32::MAX] {
            let column = HeatColumn {
                start_ns: 0,
                cells: vec![(0, most)],
                censored: 0,
                failed: 0,
                p50_ns: None,
                p99_ns: None,
            };
            let steps = steps(&Heatmap { column_ns: 1, bin_edges_ns: vec![1], columns: vec![column] });
            assert!((1..=4).contains(&steps.len()), "{most}: {steps:?}");
            assert_eq!(steps.last().map(|step| step.2), Some(u64::from(most)));
            for (class, from, to) in steps {
                for count in [from, to] {
                    assert_eq!(class, format!("c{}", level(count, u64::from(most))), "{count} of {most}");
                }
            }
        }
    }
}
