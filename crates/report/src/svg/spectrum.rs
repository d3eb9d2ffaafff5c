//! The percentile spectrum: how long the fastest share q of arrivals took, the tail stretched by 1/(1−q).

use super::axis::{Plot, Scale, duration_tick, value_axis, vertical};
use super::canvas::{Anchor, Canvas, polyline};
use crate::{facts, format};
use unblink_artifact::document::{Distribution, Quantile, SpectrumPoint};

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

/// Draws the lines, the first one broad, with its intervals, and below the others, so that lines that agree are both
/// seen.
pub(crate) fn draw(canvas: &mut Canvas, lines: &[Line<'_>]) {
    let plot = Plot::of(canvas, 62.0);
    let samples = lines.iter().filter_map(|line| line.distribution).map(|d| d.count).max().unwrap_or(0);
    // Two bands would hide each other where the lines agree.
    let band = lines.first().map(band).unwrap_or_default();
    let values = || {
        let of_lines = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
        of_lines.chain(band.iter().flat_map(|point| [point.low_ns as u64, point.high_ns as u64]))
    };
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
        let text = format!("{}: longer than is known", format::above(bound));
        let middle = (x.at(from) + plot.right) / 2.0;
        let half = text.chars().count() as f64 * 3.4;
        let at = middle.clamp(plot.left + half, (plot.right - half).max(plot.left + half));
        canvas.text("label note", (at, plot.top + plot.height() * 0.45), Anchor::Middle, &text);
    }
    if let Some(line) = lines.first() {
        let edge = |of: fn(&BandPoint) -> f64| {
            band.iter().map(move |point| Some((x.at(tail(point.q).min(end)), y.at(of(point)))))
        };
        let outline = polyline(edge(|point| point.high_ns).chain(edge(|point| point.low_ns).rev()));
        canvas.path(&format!("band {}", line.class), &outline);
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

/// Where the 95 % interval lies at one point of a line.
struct BandPoint {
    q: f64,
    low_ns: f64,
    high_ns: f64,
}

/// Does any percentile of it have a 95 % interval?
pub(crate) fn has_band(distribution: &Distribution) -> bool {
    !band_ends(distribution).is_empty()
}

/// The 95 % intervals along a line, from the first percentile that has one to the last before one that has none: what
/// lies beyond an event, or beyond the data, has no interval. Between two percentiles the ends are interpolated as
/// shares of the line.
fn band(line: &Line<'_>) -> Vec<BandPoint> {
    let ends = line.distribution.map(band_ends).unwrap_or_default();
    let mut points = Vec::new();
    let mut put = |q, value: f64, low: f64, high: f64| {
        points.push(BandPoint { q, low_ns: value * low, high_ns: value * high });
    };
    for (i, &(q, value, low, high)) in ends.iter().enumerate() {
        put(q, value, low / value, high / value);
        let Some(&(next_q, next_value, next_low, next_high)) = ends.get(i + 1) else { break };
        for &(at_q, at_ns) in line.points.iter().filter(|point| q < point.0 && point.0 < next_q) {
            let share = (tail(at_q) - tail(q)) / (tail(next_q) - tail(q));
            let between = |from: f64, to: f64| from.powf(1.0 - share) * to.powf(share);
            let (low, high) =
                (between(low / value, next_low / next_value), between(high / value, next_high / next_value));
            put(at_q, at_ns as f64, low, high);
        }
    }
    points
}

/// (q, value, low, high) of the neighbouring percentiles with an interval, in ns, at least 1.
fn band_ends(distribution: &Distribution) -> Vec<(f64, f64, f64, f64)> {
    let ends = |quantile: &Quantile| {
        let [value, low, high] = [quantile.value, quantile.low?, quantile.high?].map(|ns| ns.max(1) as f64);
        Some((quantile.q, value, low, high))
    };
    let quantiles = distribution.quantiles.iter().map(ends);
    quantiles.skip_while(Option::is_none).map_while(|ends| ends).collect()
}

pub(super) fn x_axis(canvas: &mut Canvas, plot: &Plot, x: &Scale, end: f64) {
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
        // Of the widest usual typeface: one that is narrower only leaves a little more room.
        let width = text.chars().count() as f64 * 7.8;
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
pub(super) fn tail(q: f64) -> f64 {
    if q >= 1.0 { f64::MAX } else { -(1.0 - q.max(0.0)).log10() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::canvas::Size;

    #[test]
    fn the_band_meets_the_intervals_and_holds_the_line() {
        let doc = fixture::intervals();
        let line = measured("", "response", &doc.spectrum.response_time, &doc.response_time);
        let band = band(&line);
        let quantiles = &doc.response_time.quantiles;
        let with: Vec<&Quantile> = quantiles.iter().filter(|quantile| quantile.low.is_some()).collect();
        assert!(with.len() > 1 && with.len() < quantiles.len());
        for quantile in &with {
            let point = band.iter().find(|point| point.q == quantile.q).expect("a point of the band");
            assert_eq!(Some(point.low_ns.round() as u64), quantile.low);
            assert_eq!(Some(point.high_ns.round() as u64), quantile.high);
        }
        assert_eq!(band.last().map(|point| point.q), with.last().map(|quantile| quantile.q));
        let within = line.points.iter().filter(|point| with[0].q < point.0 && point.0 < with[1].q);
        for &(q, ns) in within {
            let point = band.iter().find(|point| point.q == q).expect("a point of the band");
            assert!(point.low_ns < ns as f64 && (ns as f64) < point.high_ns, "{q}");
        }
        assert!(!has_band(&fixture::stall().response_time));
    }

    #[test]
    fn labels_that_would_cover_each_other_are_moved_or_left_out() {
        let mut canvas = Canvas::new("", Size { width: 360.0, height: 280.0 });
        let plot = Plot::of(&canvas, 62.0);
        let mut labels = Labels { plot: &plot, taken: Vec::new() };
        let around = |x: f64, y: f64| [(Anchor::End, x - 7.0, y - 8.0), (Anchor::Start, x + 6.0, y + 17.0)];
        labels.put(&mut canvas, "response", "p99 890 ms", around(230.0, 60.0));
        labels.put(&mut canvas, "response", "p99.9 998 ms", around(260.0, 57.0));
        labels.put(&mut canvas, "response", "p99.99 1 s", around(262.0, 57.0));
        // As wide as letters may be, this one would be cut by the edge.
        let mut at_edge = Labels { plot: &plot, taken: vec![(62.0, 0.0, 268.0, 60.0)] };
        at_edge.put(&mut canvas, "response", "p99.9 996 ms", around(268.0, 40.0));
        assert_eq!(at_edge.taken.len(), 1);
        assert!(canvas.body.contains("label response-text e") && canvas.body.contains(">p99.9 998 ms<"));
        assert_eq!(labels.taken.len(), 2);
        assert!(!canvas.body.contains("p99.99"));
    }
}
