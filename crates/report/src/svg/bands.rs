//! Two spectra of several runs each: a line for the mean, a band from the fastest to the slowest run.

use super::axis::{Plot, Scale, duration_tick, value_axis};
use super::canvas::{Anchor, Canvas, polyline};
use super::spectrum::{tail, x_axis};
use crate::format;
use unblink_artifact::compare::{BandPoint, CompareDocument};

/// The very fastest arrivals would take half of the picture: the scale begins where this share is.
const SHARE_LOWEST: f64 = 0.1;
/// Of a label, at the most.
const CHARACTER_WIDTH: f64 = 7.2;
/// Room that labels of the deciding percentile keep from each other.
const LABEL_HEIGHT: f64 = 16.0;

/// Draws the baseline below the candidate.
pub(crate) fn draw(canvas: &mut Canvas, doc: &CompareDocument) {
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
    x_axis(canvas, &plot, &x, end);
    let at = |p: &BandPoint, ns: u64| Some((x.at(tail(p.q).min(end)), y.at(ns as f64)));
    for (class, points) in sides {
        if !points.is_empty() {
            let upper = points.iter().map(|p| at(p, p.high_ns));
            let lower = points.iter().rev().map(|p| at(p, p.low_ns));
            canvas.path(&format!("band {class}"), &(polyline(upper.chain(lower)) + "Z"));
        }
    }
    for (class, points) in sides {
        canvas.path(&format!("line {class}"), &polyline(points.iter().map(|p| at(p, p.middle_ns))));
    }
    label(canvas, &plot, doc, &x, &y);
    canvas.data = vec![
        ("hover", "spectrum".into()),
        ("plot", format!("{} {} {} {}", plot.left, plot.top, plot.right, plot.bottom)),
        ("x", x.domain()),
        ("y", y.domain()),
    ];
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
        let text = format!(
            "{} {}",
            format::quantile_label(doc.rule.quantile),
            format::duration(value.round() as u64)
        );
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
