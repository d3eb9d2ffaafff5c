//! A percentile over runs in a terminal.

use super::course::{Course, Point, Step};
use super::short;
use crate::block::{Block, Paint, Section, Table, left, plain, right};
use crate::compare::signed;
use crate::facts::{self, Title};
use crate::format::{self, minute};
use crate::terminal::Style;
use crate::terminal::text::Screen;
use unblink_artifact::history::{LevelChange, RUNS_MIN, TrendDocument, TrendRun};

pub(super) fn render(doc: &TrendDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.simulated(doc.simulated);
    let (paint, word) = match doc.changes.last() {
        Some(change) if change.change > 0.0 => (Paint::Bad, "SLOWER"),
        Some(_) => (Paint::Good, "FASTER"),
        None if doc.runs.len() < RUNS_MIN => (Paint::Finding, "TOO FEW RUNS"),
        None => (Paint::Bold, "NO CHANGE"),
    };
    screen.labelled(paint, word, &sentence(doc));
    for line in facts::first_targets(&doc.targets, doc.targets_beyond.as_ref()) {
        screen.paragraph(0, Paint::Plain, &line);
    }
    screen.paragraph(0, Paint::Plain, &doc.load);
    course(doc).draw(&mut screen);
    if !doc.changes.is_empty() {
        screen.section(&changes(doc));
    }
    notes(&mut screen, doc);
    screen.finish()
}

/// Around the picture in a file.
pub(super) fn title(doc: &TrendDocument) -> Title {
    let what =
        doc.targets.first().map_or(String::new(), |target| format!("{} {}", target.method, target.url));
    Title {
        finding: sentence(doc),
        plotted: format!("{} of response time, run by run. {what}, {}.", label(doc), doc.load),
    }
}

fn label(doc: &TrendDocument) -> String {
    format::quantile_label(doc.quantile)
}

fn sentence(doc: &TrendDocument) -> String {
    let (label, count) = (label(doc), doc.runs.len());
    let Some(last) = doc.changes.last() else {
        return match count < RUNS_MIN {
            true => format!(
                "{label} over {}: a change that lasts takes {RUNS_MIN} to be seen, {} on either side.",
                format::plural(count as u64, "run", "runs"),
                RUNS_MIN / 2
            ),
            false => format!("{label} kept its level over {count} runs, as far as can be told."),
        };
    };
    let runs = count - last.at;
    let since = format::plural(runs as u64, "run", "runs");
    let all = match doc.changes.len() {
        1 => String::new(),
        several => format!(" It is the last of {several} changes."),
    };
    format!(
        "{label} changed by {} with run {} ({} UTC), {since} ago: from {} to {}.{all}",
        signed(last.change),
        name(last),
        minute(&last.started_at),
        level(last.before_ns),
        level(last.after_ns)
    )
}

fn name(change: &LevelChange) -> String {
    match &change.label {
        Some(label) => format!("{}, {label}", short(&change.id)),
        None => short(&change.id).into(),
    }
}

fn level(ns: f64) -> String {
    // Three digits: a mean is not exact.
    format::duration(ns.round() as u64)
}

pub(super) fn course(doc: &TrendDocument) -> Course {
    let points = doc.runs.iter().map(|run| Point {
        value: run.value_ns.max(1) as f64,
        is_bound: run.censored,
        reach: run.low_ns.zip(run.high_ns).map(|(low, high)| (low as f64, high as f64)),
        tick: tick(run).into(),
    });
    let steps = doc.changes.iter().map(|change| Step {
        at: change.at,
        before: change.before_ns,
        after: change.after_ns,
        label: change.label.clone().unwrap_or_else(|| short(&change.id).into()),
    });
    Course {
        axis: "response time",
        order: "runs, in the order in which they began",
        say: level,
        points: points.collect(),
        steps: steps.collect(),
    }
}

/// What a run goes by on an axis: the first characters of its label, or its day.
fn tick(run: &TrendRun) -> &str {
    let label = run.label.as_deref().filter(|label| !label.is_empty());
    let (text, characters) = label.map_or((run.started_at.as_str(), 10), |label| (label, 12));
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

fn changes(doc: &TrendDocument) -> Section {
    let row = |change: &LevelChange| {
        vec![
            (Paint::Bold, short(&change.id).into()),
            plain(minute(&change.started_at)),
            plain(level(change.before_ns)),
            (Paint::Response, level(change.after_ns)),
            (if change.change > 0.0 { Paint::Bad } else { Paint::Good }, signed(change.change)),
            plain(format::percent(change.p_value)),
            plain(change.label.clone().unwrap_or_default()),
        ]
    };
    let columns = [
        left("from run"),
        left("(UTC)"),
        right("before"),
        right("after"),
        right("change"),
        right("p"),
        left(""),
    ];
    let table = Table::new(columns, doc.changes.iter().map(row).collect());
    Section {
        class: "",
        name: "Changes",
        note: "p: how often runs in random order show one as clear".into(),
        blocks: vec![Block::Table(table)],
    }
}

fn notes(screen: &mut Screen, doc: &TrendDocument) {
    let mut notes = Vec::new();
    if doc.runs.iter().any(|run| run.censored) {
        notes.push(
            "^ is longer than what is known: the mark is a lower bound, and so are levels over it.".into(),
        );
    }
    let mut reasons: Vec<&str> = doc.left_out.iter().map(|run| run.why.as_str()).collect();
    reasons.sort_unstable();
    for same in reasons.chunk_by(|a, b| a == b) {
        let runs = format::plural(same.len() as u64, "run is", "runs are");
        notes.push(format!("{runs} left out: {}.", same[0]));
    }
    if doc.more {
        notes.push("There are older runs; --last takes more in.".into());
    }
    if !notes.is_empty() {
        screen.blank();
    }
    for note in notes {
        screen.marked(0, Paint::Dim, "·", &note);
    }
}
