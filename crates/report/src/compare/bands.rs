//! Two spectra of several runs each: a line for the mean, a band from the fastest to the slowest run.

use crate::facts::Title;
use crate::format;
use crate::svg::Picture;
use crate::svg::axis::{Plot, Scale, duration_tick, value_axis};
use crate::svg::canvas::{Anchor, Canvas, polyline};
use crate::svg::picture::full;
use crate::svg::spectrum::{tail, x_axis};
use unblink_artifact::compare::{BandPoint, CompareDocument, Line, Quantity};

/// The very fastest arrivals would take half of the picture: the scale begins where this share is.
const SHARE_LOWEST: f64 = 0.1;
/// Of a label, at most.
const CHARACTER_WIDTH: f64 = 7.2;
/// Room that labels of the deciding percentile keep from each other.
const LABEL_HEIGHT: f64 = 16.0;

/// Baseline and candidate in one picture, each with the band of its runs.
pub(super) fn picture(title: Title, doc: &CompareDocument) -> Picture {
    let legend = vec![("baseline", "baseline"), ("candidate", "candidate")];
    let mut picture = full("bands", "compare", title, legend, |canvas| draw(canvas, doc));
    let sides = [("baseline", &doc.baseline.spectrum), ("candidate", &doc.candidate.spectrum)];
    let named = sides.map(|(name, points)| {
        (name, name, points.iter().map(|p| (p.q, p.middle_ns)).collect::<Vec<(f64, u64)>>())
    });
    picture.lines = serde_json::to_string(&named).ok();
    picture
}

/// Draws the baseline below the candidate.
fn draw(canvas: &mut Canvas, doc: &CompareDocument) {
    let plot = Plot::of(canvas, 62.0);
    let sides = [("baseline", &doc.baseline.spectrum), ("candidate", &doc.candidate.spectrum)];
    let points = || sides.iter().flat_map(|(_, points)| points.iter());
    let shown = || points().filter(|p| p.q >= SHARE_LOWEST);
    let (Some(low), Some(high)) = (shown().map(|p| p.low_ns).min(), shown().map(|p| p.high_ns).max()) else {
        plot.message(canvas, "No response time is known.");
        return;
    };
    let end = points().map(|p| tail(p.q)).fold(1.0, f64::max);
    let x = Scale::linear((0.0, end), (plot.left, plot.right));
    let y = Scale::durations(low, high, (plot.bottom, plot.top));
    value_axis(canvas, &plot, &y, "time an arrival took", duration_tick);
    let failed = |line: &Line| [line.baseline, line.candidate].into_iter().flatten().any(|share| share > 0.0);
    let any_failed = doc.lines.iter().any(|line| line.quantity == Quantity::Errors && failed(line));
    let of = if any_failed { "the arrivals that did not fail" } else { "arrivals" };
    x_axis(canvas, &plot, &x, end, of);
    let at = |p: &BandPoint, ns: u64| Some((x.at(tail(p.q).min(end)), y.at(ns as f64)));
    // What lies below the axis has no place on it.
    let is_above = |ns: u64| ns as f64 >= y.ends().0;
    for (class, points) in sides {
        let shown = || points.iter().filter(|p| is_above(p.high_ns));
        if shown().next().is_some() {
            let upper = shown().map(|p| at(p, p.high_ns));
            let lower = shown().map(|p| at(p, p.low_ns)).collect::<Vec<_>>().into_iter().rev();
            canvas.path(&format!("band {class}"), &(polyline(upper.chain(lower)) + "Z"));
        }
    }
    for (class, points) in sides {
        let line = points.iter().map(|p| at(p, p.middle_ns).filter(|_| is_above(p.middle_ns)));
        canvas.path(&format!("line {class}"), &polyline(line));
    }
    label(canvas, &plot, doc, &x, &y);
    canvas.axes(Some("spectrum"), &plot, &x, &y);
}

/// The deciding percentile of both sides: the larger value above its dot, the smaller below.
fn label(canvas: &mut Canvas, plot: &Plot, doc: &CompareDocument, x: &Scale, y: &Scale) {
    let Some(line) = doc.lines.iter().find(|line| line.decides) else { return };
    let (Some(baseline), Some(candidate)) = (line.baseline, line.candidate) else { return };
    if line.baseline_censored || line.candidate_censored {
        return;
    }
    let at = x.at(tail(doc.rule.quantile));
    for (class, value, other) in [("baseline", baseline, candidate), ("candidate", candidate, baseline)] {
        let height = y.at(value);
        canvas.dot(&format!("dot {class}"), (at, height), 3.5);
        let is_above = value > other || value == other && class == "candidate";
        let text = format!("{} {}", super::label(doc), format::duration(value.round() as u64));
        let (anchor, x, y) = match is_above {
            true => (Anchor::End, at - 7.0, (height - 8.0).max(plot.top + LABEL_HEIGHT)),
            false => (Anchor::Start, at + 6.0, (height + 17.0).min(plot.bottom - 4.0)),
        };
        // On a narrow picture there may be room on the other side only.
        let width = text.chars().count() as f64 * CHARACTER_WIDTH;
        let (anchor, x) = match anchor {
            Anchor::End if x - width < plot.left => (Anchor::Start, at + 6.0),
            Anchor::Start if x + width > plot.right => (Anchor::End, at - 7.0),
            fits => (fits, x),
        };
        canvas.text(&format!("label {class}-text"), (x, y), anchor, &text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::compare;
    use crate::svg::canvas::Size;
    use crate::svg::read::Drawn;

    #[test]
    fn a_line_ends_where_its_axis_ends() {
        let (_, mut doc) =
            compare::all().into_iter().find(|(name, _)| *name == "regression").expect("a fixture");
        let first = &mut doc.baseline.spectrum[0];
        assert!(first.q < SHARE_LOWEST);
        (first.low_ns, first.middle_ns, first.high_ns) = (1, 1, 1);
        let mut canvas = Canvas::new("", Size { width: 1_080.0, height: 330.0 });
        draw(&mut canvas, &doc);
        let drawn = Drawn::of(&canvas);
        for (class, points) in
            [("baseline", &doc.baseline.spectrum[1..]), ("candidate", &doc.candidate.spectrum[..])]
        {
            let line = drawn.path(&format!("line {class}"));
            assert_eq!(line.len(), points.len());
            for (at, point) in line.iter().zip(points) {
                assert!(
                    drawn.is_y(at.1, point.middle_ns as f64),
                    "{class}: {} at {}",
                    drawn.y(at.1),
                    point.q
                );
            }
        }
    }
}
