//! Many spectra as small pictures on the same axes, each beside the truth.

use super::axis::{Plot, Scale, duration_tick, value_axis, vertical};
use super::canvas::{Anchor, Canvas, Size, polyline};

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

/// A small picture that stands alone.
/// On a phone two stand side by side: no wider, so that its letters are not drawn too small.
const ALONE: Size = Size { width: 200.0, height: 196.0 };
/// Height of one row of panels.
const ROW_HEIGHT: f64 = 216.0;
/// A point that lies so near a straight line is not needed, in user units.
const STRAIGHT: f64 = 0.2;

/// What all panels share.
struct Axes<'a> {
    truth: &'a [(f64, u64)],
    /// Least and greatest time.
    values: (u64, u64),
    /// Where the rarest percentile stands.
    end: f64,
}

/// Draws `panels` in this many columns, each with `truth` in it.
pub(crate) fn together(truth: &[(f64, u64)], panels: &[Panel], width: f64, columns: usize) -> Canvas {
    let height = panels.len().div_ceil(columns) as f64 * ROW_HEIGHT;
    let mut canvas = Canvas::new("explain", Size { width, height });
    let Some(axes) = Axes::of(truth, panels) else { return nothing(canvas) };
    let of_one = Size { width: width / columns as f64, height: ROW_HEIGHT };
    for (i, panel) in panels.iter().enumerate() {
        let at = ((i % columns) as f64 * of_one.width, (i / columns) as f64 * ROW_HEIGHT);
        axes.draw(&mut canvas, at, of_one, panel);
    }
    canvas
}

/// Draws each panel by itself, for a page that finds their columns.
pub(crate) fn apart(truth: &[(f64, u64)], panels: &[Panel]) -> Vec<Canvas> {
    let axes = Axes::of(truth, panels);
    let one = |(i, panel): (usize, &Panel)| {
        let mut canvas = Canvas::new(&format!("explain-{i}"), ALONE);
        canvas.label = Some(format!("{}: {}", panel.name, panel.says));
        let Some(axes) = &axes else { return nothing(canvas) };
        axes.draw(&mut canvas, (0.0, 0.0), ALONE, panel);
        canvas
    };
    panels.iter().enumerate().map(one).collect()
}

fn nothing(mut canvas: Canvas) -> Canvas {
    Plot::of(&canvas, 62.0).message(&mut canvas, "No response time is known.");
    canvas
}

impl Axes<'_> {
    /// Nothing without a point.
    fn of<'a>(truth: &'a [(f64, u64)], panels: &[Panel]) -> Option<Axes<'a>> {
        let all = || truth.iter().chain(panels.iter().flat_map(|panel| &panel.points));
        let values = (all().map(|p| p.1).min()?, all().map(|p| p.1).max()?);
        // A maximum lies beyond every percentile, and so at the edge.
        let end = all().filter(|p| p.0 < 1.0).map(|p| tail(p.0)).fold(1.0, f64::max);
        Some(Axes { truth, values, end })
    }

    fn draw(&self, canvas: &mut Canvas, (left, top): (f64, f64), size: Size, panel: &Panel) {
        let end = self.end;
        let plot = Plot {
            left: left + 54.0,
            top: top + 46.0,
            right: left + size.width - 12.0,
            bottom: top + size.height - 34.0,
        };
        let x = Scale::linear((0.0, end), (plot.left, plot.right));
        let y = Scale::durations(self.values.0, self.values.1, (plot.bottom, plot.top));
        canvas.text("panel-name", (left + 4.0, top + 18.0), Anchor::Start, &panel.name);
        canvas.text(&format!("{}-text", panel.class), (left + 4.0, top + 36.0), Anchor::Start, &panel.says);
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
        let line = |points: &[(f64, u64)]| thinned(points.iter().map(place).collect());
        let (mut true_line, mut own_line) = (line(self.truth), line(&panel.points));
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

/// The same line with as few points as it takes: none that is left out lies further than [`STRAIGHT`] from it (Ramer,
/// 1972; Douglas and Peucker, 1973).
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let Some(last) = points.len().checked_sub(1) else { return points };
    let mut kept = vec![false; points.len()];
    (kept[0], kept[last]) = (true, true);
    let mut open = vec![(0, last)];
    while let Some((from, to)) = open.pop() {
        let off = |i: usize| distance(points[i], points[from], points[to]);
        let farthest = (from + 1..to).max_by(|&a, &b| off(a).total_cmp(&off(b)));
        if let Some(place) = farthest.filter(|&place| off(place) > STRAIGHT) {
            kept[place] = true;
            open.extend([(from, place), (place, to)]);
        }
    }
    points.into_iter().zip(kept).filter_map(|(point, kept)| kept.then_some(point)).collect()
}

/// Of a point from the straight line through two others.
fn distance((x, y): (f64, f64), (x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> f64 {
    let (dx, dy) = (x1 - x0, y1 - y0);
    let length = dx.hypot(dy);
    match length > 0.0 {
        true => (dx * (y - y0) - dy * (x - x0)).abs() / length,
        false => (x - x0).hypot(y - y0),
    }
}

/// Position of a quantile: log₁₀ 1/(1−q).
fn tail(q: f64) -> f64 {
    -(1.0 - q.clamp(0.0, 1.0 - 1e-9)).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_narrow_panels_do_not_cover_each_other() {
        let truth: Vec<(f64, u64)> =
            (1..=5).map(|n| (1.0 - 10f64.powi(-n), 10u64.pow(6 + n as u32))).collect();
        let points = [&truth[..], &[(1.0, 1_000_000_000_000)]].concat();
        let panel = Panel { name: "a".into(), says: "b".into(), class: "service", points };
        let labels = |width: f64| {
            let canvas = together(&truth, &[panel.clone(), panel.clone()], width, 2);
            ["50", "99", "99.99"].map(|label| canvas.body.matches(&format!(">{label}\u{a0}%<")).count())
        };
        assert_eq!(labels(900.0), [2, 2, 2]);
        assert_eq!(labels(300.0), [2, 0, 2]);
    }

    #[test]
    fn a_line_keeps_its_corners_and_nothing_else() {
        let flat = (0..100).map(|i| (f64::from(i), 5.0));
        let step = (100..200).map(|i| (f64::from(i), 90.0));
        let bent = (200..300).map(|i| (f64::from(i), 90.0 + f64::from(i - 199)));
        let line: Vec<(f64, f64)> = flat.chain(step).chain(bent).collect();
        let thin = thinned(line.clone());
        assert_eq!(thin, [(0.0, 5.0), (99.0, 5.0), (100.0, 90.0), (199.0, 90.0), (299.0, 190.0)]);
        // What was left out lies on it.
        for &(x, y) in &line {
            let after = thin.partition_point(|p| p.0 < x).max(1);
            assert!(distance((x, y), thin[after - 1], thin[after]) <= STRAIGHT);
        }
        assert_eq!(thinned(Vec::new()), []);
        assert_eq!(thinned(vec![(1.0, 1.0)]), [(1.0, 1.0)]);
    }

    #[test]
    fn panels_apart_share_their_axes() {
        let truth = [(0.5, 10_000_000), (0.99, 400_000_000)];
        let panel = |points: &[(f64, u64)]| Panel {
            name: "a".into(),
            says: "b".into(),
            class: "service",
            points: points.to_vec(),
        };
        let all = apart(&truth, &[panel(&truth), panel(&[(0.5, 1_000_000)])]);
        let true_line = |canvas: &Canvas| {
            let (_, rest) = canvas.body.split_once("class=\"line truth\"").expect("a line");
            rest.to_string()
        };
        assert_eq!(true_line(&all[0]), true_line(&all[1]));
        // Two of them and a gap are as wide as a phone's column: 12 units are at least 10 pixels.
        assert!(all.iter().all(|canvas| 12.3 * 170.0 / canvas.size.width > 10.0));
        // The longest words of a panel are within it.
        let longest = "p99 10.0 ms; users 41.0×".chars().count() as f64 * 6.9;
        assert!(all.iter().all(|canvas| 4.0 + longest < canvas.size.width), "{longest}");
        assert_eq!(all[1].label.as_deref(), Some("a: b"));
        assert!(apart(&[], &[panel(&[])])[0].body.contains("No response time"));
    }
}
