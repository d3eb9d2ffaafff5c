//! What a load of a named shape did to its target, over time.

use super::axis::{Plot, Scale, count_axis, time_axis};
use super::canvas::{Anchor, Canvas, polyline};
use super::heat::span;
use super::{Picture, sized};
use crate::facts;
use crate::format;
use unblink_artifact::document::{RunDocument, SeriesRow, ShapeResult, Spike, Stress};

/// The picture of the section; nothing of a load without a name.
pub(crate) fn picture(doc: &RunDocument, scope: &str) -> Option<Picture> {
    let title = facts::shape(doc)?.picture;
    Some(match doc.shape.as_ref()? {
        ShapeResult::Spike(spike) => {
            let legend = vec![("flight", "without an answer"), ("ok", "as before from here on")];
            sized("shape", scope, title, legend, true, |canvas| draw_spike(canvas, doc, spike))
        }
        ShapeResult::Soak(soak) => {
            let mut legend =
                vec![("band response", "99\u{a0}% interval of the change"), ("ok", "no drift found")];
            if soak.figures.iter().any(|figure| figure.is_drift) {
                legend.push(("failed", "drifts"));
            }
            sized("shape", scope, title, legend, true, |canvas| super::soak::draw(canvas, soak))
        }
        ShapeResult::Stress(stress) => {
            let mut legend = vec![("truth", "offered"), ("ok", "answered as expected")];
            if doc.series.rows.iter().any(|row| lost(row) > 0.0) {
                legend.push(("failed", "failed or timed out"));
            }
            sized("shape", scope, title, legend, true, |canvas| draw_stress(canvas, doc, stress))
        }
    })
}

fn draw_spike(canvas: &mut Canvas, doc: &RunDocument, spike: &Spike) {
    let plot = Plot::of(canvas, 62.0);
    let rows = &doc.series.rows;
    let Some(span) = span(doc).filter(|_| !rows.is_empty()) else {
        return plot.message(canvas, "Nothing was recorded.");
    };
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let y = Scale::linear((0.0, (spike.unanswered_max.max(4) as f64) * 1.12), (plot.bottom, plot.top));
    let (from, to) = (x.at(spike.from_ns as f64), x.at(spike.to_ns as f64));
    canvas.rect("apart", from, plot.top, to - from, plot.height());
    time_axis(canvas, &plot, &x, "time");
    count_axis(canvas, &plot, &y, "without an answer");
    let end = |row: &SeriesRow| row.start_ns.saturating_add(row.length_ns) as f64;
    let level = |row: &SeriesRow| row.in_flight.saturating_add(row.backlog) as f64;
    canvas.path("line flight", &polyline(rows.iter().map(|row| Some((x.at(end(row)), y.at(level(row)))))));
    recovered(
        canvas,
        &plot,
        &x,
        spike.recovery.after_ns.map(|after| spike.recovery.from_ns.saturating_add(after)),
        spike.recovery.after_ns,
    );
    hover(canvas, &plot, (&x, &y), "flight");
}

fn lost(row: &SeriesRow) -> f64 {
    row.failed.saturating_add(row.timed_out) as f64
}

fn draw_stress(canvas: &mut Canvas, doc: &RunDocument, stress: &Stress) {
    let plot = Plot::of(canvas, 62.0);
    // What a short last row holds is no rate.
    let whole = |row: &&SeriesRow| row.length_ns >= facts::usual_row_ns(doc) / 2;
    let rows: Vec<&SeriesRow> = doc.series.rows.iter().filter(whole).collect();
    let Some(span) = span(doc).filter(|_| !rows.is_empty()) else {
        return plot.message(canvas, "Nothing was recorded.");
    };
    let per_s = |n: f64, row: &SeriesRow| n * 1e9 / row.length_ns.max(1) as f64;
    let (due, ok) = (|row: &SeriesRow| row.due as f64, |row: &SeriesRow| row.ok as f64);
    let most =
        |of: &dyn Fn(&SeriesRow) -> f64| rows.iter().map(|row| per_s(of(row), row)).fold(1.0, f64::max);
    let high = most(&due).max(most(&ok)).max(most(&lost));
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let y = Scale::linear((0.0, high * 1.12), (plot.bottom, plot.top));
    let broken = stress.broken.as_ref();
    let recovered = stress.recovery.as_ref().and_then(|r| Some(r.from_ns.saturating_add(r.after_ns?)));
    if let Some(broken) = broken {
        let (from, to) = (x.at(broken.at_ns as f64), x.at(recovered.unwrap_or(span.1) as f64));
        canvas.rect("apart", from, plot.top, to - from, plot.height());
    }
    time_axis(canvas, &plot, &x, "time");
    count_axis(canvas, &plot, &y, "per second");
    let middle = |row: &SeriesRow| x.at(row.start_ns as f64 + row.length_ns as f64 / 2.0);
    let mut draw = |class: &str, of: &dyn Fn(&SeriesRow) -> f64| {
        let points = rows.iter().map(|row| Some((middle(row), y.at(per_s(of(row), row)))));
        canvas.path(class, &polyline(points));
    };
    if rows.iter().any(|row| lost(row) > 0.0) {
        draw("line failure", &lost);
    }
    draw("line ok", &ok);
    draw("line truth", &due);
    if let Some(broken) = broken {
        let at = (x.at(broken.at_ns as f64) - 6.0, plot.top + 12.0);
        canvas.text("label", at, Anchor::End, &format!("breaks at {}", format::rate(broken.per_s)));
    }
    hover(canvas, &plot, (&x, &y), "rates");
}

/// A line from top to bottom where the target is as before.
fn recovered(canvas: &mut Canvas, plot: &Plot, x: &Scale, at: Option<u64>, after: Option<u64>) {
    let (Some(at), Some(after)) = (at, after) else { return };
    let at = x.at(at as f64);
    canvas.line("line ok", (at, plot.top), (at, plot.bottom));
    let label = format!("as before, {} after", format::duration(after));
    let is_right = at > plot.left + 0.6 * plot.width();
    let (at, anchor) = if is_right { (at - 6.0, Anchor::End) } else { (at + 6.0, Anchor::Start) };
    canvas.text("label", (at, plot.top + 12.0), anchor, &label);
}

fn hover(canvas: &mut Canvas, plot: &Plot, (x, y): (&Scale, &Scale), what: &str) {
    canvas.data = vec![
        ("hover", what.into()),
        ("plot", format!("{} {} {} {}", plot.left, plot.top, plot.right, plot.bottom)),
        ("x", x.domain()),
        ("y", y.domain()),
    ];
}
