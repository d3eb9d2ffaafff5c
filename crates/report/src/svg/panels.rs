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
    // A maximum lies beyond every percentile, and so at the edge.
    let end = all().filter(|p| p.0 < 1.0).map(|p| tail(p.0)).fold(1.0, f64::max);
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
        let mut free_from = f64::MIN;
        for (q, label) in [(0.5, "50\u{a0}%"), (0.99, "99\u{a0}%"), (0.9999, "99.99\u{a0}%")] {
            let (at, half) = (x.at(tail(q)), label.chars().count() as f64 * 3.3);
            // One that would cover the label before it is left out.
            if tail(q) <= end && at - half >= free_from {
                vertical(canvas, &plot, at, label);
                free_from = at + half + 4.0;
            }
        }
        let place = |&(q, ns): &(f64, u64)| (x.at(tail(q).min(end)), y.at(ns as f64));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::canvas::Size;

    #[test]
    fn labels_of_narrow_panels_do_not_cover_each_other() {
        let truth: Vec<(f64, u64)> =
            (1..=5).map(|n| (1.0 - 10f64.powi(-n), 10u64.pow(6 + n as u32))).collect();
        let points = [&truth[..], &[(1.0, 1_000_000_000_000)]].concat();
        let panel = Panel { name: "a".into(), says: "b".into(), class: "service", points };
        let labels = |width: f64| {
            let mut canvas = Canvas::new("", Size { width, height: ROW_HEIGHT });
            draw(&mut canvas, &truth, &[panel.clone(), panel.clone()], 2);
            ["50", "99", "99.99"].map(|label| canvas.body.matches(&format!(">{label}\u{a0}%<")).count())
        };
        assert_eq!(labels(900.0), [2, 2, 2]);
        assert_eq!(labels(300.0), [2, 0, 2]);
    }
}
