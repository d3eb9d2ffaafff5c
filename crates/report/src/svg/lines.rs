//! Figures over time as lines: rates, requests in flight, the generator's lateness.

use super::axis::{Plot, Scale, count_tick, duration_tick, time_axis, value_axis};
use super::canvas::{Anchor, Canvas, n, polyline};
use super::heat::{span, warm_up};
use super::objectives;
use crate::facts::{self, Moment};
use crate::format;
use std::fmt::Write;
use unblink_artifact::document::{RunDocument, SeriesRow};

/// A value over a stretch of time.
struct Stretch {
    from_ns: u64,
    to_ns: u64,
    value: Option<f64>,
}

struct Line {
    class: &'static str,
    stretches: Vec<Stretch>,
    /// Known at the ends of stretches alone.
    at_ends: bool,
}

impl Line {
    fn of_moments(class: &'static str, moments: &[Moment], of: impl Fn(&Moment) -> Option<f64>) -> Line {
        let stretch = |m: &Moment| Stretch {
            from_ns: m.start_ns,
            to_ns: m.start_ns.saturating_add(m.length_ns),
            value: of(m),
        };
        Line { class, stretches: moments.iter().map(stretch).collect(), at_ends: false }
    }

    fn of_rows(class: &'static str, rows: &[SeriesRow], of: impl Fn(&SeriesRow) -> Option<f64>) -> Line {
        let stretch = |row: &SeriesRow| Stretch {
            from_ns: row.start_ns,
            to_ns: row.start_ns.saturating_add(row.length_ns),
            value: of(row),
        };
        Line { class, stretches: rows.iter().map(stretch).collect(), at_ends: false }
    }

    fn at_ends(self) -> Line {
        Line { at_ends: true, ..self }
    }

    fn path(&self, x: &Scale, y: &Scale) -> String {
        if self.at_ends { levels(&self.stretches, x, y) } else { steps(&self.stretches, x, y) }
    }
}

/// Offered, sent, achieved and failed per second. Failed is broad and below sent: where all fail, both are
/// seen.
pub(crate) fn rates(canvas: &mut Canvas, doc: &RunDocument) {
    let moments = facts::rate_moments(doc);
    let per_s = |count: u64, m: &Moment| (m.length_ns > 0).then(|| count as f64 * 1e9 / m.length_ns as f64);
    let mut lines = vec![
        Line::of_moments("line ok", &moments, |m| per_s(m.ok, m)),
        Line::of_moments("line failure", &moments, |m| per_s(m.failed, m).filter(|_| m.failed > 0)),
        Line::of_moments("line sent", &moments, |m| per_s(m.sent, m)),
    ];
    if doc.rate.offered.is_some() {
        lines.push(Line::of_moments("line truth", &moments, |m| per_s(m.due, m)));
    }
    let top = doc.rate.offered.and_then(|_| cap(&moments));
    over_time(canvas, doc, "rates", &lines, |high, range| {
        Scale::linear((0.0, top.unwrap_or((high * 1.1).max(1.0))), range)
    });
    if let Some(top) = top {
        beyond(canvas, doc, &moments, top);
    }
}

/// Where the axis of rates ends if a burst would flatten all else: after a stall, a queue is answered at once.
fn cap(moments: &[Moment]) -> Option<f64> {
    let per_s = |count: u64, m: &Moment| count as f64 * 1e9 / m.length_ns.max(1) as f64;
    let most = |of: fn(&Moment) -> u64| moments.iter().map(|m| per_s(of(m), m)).fold(0.0, f64::max);
    let (due, high) = (most(|m| m.due), most(|m| m.ok.max(m.failed).max(m.sent)));
    (due > 0.0 && high > BURST_RATIO * due).then_some(2.0 * due)
}

/// A burst is this many times what falls due.
const BURST_RATIO: f64 = 2.5;

/// What is higher than the axis, as a mark at its upper end: the highest, and when.
fn beyond(canvas: &mut Canvas, doc: &RunDocument, moments: &[Moment], top: f64) {
    let plot = Plot::of(canvas, 62.0);
    let rate = |m: &Moment| m.ok.max(m.failed).max(m.sent) as f64 * 1e9 / m.length_ns.max(1) as f64;
    let highest = moments.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let (Some(highest), Some(span)) = (highest.filter(|m| rate(m) > top), span(doc)) else { return };
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let at = x.at(highest.start_ns as f64 + highest.length_ns as f64 / 2.0);
    let text = format!("{} at {}", format::rate(rate(highest)), format::moment(highest.start_ns));
    canvas.path("beyond", &format!("M{} {}l-4 7h8Z", n(at), n(plot.top)));
    let (anchor, offset) =
        if at > (plot.left + plot.right) / 2.0 { (Anchor::End, -8.0) } else { (Anchor::Start, 8.0) };
    canvas.text("label", (at + offset, plot.top + 9.0), anchor, &text);
}

/// In flight and waiting: the highest within each stretch, or, without a timeline, the levels at the ends of rows.
/// Connections: at the ends of rows.
pub(crate) fn flight(canvas: &mut Canvas, doc: &RunDocument) {
    let moments = facts::moments(doc);
    let connections =
        Line::of_rows("line connections", &doc.series.rows, |row| Some(row.connections as f64)).at_ends();
    let backlog = Line::of_moments("line backlog", &moments, |m| Some(m.backlog as f64));
    let flight = Line::of_moments("line flight", &moments, |m| Some(m.in_flight as f64));
    let mut lines = match facts::timeline(doc) {
        Some(_) => vec![connections, backlog, flight],
        None => vec![connections, backlog.at_ends(), flight.at_ends()],
    };
    if !facts::waited(doc) {
        lines.remove(1);
    }
    over_time(canvas, doc, "flight", &lines, |high, range| Scale::counts(high as u64, range));
}

/// The generator's own lateness.
pub(crate) fn lateness(canvas: &mut Canvas, doc: &RunDocument) {
    let rows = &doc.series.rows;
    let lines = [Line::of_rows("line late", rows, |row| row.generator_late_p99_ns.map(|ns| ns as f64))];
    let low = rows.iter().filter_map(|row| row.generator_late_p99_ns).min().unwrap_or(1_000);
    if doc.simulated.is_some() && doc.generator_late.max.unwrap_or(0) == 0 {
        canvas.why = Some("the simulated generator was never late");
        return Plot::of(canvas, 62.0).message(canvas, "The simulated generator was never late.");
    }
    over_time(canvas, doc, "lateness", &lines, |high, range| {
        // From a microsecond to a millisecond at least: then a glance tells good from bad.
        Scale::durations(low.clamp(1_000, 10_000), (high as u64).max(1_000_000), range)
    });
}

fn over_time(
    canvas: &mut Canvas,
    doc: &RunDocument,
    hover: &'static str,
    lines: &[Line],
    scale: impl Fn(f64, (f64, f64)) -> Scale,
) {
    let plot = Plot::of(canvas, 62.0);
    let values = lines.iter().flat_map(|line| line.stretches.iter().filter_map(|of| of.value));
    let (Some(high), Some(span)) = (values.reduce(f64::max), span(doc)) else {
        let none = if doc.series.rows.is_empty() { "Nothing was measured." } else { "Nothing was sent." };
        plot.message(canvas, none);
        return;
    };
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let y = scale(high, (plot.bottom, plot.top));
    warm_up(canvas, doc, &plot, &x, plot.top);
    match hover {
        "rates" => value_axis(canvas, &plot, &y, "per second", count_tick),
        "flight" => value_axis(canvas, &plot, &y, "number", count_tick),
        _ => value_axis(canvas, &plot, &y, "p99 of lateness", duration_tick),
    }
    time_axis(canvas, &plot, &x, "time since the start");
    for line in lines {
        canvas.path(line.class, &line.path(&x, &y));
    }
    if hover == "rates" {
        objectives::draw_rates(canvas, doc, &plot, &y);
    }
    canvas.axes(Some(hover), &plot, &x, &y);
}

/// A level for each stretch of time; broken where it is not known.
fn steps(stretches: &[Stretch], x: &Scale, y: &Scale) -> String {
    let mut d = String::new();
    let mut last: Option<(u64, String)> = None;
    for of in stretches {
        let Some(value) = of.value else {
            last = None;
            continue;
        };
        let level = n(y.at(value));
        match &last {
            Some((end, before)) if *end == of.from_ns => {
                if *before != level {
                    let _ = write!(d, "V{level}");
                }
            }
            _ => {
                let _ = write!(d, "M{} {level}", n(x.at(of.from_ns as f64)));
            }
        }
        let _ = write!(d, "H{}", n(x.at(of.to_ns as f64)));
        last = Some((of.to_ns, level));
    }
    d
}

/// From the end of a stretch to the end of the next; a short dash where there is only one.
fn levels(stretches: &[Stretch], x: &Scale, y: &Scale) -> String {
    let end = |of: &Stretch| x.at(of.to_ns as f64);
    if let [of] = stretches {
        let Some(value) = of.value else { return String::new() };
        return format!("M{} {}h-8", n(end(of)), n(y.at(value)));
    }
    polyline(stretches.iter().map(|of| of.value.map(|value| (end(of), y.at(value)))))
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
        doc.series.timeline = None;
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
    fn a_burst_after_a_stall_is_a_mark_and_no_axis() {
        let mut doc = fixture::stall();
        let draw = |doc: &RunDocument| {
            let mut canvas = Canvas::new("", Size { width: 460.0, height: 280.0 });
            rates(&mut canvas, doc);
            canvas
        };
        assert!(!draw(&doc).body.contains("class=\"beyond\""));
        let cells = doc.series.timeline.as_mut().expect("cells");
        let at = (31_000_000_000 - cells.start_ns) / cells.cell_ns;
        cells.ok[at as usize] += 10_000;
        let canvas = draw(&doc);
        let drawn = crate::svg::read::Drawn::of(&canvas);
        assert!(drawn.is_y(24.0, 2_000.0), "twice what was offered: {}", drawn.y(24.0));
        let says = format::plain(&canvas.body);
        assert!(says.contains("class=\"beyond\"") && says.contains(" at 31 s</text>"), "{says}");
    }

    #[test]
    fn levels_stand_at_the_ends_of_rows() {
        let x = Scale::linear((0.0, 4.0), (0.0, 40.0));
        let y = Scale::linear((0.0, 10.0), (10.0, 0.0));
        let path = |rows: &[SeriesRow]| {
            Line::of_rows("", rows, |row| Some(row.in_flight as f64)).at_ends().path(&x, &y)
        };
        assert_eq!(path(&[row(0, 1, 2), row(1, 1, 4)]), "M10 8L20 6");
        assert_eq!(path(&[row(0, 4, 2)]), "M40 8h-8");
    }

    #[test]
    fn a_simulated_run_has_no_picture_of_nothing() {
        let mut doc = fixture::simulated();
        doc.generator_late.max = Some(0);
        let page = crate::html::render(&doc);
        assert!(page.contains(
            "There is no picture of the generator&#39;s lateness: the simulated generator was never late."
        ));
        doc.generator_late.max = Some(1_000_000);
        assert!(!crate::html::render(&doc).contains("There is no picture"));
    }
}
