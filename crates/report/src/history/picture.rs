//! Values over runs or searches, and where their level changed.

use super::course::Course;
use crate::facts::Title;
use crate::svg::Picture;
use crate::svg::axis::{Plot, Scale, value_axis, vertical};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::picture::full;

/// Pixels between dates.
const DATE_WIDTH: f64 = 120.0;

/// Values over runs or searches.
pub(super) fn picture(title: Title, course: &Course, reach: &'static str) -> Picture {
    let mut legend = Vec::new();
    if !course.steps.is_empty() {
        legend.extend([("service", "level: geometric mean"), ("backlog", "change of the level")]);
    }
    if course.points.iter().any(|point| point.reach.is_some()) {
        legend.push(("reach", reach));
    }
    full("trend", "history", title, legend, |canvas| draw(canvas, course))
}

fn draw(canvas: &mut Canvas, course: &Course) {
    let plot = Plot::of(canvas, 62.0);
    let ends = course.points.iter().flat_map(|point| {
        let (low, high) = point.reach.unwrap_or((point.value, point.value));
        [low, point.value, high]
    });
    let ends: Vec<f64> = ends.collect();
    let (Some(low), Some(high)) =
        (ends.iter().copied().reduce(f64::min), ends.iter().copied().reduce(f64::max))
    else {
        return plot.message(canvas, "Nothing that counts.");
    };
    let count = course.points.len();
    let x = Scale::linear((-0.5, count as f64 - 0.5), (plot.left, plot.right));
    let y = Scale::close(low, high, (plot.bottom, plot.top));
    value_axis(canvas, &plot, &y, course.axis, course.say);
    let every = count.div_ceil((plot.width() / DATE_WIDTH).max(1.0) as usize).max(1);
    for (number, point) in course.points.iter().enumerate().step_by(every) {
        vertical(canvas, &plot, x.at(number as f64), &point.tick);
    }
    canvas.text("axis", (plot.right, plot.bottom + 37.0), Anchor::End, course.order);
    for (from, to, level) in course.levels() {
        let (from, to) = (x.at(from as f64 - 0.5), x.at(to as f64 - 0.5));
        canvas.line("line service", (from, y.at(level)), (to, y.at(level)));
    }
    for (number, point) in course.points.iter().enumerate() {
        let at = x.at(number as f64);
        if let Some((low, high)) = point.reach {
            canvas.line("reach", (at, y.at(low)), (at, y.at(high)));
        }
        let class = if point.is_bound { "dot undecided" } else { "dot response" };
        canvas.dot(class, (at, y.at(point.value)), 3.5);
    }
    for step in &course.steps {
        let at = x.at(step.at as f64 - 0.5);
        canvas.line("line backlog", (at, plot.top), (at, plot.bottom));
        let is_right = at > (plot.left + plot.right) / 2.0;
        let (anchor, offset) = if is_right { (Anchor::End, -6.0) } else { (Anchor::Start, 6.0) };
        canvas.text("label", (at + offset, plot.top + 12.0), anchor, &cut(&step.label));
    }
}

/// A commit's first digits, not all of them.
fn cut(label: &str) -> String {
    label.chars().take(12).collect()
}
