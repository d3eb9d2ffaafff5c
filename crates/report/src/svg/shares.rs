//! How many were answered within a time: what is drawn where so many were not answered that a spectrum would be hatched
//! all over. The hatched part is as high as their share.

use super::axis::{Plot, Scale, bounded_duration_axis_below};
use super::canvas::{Anchor, Canvas, n, polyline};
use super::objectives;
use super::spectrum::{Line, low_end};
use crate::{facts, format};
use unblink_artifact::document::{Distribution, RunDocument};

/// From this share on, the unanswered fill most of a spectrum.
const CENSORED_SHARE_MIN: f64 = 0.1;
/// Width of the hatched part, of the picture.
const BEYOND: f64 = 0.22;
/// Width of a letter of a label, at most.
const LETTER: f64 = 7.0;

/// Is this picture the better one?
pub(super) fn suits(distribution: &Distribution) -> bool {
    distribution.count > 0
        && distribution.censored as f64 > distribution.count as f64 * CENSORED_SHARE_MIN
        && bound_ns(distribution).is_some()
}

/// Beyond this nothing is known.
pub(super) fn bound_ns(distribution: &Distribution) -> Option<u64> {
    distribution.quantiles.iter().filter(|quantile| quantile.censored).map(|quantile| quantile.value).min()
}

/// The shortest time that is drawn.
fn from_ns(doc: &RunDocument, lines: &[Line<'_>], bound: u64) -> u64 {
    let p1_ns = super::heat::p1_ns(&doc.heatmap);
    let has_points = lines.iter().filter(|line| !line.points.is_empty());
    let least = has_points.map(|line| low_end(&line.points, p1_ns)).min();
    least.unwrap_or(bound / 100).min(bound / 2)
}

/// The limits that have a line: those between these two times.
pub(super) fn has_limit(doc: &RunDocument, lines: &[Line<'_>], limit: f64) -> bool {
    let Some(bound) = bound_ns(&doc.response_time) else { return false };
    let (low, high) = Scale::durations_until(from_ns(doc, lines, bound), bound, (0.0, 1.0)).ends();
    (low..=high).contains(&limit)
}

pub(super) fn draw(canvas: &mut Canvas, doc: &RunDocument, lines: &[Line<'_>]) {
    let whole = Plot::of(canvas, 62.0);
    let distribution = &doc.response_time;
    let Some(bound) = bound_ns(distribution) else {
        return whole.message(canvas, "No response time is known.");
    };
    let longer = format!("longer than {}", format::least(bound));
    // On a phone a share of the picture would be too narrow for its words.
    let beyond = (whole.width() * BEYOND).max(longer.chars().count() as f64 * LETTER + 10.0);
    let known = Plot { right: whole.right - beyond, ..whole };
    let from = from_ns(doc, lines, bound);
    let y = Scale::linear((0.0, 1.0), (whole.bottom, whole.top));
    let x = Scale::durations_until(from, bound, (known.left, known.right));
    bounded_duration_axis_below(canvas, &known, &x);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        canvas.line("grid", (whole.left, y.at(share)), (known.right, y.at(share)));
        canvas.text("tick", (whole.left - 8.0, y.at(share) + 4.0), Anchor::End, &format::percent(share));
    }
    canvas.text(
        "axis",
        (2.0, 11.0),
        Anchor::Start,
        &match facts::timed(doc) {
            "the arrivals that did not fail" => "answered, of those that did not fail".to_string(),
            of => format!("share of {of} that were answered"),
        },
    );
    canvas.text("axis", (whole.right, whole.bottom + 37.0), Anchor::End, "within this time");

    let answered = known_share(distribution);
    canvas.hatching();
    canvas.hatched(known.right, y.at(1.0), whole.right - known.right, y.at(answered) - y.at(1.0));
    canvas.rect(
        "share-ok",
        known.right,
        y.at(answered),
        whole.right - known.right,
        whole.bottom - y.at(answered),
    );
    let middle = (known.right + whole.right) / 2.0;
    let put = |canvas: &mut Canvas, at: f64, figure: String, words: String| {
        canvas.text("label share-figure", (middle, at), Anchor::Middle, &figure);
        canvas.text("label", (middle, at + 17.0), Anchor::Middle, &words);
    };
    let share = |part: u64| format::share(part, distribution.count);
    let center = |from: f64, to: f64| (y.at(from) + y.at(to)) / 2.0 - 2.0;
    put(canvas, center(answered, 1.0), share(distribution.censored), longer);
    if answered > 0.15 {
        put(
            canvas,
            center(0.0, answered),
            share(distribution.count.saturating_sub(distribution.censored)),
            "answered".into(),
        );
    }
    for line in lines {
        // Up to its own bound: what was never sent has a response time and no service time.
        let own = line.distribution.map_or(answered, known_share);
        let (from, _) = x.ends();
        let within = line.points.iter().filter(|point| point.1 as f64 >= from && point.1 <= bound);
        // Service times are censored at many ages, so their shares are estimates that may lie above what was
        // answered of all: they end with their last point.
        let is_estimate = line.class == "service" && own < 1.0;
        let most = if is_estimate { 1.0 } else { own };
        let points = within.map(|&(q, ns)| (x.at(ns as f64), y.at(q.min(most))));
        let start = line.points.first().filter(|point| point.1 as f64 >= from);
        let start = start.map(|&(_, ns)| (x.at(ns as f64), y.at(0.0)));
        let end = line.points.last().filter(|_| !is_estimate).map(|_| (known.right, y.at(own)));
        let dashed = if line.class == "service" { " dashed" } else { "" };
        canvas.path(
            &format!("line {}{dashed}", line.class),
            &polyline(start.into_iter().chain(points).chain(end).map(Some)),
        );
    }
    limits(canvas, doc, &known, &x, &y);
    canvas.axes(None, &known, &x, &y);
}

/// The share that was answered at all.
fn known_share(distribution: &Distribution) -> f64 {
    1.0 - distribution.censored as f64 / distribution.count.max(1) as f64
}

/// The limit of an objective is a time here, and what it asks for a share: they meet in a mark.
fn limits(canvas: &mut Canvas, doc: &RunDocument, plot: &Plot, x: &Scale, y: &Scale) {
    let (low, high) = x.ends();
    let inside: Vec<_> =
        objectives::times(doc).into_iter().filter(|slo| (low..=high).contains(&slo.limit)).collect();
    for slo in &inside {
        let at = x.at(slo.limit);
        canvas.line(&format!("objective {}", objectives::class(slo)), (at, plot.top), (at, plot.bottom));
        if let Some(q) = objectives::quantile(slo) {
            let mark = format!("M{} {}l5 6l-5 6l-5 -6Z", n(at), n(y.at(q) - 6.0));
            canvas.path(&format!("objective-at {}", objectives::class(slo)), &mark);
        }
    }
    // One below the other: limits may be close.
    for (row, slo) in objectives::named(canvas, inside).into_iter().enumerate() {
        let at = x.at(slo.limit);
        let (anchor, offset) =
            if at > (plot.left + plot.right) / 2.0 { (Anchor::End, -7.0) } else { (Anchor::Start, 7.0) };
        let place = (at + offset, plot.top + 26.0 + row as f64 * 17.0);
        canvas.text(&format!("label objective-text {}", objectives::class(slo)), place, anchor, &slo.slo);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::pictures;
    use crate::svg::read::Drawn;

    #[test]
    fn the_hatched_part_is_as_high_as_its_share() {
        let doc = fixture::saturated();
        let d = &doc.response_time;
        assert!(suits(d));
        let pictures = pictures(&doc, "", None);
        let picture = pictures.iter().find(|picture| picture.stem == "spectrum").expect("a picture");
        for (_, canvas) in &picture.sizes {
            let drawn = Drawn::of(canvas);
            let (_, hatched) = canvas.body.split_once("-hatch)\"").expect("a hatched part");
            let number = |name: &str| -> f64 {
                let (_, rest) = hatched.split_once(&format!(" {name}=\"")).expect("an attribute");
                rest.split('"').next().and_then(|n| n.parse().ok()).expect("a number")
            };
            let answered = 1.0 - d.censored as f64 / d.count as f64;
            assert!(drawn.is_y(number("y"), 1.0));
            assert!((drawn.y(number("y") + number("height")) - answered).abs() < 0.01, "{answered}");
            // The line goes from nothing through every point of the spectrum to what is hatched.
            let line = drawn.path("line response");
            let points = &doc.spectrum.response_time;
            // The few below p1 lie before the axis.
            let low = drawn.x(62.0) as u64;
            let shown = points.iter().position(|point| point.value_ns >= low).expect("points");
            assert!(line.len() > points.len() - shown);
            for (at, point) in line[..line.len() - 1].iter().rev().zip(points.iter().rev()) {
                if point.value_ns <= low {
                    break;
                }
                assert!(drawn.is_x(at.0, point.value_ns as f64), "{}", drawn.x(at.0));
                assert!(drawn.is_y(at.1, point.q.min(answered)), "{} for {}", drawn.y(at.1), point.q);
            }
            // What is known ends with the bound, and the axis says so.
            assert!(drawn.is_x(line[line.len() - 1].0, 5e9) && canvas.body.contains(">5\u{a0}s</text>"));
            assert!(drawn.x(line[line.len() - 1].0) < 5.05e9 && !canvas.body.contains(">10\u{a0}s</text>"));
            // Words stay within the block.
            let width = canvas.size.width - 14.0 - line[line.len() - 1].0;
            assert!(width > 7.0 * "longer than 5 s".len() as f64, "{width}");
        }
    }

    /// It was cut off at the share of all that was answered, though the table knew more.
    #[test]
    fn the_line_of_service_times_goes_through_all_of_its_points() {
        let mut doc = fixture::saturated();
        doc.service_time.censored = doc.service_time.count / 2;
        let pictures = pictures(&doc, "", None);
        let picture = pictures.iter().find(|picture| picture.stem == "spectrum").expect("a picture");
        let drawn = Drawn::of(&picture.sizes[0].1);
        let line = drawn.path("line service dashed");
        let last = doc.spectrum.service_time.last().expect("points");
        let end = line[line.len() - 1];
        assert!(drawn.is_y(end.1, last.q) && drawn.is_x(end.0, last.value_ns as f64), "{end:?} {last:?}");
    }

    #[test]
    fn where_nearly_all_is_known_a_spectrum_says_more() {
        assert!(!suits(&fixture::stall().response_time) && !suits(&fixture::empty().response_time));
    }
}
