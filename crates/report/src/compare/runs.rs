//! What a comparison rests on: each run as a dot, and the change of each percentile with its interval.

use super::{change, interval};
use crate::facts::Title;
use crate::format;
use crate::svg::Picture;
use crate::svg::axis::{Plot, Scale, change_axis_below, duration_tick, value_axis};
use crate::svg::canvas::{Anchor, Canvas};
use crate::svg::picture::half;
use unblink_artifact::compare::{CompareDocument, ComparedRun, ComparisonOutcome, Line, Quantity};

/// Both pictures, where there is something to draw.
pub(crate) fn pictures(doc: &CompareDocument) -> Vec<Picture> {
    let runs = vec![
        ("dot baseline", "a baseline run"),
        ("dot candidate", "a candidate run"),
        ("mean", "mean of each"),
    ];
    let changes = vec![("whisker", "95\u{a0}% interval"), ("truth", "no change")];
    let all = [
        half("runs", "compare", runs_title(doc), runs, |canvas| draw_runs(canvas, doc)),
        half("changes", "compare", changes_title(doc), changes, |canvas| draw_changes(canvas, doc)),
    ];
    all.into_iter().filter(|picture| !picture.is_empty()).collect()
}

/// The runs that count, with their side, in the order in which they began.
fn counting(doc: &CompareDocument) -> Vec<(&'static str, &ComparedRun, u64)> {
    let sides = [("baseline", &doc.baseline), ("candidate", &doc.candidate)];
    let mut all: Vec<(&'static str, &ComparedRun, u64)> = sides
        .into_iter()
        .flat_map(|(side, of)| of.runs.iter().map(move |run| (side, run)))
        .filter(|(_, run)| run.left_out.is_none())
        .filter_map(|(side, run)| Some((side, run, run.value_ns?)))
        .collect();
    all.sort_by(|a, b| a.1.started_at.cmp(&b.1.started_at));
    all
}

pub(super) fn runs_title(doc: &CompareDocument) -> Title {
    let label = super::label(doc);
    let runs = counting(doc);
    let of = |side: &'static str| runs.iter().filter(move |run| run.0 == side);
    let ends = |side| Some((of(side).map(|run| run.2).min()?, of(side).map(|run| run.2).max()?));
    // What is a lower bound may be higher than it is drawn.
    let is_known = |side| of(side).all(|run| !run.1.censored);
    let both = ends("baseline").zip(ends("candidate"));
    let is_slower = both.is_some_and(|(base, candidate)| base.1 < candidate.0);
    let is_faster = both.is_some_and(|(base, candidate)| candidate.1 < base.0);
    let is_apart = is_slower || is_faster;
    // Few runs of the same lie apart by chance.
    let is_decided = matches!(doc.outcome, ComparisonOutcome::Regression | ComparisonOutcome::Improvement);
    let finding = match () {
        () if is_slower && is_decided && is_known("baseline") => {
            "Every run of the candidate is slower than every run of the baseline".into()
        }
        () if is_faster && is_decided && is_known("candidate") => {
            "Every run of the candidate is faster than every run of the baseline".into()
        }
        () if both.is_some() && !is_apart && is_known("baseline") && is_known("candidate") => {
            "The runs of both overlap".into()
        }
        () => format!("{label} of each run"),
    };
    Title { finding, plotted: format!("{label} of each run, in the order in which they began.") }
}

fn draw_runs(canvas: &mut Canvas, doc: &CompareDocument) {
    let plot = Plot::of(canvas, 62.0);
    let runs = counting(doc);
    let values = || runs.iter().map(|run| run.2);
    let (Some(low), Some(high)) = (values().min(), values().max()) else {
        return plot.message(canvas, "No run has this percentile.");
    };
    let x = Scale::linear((0.0, runs.len() as f64 + 1.0), (plot.left, plot.right));
    let y = Scale::close(low as f64, high as f64, (plot.bottom, plot.top));
    value_axis(canvas, &plot, &y, "response time", duration_tick);
    canvas.text(
        "axis",
        (plot.right, plot.bottom + 37.0),
        Anchor::End,
        "runs, in the order in which they began",
    );
    if let Some(line) = doc.lines.iter().find(|line| line.decides) {
        for (side, mean) in [("baseline", line.baseline), ("candidate", line.candidate)] {
            if let Some(mean) = mean.filter(|mean| (y.ends().0..=y.ends().1).contains(mean)) {
                canvas.line(&format!("mean {side}"), (plot.left, y.at(mean)), (plot.right, y.at(mean)));
            }
        }
    }
    let every = runs.len().div_ceil(12).max(1);
    for (number, (side, run, ns)) in runs.iter().enumerate() {
        let at = (x.at(number as f64 + 1.0), y.at(*ns as f64));
        if number % every == 0 {
            canvas.text(
                "tick",
                (at.0, plot.bottom + 18.0),
                Anchor::Middle,
                &format::count(number as u64 + 1),
            );
        }
        canvas.dot(&format!("dot {side}"), at, 5.0);
        if run.censored {
            canvas.line("reach", at, (at.0, plot.top));
        }
    }
    canvas.axes(None, &plot, &x, &y);
}

/// The percentiles that have a change.
fn changed(doc: &CompareDocument) -> Vec<&Line> {
    doc.lines.iter().filter(|line| line.quantity == Quantity::Percentile && line.change.is_some()).collect()
}

pub(super) fn changes_title(doc: &CompareDocument) -> Title {
    let decides = changed(doc).into_iter().find(|line| line.decides);
    let label = super::label(doc);
    let finding = match decides {
        Some(line) if line.low.is_some() && line.high.is_some() => {
            format!("{label}: {}, 95\u{a0}% interval {}", change(line), interval(line))
        }
        Some(line) => format!("{label}: {}", change(line)),
        None => "How much each percentile changed".into(),
    };
    Title { finding, plotted: "Change of each percentile from baseline to candidate.".into() }
}

fn draw_changes(canvas: &mut Canvas, doc: &CompareDocument) {
    let plot = Plot { top: 8.0, ..Plot::of(canvas, 62.0) };
    let lines = changed(doc);
    if lines.is_empty() {
        return plot.message(canvas, "No change is known.");
    }
    let ends = |line: &&Line| [line.change, line.low, line.high].into_iter().flatten().collect::<Vec<f64>>();
    let all = || lines.iter().flat_map(ends).chain([0.0]);
    let (low, high) = (all().fold(0.0, f64::min), all().fold(0.0, f64::max));
    // Noise of less than what counts is to look like little.
    let around = ((high - low) * 0.1).max(doc.rule.effect_min / 2.0);
    let x = Scale::linear((low - around, high + around), (plot.left, plot.right));
    let y = Scale::linear((0.0, lines.len() as f64), (plot.top, plot.bottom));
    change_axis_below(canvas, &plot, &x, "faster ← change → slower");
    canvas.line("line truth", (x.at(0.0), plot.top), (x.at(0.0), plot.bottom));
    for (i, line) in lines.iter().enumerate() {
        let at = y.at(i as f64 + 0.5);
        let label = line.quantile.map_or(String::new(), format::quantile_label);
        let class = if line.decides { "name decides" } else { "name" };
        canvas.text(class, (plot.left - 8.0, at + 4.0), Anchor::End, &label);
        if let (Some(low), Some(high)) = (line.low, line.high) {
            canvas.line("whisker", (x.at(low), at), (x.at(high), at));
            for end in [low, high] {
                canvas.line("whisker cap", (x.at(end), at - 5.0), (x.at(end), at + 5.0));
            }
        }
        canvas.dot(
            "dot candidate",
            (x.at(line.change.unwrap_or(0.0)), at),
            if line.decides { 6.0 } else { 4.0 },
        );
    }
    canvas.axes(None, &plot, &x, &y);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::compare;
    use crate::svg::read::Drawn;

    fn of(name: &str) -> CompareDocument {
        compare::all().into_iter().find(|(known, _)| *known == name).expect("a fixture").1
    }

    #[test]
    fn dots_means_changes_and_intervals_are_those_of_the_document() {
        let doc = of("regression");
        let [runs, changes] = pictures(&doc).try_into().expect("two pictures");
        let drawn = Drawn::of(&runs.sizes[0].1);
        for (class, side) in [("dot baseline", &doc.baseline), ("dot candidate", &doc.candidate)] {
            let values: Vec<u64> = side
                .runs
                .iter()
                .filter(|run| run.left_out.is_none())
                .filter_map(|run| run.value_ns)
                .collect();
            let dots = drawn.dots(class);
            assert_eq!(dots.len(), values.len());
            assert!(dots.iter().zip(&values).all(|(at, ns)| drawn.is_y(at.1, *ns as f64)), "{class}");
        }
        let decides = doc.lines.iter().find(|line| line.decides).expect("a line");
        assert!(drawn.is_y(drawn.lines("mean baseline")[0][0].1, decides.baseline.expect("a mean")));
        assert!(drawn.is_y(drawn.lines("mean candidate")[0][0].1, decides.candidate.expect("a mean")));

        let drawn = Drawn::of(&changes.sizes[0].1);
        let lines = changed(&doc);
        let (dots, whiskers) = (drawn.dots("dot candidate"), drawn.lines("whisker"));
        assert_eq!((dots.len(), whiskers.len()), (lines.len(), lines.len()));
        for ((at, ends), line) in dots.iter().zip(whiskers).zip(lines) {
            assert!(drawn.is_x(at.0, line.change.expect("a change")));
            assert!(drawn.is_x(ends[0].0, line.low.expect("an end")));
            assert!(drawn.is_x(ends[1].0, line.high.expect("an end")));
        }
    }

    #[test]
    fn no_title_says_more_of_the_runs_than_they_do() {
        let says = |doc: &CompareDocument| runs_title(doc).finding;
        let set = |doc: &mut CompareDocument, of: [u64; 2]| {
            for (side, ns) in [&mut doc.baseline, &mut doc.candidate].into_iter().zip(of) {
                (0..).zip(&mut side.runs).for_each(|(i, run)| {
                    (run.value_ns, run.censored) = (Some(ns + i), false);
                });
            }
        };
        let mut doc = of("regression");
        set(&mut doc, [1_000, 2_000]);
        assert_eq!(says(&doc), "Every run of the candidate is slower than every run of the baseline");
        set(&mut doc, [2_000, 1_000]);
        assert_eq!(says(&doc), "Every run of the candidate is faster than every run of the baseline");
        set(&mut doc, [1_000, 1_002]);
        assert_eq!(says(&doc), "The runs of both overlap");
        // One that is as slow, and "every" must not be said; one that is left out has no say.
        set(&mut doc, [1_000, 2_000]);
        doc.baseline.runs[0].value_ns = Some(2_000);
        assert!(!says(&doc).contains("Every"));
        doc.baseline.runs[0].left_out = Some("invalid".into());
        assert!(says(&doc).contains("Every"));
        // A lower bound of the baseline may lie anywhere above.
        set(&mut doc, [1_000, 2_000]);
        doc.baseline.runs[1].censored = true;
        assert_eq!(says(&doc), "p99 of each run");
        doc.candidate.runs.clear();
        assert_eq!(says(&doc), "p99 of each run");
    }

    #[test]
    fn no_interval_is_said_where_there_is_none() {
        let mut doc = of("regression");
        assert!(changes_title(&doc).finding.contains("interval"));
        doc.lines.iter_mut().for_each(|line| line.low = None);
        assert!(!changes_title(&doc).finding.contains("interval"));
        doc.lines.clear();
        assert_eq!(changes_title(&doc).finding, "How much each percentile changed");
    }
}
