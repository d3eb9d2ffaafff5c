//! What is no response time, above the cells: which share of the arrivals of each moment failed, or is known only to
//! have taken longer. The share is the height of a bar, in steps that the legend names.

use super::axis::{Plot, Scale};
use super::canvas::{Anchor, Canvas, n};
use std::fmt::Write;

/// Height of a strip; each step is a fifth.
pub(super) const HEIGHT: f64 = 20.0;
/// From a strip to the next.
pub(super) const PITCH: f64 = HEIGHT + 5.0;
/// Upper ends of the steps, in per cent of the arrivals.
const STEPS_PERCENT: [u64; 5] = [1, 5, 20, 50, 100];
/// Failed arrivals in a legend.
pub(crate) const FAILED: &str = "failed: up to 1, 5, 20, 50, 100\u{a0}%";
/// Arrivals that are known only to be longer.
pub(crate) const LONGER: &str = "longer than is known: up to 1, 5, 20, 50, 100\u{a0}%";

/// A moment's arrivals.
pub(super) struct Share {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) part: u64,
    pub(super) whole: u64,
}

/// The step of a share, from 1; 0 where there is nothing.
pub(super) fn step(part: u64, whole: u64) -> usize {
    if part == 0 {
        return 0;
    }
    let is_within = |percent: &&u64| u128::from(part) * 100 <= u128::from(whole) * u128::from(**percent);
    STEPS_PERCENT.iter().take_while(|percent| !is_within(percent)).count().min(STEPS_PERCENT.len() - 1) + 1
}

/// Draws one strip whose upper edge is at `top`.
pub(super) fn draw(canvas: &mut Canvas, plot: &Plot, top: f64, name: &str, hatched: bool, shares: &[Share]) {
    canvas.rect("strip", plot.left, top, plot.width(), HEIGHT);
    canvas.text("tick", (plot.left - 8.0, top + HEIGHT - 6.0), Anchor::End, name);
    // Neighbours of one step are one bar; the narrowest is still seen.
    let mut bars: Vec<(f64, f64, usize)> = Vec::new();
    for share in shares {
        let step = step(share.part, share.whole);
        match bars.last_mut() {
            Some((_, end, of)) if *of == step && share.from <= *end + 0.2 => *end = share.to,
            _ if step > 0 => bars.push((share.from, share.to, step)),
            _ => {}
        }
    }
    for (from, to, step) in bars {
        let width = (to - from).max(1.5);
        let height = HEIGHT * step as f64 / STEPS_PERCENT.len() as f64;
        let y = top + HEIGHT - height;
        if hatched {
            canvas.hatched(from, y, width, height);
        } else {
            canvas.rect("failure", from, y, width, height);
        }
    }
}

/// A sample of the steps for a legend, 22 × 12. `fill` is the attribute that colours it.
pub(super) fn sample(fill: &str) -> String {
    let mut out = String::new();
    for i in 1..=STEPS_PERCENT.len() {
        let height = 12.0 * i as f64 / STEPS_PERCENT.len() as f64;
        let (x, y) = (n((i - 1) as f64 * 4.4), n(12.0 - height));
        let _ = write!(out, r#"<rect {fill} x="{x}" y="{y}" width="3.6" height="{}"/>"#, n(height));
    }
    out
}

/// The place of a stretch, within the plot.
pub(super) fn place(x: &Scale, plot: &Plot, start_ns: u64, width: f64) -> (f64, f64) {
    let from = x.at(start_ns as f64);
    (from, (from + width).min(plot.right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_is_a_fifth_of_the_strip() {
        assert_eq!([(0, 100), (1, 100), (1, 1_000)].map(|(part, whole)| step(part, whole)), [0, 1, 1]);
        assert_eq!(
            [(2, 100), (5, 100), (6, 100), (20, 100)].map(|(part, whole)| step(part, whole)),
            [2, 2, 3, 3]
        );
        assert_eq!([(60, 100), (100, 100)].map(|(part, whole)| step(part, whole)), [5, 5]);
    }
}
