//! p50 and p99 of a soak over time, each with its trend and what that may be.

use super::axis::{Plot, Scale, duration_tick, time_axis, value_axis};
use super::canvas::{Canvas, polyline};
use super::heat::{span, warm_up};
use crate::facts;
use unblink_artifact::document::{RunDocument, SeriesRow, Soak, SoakFigure, SoakFigureName};

/// A straight trend is a curve on a logarithmic axis: it is drawn in this many steps.
const STEPS: u32 = 24;

type Of = fn(&SeriesRow) -> Option<u64>;

/// (class, figure, its values over time).
pub(super) const LINES: [(&str, SoakFigureName, Of); 2] = [
    ("soak-p50", SoakFigureName::P50, |row| row.response_p50_ns),
    ("soak-p99", SoakFigureName::P99, |row| row.response_p99_ns),
];

pub(super) fn draw(canvas: &mut Canvas, doc: &RunDocument, soak: &Soak) {
    let plot = Plot::of(canvas, 62.0);
    // The percentiles of a short last row rest on little.
    let rows = whole_rows(doc);
    let drawn = |name| soak.figures.iter().filter(move |figure| figure.figure == name).flat_map(ends);
    let measured = || LINES.iter().flat_map(|(_, _, of)| rows.iter().filter_map(|row| of(row)));
    let trends = || LINES.iter().flat_map(|(_, name, _)| drawn(*name));
    let (Some(span), Some(least), Some(high)) =
        (span(doc), measured().min(), measured().chain(trends()).max())
    else {
        return plot.message(canvas, "Nothing was answered.");
    };
    // A wedge may reach down to nothing: what was measured sets the low end, and the wedge is cut off there.
    let low = trends().map(|ns| ns.max(least / 2)).fold(least, u64::min);
    let x = Scale::linear((span.0 as f64, span.1 as f64), (plot.left, plot.right));
    let y = Scale::close(low as f64, high as f64, (plot.bottom, plot.top));
    warm_up(canvas, doc, &plot, &x, plot.top);
    let (from, to) = (x.at(soak.from_ns as f64), x.at(soak.to_ns as f64));
    canvas.rect("looked-at", from, plot.top, to - from, plot.height());
    value_axis(canvas, &plot, &y, "response time", duration_tick);
    time_axis(canvas, &plot, &x, "time since the start");
    for (class, _, of) in LINES {
        let at = |row: &SeriesRow| x.at(row.start_ns as f64 + row.length_ns as f64 / 2.0);
        let points = rows.iter().map(|row| of(row).map(|ns| (at(row), y.at(ns as f64))));
        canvas.path(&format!("line {class}"), &polyline(points));
    }
    for (class, name, _) in LINES {
        if let Some(figure) = soak.figures.iter().find(|figure| figure.figure == name) {
            trend(canvas, class, figure, soak, (&x, &y));
        }
    }
    canvas.axes(None, &plot, &x, &y);
}

/// Rows that are as long as most.
fn whole_rows(doc: &RunDocument) -> Vec<&SeriesRow> {
    doc.series.rows.iter().filter(|row| row.length_ns >= facts::usual_row_ns(doc) / 2).collect()
}

/// How far the wedge of a trend reaches.
fn ends(figure: &SoakFigure) -> [u64; 2] {
    let half = figure.low.abs().max(figure.high.abs()) / 2.0;
    [figure.level - half, figure.level + half].map(|ns| ns.max(1.0) as u64)
}

/// A line through the level in the middle of the time, and the wedge between the ends of its interval.
fn trend(canvas: &mut Canvas, class: &str, figure: &SoakFigure, soak: &Soak, (x, y): (&Scale, &Scale)) {
    let length = soak.to_ns.saturating_sub(soak.from_ns) as f64;
    let shares = || (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
    let point = |share: f64, change: f64| {
        Some((x.at(soak.from_ns as f64 + length * share), y.at(figure.level + change * (share - 0.5))))
    };
    // Before the middle the steeper trend lies below.
    let upper = shares().map(|share| point(share, if share < 0.5 { figure.low } else { figure.high }));
    let lower = shares().rev().map(|share| point(share, if share < 0.5 { figure.high } else { figure.low }));
    canvas.path(&format!("wedge {class}"), &(polyline(upper.chain(lower)) + "Z"));
    canvas.path(&format!("trend {class}"), &polyline(shares().map(|share| point(share, figure.change))));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::canvas::Size;
    use crate::svg::read::Drawn;
    use unblink_artifact::document::ShapeResult;

    /// Decades of nothing pressed both lines into the upper end.
    #[test]
    fn an_interval_that_reaches_below_zero_does_not_stretch_the_axis() {
        let mut doc = fixture::soak();
        let Some(ShapeResult::Soak(soak)) = &mut doc.shape else { panic!("no soak") };
        for figure in &mut soak.figures {
            figure.low = -3.0 * figure.level;
        }
        let soak = soak.clone();
        let least = whole_rows(&doc).into_iter().filter_map(|row| row.response_p50_ns).min().expect("rows");
        let mut canvas = Canvas::new("", Size { width: 1_080.0, height: 360.0 });
        draw(&mut canvas, &doc, &soak);
        let low = Drawn::of(&canvas).y(360.0 - 44.0);
        assert!(low >= least as f64 / 6.0, "{low} for rows from {least}");
    }

    #[test]
    fn lines_trends_and_wedges_are_those_of_the_document() {
        let doc = fixture::soak();
        let Some(ShapeResult::Soak(soak)) = &doc.shape else { panic!("no soak") };
        let mut canvas = Canvas::new("", Size { width: 1_080.0, height: 360.0 });
        draw(&mut canvas, &doc, soak);
        let drawn = Drawn::of(&canvas);
        for (class, name, of) in LINES {
            let line = drawn.path(&format!("line {class}"));
            let rows: Vec<_> = whole_rows(&doc).into_iter().filter_map(|row| Some((row, of(row)?))).collect();
            assert_eq!(line.len(), rows.len());
            for (at, (row, ns)) in line.iter().zip(rows) {
                assert!(drawn.is_y(at.1, ns as f64), "{class}: {} for {ns}", drawn.y(at.1));
                assert!(drawn.is_x(at.0, row.start_ns as f64 + row.length_ns as f64 / 2.0));
            }
            let figure = soak.figures.iter().find(|figure| figure.figure == name).expect("a figure");
            let trend = drawn.path(&format!("trend {class}"));
            let (first, last) = (trend[0], trend[trend.len() - 1]);
            assert!(drawn.is_x(first.0, soak.from_ns as f64) && drawn.is_x(last.0, soak.to_ns as f64));
            assert!(drawn.is_y(first.1, figure.level - figure.change / 2.0));
            assert!(drawn.is_y(last.1, figure.level + figure.change / 2.0));
            // From the upper edge of the start along it to the end, and back along the lower edge.
            let wedge = drawn.path(&format!("wedge {class}"));
            let (before, after) = (wedge.len() / 2 - 1, wedge.len() / 2);
            assert!(drawn.is_y(wedge[0].1, figure.level - figure.low / 2.0));
            assert!(drawn.is_y(wedge[before].1, figure.level + figure.high / 2.0));
            assert!(drawn.is_y(wedge[after].1, figure.level + figure.low / 2.0));
        }
    }
}
