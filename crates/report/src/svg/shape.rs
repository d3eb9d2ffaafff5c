//! What a load of a named shape did to its target, over time.

use super::Picture;
use super::axis::{Plot, Scale, count_axis, time_axis};
use super::canvas::{Anchor, Canvas, n, polyline};
use super::heat::span;
use super::picture::full;
use crate::facts::{self, Title};
use crate::format;
use unblink_artifact::document::{RecoveryTime, RunDocument, SeriesRow, ShapeResult, Soak, Spike, Stress};

/// The pictures of the section, the first of which says the most; none of a load without a name.
pub(crate) fn pictures(doc: &RunDocument, scope: &str) -> Vec<Picture> {
    let (Some(told), Some(shape)) = (facts::shape(doc), &doc.shape) else { return Vec::new() };
    let title = told.picture;
    match shape {
        ShapeResult::Spike(spike) => {
            let legend =
                vec![("flight", "without an answer"), ("apart", "the spike"), ("ok", "until as before")];
            vec![full("shape", scope, title, legend, |canvas| draw_spike(canvas, doc, spike))]
        }
        ShapeResult::Soak(soak) => soak_pictures(doc, soak, scope, title),
        ShapeResult::Stress(stress) => {
            let mut legend = vec![("truth", "offered"), ("ok", "answered as expected")];
            if doc.series.rows.iter().any(|row| lost(row) > 0.0) {
                legend.push(("failed", "failed or timed out"));
            }
            vec![full("shape", scope, title, legend, |canvas| draw_stress(canvas, doc, stress))]
        }
    }
}

/// Over time, then every figure that may drift.
fn soak_pictures(doc: &RunDocument, soak: &Soak, scope: &str, title: Title) -> Vec<Picture> {
    let over_time = Title {
        finding: title.finding.clone(),
        plotted: format!(
            "p50 and p99 of {}, with their trends and what these may be. What is shaded was looked at.",
            facts::counted_by(doc)
        ),
    };
    let of = facts::folded(doc).map_or(String::new(), |of| format!(" {of}"));
    let lines = vec![
        ("soak-p99", format!("p99{of}; its trend within the 99\u{a0}% interval")),
        ("soak-p50", format!("p50{of}; the same")),
    ];
    let mut changes =
        vec![("band response", "99\u{a0}% interval of the change"), ("dot good", "no drift found")];
    if soak.figures.iter().any(|figure| figure.is_drift) {
        changes.push(("dot failure", "drifts"));
    }
    let change = Title { finding: "How much each figure changed".into(), ..title };
    vec![
        full("shape", scope, over_time, lines, |canvas| super::soak_time::draw(canvas, doc, soak)),
        full("drift", scope, change, changes, |canvas| super::soak::draw(canvas, soak)),
    ]
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
    recovery(canvas, &plot, &x, &spike.recovery, "the spike ends");
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
        let (at, text) = (x.at(broken.at_ns as f64), format!("breaks at {}", format::rate(broken.per_s)));
        let (at, anchor) = match at - 6.0 - text.chars().count() as f64 * LETTER > 0.0 {
            true => (at - 6.0, Anchor::End),
            false => (at + 6.0, Anchor::Start),
        };
        canvas.text("label", (at, plot.top + 12.0), anchor, &text);
    }
    if let Some(found) = &stress.recovery {
        recovery(canvas, &plot, &x, found, "below the rate that broke it");
    }
    hover(canvas, &plot, (&x, &y), "rates");
}

/// Width of a letter of a label, at most.
const LETTER: f64 = 7.4;

/// From when to when it recovered: a dimension line between both ends.
fn recovery(canvas: &mut Canvas, plot: &Plot, x: &Scale, found: &RecoveryTime, starts: &str) {
    let Some(after) = found.after_ns else { return };
    let (from, to) = (x.at(found.from_ns as f64), x.at(found.from_ns.saturating_add(after) as f64));
    let (from_time, to_time) =
        (format::moment(found.from_ns), format::moment(found.from_ns.saturating_add(after)));
    canvas.line("recovery", (from, plot.top), (from, plot.bottom));
    canvas.line("recovery", (to, plot.top), (to, plot.bottom));
    let at = plot.top + 16.0;
    canvas.line("recovery span", (from, at), (to, at));
    // Heads that meet would be a knot.
    if to - from > 20.0 {
        let heads = format!("M{} {}l-7 -4v8Z", n(to), n(at)) + &format!("M{} {}l7 -4v8Z", n(from), n(at));
        canvas.path("recovery head", &heads);
    }
    let took = if after == 0 {
        "as before at once".into()
    } else {
        format!("as before after {}", format::duration(after))
    };
    // The words stand where there is room: within, else on the wider side.
    let width = |text: &str| text.chars().count() as f64 * LETTER;
    let within = to - from > width(&took) + 20.0;
    // Else on the wider side, as few as it takes; and never beyond the picture.
    let (left, right) = (from - 6.0 - plot.left, canvas.size.width - to - 8.0);
    let short = took.replace("as before after ", "after ");
    let took = if within || width(&took) <= left.max(right) { took } else { short };
    let (place, anchor) = match (within, left > right) {
        (true, _) => ((from + to) / 2.0, Anchor::Middle),
        (false, true) => ((from - 6.0).max(plot.left + width(&took)), Anchor::End),
        (false, false) => ((to + 6.0).min(canvas.size.width - width(&took) - 2.0), Anchor::Start),
    };
    canvas.text("label recovery-text", (place, if within { at - 6.0 } else { at + 4.0 }), anchor, &took);
    if within && to - from > width(starts) + width(&from_time) + width(&to_time) + 30.0 {
        canvas.text(
            "tick halo-text",
            (from + 6.0, at + 16.0),
            Anchor::Start,
            &format!("{from_time}: {starts}"),
        );
        canvas.text("tick halo-text", (to - 6.0, at + 16.0), Anchor::End, &to_time);
    }
}

fn hover(canvas: &mut Canvas, plot: &Plot, (x, y): (&Scale, &Scale), what: &'static str) {
    canvas.axes(Some(what), plot, x, y);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::read::Drawn;

    #[test]
    fn a_recovery_is_drawn_from_its_start_to_its_end() {
        let doc = fixture::spike();
        let Some(ShapeResult::Spike(spike)) = &doc.shape else { panic!("no spike") };
        let picture = pictures(&doc, "").remove(0);
        let drawn = Drawn::of(&picture.sizes[0].1);
        let recovery = &spike.recovery;
        let ends = [recovery.from_ns, recovery.from_ns + recovery.after_ns.expect("a time")];
        let lines = drawn.lines("recovery");
        assert_eq!(lines.len(), 2);
        for (line, at_ns) in lines.iter().zip(ends) {
            assert!(drawn.is_x(line[0].0, at_ns as f64), "{} for {at_ns}", drawn.x(line[0].0));
        }
        let span = drawn.lines("recovery span")[0];
        assert_eq!((span[0].0, span[1].0), (lines[0][0].0, lines[1][0].0));
        let line = drawn.path("line flight");
        for (at, row) in line.iter().zip(&doc.series.rows) {
            assert!(drawn.is_y(at.1, (row.in_flight + row.backlog) as f64));
        }
    }

    #[test]
    fn words_of_a_recovery_stay_in_the_picture() {
        let mut doc = fixture::spike();
        for (from_s, after_s) in [(3, 1), (8, 9), (12, 5), (14, 4), (20, 7), (25, 4), (28, 1), (0, 1)] {
            if let Some(ShapeResult::Spike(spike)) = &mut doc.shape {
                spike.recovery.from_ns = from_s * 1_000_000_000;
                spike.recovery.after_ns = Some(after_s * 1_000_000_000 + 200_000_000);
            }
            for (_, canvas) in &pictures(&doc, "").remove(0).sizes {
                let (_, rest) = canvas.body.split_once("class=\"label recovery-text").expect("words");
                let (attributes, rest) = rest.split_once('>').expect("an end");
                let (text, _) = rest.split_once('<').expect("an end");
                let (_, x) = attributes.split_once("x=\"").expect("a place");
                let x: f64 = x.split('"').next().and_then(|x| x.parse().ok()).expect("a number");
                let width = text.chars().count() as f64 * LETTER;
                let left = match attributes.split('"').next().expect("a class") {
                    " e" => x - width,
                    " m" => x - width / 2.0,
                    _ => x,
                };
                assert!(left >= 0.0 && left + width <= canvas.size.width, "{text} at {left}, {from_s} s");
            }
        }
    }

    #[test]
    fn nothing_recovers_where_it_was_not_seen() {
        let mut doc = fixture::spike();
        if let Some(ShapeResult::Spike(spike)) = &mut doc.shape {
            spike.recovery.after_ns = None;
        }
        let picture = pictures(&doc, "").remove(0).file();
        assert!(!picture.contains("class=\"recovery") && !picture.contains("as before after"), "{picture}");
    }
}
