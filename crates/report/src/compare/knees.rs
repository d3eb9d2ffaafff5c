//! Two sides of searches in a terminal.

use crate::block::{Block, Paint, Table, dim, left, plain, right};
use crate::compare::{signed, signed_bound};
use crate::format::{self, Bound, minute};
use crate::terminal::Style;
use crate::terminal::text::Screen;
use unblink_artifact::compare::{ComparedKnee, ComparisonOutcome, KneesDocument};

/// The answer, then every search.
pub fn knees(doc: &KneesDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if doc.simulated {
        screen.simulated(true);
        screen.blank();
    }
    let (paint, word) = match doc.outcome {
        ComparisonOutcome::Regression => (Paint::Bad, "REGRESSION"),
        ComparisonOutcome::Improvement => (Paint::Good, "HIGHER"),
        ComparisonOutcome::NoRegression => (Paint::Good, "NO REGRESSION"),
        ComparisonOutcome::NoVerdict if !doc.same_environment => (Paint::Bold, "RATIO"),
        ComparisonOutcome::NoVerdict => (Paint::Finding, "NO VERDICT"),
    };
    screen.line(&[(paint, word.into())]);
    screen.paragraph(0, Paint::Plain, &sentence(doc));
    if !doc.same_environment {
        screen.paragraph(
            0,
            Paint::Plain,
            "The searches were made on different machines, so the ratio is that of target and machine together, and there is no verdict.",
        );
    }
    screen.blank();
    screen.labelled(Paint::Bold, "objective", &format!("{}, {} arrivals", doc.objective, doc.process));
    screen.blank();
    screen.block(&Block::Table(table(doc)));
    screen.blank();
    screen.marked(0, Paint::Dim, "·", &about(doc));
    for (side, knee) in sides(doc) {
        if let Some(why) = &knee.left_out {
            screen.marked(0, Paint::Finding, "!", &format!("{side}, {}: left out, {why}.", knee.folder));
        }
    }
    screen.finish()
}

fn sentence(doc: &KneesDocument) -> String {
    let share = |ratio: f64| signed(ratio - 1.0);
    let low_end = |ratio: f64| signed_bound(ratio - 1.0, Bound::Lower);
    let high_end = |ratio: f64| signed_bound(ratio - 1.0, Bound::Upper);
    let interval = match (doc.ratio_low, doc.ratio_high) {
        (Some(low), Some(high)) => format!("{} to {}", low_end(low), high_end(high)),
        (Some(low), None) => format!("{} or more", low_end(low)),
        (None, Some(high)) => format!("{} or less", high_end(high)),
        (None, None) => return "Nothing is known about which of the two borders is higher.".into(),
    };
    match doc.ratio {
        Some(ratio) => format!("The highest rate changed by {} ({interval}).", share(ratio)),
        None => format!("The highest rate changed by {interval}."),
    }
}

fn about(doc: &KneesDocument) -> String {
    let least = format::percent(doc.effect_min);
    match doc.p_value {
        Some(p) => format!(
            "Dealt out by chance, the searches would differ this much in {} of cases; above 1\u{a0}% that is not a finding. \
             The interval is Student's, of 95\u{a0}%. Less than {least} counts as none.",
            format::percent(p)
        ),
        None => {
            let is_five = doc.baseline.len().min(doc.candidate.len()) >= 5;
            let hint = match is_five {
                true => {
                    "Were no search without a rate (--within, --at-least), the rates themselves would be compared."
                }
                false => "Five searches of each side know how much searches differ, and find less.",
            };
            format!(
                "Decided by brackets, from the highest rate shown to be good to the lowest shown not to be (of three \
                 searches or more, the middle ones): they must not meet. Less than {least} counts as none. {hint}"
            )
        }
    }
}

fn sides(doc: &KneesDocument) -> impl Iterator<Item = (&'static str, &ComparedKnee)> {
    let baseline = doc.baseline.iter().map(|knee| ("baseline", knee));
    baseline.chain(doc.candidate.iter().map(|knee| ("candidate", knee)))
}

fn table(doc: &KneesDocument) -> Table {
    let row = |(side, knee): (&str, &ComparedKnee)| {
        let rate = |per_s: Option<f64>| per_s.map_or("–".into(), format::rate);
        vec![
            (Paint::Bold, side.into()),
            (Paint::Response, rate(knee.rate_per_s)),
            plain(rate(knee.good_per_s)),
            plain(rate(knee.missed_from_per_s)),
            dim(minute(&knee.started_at)),
        ]
    };
    let columns = [left(""), right("highest rate"), right("good"), right("missed from"), left("begun (UTC)")];
    Table::new(columns, sides(doc).map(row).collect())
}
