//! How each figure of a soak changed, as a share of its own level, with its interval.

use super::axis::{Plot, Scale, change_axis_below};
use super::canvas::{Anchor, Canvas};
use crate::facts;
use unblink_artifact::document::{Soak, SoakFigure, SoakFigureName};

/// Shares of a level beyond which a picture would show nothing else.
const SHARE_MAX: f64 = 2.0;
/// And below which noise would look like mountains.
const SHARE_MIN: f64 = 0.05;

/// Width of a letter of a name, at most.
const LETTER: f64 = 7.0;
/// Width of the names, of the picture, at most.
const NAMES_MAX: f64 = 0.42;

pub(super) fn draw(canvas: &mut Canvas, soak: &Soak) {
    let longest = soak.figures.iter().map(|f| facts::soak_name(f).chars().count()).max().unwrap_or(0);
    let names = (longest as f64 * LETTER + 14.0).clamp(96.0, (canvas.size.width * NAMES_MAX).max(96.0));
    let plot = Plot { top: 8.0, ..Plot::of(canvas, names) };
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
        let name = shortened(facts::soak_name(figure), ((names - 12.0) / LETTER) as usize);
        canvas.text("tick", (plot.left - 10.0, y + 4.0), Anchor::End, &name);
        let (low, high) = (x.at(share(figure, figure.low)), x.at(share(figure, figure.high)));
        let thick = (height * 0.4).min(16.0);
        canvas.rect("band response", low, y - thick / 2.0, (high - low).max(2.0), thick);
        // An interval that goes on beyond the frame does not end there.
        if share(figure, figure.low) < -most {
            canvas.text("tick", (plot.left + 2.0, y + 4.0), Anchor::Start, "←");
        }
        if share(figure, figure.high) > most {
            canvas.text("tick", (plot.right - 2.0, y + 4.0), Anchor::End, "→");
        }
        let class = if figure.is_drift { "dot failure" } else { "dot good" };
        canvas.dot(class, (x.at(share(figure, figure.change)), y), 5.0);
    }
}

/// A name that is too long loses its middle: which process it is stands first, and what of it last.
fn shortened(name: &str, letters_max: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= letters_max {
        return name.into();
    }
    let kept = letters_max.saturating_sub(1);
    let (first, last) = (&letters[..kept / 2], &letters[letters.len() - (kept - kept / 2)..]);
    first.iter().chain(['…'].iter()).chain(last).collect()
}

/// Errors are a share already.
fn share(figure: &SoakFigure, change: f64) -> f64 {
    match figure.figure {
        SoakFigureName::Errors => change,
        _ if figure.level == 0.0 => change.signum() * f64::from(u8::from(change != 0.0)),
        _ => change / figure.level.abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::canvas::Size;
    use unblink_artifact::document::ShapeResult;

    #[test]
    fn long_names_have_room_and_an_interval_beyond_the_frame_an_arrow() {
        let doc = fixture::soak();
        let Some(ShapeResult::Soak(soak)) = &doc.shape else { panic!("no soak") };
        let mut soak = soak.clone();
        let name = "process 4711: time on the processors";
        for figure in &mut soak.figures {
            (figure.figure, figure.metric) = (SoakFigureName::Metric, Some(name.into()));
            (figure.level, figure.low, figure.high) = (1.0, -9.0, 9.0);
        }
        let body = |width| {
            let mut canvas = Canvas::new("", Size { width, height: 300.0 });
            draw(&mut canvas, &soak);
            canvas.body
        };
        assert!(body(1_080.0).contains(name), "{}", body(1_080.0));
        assert!(!body(360.0).contains(name) && body(360.0).contains("…"));
        assert!(body(360.0).contains("→") && body(360.0).contains("←"));
    }
}
