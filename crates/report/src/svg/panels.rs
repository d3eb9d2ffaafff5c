//! Many spectra as small pictures on the same axes, each beside the truth.

use super::axis::{Plot, Scale, duration_tick, value_axis, vertical};
use super::canvas::{Anchor, Canvas, polyline};

/// One of the small pictures.
#[derive(Clone, Debug)]
pub(crate) struct Panel {
    pub(crate) name: String,
    /// A figure or two, in words.
    pub(crate) says: String,
    /// Class of its line's colour.
    pub(crate) class: &'static str,
    /// (q, nanoseconds), ascending.
    pub(crate) points: Vec<(f64, u64)>,
}

/// Height of one row of panels.
pub(crate) const ROW_HEIGHT: f64 = 216.0;

/// Draws `panels` in so many columns, each with `truth` in it.
pub(crate) fn draw(canvas: &mut Canvas, truth: &[(f64, u64)], panels: &[Panel], columns: usize) {
    let all = || truth.iter().chain(panels.iter().flat_map(|panel| &panel.points));
    let (Some(low), Some(high)) = (all().map(|p| p.1).min(), all().map(|p| p.1).max()) else {
        Plot::of(canvas, 62.0).message(canvas, "No response time is known.");
        return;
    };
    let end = all().map(|p| tail(p.0)).fold(1.0, f64::max);
    let width = canvas.size.width / columns as f64;
    for (i, panel) in panels.iter().enumerate() {
        let (left, top) = ((i % columns) as f64 * width, (i / columns) as f64 * ROW_HEIGHT);
        let plot = Plot {
            left: left + 54.0,
            top: top + 46.0,
            right: left + width - 12.0,
            bottom: top + ROW_HEIGHT - 34.0,
        };
        let x = Scale::linear((0.0, end), (plot.left, plot.right));
        let y = Scale::durations(low, high, (plot.bottom, plot.top));
        canvas.text("panel-name", (plot.left, top + 18.0), Anchor::Start, &panel.name);
        canvas.text(&format!("{}-text", panel.class), (plot.left, top + 36.0), Anchor::Start, &panel.says);
        value_axis(canvas, &plot, &y, "", duration_tick);
        for (q, label) in [(0.5, "50\u{a0}%"), (0.99, "99\u{a0}%"), (0.9999, "99.99\u{a0}%")] {
            if tail(q) <= end {
                vertical(canvas, &plot, x.at(tail(q)), label);
            }
        }
        let place = |&(q, ns): &(f64, u64)| (x.at(tail(q)), y.at(ns as f64));
        let line = |points: &[(f64, u64)]| points.iter().map(place).collect::<Vec<_>>();
        let (mut true_line, mut own_line) = (line(truth), line(&panel.points));
        // Both begin at the left edge, so that what is shaded has no corner there.
        for points in [&mut true_line, &mut own_line] {
            if let Some(&(_, y)) = points.first() {
                points.insert(0, (plot.left, y));
            }
        }
        let around = true_line.iter().chain(own_line.iter().rev());
        canvas.path("apart", &(polyline(around.map(|&at| Some(at))) + "Z"));
        canvas.path(&format!("line {} panel", panel.class), &polyline(own_line.into_iter().map(Some)));
        canvas.path("line truth", &polyline(true_line.into_iter().map(Some)));
    }
}

/// Position of a quantile: log₁₀ 1/(1−q).
fn tail(q: f64) -> f64 {
    -(1.0 - q.clamp(0.0, 1.0 - 1e-9)).log10()
}
