//! Metrics of the service over time, each on the time axis of the other pictures.

use super::axis::{Plot, Scale, time_axis, value_axis};
use super::canvas::{Canvas, polyline};
use super::heat::{span, warm_up};
use super::picture::{Picture, half};
use crate::facts;
use unblink_artifact::document::{RunDocument, WatchedSeries};

/// As many as may be watched: metrics of a service, and five figures of a process and of files here.
const STEMS: [&str; 13] = [
    "watched-1",
    "watched-2",
    "watched-3",
    "watched-4",
    "watched-5",
    "watched-6",
    "watched-7",
    "watched-8",
    "watched-9",
    "watched-10",
    "watched-11",
    "watched-12",
    "watched-13",
];
/// A line is broken where samples are missing: between two that are further apart than so many usual distances.
const GAP: f64 = 2.5;
/// Values that differ by less than this factor are drawn close; others from zero on.
const CLOSE: f64 = 4.0;

pub(super) fn pictures(doc: &RunDocument, scope: &str) -> Vec<Picture> {
    let drawn = doc.watched.iter().filter(|series| !series.points.is_empty()).zip(STEMS);
    let picture = |(series, stem): (&WatchedSeries, &'static str)| {
        let legend = vec![("watched", facts::watched_unit(series))];
        half(stem, scope, facts::watched(series), legend, |canvas| draw(canvas, doc, series))
    };
    drawn.map(picture).collect()
}

fn draw(canvas: &mut Canvas, doc: &RunDocument, series: &WatchedSeries) {
    let plot = Plot::of(canvas, 62.0);
    let values = || series.points.iter().map(|(_, value)| *value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let (Some(span), true) = (span(doc), low.is_finite() && high.is_finite()) else {
        return plot.message(canvas, "Nothing was seen of it.");
    };
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let y = match low > 1e-3 && high < low * CLOSE {
        true => Scale::close(low, high, (plot.bottom, plot.top)),
        false => Scale::linear((low.min(0.0) * 1.1, (high * 1.1).max(0.0)), (plot.bottom, plot.top)),
    };
    warm_up(canvas, doc, &plot, &x, plot.top);
    value_axis(canvas, &plot, &y, "", |value| facts::watched_value(series, value));
    time_axis(canvas, &plot, &x, "time since the start");
    // What was seen outside of the time that is drawn is not drawn at its edge.
    let inside: Vec<(f64, f64)> = series.points.iter().map(|(at, value)| (*at as f64, *value)).collect();
    let inside: Vec<_> =
        inside.into_iter().filter(|(at, _)| (span.0 as f64..=span.1 as f64).contains(at)).collect();
    let points = with_gaps(&inside, &x, &y);
    canvas.path("line watched", &polyline(points.iter().copied()));
    // One that stands alone makes no line.
    for (i, at) in points.iter().enumerate().filter_map(|(i, point)| Some((i, (*point)?))) {
        let is_gap = |neighbour: Option<usize>| neighbour.and_then(|i| *points.get(i)?).is_none();
        if is_gap(i.checked_sub(1)) && is_gap(Some(i + 1)) {
            canvas.dot("dot watched", at, 3.0);
        }
    }
    canvas.axes(None, &plot, &x, &y);
}

fn with_gaps(points: &[(f64, f64)], x: &Scale, y: &Scale) -> Vec<Option<(f64, f64)>> {
    let mut distances: Vec<f64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    distances.sort_by(f64::total_cmp);
    let usual = distances.get(distances.len() / 2).copied().unwrap_or(0.0);
    let mut out = Vec::with_capacity(points.len());
    for (i, (at, value)) in points.iter().enumerate() {
        if i > 0 && at - points[i - 1].0 > GAP * usual {
            out.push(None);
        }
        out.push(Some((x.at(*at), y.at(*value))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::canvas::Size;
    use crate::svg::read::Drawn;

    #[test]
    fn a_line_is_that_of_the_samples_and_broken_where_they_are_missing() {
        let doc = fixture::cross_checked();
        for series in &doc.watched {
            let mut canvas = Canvas::new("", Size { width: 460.0, height: 280.0 });
            draw(&mut canvas, &doc, series);
            let drawn = Drawn::of(&canvas);
            let line = drawn.path("line watched");
            assert_eq!(line.len(), series.points.len());
            for (at, (ns, value)) in line.iter().zip(&series.points) {
                assert!(drawn.is_x(at.0, *ns as f64) && drawn.is_y(at.1, *value), "{}", series.of.metric);
            }
        }
        let scale = Scale::linear((0.0, 10.0), (0.0, 10.0));
        let at = |points: &[f64]| {
            let points: Vec<(f64, f64)> = points.iter().map(|at| (*at, 1.0)).collect();
            with_gaps(&points, &scale, &scale).iter().map(Option::is_some).collect::<Vec<_>>()
        };
        assert_eq!(at(&[1.0, 2.0, 3.0, 6.0]), [true, true, true, false, true]);
        assert_eq!(at(&[1.0, 2.0, 4.0]), [true; 3]);
    }
}
