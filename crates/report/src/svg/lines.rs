//! Figures over time as lines: rates, requests in flight, the generator's lateness.

use super::axis::{Plot, Scale, duration_tick, time_axis, value_axis};
use super::canvas::{Canvas, n, polyline};
use super::heat::{span, warm_up};
use crate::{facts, format};
use std::fmt::Write;
use unblink_artifact::document::{RunDocument, SeriesRow};

type Of = fn(&SeriesRow) -> Option<f64>;

fn per_s(count: u64, row: &SeriesRow) -> Option<f64> {
    (row.length_ns > 0).then(|| count as f64 * 1e9 / row.length_ns as f64)
}

/// Offered, sent, achieved and failed per second. Failed is broad and below sent: where all fail, both are
/// seen.
pub(crate) fn rates(canvas: &mut Canvas, doc: &RunDocument) {
    let lines: [(&str, Of); 4] = [
        ("line ok", |row| per_s(row.ok, row)),
        ("line failure", |row| if row.failed > 0 { per_s(row.failed, row) } else { None }),
        ("line sent", |row| per_s(row.sent, row)),
        ("line truth", |row| per_s(row.due, row)),
    ];
    let skip = if doc.rate.offered.is_some() { 0 } else { 1 };
    // A few events in a short last row would look like a burst.
    let least_ns = facts::usual_row_ns(doc) / 2;
    let rows: Vec<SeriesRow> =
        doc.series.rows.iter().filter(|row| row.length_ns >= least_ns).cloned().collect();
    over_time(canvas, doc, "rates", (&rows, &lines[..4 - skip]), steps, |high, range| {
        Scale::linear((0.0, (high * 1.1).max(1.0)), range)
    });
}

/// In flight, waiting, connections: levels at the ends of rows.
pub(crate) fn flight(canvas: &mut Canvas, doc: &RunDocument) {
    let lines: [(&str, Of); 3] = [
        ("line connections", |row| Some(row.connections as f64)),
        ("line backlog", |row| Some(row.backlog as f64)),
        ("line flight", |row| Some(row.in_flight as f64)),
    ];
    let rows = &doc.series.rows;
    over_time(canvas, doc, "flight", (rows, &lines), levels, |high, range| Scale::counts(high as u64, range));
}

/// The generator's own lateness.
pub(crate) fn lateness(canvas: &mut Canvas, doc: &RunDocument) {
    let lines: [(&str, Of); 1] = [("line late", |row| row.generator_late_p99_ns.map(|ns| ns as f64))];
    let low = doc.series.rows.iter().filter_map(|row| row.generator_late_p99_ns).min().unwrap_or(1_000);
    over_time(canvas, doc, "lateness", (&doc.series.rows, &lines), steps, |high, range| {
        // From a microsecond to a millisecond at the least: then a glance tells good from bad.
        Scale::durations(low.clamp(1_000, 10_000), (high as u64).max(1_000_000), range)
    });
}

fn over_time(
    canvas: &mut Canvas,
    doc: &RunDocument,
    hover: &str,
    (rows, lines): (&[SeriesRow], &[(&str, Of)]),
    path: fn(&[SeriesRow], Of, &Scale, &Scale) -> String,
    scale: impl Fn(f64, (f64, f64)) -> Scale,
) {
    let plot = Plot::of(canvas, 62.0);
    let high = rows.iter().flat_map(|row| lines.iter().filter_map(move |line| line.1(row))).reduce(f64::max);
    let (Some(high), Some(span)) = (high, span(doc)) else {
        let none = if rows.is_empty() { "Nothing was measured." } else { "Nothing was sent." };
        plot.message(canvas, none);
        return;
    };
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let y = scale(high, (plot.bottom, plot.top));
    warm_up(canvas, doc, &plot, &x, plot.top);
    match hover {
        "rates" => value_axis(canvas, &plot, &y, "per second", |v| format::count(v.round() as u64)),
        "flight" => value_axis(canvas, &plot, &y, "number", |v| format::count(v.round() as u64)),
        _ => value_axis(canvas, &plot, &y, "p99 of lateness", duration_tick),
    }
    time_axis(canvas, &plot, &x, "time since the start");
    for (class, of) in lines {
        canvas.path(class, &path(rows, *of, &x, &y));
    }
    canvas.data = vec![
        ("hover", hover.into()),
        ("plot", format!("{} {} {} {}", plot.left, plot.top, plot.right, plot.bottom)),
        ("x", x.domain()),
        ("y", y.domain()),
    ];
}

/// A level for each row's stretch of time; broken where it is not known.
fn steps(rows: &[SeriesRow], of: Of, x: &Scale, y: &Scale) -> String {
    let mut d = String::new();
    let mut last: Option<(u64, String)> = None;
    for row in rows {
        let Some(value) = of(row) else {
            last = None;
            continue;
        };
        let level = n(y.at(value));
        match &last {
            Some((end, before)) if *end == row.start_ns => {
                if *before != level {
                    let _ = write!(d, "V{level}");
                }
            }
            _ => {
                let _ = write!(d, "M{} {level}", n(x.at(row.start_ns as f64)));
            }
        }
        let end = row.start_ns.saturating_add(row.length_ns);
        let _ = write!(d, "H{}", n(x.at(end as f64)));
        last = Some((end, level));
    }
    d
}

/// From the end of a row to the end of the next; a short dash where there is only one.
fn levels(rows: &[SeriesRow], of: Of, x: &Scale, y: &Scale) -> String {
    let end = |row: &SeriesRow| x.at(row.start_ns.saturating_add(row.length_ns) as f64);
    if let [row] = rows {
        let Some(value) = of(row) else { return String::new() };
        return format!("M{} {}h-8", n(end(row)), n(y.at(value)));
    }
    polyline(rows.iter().map(|row| of(row).map(|value| (end(row), y.at(value)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::canvas::Size;

    fn row(start_ns: u64, length_ns: u64, n: u64) -> SeriesRow {
        SeriesRow { start_ns, length_ns, ok: n, in_flight: n, ..SeriesRow::default() }
    }

    #[test]
    fn a_short_last_row_makes_no_spike() {
        let mut doc = fixture::stall();
        let (size, second) = (Size { width: 360.0, height: 280.0 }, 1_000_000_000);
        doc.series.rows = (0..5).map(|i| row(i * second, second, 100)).collect();
        let draw = |doc: &RunDocument| {
            let mut canvas = Canvas::new("", size);
            rates(&mut canvas, doc);
            canvas.data.iter().find(|(name, _)| *name == "y").map(|(_, y)| y.clone()).unwrap_or_default()
        };
        let before = draw(&doc);
        doc.series.rows.push(row(5 * second, 5_000_000, 2));
        assert_eq!(draw(&doc), before, "2 in 5 ms would be 400/s");
        doc.series.rows.push(row(6 * second, second / 2, 100));
        assert_ne!(draw(&doc), before, "half a second is a row");
    }

    #[test]
    fn levels_stand_at_the_ends_of_rows() {
        let x = Scale::linear((0.0, 4.0), (0.0, 40.0));
        let y = Scale::linear((0.0, 10.0), (10.0, 0.0));
        let of: Of = |row| Some(row.in_flight as f64);
        assert_eq!(levels(&[row(0, 1, 2), row(1, 1, 4)], of, &x, &y), "M10 8L20 6");
        assert_eq!(levels(&[row(0, 4, 2)], of, &x, &y), "M40 8h-8");
    }
}
