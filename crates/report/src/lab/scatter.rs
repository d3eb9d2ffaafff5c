//! Each request of an open load and of a closed one as a dot: when it came, and how long it took.

use super::{over_time, percentiles};
use crate::facts::Title;
use crate::format;
use crate::svg::Picture;
use crate::svg::axis::{Plot, Scale, duration_tick, time_axis, value_axis};
use crate::svg::canvas::{Canvas, n};
use crate::svg::picture::half;
use std::collections::BTreeSet;
use std::fmt::Write;
use unblink_artifact::lab::{LabCell, LabRequest};

/// Dots closer than this are one: a minute of requests in a row has some sixty thousand of them.
const APART: f64 = 0.5;

/// The dots of one scenario.
pub(super) struct Scattered {
    pub(super) scenario: String,
    /// (file stem, picture), one for each tool, with the same axes.
    pub(super) pictures: Vec<(String, Picture)>,
}

/// One picture for each tool.
pub(super) fn of(scenario: &str, tools: &[(&LabCell, Vec<LabRequest>)]) -> Scattered {
    let all = || tools.iter().flat_map(|(_, requests)| requests);
    let lowest = all().map(|request| request.took_ns).min().unwrap_or(1);
    let highest = all().map(|request| request.took_ns).max().unwrap_or(1);
    let end_ns = all().map(|request| request.came_ns).max().unwrap_or(1);
    let picture = |(cell, requests): &(&LabCell, Vec<LabRequest>)| {
        let tool = &cell.tool.name;
        let title = Title {
            finding: format!(
                "{tool}: {} of the {} requests due in the event",
                format::count(cell.offered.seen_in_events),
                format::count(cell.offered.planned_in_events)
            ),
            plotted: format!(
                "Each of {} requests by the server's log: when it came, and how long it took.",
                format::count(requests.len() as u64)
            ),
        };
        let class = percentiles::class(cell.tool.model);
        let legend = vec![(class, "a request"), ("event", "the server misbehaves")];
        let draw = |canvas: &mut Canvas| {
            let plot = Plot::of(canvas, 62.0);
            if cell.log.is_blind {
                return plot.message(canvas, "The server itself can't see this event.");
            }
            let end_ns = end_ns.max(cell.scenario.duration_ns);
            let x = Scale::linear((0.0, end_ns as f64), (plot.left, plot.right));
            let y = Scale::durations(lowest, highest, (plot.bottom, plot.top));
            over_time::events(canvas, &plot, &x, &[cell]);
            value_axis(canvas, &plot, &y, "how long it took", duration_tick);
            time_axis(canvas, &plot, &x, "when the request came");
            let dots =
                requests.iter().map(|request| (x.at(request.came_ns as f64), y.at(request.took_ns as f64)));
            canvas.path(&format!("dots {class}"), &apart(dots));
            canvas.axes(None, &plot, &x, &y);
        };
        let stem = format!("requests-{scenario}-{tool}");
        (stem.clone(), half("lab-requests", &format!("{stem}-"), title, legend, draw))
    };
    Scattered { scenario: scenario.to_owned(), pictures: tools.iter().map(picture).collect() }
}

/// A path of dots; those that would lie on each other are drawn once.
fn apart(dots: impl Iterator<Item = (f64, f64)>) -> String {
    let step = |value: f64| (value / APART).round() as i64;
    let places: BTreeSet<(i64, i64)> = dots.map(|(x, y)| (step(x), step(y))).collect();
    let mut d = String::with_capacity(places.len() * 14);
    for (x, y) in places {
        let _ = write!(d, "M{} {}h0", n(x as f64 * APART), n(y as f64 * APART));
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One after the other at a row's place, and one far above.
    #[test]
    fn dots_on_each_other_are_one_and_none_is_lost() {
        let row = (0..10_000).map(|i| (60.0 + f64::from(i) * 0.001, 200.0));
        let d = apart(row.chain([(65.0, 40.0)]));
        assert_eq!(d.matches("h0").count(), 10_000 / 500 + 1 + 1, "{d}");
        assert!(d.starts_with("M60 200h0M60.5 200h0") && d.contains("M65 40h0"), "{d}");
    }
}
