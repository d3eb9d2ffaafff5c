//! Throughput and latency over offered load, trial by trial.

use super::Picture;
use super::axis::{Plot, Scale, count_tick, duration_tick, rate_axis_below, value_axis};
use super::canvas::{Anchor, Canvas, polyline};
use super::picture::full;
use crate::facts::Title;
use crate::format;
use unblink_artifact::knee::{KneeDocument, KneeTrial, Purpose, TrialVerdict};

/// Response time over offered, which has the answer, and delivered over offered.
pub(crate) fn pictures(doc: &KneeDocument) -> Vec<Picture> {
    let throughput = Title {
        finding: match (&doc.collapse, doc.knees.last_stationary_per_s) {
            (Some(c), _) => {
                format!("Beyond the knee delivered work falls to {}", format::rate(c.least_per_s))
            }
            (None, Some(last)) => format!("The target keeps up with {}", format::rate(last)),
            (None, None) => "The target keeps up with no rate that was tried".into(),
        },
        plotted: "Answered as expected over offered, per second.".into(),
    };
    let label = format::quantile_label(doc.header.question.quantile);
    let latency = Title {
        finding: match &doc.answer {
            Some(answer) if answer.interpolated => {
                format!("{label} reaches its limit near {}", format::rate(answer.rate_per_s))
            }
            Some(answer) => format!("The objective is met up to {}", format::rate(answer.rate_per_s)),
            None => format!("{label} over offered load"),
        },
        plotted: match &doc.header.question.operation {
            Some(name) if doc.header.question.has_journeys => format!(
                "{label} of {name} with its 95\u{a0}% interval, and the mean response time of requests, over offered load."
            ),
            _ => {
                format!(
                    "{label} of response time with its 95\u{a0}% interval, and the mean, over offered load."
                )
            }
        },
    };
    let trials = usable(doc);
    let dots: Vec<_> = [("dot good", "good"), ("dot undecided", "undecided"), ("dot failure", "not good")]
        .into_iter()
        .filter(|(mark, _)| trials.iter().any(|trial| class(trial) == *mark))
        .collect();
    let decided = doc.answer.and_then(|answer| answer.missed_from_per_s);
    let bands: Vec<_> = decided
        .map(|_| ("answer-band", "from shown to be good to shown not to be"))
        .into_iter()
        .chain(doc.safe_band_per_s.map(|_| ("safe-band", "70–80\u{a0}% of the last stationary rate")))
        .collect();
    let mut times = vec![("response", "the percentile"), ("service", "mean")];
    times.extend(doc.capacity_per_s.map(|_| ("truth", "1/(µ−λ), mean of the simplest queue")));
    times.extend(dots.iter().chain(&bands));
    let offered = (!doc.header.question.has_journeys).then_some(("truth", "all that is offered"));
    let throughputs = offered.iter().chain(&dots).chain(&bands).copied().collect();
    vec![
        full("latency", "knee", latency, times, |canvas| draw_latency(canvas, doc)),
        full("throughput", "knee", throughput, throughputs, |canvas| draw_throughput(canvas, doc)),
    ]
}

fn usable(doc: &KneeDocument) -> Vec<&KneeTrial> {
    let is_usable = |t: &&KneeTrial| t.verdict != TrialVerdict::Generator;
    let mut trials: Vec<&KneeTrial> = doc.trials.iter().filter(is_usable).collect();
    trials.sort_by(|a, b| a.rate.per_s().total_cmp(&b.rate.per_s()).then(a.number.cmp(&b.number)));
    trials
}

/// Of dots that would cover each other, each is smaller than the one before by this.
const RING: f64 = 1.4;

/// A dot for each trial, at its figures and nowhere else: what covers another one is smaller, so that both are seen.
fn dots(canvas: &mut Canvas, radius: f64, of: impl Iterator<Item = ((f64, f64), &'static str)>) {
    let mut drawn: Vec<(f64, f64)> = Vec::new();
    for (at, class) in of {
        let covers = drawn.iter().filter(|other| (other.0 - at.0).hypot(other.1 - at.1) < radius).count();
        canvas.dot(class, at, (radius - RING * covers as f64).max(1.0));
        drawn.push(at);
    }
}

/// What was offered, which by chance is not quite the rate that was asked for.
fn per_s(trial: &KneeTrial) -> f64 {
    trial.offered_per_s
}

fn highest(trials: &[&KneeTrial]) -> Option<f64> {
    trials.iter().map(|trial| per_s(trial)).reduce(f64::max)
}

/// Of all trials at a rate the first, so that a line has one value there; in the order in which they stand.
fn first_at_each<'a>(trials: &[&'a KneeTrial]) -> Vec<&'a KneeTrial> {
    let mut first: Vec<&KneeTrial> =
        trials.iter().copied().filter(|t| t.purpose != Purpose::Latency).collect();
    first.dedup_by_key(|trial| trial.rate);
    first.sort_by(|a, b| per_s(a).total_cmp(&per_s(b)));
    first
}

/// By its verdict.
fn class(trial: &KneeTrial) -> &'static str {
    match trial.verdict {
        TrialVerdict::Met => "dot good",
        TrialVerdict::Undecided => "dot undecided",
        _ => "dot failure",
    }
}

fn draw_throughput(canvas: &mut Canvas, doc: &KneeDocument) {
    let plot = Plot::of(canvas, 62.0);
    let trials = usable(doc);
    let Some(highest) = highest(&trials) else {
        return plot.message(canvas, "No trial can be drawn.");
    };
    let most = trials.iter().map(|trial| trial.delivered_per_s).fold(0.0, f64::max);
    let x = Scale::linear((0.0, highest * 1.04), (plot.left, plot.right));
    let y = Scale::linear((0.0, most * 1.15), (plot.bottom, plot.top));
    bands(canvas, doc, &plot, &x);
    let has_journeys = doc.header.question.has_journeys;
    let delivered = if has_journeys { "requests delivered per second" } else { "delivered per second" };
    value_axis(canvas, &plot, &y, delivered, count_tick);
    rate_axis_below(
        canvas,
        &plot,
        &x,
        if has_journeys { "arrivals per second" } else { "offered per second" },
    );
    // An arrival that begins a journey is several requests.
    if !has_journeys {
        let end = highest.min(most * 1.15);
        canvas.path("line truth", &polyline([Some((x.at(0.0), y.at(0.0))), Some((x.at(end), y.at(end)))]));
    }
    let line = first_at_each(&trials).into_iter().map(|t| Some((x.at(per_s(t)), y.at(t.delivered_per_s))));
    canvas.path("line sent", &polyline(line));
    let place = |trial: &&KneeTrial| ((x.at(per_s(trial)), y.at(trial.delivered_per_s)), class(trial));
    dots(canvas, 4.5, trials.iter().map(place));
    canvas.axes(None, &plot, &x, &y);
    markers(canvas, doc, &plot, &x);
}

fn draw_latency(canvas: &mut Canvas, doc: &KneeDocument) {
    let plot = Plot::of(canvas, 62.0);
    let trials = usable(doc);
    let limit_ns = doc.header.question.limit_ns;
    let values = || trials.iter().filter_map(|trial| trial.percentile_ns);
    let means = || trials.iter().filter_map(|trial| trial.mean_ns.map(|ns| ns as u64));
    let (Some(highest), Some(low), Some(high)) =
        (highest(&trials), values().chain(means()).min(), values().max())
    else {
        return plot.message(canvas, "No response time is known.");
    };
    let x = Scale::linear((0.0, highest * 1.04), (plot.left, plot.right));
    let y = Scale::durations(low.min(limit_ns), high.max(limit_ns), (plot.bottom, plot.top));
    bands(canvas, doc, &plot, &x);
    value_axis(canvas, &plot, &y, "response time", duration_tick);
    rate_axis_below(canvas, &plot, &x, "offered per second");
    theory(canvas, doc, &x, &y);
    let first = first_at_each(&trials);
    interval_band(canvas, &first, &x, &y);
    let mean = first.iter().map(|t| t.mean_ns.map(|ns| (x.at(per_s(t)), y.at(ns))));
    canvas.path("line service", &polyline(mean));
    let line = first.iter().map(|t| t.percentile_ns.map(|ns| (x.at(per_s(t)), y.at(ns as f64))));
    canvas.path("line response panel", &polyline(line));
    for trial in &trials {
        if let (Some(low), Some(high)) = (trial.percentile_low_ns, trial.percentile_high_ns) {
            let at = x.at(per_s(trial));
            canvas.line("reach", (at, y.at(low as f64)), (at, y.at(high as f64)));
        }
    }
    let place =
        |trial: &&KneeTrial| Some(((x.at(per_s(trial)), y.at(trial.percentile_ns? as f64)), class(trial)));
    dots(canvas, 4.0, trials.iter().filter_map(place));
    let at_limit = y.at(limit_ns as f64);
    canvas.line("objective", (plot.left, at_limit), (plot.right, at_limit));
    let limit = format!("limit {}", format::duration(limit_ns));
    canvas.text("label objective-text", (plot.left + 6.0, at_limit - 6.0), Anchor::Start, &limit);
    canvas.axes(None, &plot, &x, &y);
    markers(canvas, doc, &plot, &x);
}

/// From the lower to the upper ends of neighbouring trials that have both.
fn interval_band(canvas: &mut Canvas, first: &[&KneeTrial], x: &Scale, y: &Scale) {
    let ends = |t: &&KneeTrial| Some((x.at(per_s(t)), t.percentile_low_ns?, t.percentile_high_ns?));
    let known: Vec<Option<(f64, u64, u64)>> = first.iter().map(ends).collect();
    for run in known.split(Option::is_none).filter(|run| run.len() > 1) {
        let ends: Vec<(f64, u64, u64)> = run.iter().flatten().copied().collect();
        let upper = ends.iter().map(|&(x, _, high)| Some((x, y.at(high as f64))));
        let lower = ends.iter().rev().map(|&(x, low, _)| Some((x, y.at(low as f64))));
        canvas.path("interval-band", &(polyline(upper.chain(lower)) + "Z"));
    }
}

/// 1/(µ − λ) where it lies within the picture: by response time, since it is steep where it ends.
fn theory(canvas: &mut Canvas, doc: &KneeDocument, x: &Scale, y: &Scale) {
    const POINTS: u32 = 100;
    let Some(capacity) = doc.capacity_per_s else { return };
    let (x_most, (least_ns, most_ns)) = (x.ends().1, y.ends());
    let first_ns = least_ns.max(1e9 / capacity);
    let curve = (0..POINTS).map(|i| {
        let ns = first_ns * (most_ns / first_ns).powf(f64::from(i) / f64::from(POINTS - 1));
        let offered = capacity - 1e9 / ns;
        (offered <= x_most).then(|| (x.at(offered), y.at(ns)))
    });
    if first_ns < most_ns {
        canvas.path("line truth", &polyline(curve));
    }
}

/// Where a target is run safely, and what lies between the rates that were decided: below all that is drawn.
fn bands(canvas: &mut Canvas, doc: &KneeDocument, plot: &Plot, x: &Scale) {
    if let Some((good, missed)) =
        doc.answer.and_then(|answer| Some((answer.good_per_s, answer.missed_from_per_s?)))
    {
        let (from, to) = (x.at(good), x.at(missed));
        canvas.rect("answer-band", from, plot.top, (to - from).max(0.0), plot.height());
    }
    if let Some((low, high)) = doc.safe_band_per_s {
        canvas.rect("safe-band", x.at(low), plot.top, x.at(high) - x.at(low), plot.height());
    }
}

/// The answer, as a line from top to bottom.
fn markers(canvas: &mut Canvas, doc: &KneeDocument, plot: &Plot, x: &Scale) {
    if let Some(answer) = &doc.answer {
        let at = x.at(answer.rate_per_s);
        canvas.line("line ok", (at, plot.top), (at, plot.bottom));
        canvas.text("label", (at - 6.0, plot.top + 12.0), Anchor::End, &format::rate(answer.rate_per_s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::svg::read::Drawn;

    #[test]
    fn the_legend_names_the_dots_that_are_drawn() {
        let mut doc = fixture::knee();
        doc.trials.retain(|trial| trial.verdict != TrialVerdict::Met);
        for picture in pictures(&doc) {
            let marks: Vec<_> = picture.legend.iter().map(|(mark, _)| *mark).collect();
            assert!(!marks.contains(&"dot good") && marks.contains(&"dot failure"), "{marks:?}");
        }
    }

    /// Repeats of a rate stood beside it, a good one among rates that were shown not to be.
    #[test]
    fn each_trial_is_seen_and_stands_at_its_figures() {
        let mut doc = fixture::knee();
        let again = KneeTrial { number: 99, ..doc.trials[0].clone() };
        let by_chance = KneeTrial { number: 100, offered_per_s: again.offered_per_s * 1.02, ..again.clone() };
        doc.trials.extend([again, by_chance]);
        let [latency, throughput] = pictures(&doc).try_into().expect("two pictures");
        let drawn = Drawn::of(&latency.sizes[0].1);
        let trials = usable(&doc);
        let mut of_class =
            ["dot good", "dot undecided", "dot failure"].map(|class| (class, drawn.dots(class).into_iter()));
        let dots: Vec<(f64, f64)> = trials
            .iter()
            .filter_map(|trial| of_class.iter_mut().find(|(name, _)| *name == class(trial))?.1.next())
            .collect();
        assert_eq!(dots.len(), trials.len());
        for (at, trial) in dots.iter().zip(&trials) {
            assert!(drawn.is_y(at.1, trial.percentile_ns.expect("a percentile") as f64));
            assert!(drawn.is_x(at.0, trial.offered_per_s), "{at:?} {trial:?}");
        }
        assert!(latency.sizes[0].1.body.contains(r#" r="2.6"/>"#), "what covers another one is smaller");

        let drawn = Drawn::of(&throughput.sizes[0].1);
        let mut delivered: Vec<f64> = ["dot good", "dot undecided", "dot failure"]
            .iter()
            .flat_map(|class| drawn.dots(class))
            .map(|at| drawn.y(at.1))
            .collect();
        delivered.sort_by(f64::total_cmp);
        let mut expected: Vec<f64> = trials.iter().map(|trial| trial.delivered_per_s).collect();
        expected.sort_by(f64::total_cmp);
        let most = expected.last().copied().unwrap_or(1.0);
        assert!(
            delivered.iter().zip(&expected).all(|(a, b)| (a - b).abs() < most * 0.002),
            "{delivered:?} {expected:?}"
        );
    }
}
