//! How each figure of a soak changed, as a share of its own level, with its interval.

use super::axis::{Plot, Scale, change_axis_below};
use super::canvas::{Anchor, Canvas};
use crate::facts;
use unblink_artifact::document::{Soak, SoakFigure, SoakFigureName};

/// Shares of a level beyond which a picture would show nothing else.
const SHARE_MAX: f64 = 2.0;
/// And below which noise would look like mountains.
const SHARE_MIN: f64 = 0.05;

pub(super) fn draw(canvas: &mut Canvas, soak: &Soak) {
    let plot = Plot { top: 8.0, ..Plot::of(canvas, 96.0) };
    if soak.figures.is_empty() {
        return plot.message(canvas, "Too short to tell.");
    }
    let ends = soak.figures.iter().flat_map(|f| [share(f, f.low), share(f, f.high)]);
    let most = ends.fold(SHARE_MIN, |most, share| most.max(share.abs() * 1.1)).min(SHARE_MAX);
    let x = Scale::linear((-most, most), (plot.left, plot.right));
    change_axis_below(canvas, &plot, &x, "change, as a share of its level");
    canvas.line("reach", (x.at(0.0), plot.top), (x.at(0.0), plot.bottom));
    let height = plot.height() / soak.figures.len() as f64;
    for (i, figure) in soak.figures.iter().enumerate() {
        let y = plot.top + height * (i as f64 + 0.5);
        canvas.text("tick", (plot.left - 10.0, y + 4.0), Anchor::End, facts::soak_name(figure));
        let (low, high) = (x.at(share(figure, figure.low)), x.at(share(figure, figure.high)));
        let thick = (height * 0.4).min(16.0);
        canvas.rect("band response", low, y - thick / 2.0, (high - low).max(2.0), thick);
        let class = if figure.is_drift { "dot failure" } else { "dot good" };
        canvas.dot(class, (x.at(share(figure, figure.change)), y), 5.0);
    }
}

/// Errors are a share already.
fn share(figure: &SoakFigure, change: f64) -> f64 {
    match figure.figure {
        SoakFigureName::Errors => change,
        _ if figure.level == 0.0 => change.signum() * f64::from(u8::from(change != 0.0)),
        _ => change / figure.level.abs(),
    }
}
