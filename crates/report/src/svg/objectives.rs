//! Objectives as lines: where a picture has the axis of an objective's figure, its limit is drawn.

use super::axis::{Plot, Scale};
use super::canvas::{Anchor, Canvas, n};
use crate::facts;
use unblink_artifact::document::{FigureUnit, LoadShape, Process, RunDocument, SloResult, VerdictStatus};

/// A limit that lies further from the data than this would leave no room for them.
const FAR: f64 = 5.0;

/// The objectives of response time that speak of all requests.
pub(super) fn times(doc: &RunDocument) -> Vec<&SloResult> {
    let slos = doc.verdict.iter().flat_map(|verdict| &verdict.slos);
    // The figures of first events and of gaps have a word before them: they are other times than those that are drawn.
    let is_of_all = |slo: &&SloResult| slo.name.is_none() && !slo.figure.contains(' ');
    slos.filter(|slo| slo.unit == FigureUnit::Ns && slo.limit > 0.0).filter(is_of_all).collect()
}

/// A limit that lies so near to `low..=high` that it is drawn.
pub(super) fn is_near(limit: f64, (low, high): (u64, u64)) -> bool {
    (low as f64 / FAR..=high as f64 * FAR).contains(&limit)
}

/// `low..=high` with the limits that lie near.
pub(super) fn with_limits(doc: &RunDocument, (low, high): (u64, u64)) -> (u64, u64) {
    times(doc)
        .iter()
        .map(|slo| slo.limit)
        .filter(|limit| is_near(*limit, (low, high)))
        .fold((low, high), |(low, high), limit| (low.min(limit as u64), high.max(limit as u64)))
}

/// What the colours of the lines mean, for the legend of a picture in which some limits have a line.
pub(super) fn legend(doc: &RunDocument, is_drawn: impl Fn(f64) -> bool) -> Vec<(&'static str, &'static str)> {
    let all = [
        ("objective missed", "objective, missed"),
        ("objective open", "objective, not told"),
        ("objective met", "objective, met"),
    ];
    let drawn: Vec<&SloResult> = times(doc).into_iter().filter(|slo| is_drawn(slo.limit)).collect();
    let is_there = |class: &str| drawn.iter().any(|slo| class.ends_with(self::class(slo)));
    all.into_iter().filter(|(class, _)| is_there(class)).collect()
}

/// The percentile that an objective speaks of, 0 to 1; 1 is the maximum.
pub(super) fn quantile(slo: &SloResult) -> Option<f64> {
    match slo.figure.as_str() {
        "max" => Some(1.0),
        figure => Some(figure.strip_prefix('p')?.parse::<f64>().ok()? / 100.0),
    }
}

/// Left, top, right and bottom of words.
pub(super) type Place = (f64, f64, f64, f64);

/// Width of a letter of the words, at most: on a screen of middle width the page draws the letters of a wide picture larger.
const LETTER: f64 = 8.1;
const LETTER_NARROW: f64 = 7.2;
/// A picture that is no wider is for a phone, and has room for little.
const NARROW: f64 = 400.0;

/// The order in which objectives get words: what is missed first.
fn rank(slo: &SloResult) -> u8 {
    match slo.status {
        VerdictStatus::Fail => 0,
        VerdictStatus::Inconclusive => 1,
        VerdictStatus::Pass => 2,
    }
}

/// Class of its line and its words.
pub(super) fn class(slo: &SloResult) -> &'static str {
    ["missed", "open", "met"][usize::from(rank(slo))]
}

/// Those that get words, what is missed first; on a phone only the gravest.
pub(super) fn named<'a>(canvas: &Canvas, mut slos: Vec<&'a SloResult>) -> Vec<&'a SloResult> {
    slos.sort_by(|a, b| rank(a).cmp(&rank(b)).then(a.limit.total_cmp(&b.limit)));
    let gravest = slos.first().map_or(0, |slo| rank(slo));
    slos.retain(|slo| canvas.size.width > NARROW || rank(slo) == gravest);
    slos
}

/// Horizontal lines at the limits of response time, each with its words where there is room beside the others and the
/// `curves`. `stands_at` gives the place along x at which the objective is met or missed, where a picture has one. `taken`
/// is where words stand already, and then do.
pub(super) fn draw_times(
    canvas: &mut Canvas,
    doc: &RunDocument,
    plot: &Plot,
    y: &Scale,
    stands_at: impl Fn(&SloResult) -> Option<f64>,
    curves: &[Vec<(f64, f64)>],
    taken: &mut Vec<Place>,
) {
    let (low, high) = y.ends();
    let inside = |slo: &&SloResult| (low..=high).contains(&slo.limit);
    let slos: Vec<&SloResult> = times(doc).into_iter().filter(inside).collect();
    // What is missed is drawn over the others.
    let mut by_rank = slos.clone();
    by_rank.sort_by_key(|slo| std::cmp::Reverse(rank(slo)));
    for slo in by_rank {
        let at = y.at(slo.limit);
        line(canvas, plot, at, slo);
        if let Some(x) = stands_at(slo) {
            canvas.path(
                &format!("objective-at {}", class(slo)),
                &format!("M{} {}l5 6l-5 6l-5 -6Z", n(x), n(at - 6.0)),
            );
        }
    }
    let limits: Vec<f64> = slos.iter().map(|slo| y.at(slo.limit)).collect();
    for slo in named(canvas, slos) {
        let at = y.at(slo.limit);
        let is_narrow = canvas.size.width <= NARROW;
        // On a phone the mark and the colour must do: the legend says what they mean.
        let text = if is_narrow { format!("{} {}", slo.slo, facts::slo_mark(slo).0) } else { in_words(slo) };
        let width = text.chars().count() as f64 * if is_narrow { LETTER_NARROW } else { LETTER };
        let middle = (plot.left + plot.right) / 2.0;
        let lefts = [plot.right - 6.0 - width, plot.left + 6.0, middle - width / 2.0];
        let place = |(left, base): (f64, f64)| (left, base - 11.0, left + width, base + 4.0);
        let places: Vec<Place> = [at - 5.0, at + 14.0]
            .into_iter()
            .flat_map(|base| lefts.map(|left| place((left, base))))
            .map(|place| moved_inside(place, plot))
            .filter(|place| place.1 >= plot.top - 4.0 && place.3 <= plot.bottom)
            .collect();
        let beside = |place: &&Place| taken.iter().all(|other| is_apart(**place, *other));
        let is_free = |place: &&Place| {
            beside(place)
                && !curves.iter().any(|curve| crosses(curve, **place))
                && !limits.iter().any(|limit| place.1 + 1.0 < *limit && *limit < place.3 - 1.0)
        };
        let free = places.iter().find(is_free);
        // What is missed is said even over a curve.
        let missed = || places.iter().find(beside).filter(|_| slo.status == VerdictStatus::Fail);
        if let Some(&place) = free.or_else(missed) {
            words(canvas, (place.2, place.3 - 4.0), &text, slo);
            taken.push(place);
        }
    }
}

/// Words that are too long for the plot begin at its left edge.
fn moved_inside(place: Place, plot: &Plot) -> Place {
    let by = (plot.left + 2.0 - place.0).max(0.0);
    (place.0 + by, place.1, place.2 + by, place.3)
}

fn is_apart(a: Place, b: Place) -> bool {
    a.2 <= b.0 || a.0 >= b.2 || a.3 <= b.1 || a.1 >= b.3
}

/// Does a curve go through a place?
fn crosses(curve: &[(f64, f64)], place: Place) -> bool {
    let within = |x: f64, y: f64| place.0 < x && x < place.2 && place.1 < y && y < place.3;
    curve.windows(2).any(|pair| {
        let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
        let steps = (dx.hypot(dy) / 3.0).ceil().max(1.0);
        (0..=steps as u32)
            .map(|i| f64::from(i) / steps)
            .any(|s| within(pair[0].0 + dx * s, pair[0].1 + dy * s))
    })
}

/// A line at the rate that is to be achieved, where one rate is held.
pub(super) fn draw_rates(canvas: &mut Canvas, doc: &RunDocument, plot: &Plot, y: &Scale) {
    let Some(offered) = doc.rate.offered.filter(|_| is_held(doc)) else { return };
    for slo in doc.verdict.iter().flat_map(|verdict| &verdict.slos) {
        if let Some(per_s) = achieved_per_s(slo, offered) {
            line(canvas, plot, y.at(per_s), slo);
            words(canvas, (plot.right - 6.0, y.at(per_s) + 19.0), &in_words(slo), slo);
        }
    }
}

/// The rate that an objective asks for.
pub(super) fn achieved_per_s(slo: &SloResult, offered: f64) -> Option<f64> {
    match (slo.figure.as_str(), slo.unit) {
        ("achieved", FigureUnit::PerS) => Some(slo.limit),
        ("achieved", FigureUnit::Share) => Some(slo.limit * offered),
        _ => None,
    }
}

fn is_held(doc: &RunDocument) -> bool {
    !matches!(doc.plan.shape, Some(LoadShape::Spike | LoadShape::Stress))
        && doc.plan.phases.windows(2).all(|pair| pair[0].to_per_s == pair[1].from_per_s)
        && doc.plan.phases.iter().all(|phase| phase.from_per_s == phase.to_per_s)
        && !doc.loads.iter().any(|load| matches!(load.plan.process(), Some(Process::Bursty { .. })))
}

fn line(canvas: &mut Canvas, plot: &Plot, at: f64, slo: &SloResult) {
    canvas.line(&format!("objective {}", class(slo)), (plot.left, at), (plot.right, at));
}

fn in_words(slo: &SloResult) -> String {
    let (mark, word) = facts::slo_mark(slo);
    format!("{} {mark} {word}", slo.slo)
}

/// Words that end at a place.
fn words(canvas: &mut Canvas, at: (f64, f64), text: &str, slo: &SloResult) {
    canvas.text(&format!("label halo-text objective-text {}", class(slo)), at, Anchor::End, text);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::canvas::Size;
    use crate::svg::read::Drawn;
    use crate::svg::{lines, pictures};
    use unblink_artifact::document::LoadPhase;

    #[test]
    fn limits_are_drawn_where_their_axis_is() {
        let doc = fixture::objectives();
        let pictures = pictures(&doc, "", None);
        for picture in &pictures {
            let has = matches!(picture.stem, "spectrum" | "heatmap" | "event");
            for (_, canvas) in &picture.sizes {
                assert_eq!(canvas.body.contains("class=\"objective missed\""), has, "{}", picture.stem);
            }
        }
        let spectrum = pictures.iter().find(|picture| picture.stem == "spectrum").expect("a spectrum");
        let drawn = Drawn::of(&spectrum.sizes[0].1);
        let limits = drawn.lines("objective missed");
        assert!(!limits.is_empty() && limits.iter().all(|ends| drawn.is_y(ends[0].1, 200e6)), "{limits:?}");
        assert!(spectrum.file().contains("p99 &lt; 200ms ✗ missed"));
    }

    #[test]
    fn a_rate_that_is_to_be_achieved_is_a_line_where_one_rate_is_held() {
        let mut doc = fixture::objectives();
        let draw = |doc: &RunDocument| {
            let mut canvas = Canvas::new("", Size { width: 460.0, height: 280.0 });
            lines::rates(&mut canvas, doc);
            canvas
        };
        let hold = LoadPhase { from_per_s: 1_000.0, to_per_s: 1_000.0, duration_ns: doc.plan.duration_ns };
        doc.plan.phases = vec![hold];
        let slo = &mut doc.verdict.as_mut().expect("a verdict").slos[0];
        (slo.figure, slo.unit, slo.limit) = ("achieved".into(), FigureUnit::Share, 0.95);
        let canvas = draw(&doc);
        let drawn = Drawn::of(&canvas);
        let limits = drawn.lines("objective missed");
        assert!(limits.len() == 1 && drawn.is_y(limits[0][0].1, 950.0), "{limits:?}");
        doc.plan.phases[0].to_per_s *= 2.0;
        assert!(Drawn::of(&draw(&doc)).lines("objective missed").is_empty(), "95 % of which rate?");
    }

    #[test]
    fn what_is_missed_has_words_whatever_else_is_asked() {
        let mut doc = fixture::objectives();
        let slos = &mut doc.verdict.as_mut().expect("a verdict").slos;
        let like = slos[0].clone();
        slos.clear();
        // Limits a pixel or two apart, the lower of which are met; and one that is not told.
        for (ms, status) in [
            (190.0, VerdictStatus::Pass),
            (195.0, VerdictStatus::Pass),
            (200.0, VerdictStatus::Fail),
            (205.0, VerdictStatus::Inconclusive),
            (20.0, VerdictStatus::Pass),
        ] {
            slos.push(SloResult { slo: format!("p99 < {ms}ms"), status, limit: ms * 1e6, ..like.clone() });
        }
        for stem in ["spectrum", "heatmap"] {
            let pictures = pictures(&doc, "", None);
            let picture = pictures.iter().find(|picture| picture.stem == stem).expect("a picture");
            let [(_, wide), (_, narrow)] = &picture.sizes[..] else { panic!("two sizes") };
            let has = |canvas: &Canvas, text: &str| canvas.body.contains(&format!("p99 &lt; {text}"));
            for (canvas, words) in [(wide, "200ms ✗ missed"), (narrow, "200ms ✗<")] {
                assert!(has(canvas, words), "{stem}");
                assert!(canvas.body.contains("class=\"objective missed\""));
                assert!(canvas.body.contains("objective-text missed"));
            }
            assert!(has(wide, "20ms ✓ met") && wide.body.contains("objective-text met"), "{stem}");
            assert!(!has(narrow, "20ms") && !has(narrow, "205ms"), "{stem}");
        }
    }

    /// Other times than those that are drawn, and limits far away.
    #[test]
    fn only_limits_of_what_is_drawn_have_a_line_and_a_place_in_the_legend() {
        let mut doc = fixture::objectives();
        let slos = &mut doc.verdict.as_mut().expect("a verdict").slos;
        let like = SloResult { status: VerdictStatus::Fail, ..slos[0].clone() };
        let other = |figure: &str, ms: f64| SloResult {
            figure: figure.into(),
            slo: format!("{figure} < {ms}ms"),
            limit: ms * 1e6,
            ..like.clone()
        };
        *slos = vec![other("first p99", 200.0), other("gap p99", 10.0), other("p99", 900_000.0)];
        for picture in pictures(&doc, "", None) {
            for (_, canvas) in &picture.sizes {
                assert!(!canvas.body.contains("class=\"objective "), "{}", picture.stem);
            }
            assert!(
                !picture.legend.iter().any(|(mark, _)| mark.starts_with("objective")),
                "{}",
                picture.stem
            );
        }
    }

    #[test]
    fn words_do_not_begin_left_of_the_plot() {
        let plot = Plot { left: 62.0, top: 0.0, right: 200.0, bottom: 100.0 };
        assert_eq!(moved_inside((-20.0, 1.0, 194.0, 9.0), &plot), (64.0, 1.0, 278.0, 9.0));
        assert_eq!(moved_inside((80.0, 1.0, 194.0, 9.0), &plot), (80.0, 1.0, 194.0, 9.0));
    }

    #[test]
    fn words_do_not_stand_on_a_curve() {
        let place = (10.0, 10.0, 60.0, 25.0);
        assert!(crosses(&[(0.0, 0.0), (100.0, 40.0)], place));
        assert!(!crosses(&[(0.0, 0.0), (100.0, 9.0)], place) && !crosses(&[(0.0, 0.0)], place));
    }

    #[test]
    fn figures_name_their_percentiles() {
        let mut slo = fixture::objectives().verdict.expect("a verdict").slos.remove(0);
        for (figure, q) in [("p99", Some(0.99)), ("p99.9", Some(0.999)), ("max", Some(1.0)), ("mean", None)] {
            slo.figure = figure.into();
            assert!(
                quantile(&slo).map(|q| (q * 1e6).round()) == q.map(|q: f64| (q * 1e6).round()),
                "{figure}"
            );
        }
    }
}
