//! A percentile over the runs of a series.

use super::axis::{Plot, Scale, duration_tick, value_axis, vertical};
use super::canvas::{Anchor, Canvas};
use unblink_artifact::history::TrendDocument;

/// Pixels between dates.
const DATE_WIDTH: f64 = 120.0;

pub(super) fn draw(canvas: &mut Canvas, doc: &TrendDocument) {
    let plot = Plot::of(canvas, 62.0);
    let ends = |run: &unblink_artifact::history::TrendRun| {
        [run.low_ns, Some(run.value_ns), run.high_ns].into_iter().flatten().collect::<Vec<u64>>()
    };
    let all: Vec<u64> = doc.runs.iter().flat_map(ends).collect();
    let (Some(&low), Some(&high)) = (all.iter().min(), all.iter().max()) else {
        return plot.message(canvas, "No run that counts.");
    };
    let count = doc.runs.len();
    let x = Scale::linear((-0.5, count as f64 - 0.5), (plot.left, plot.right));
    let y = Scale::durations_close(low, high, (plot.bottom, plot.top));
    value_axis(canvas, &plot, &y, "response time", duration_tick);
    let every = count.div_ceil((plot.width() / DATE_WIDTH).max(1.0) as usize).max(1);
    for (number, run) in doc.runs.iter().enumerate().step_by(every) {
        vertical(canvas, &plot, x.at(number as f64), crate::history::tick(run));
    }
    canvas.text(
        "axis",
        (plot.right, plot.bottom + 37.0),
        Anchor::End,
        "runs, in the order in which they began",
    );
    levels(canvas, doc, &x, &y);
    for (number, run) in doc.runs.iter().enumerate() {
        let at = x.at(number as f64);
        if let (Some(low), Some(high)) = (run.low_ns, run.high_ns) {
            canvas.line("reach", (at, y.at(low as f64)), (at, y.at(high as f64)));
        }
        let class = if run.censored { "dot undecided" } else { "dot response" };
        canvas.dot(class, (at, y.at(run.value_ns as f64)), 3.5);
    }
    for change in &doc.changes {
        let at = x.at(change.at as f64 - 0.5);
        canvas.line("line backlog", (at, plot.top), (at, plot.bottom));
        let label = change.label.as_deref().unwrap_or_else(|| crate::history::short(&change.id));
        let is_right = at > (plot.left + plot.right) / 2.0;
        let (anchor, offset) = if is_right { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
        canvas.text("label", (at + offset, plot.top + 12.0), anchor, &cut(label));
    }
}

/// The geometric mean between two changes.
fn levels(canvas: &mut Canvas, doc: &TrendDocument, x: &Scale, y: &Scale) {
    let Some(first) = doc.changes.first() else { return };
    let starts = [(0, first.before_ns)].into_iter().chain(doc.changes.iter().map(|c| (c.at, c.after_ns)));
    let ends = doc.changes.iter().map(|change| change.at).chain([doc.runs.len()]);
    for ((from, level), to) in starts.zip(ends) {
        let (from, to) = (x.at(from as f64 - 0.5), x.at(to as f64 - 0.5));
        canvas.line("line service", (from, y.at(level)), (to, y.at(level)));
    }
}

/// A commit's first digits, not all of them.
fn cut(label: &str) -> String {
    label.chars().take(12).collect()
}
