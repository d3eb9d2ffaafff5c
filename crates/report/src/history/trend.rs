//! A percentile over runs in a terminal.

use super::{minute, short};
use crate::compare::signed;
use crate::facts::Title;
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::{Align, Paint, Screen, Span};
use unblink_artifact::history::{LevelChange, TrendDocument, TrendRun};

/// Lines of the picture.
const ROWS: usize = 12;
/// Characters of a value on its left.
const MARGIN: usize = 10;
/// Fewer can't show a change.
const RUNS_MIN: usize = 6;

pub(super) fn render(doc: &TrendDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    if doc.simulated {
        screen.labelled(Paint::Finding, "SIMULATED", "no request was sent.");
    }
    let (paint, word) = match doc.changes.last() {
        Some(change) if change.change > 0.0 => (Paint::Bad, "SLOWER"),
        Some(_) => (Paint::Good, "FASTER"),
        None if doc.runs.len() < RUNS_MIN => (Paint::Finding, "TOO FEW RUNS"),
        None => (Paint::Bold, "NO CHANGE"),
    };
    screen.labelled(paint, word, &sentence(doc));
    for target in &doc.targets {
        screen.paragraph(0, Paint::Plain, &format!("{} {}", target.method, target.url));
    }
    screen.paragraph(0, Paint::Plain, &doc.load);
    picture(&mut screen, doc);
    if !doc.changes.is_empty() {
        table(&mut screen, doc);
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
                "{label} over {}: a change takes {RUNS_MIN} to be seen, three on either side.",
                format::plural(count as u64, "run", "runs")
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

/// From left to right the runs, from bottom to top the logarithm of the percentile.
fn picture(screen: &mut Screen, doc: &TrendDocument) {
    let values = || doc.runs.iter().map(|run| run.value_ns.max(1) as f64);
    let (Some(low), Some(high)) = (values().reduce(f64::min), values().reduce(f64::max)) else { return };
    // Noise of a few per cent is to look like little.
    let (middle, half) = ((low * high).sqrt(), ((high / low).sqrt() * 1.05).max(1.25));
    let (from, to) = ((middle / half).ln(), (middle * half).ln());
    let count = doc.runs.len();
    let width = (screen.width() - MARGIN - 2).min(3 * count).max(1);
    let column = |run: usize| (run * width + width / 2) / count.max(1);
    let row = |ns: f64| {
        let share = ((to - ns.max(1.0).ln()) / (to - from)).clamp(0.0, 1.0);
        (share * (ROWS - 1) as f64).round() as usize
    };
    let mut cells = vec![vec![(Paint::Plain, ' '); width]; ROWS];
    let edges: Vec<usize> =
        [0].into_iter().chain(doc.changes.iter().map(|change| change.at)).chain([count]).collect();
    for (number, edge) in edges.windows(2).enumerate() {
        let level = match number.checked_sub(1).and_then(|before| doc.changes.get(before)) {
            Some(change) => Some(change.after_ns),
            None => doc.changes.first().map(|change| change.before_ns),
        };
        if let Some(level) = level {
            let end = if edge[1] == count { width } else { column(edge[1]) };
            let start = if edge[0] == 0 { 0 } else { column(edge[0]) };
            cells[row(level)][start..end].fill((Paint::Service, '─'));
        }
    }
    for change in &doc.changes {
        cells.iter_mut().for_each(|line| line[column(change.at)] = (Paint::Finding, '│'));
    }
    for (number, run) in doc.runs.iter().enumerate() {
        let mark = if run.censored { '^' } else { '•' };
        cells[row(run.value_ns as f64)][column(number).min(width - 1)] = (Paint::Response, mark);
    }
    screen.blank();
    for (number, line) in cells.into_iter().enumerate() {
        let tick = match number {
            0 | 5 | 11 => level((to - (to - from) * number as f64 / (ROWS - 1) as f64).exp()),
            _ => String::new(),
        };
        let mut spans: Vec<Span> = vec![(Paint::Dim, format!("{tick:>MARGIN$} "))];
        spans.extend(line.into_iter().map(|(paint, c)| (paint, c.to_string())));
        screen.line(&spans);
    }
    let tick = |run: &TrendRun| super::tick(run).to_string();
    if let (Some(first), Some(last)) = (doc.runs.first(), doc.runs.last()) {
        let (first, last) = (tick(first), tick(last));
        let gap = width.saturating_sub(first.len());
        let text = if gap > last.len() { format!("{first}{last:>gap$}") } else { first };
        screen.line(&[(Paint::Dim, format!("{:MARGIN$} {text}", ""))]);
    }
}

fn table(screen: &mut Screen, doc: &TrendDocument) {
    screen.heading("Changes", "p: how often runs in random order show one as clear");
    let names = ["from run", "(UTC)", "before", "after", "change", "p", ""];
    let mut rows: Vec<Vec<Span>> = vec![names.iter().map(|name| (Paint::Dim, name.to_string())).collect()];
    for change in &doc.changes {
        let paint = if change.change > 0.0 { Paint::Bad } else { Paint::Good };
        rows.push(vec![
            (Paint::Bold, short(&change.id).into()),
            (Paint::Plain, minute(&change.started_at)),
            (Paint::Plain, level(change.before_ns)),
            (Paint::Response, level(change.after_ns)),
            (paint, signed(change.change)),
            (Paint::Plain, format::percent(change.p_value)),
            (Paint::Plain, change.label.clone().unwrap_or_default()),
        ]);
    }
    let (left, right) = (Align::Left, Align::Right);
    screen.table(&[left, left, right, right, right, right, left], &rows);
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
