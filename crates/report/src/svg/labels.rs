//! Labels that don't cover each other.

use super::axis::Plot;
use super::canvas::{Anchor, Canvas};

/// What stands on a plot already.
pub(super) struct Labels<'a> {
    pub(super) plot: &'a Plot,
    /// Left, top, right, bottom.
    pub(super) taken: Vec<(f64, f64, f64, f64)>,
}

impl Labels<'_> {
    /// Puts a label to the first of the places where it fits, if there is one.
    pub(super) fn put(
        &mut self,
        canvas: &mut Canvas,
        class: &str,
        text: &str,
        places: [(Anchor, f64, f64); 2],
    ) {
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
        // As wide as letters may be, this one would be cut by the edge.
        let mut at_edge = Labels { plot: &plot, taken: vec![(62.0, 0.0, 268.0, 60.0)] };
        at_edge.put(&mut canvas, "response", "p99.9 996 ms", around(268.0, 40.0));
        assert_eq!(at_edge.taken.len(), 1);
        assert!(canvas.body.contains("label response-text e") && canvas.body.contains(">p99.9 998 ms<"));
        assert_eq!(labels.taken.len(), 2);
        assert!(!canvas.body.contains("p99.99"));
    }
}
