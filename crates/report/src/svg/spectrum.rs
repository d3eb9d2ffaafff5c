//! The percentile spectrum: how long the fastest share q of arrivals took, the tail stretched by 1/(1−q).

use super::axis::{Plot, Scale, duration_tick, value_axis, vertical};
use super::canvas::{Anchor, Canvas, polyline};
use crate::{facts, format};
use unblink_artifact::document::{Distribution, SpectrumPoint};

/// One line of the picture.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    /// Class of its colour.
    pub(crate) class: &'static str,
    /// (q, nanoseconds), ascending; q = 1 is the maximum.
    pub(crate) points: Vec<(f64, u64)>,
    /// What its values are read from; sets where the line ends and what is not known beyond.
    pub(crate) distribution: Option<&'a Distribution>,
}

/// A measured line.
pub(crate) fn measured<'a>(
    name: &'a str,
    class: &'static str,
    points: &[SpectrumPoint],
    distribution: &'a Distribution,
) -> Line<'a> {
    Line {
        name,
        class,
        points: points.iter().map(|point| (point.q, point.value_ns)).collect(),
        distribution: Some(distribution),
    }
}

/// Draws the lines, the first one broad and below the others, so that lines that agree are both seen.
pub(crate) fn draw(canvas: &mut Canvas, lines: &[Line<'_>]) {
    let plot = Plot::of(canvas, 62.0);
    let samples = lines.iter().filter_map(|line| line.distribution).map(|d| d.count).max().unwrap_or(0);
    let values = || lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let bound = lines
        .iter()
        .filter_map(|line| line.distribution)
        .filter_map(|d| d.quantiles.iter().filter(|q| q.censored).map(|q| q.value).min())
        .min();
    let (Some(low), Some(high)) = (values().chain(bound).min(), values().chain(bound).max()) else {
        plot.message(canvas, "No response time is known.");
        return;
    };
    // Where the data end: the slowest of n arrivals stands at 1 − 1/n.
    let end = (samples.max(10) as f64).log10();
    let x = Scale::linear((0.0, end), (plot.left, plot.right));
    let y = Scale::durations(low, high, (plot.bottom, plot.top));

    let known_end = lines
        .iter()
        .filter(|line| line.distribution.is_some_and(|d| d.censored > 0))
        .map(|line| line.points.last().map_or(0.0, |point| tail(point.0).min(end)))
        .reduce(f64::min);
    if let Some(from) = known_end {
        canvas.hatching();
        let from = x.at(from);
        canvas.hatched(from, plot.top, plot.right - from, plot.height());
    }
    value_axis(canvas, &plot, &y, "time an arrival took", duration_tick);
    x_axis(canvas, &plot, &x, end);
    if let (Some(from), Some(bound)) = (known_end, bound) {
        let text = format!("> {}: longer than is known", format::duration(bound));
        let middle = (x.at(from) + plot.right) / 2.0;
        let half = text.chars().count() as f64 * 3.4;
        let at = middle.clamp(plot.left + half, (plot.right - half).max(plot.left + half));
        canvas.text("label note", (at, plot.top + plot.height() * 0.45), Anchor::Middle, &text);
    }
    for line in lines {
        let points = line.points.iter().map(|&(q, ns)| Some((x.at(tail(q).min(end)), y.at(ns as f64))));
        canvas.path(&format!("line {}", line.class), &polyline(points));
    }
    annotate(canvas, &plot, lines, &x, &y);
    canvas.data = vec![
        ("hover", "spectrum".into()),
        ("plot", format!("{} {} {} {}", plot.left, plot.top, plot.right, plot.bottom)),
        ("x", x.domain()),
        ("y", y.domain()),
    ];
}

fn x_axis(canvas: &mut Canvas, plot: &Plot, x: &Scale, end: f64) {
    let mut labels = vec![(0.0, "0\u{a0}%".to_string()), (tail(0.5), "50\u{a0}%".into())];
    for nines in 1..=9 {
        let label =
            format!("{}\u{a0}%", format::quantile_label(1.0 - 10f64.powi(-nines)).trim_start_matches('p'));
        labels.push((f64::from(nines), label));
    }
    let mut free_from = f64::MIN;
    for (at, label) in labels.into_iter().filter(|(at, _)| *at <= end + 1e-9) {
        let position = x.at(at);
        let half = label.chars().count() as f64 * 3.3;
        if position - half < free_from {
            canvas.line("grid", (position, plot.top), (position, plot.bottom));
        } else {
            vertical(canvas, plot, position, &label);
            free_from = position + half + 6.0;
        }
    }
    canvas.text(
        "axis",
        (plot.right, plot.bottom + 37.0),
        Anchor::End,
        "share of arrivals that took at most this",
    );
}

/// Values at p50, p99 and p99.9 of the first line, and of another one where it differs much.
fn annotate(canvas: &mut Canvas, plot: &Plot, lines: &[Line<'_>], x: &Scale, y: &Scale) {
    let Some((top, others)) = lines.split_first() else { return };
    let Some(distribution) = top.distribution else { return };
    let mut labels = Labels { plot, taken: Vec::new() };
    // In the order of their weight: a label that finds no room is left out.
    for q in [0.99, 0.5, 0.999] {
        let Some(quantile) =
            facts::quantile(distribution, q).filter(|quantile| !quantile.censored && !quantile.few_samples)
        else {
            continue;
        };
        let at = (x.at(tail(q)), y.at(quantile.value as f64));
        canvas.dot(&format!("dot {}", top.class), at, 3.5);
        let text = format!("{} {}", format::quantile_label(q), format::duration(quantile.value));
        // The lines rise to the right: above on the left and below on the right is always free.
        labels.put(
            canvas,
            top.class,
            &text,
            [(Anchor::End, at.0 - 7.0, at.1 - 8.0), (Anchor::Start, at.0 + 6.0, at.1 + 17.0)],
        );
        let other = others
            .iter()
            .filter_map(|line| facts::quantile(line.distribution?, q).map(|other| (line, other)))
            .find(|(_, other)| !other.censored && other.value < quantile.value / 2);
        if let Some((line, other)) = other.filter(|_| q == 0.99) {
            let at = (x.at(tail(q)), y.at(other.value as f64));
            canvas.dot(&format!("dot {}", line.class), at, 3.5);
            let text = format!("{} {}", format::quantile_label(q), format::duration(other.value));
            labels.put(
                canvas,
                line.class,
                &text,
                [(Anchor::Start, at.0 + 6.0, at.1 + 18.0), (Anchor::Start, at.0 + 6.0, at.1 - 8.0)],
            );
        }
    }
}

/// Labels that don't cover each other.
struct Labels<'a> {
    plot: &'a Plot,
    /// Left, top, right, bottom.
    taken: Vec<(f64, f64, f64, f64)>,
}

impl Labels<'_> {
    /// Puts a label to the first of the places where it fits, if there is one.
    fn put(&mut self, canvas: &mut Canvas, class: &str, text: &str, places: [(Anchor, f64, f64); 2]) {
        let width = text.chars().count() as f64 * 7.0;
        for (anchor, x, y) in places {
            let left = if anchor == Anchor::End { x - width } else { x };
            let (right, top, bottom) = (left + width, y - 12.0, y + 4.0);
            let inside = left >= self.plot.left && right <= canvas.size.width && bottom <= self.plot.bottom;
            let free = self
                .taken
                .iter()
                .all(|other| right <= other.0 || left >= other.2 || bottom <= other.1 || top >= other.3);
            if inside && free {
                canvas.text(&format!("label {class}-text"), (x, y), anchor, text);
                self.taken.push((left, top, right, bottom));
                return;
            }
        }
    }
}

/// Position of a quantile: log₁₀ 1/(1−q).
fn tail(q: f64) -> f64 {
    if q >= 1.0 { f64::MAX } else { -(1.0 - q.max(0.0)).log10() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::canvas::Size;

    #[test]
    fn labels_that_would_cover_each_other_are_moved_or_left_out() {
        let mut canvas = Canvas::new("", Size { width: 360.0, height: 280.0 });
        let plot = Plot::of(&canvas, 62.0);
        let mut labels = Labels { plot: &plot, taken: Vec::new() };
        let around = |x: f64, y: f64| [(Anchor::End, x - 7.0, y - 8.0), (Anchor::Start, x + 6.0, y + 17.0)];
        labels.put(&mut canvas, "response", "p99 890 ms", around(230.0, 60.0));
        labels.put(&mut canvas, "response", "p99.9 998 ms", around(260.0, 57.0));
        labels.put(&mut canvas, "response", "p99.99 1 s", around(262.0, 57.0));
        assert!(canvas.body.contains("label response-text e") && canvas.body.contains(">p99.9 998 ms<"));
        assert_eq!(labels.taken.len(), 2);
        assert!(!canvas.body.contains("p99.99"));
    }
}
