//! The highest rate over searches in a terminal.

use super::course::{Course, Point, Step};
use crate::block::{Block, Paint, Section, Table, left, plain, right};
use crate::compare::signed;
use crate::facts::Title;
use crate::format::{self, minute};
use crate::terminal::Style;
use crate::terminal::text::Screen;
use unblink_artifact::history::{KneeTrendDocument, RUNS_MIN, RateChange};

pub(super) fn render(doc: &KneeTrendDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.simulated(doc.simulated);
    let (paint, word) = match doc.changes.last() {
        Some(change) if change.change < 0.0 => (Paint::Bad, "LOWER"),
        Some(_) => (Paint::Good, "HIGHER"),
        None if doc.searches.len() < RUNS_MIN => (Paint::Finding, "TOO FEW SEARCHES"),
        None => (Paint::Bold, "NO CHANGE"),
    };
    screen.labelled(paint, word, &sentence(doc));
    screen.paragraph(0, Paint::Plain, &doc.target);
    screen.paragraph(
        0,
        Paint::Plain,
        &format!("{}, {} arrivals, from {}", doc.objective, doc.process, doc.machine),
    );
    course(doc).draw(&mut screen);
    if !doc.changes.is_empty() {
        screen.section(&changes(doc));
    }
    if !doc.left_out.is_empty() {
        screen.blank();
    }
    for knee in &doc.left_out {
        screen.marked(0, Paint::Dim, "·", &format!("{} is left out: {}.", knee.folder, knee.why));
    }
    screen.finish()
}

/// Around the picture in a file.
pub(super) fn title(doc: &KneeTrendDocument) -> Title {
    Title {
        finding: sentence(doc),
        plotted: format!(
            "The highest rate with {}, search by search. {}, {} arrivals.",
            doc.objective, doc.target, doc.process
        ),
    }
}

pub(super) fn course(doc: &KneeTrendDocument) -> Course {
    let points = doc.searches.iter().map(|knee| Point {
        value: knee.rate_per_s,
        is_bound: false,
        reach: knee.good_per_s.zip(knee.missed_from_per_s),
        tick: knee.started_at.get(..10).unwrap_or(&knee.started_at).into(),
    });
    let steps = doc.changes.iter().map(|change| Step {
        at: change.at,
        before: change.before_per_s,
        after: change.after_per_s,
        label: name(change).into(),
    });
    Course {
        axis: "highest rate",
        order: "searches, in the order in which they began",
        say: format::rate,
        points: points.collect(),
        steps: steps.collect(),
    }
}

/// The last part of the folder's path.
fn name(change: &RateChange) -> &str {
    change.folder.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&change.folder)
}

fn sentence(doc: &KneeTrendDocument) -> String {
    let count = doc.searches.len();
    let Some(last) = doc.changes.last() else {
        return match count < RUNS_MIN {
            true => format!(
                "The highest rate over {}: a change that lasts takes {RUNS_MIN} to be seen, {} on either side.",
                format::plural(count as u64, "search", "searches"),
                RUNS_MIN / 2
            ),
            false => {
                format!("The highest rate kept its level over {count} searches, as far as can be told.")
            }
        };
    };
    let since = format::plural((count - last.at) as u64, "search", "searches");
    let all = match doc.changes.len() {
        1 => String::new(),
        several => format!(" It is the last of {several} changes."),
    };
    format!(
        "The highest rate changed by {} with {} ({} UTC), {since} ago: from {} to {}.{all}",
        signed(last.change),
        name(last),
        minute(&last.started_at),
        format::rate(last.before_per_s),
        format::rate(last.after_per_s)
    )
}

fn changes(doc: &KneeTrendDocument) -> Section {
    let row = |change: &RateChange| {
        vec![
            (Paint::Bold, name(change).into()),
            plain(minute(&change.started_at)),
            plain(format::rate(change.before_per_s)),
            (Paint::Response, format::rate(change.after_per_s)),
            (if change.change < 0.0 { Paint::Bad } else { Paint::Good }, signed(change.change)),
            plain(format::percent(change.p_value)),
        ]
    };
    let columns =
        [left("from search"), left("(UTC)"), right("before"), right("after"), right("change"), right("p")];
    let table = Table::new(columns, doc.changes.iter().map(row).collect());
    Section {
        class: "",
        name: "Changes",
        note: "p: how often searches in random order show one as clear".into(),
        blocks: vec![Block::Table(table)],
    }
}
