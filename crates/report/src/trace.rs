//! What is in a trace, for a terminal.

use crate::block::{Block, Paint, Section, Table, left, plain, right};
use crate::format;
use crate::terminal::Style;
use crate::terminal::text::Screen;
use unblink_artifact::trace::{TraceSpread, TraceSummary};

/// Routes that are listed; the rest is counted in a line.
const ROUTES: usize = 15;
/// Rows of the picture.
const ROWS: usize = 6;
/// A cell, filled by eighths from below.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What is in a trace.
pub fn render(doc: &TraceSummary, style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.paragraph(0, Paint::Bold, &doc.file);
    let length = format::moment(doc.length_ns);
    let requests = format::plural(doc.requests, "request", "requests");
    screen.paragraph(0, Paint::Plain, &format!("{requests} over {length} from {}", doc.start));
    screen.paragraph(0, Paint::Dim, &format!("from {}", doc.source.join(", ")));
    for finding in &doc.findings {
        screen.marked(2, Paint::Finding, "·", &finding.message);
    }
    rate(&mut screen, doc);
    let sections = [routes(doc), statuses(doc), sizes(doc), users(doc), dispersion(doc), lacking(doc)];
    sections.iter().flatten().for_each(|section| screen.section(section));
    screen.finish()
}

fn section(name: &'static str, note: &str, blocks: Vec<Block>) -> Option<Section> {
    Some(Section { class: "", name, note: note.into(), blocks })
}

/// Drawn from the counts of the document: each column has whole cells, and its height is their mean.
fn rate(screen: &mut Screen, doc: &TraceSummary) {
    if doc.length_ns == 0 {
        return;
    }
    let seconds = doc.length_ns as f64 / 1e9;
    let mean = format::rate(doc.requests as f64 / seconds);
    screen.heading(
        "Rate over time",
        &format!("mean {mean}, {} in the busiest second", format::count(doc.peak_in_a_second)),
    );
    let per_column = doc.cells.len().div_ceil(screen.width().saturating_sub(16).max(1)).max(1);
    let cell_s = doc.cell_ns as f64 / 1e9;
    let columns: Vec<f64> = doc
        .cells
        .chunks(per_column)
        .enumerate()
        .map(|(number, cells)| {
            // The last column ends with the trace.
            let begin = (number * per_column) as f64 * cell_s;
            let length = (cells.len() as f64 * cell_s).min(seconds - begin).max(cell_s.min(seconds));
            cells.iter().sum::<u64>() as f64 / length
        })
        .collect();
    let top = columns.iter().copied().fold(0.0, f64::max);
    let label = format::plain(&format::rate(top));
    let gutter = label.chars().count().max(3);
    for row in (0..ROWS).rev() {
        let label = match row {
            0 => "0/s",
            _ if row == ROWS - 1 => &label,
            _ => "",
        };
        let cells: String = columns
            .iter()
            .map(|rate| {
                let height = (rate / top * (ROWS * 8) as f64).round() as usize;
                // What is there is never drawn as nothing.
                let height = if *rate > 0.0 { height.max(1) } else { 0 };
                EIGHTHS[height.saturating_sub(row * 8).min(8)]
            })
            .collect();
        screen.line(&[plain(format!("  {label:>gutter$} ┤{}", cells.trim_end()).trim_end())]);
    }
    let end = format::plain(&format::moment(doc.length_ns));
    let width = columns.len().max(end.chars().count() + 4);
    screen.line(&[plain(format!("  {:>gutter$} └{}", "", "─".repeat(width)))]);
    let fill = width.saturating_sub(3 + end.chars().count());
    screen.line(&[plain(format!("  {:>gutter$}  0 s{}{end}", "", " ".repeat(fill)))]);
}

fn routes(doc: &TraceSummary) -> Option<Section> {
    let row = |name: &str, requests: u64| {
        vec![plain(name), plain(format::count(requests)), plain(format::share(requests, doc.requests))]
    };
    let shown: u64 = doc.routes.iter().take(ROUTES).map(|route| route.requests).sum();
    let rest = doc.requests.saturating_sub(shown);
    let others = (rest > 0).then(|| row("others", rest));
    let rows = doc.routes.iter().take(ROUTES).map(|route| row(&route.name, route.requests)).chain(others);
    let columns = [left(""), right("requests"), right("share")];
    section("What is asked", "ids as {id}", vec![Block::Table(Table::new(columns, rows.collect()))])
}

fn statuses(doc: &TraceSummary) -> Option<Section> {
    if doc.statuses.is_empty() {
        return None;
    }
    let pair = |(status, count): (&u16, &u64)| (format!("with {status}"), format::count(*count));
    let pairs = doc.statuses.iter().map(pair).collect();
    section("Status", "", vec![Block::Counts(pairs)])
}

fn sizes(doc: &TraceSummary) -> Option<Section> {
    let row = |name: &str, spread: &Option<TraceSpread>, show: fn(u64) -> String| {
        let spread = spread.as_ref()?;
        let values = [spread.p50, spread.p90, spread.p99, spread.max].map(|value| plain(show(value)));
        Some([plain(name)].into_iter().chain(values).collect())
    };
    let rows: Vec<_> = [
        row("answer", &doc.answer_bytes, format::bytes),
        row("request", &doc.request_bytes, format::bytes),
        row("duration, as logged", &doc.took_ns, format::duration),
    ]
    .into_iter()
    .flatten()
    .collect();
    if rows.is_empty() {
        return None;
    }
    let columns = [left(""), right("p50"), right("p90"), right("p99"), right("max")];
    section("Sizes and durations", "", vec![Block::Table(Table::new(columns, rows))])
}

fn users(doc: &TraceSummary) -> Option<Section> {
    let users = doc.users.as_ref()?;
    let about = if users.is_estimate { "about " } else { "" };
    let count = format::plural(users.count, "user", "users");
    let each = users.requests as f64 / users.count.max(1) as f64;
    let line = format!(
        "{about}{count}, {each:.1} requests each; the busiest sent {} ({})",
        format::count(users.busiest),
        format::share(users.busiest, users.requests)
    );
    section("Users", "", vec![Block::Line(Paint::Plain, line)])
}

fn dispersion(doc: &TraceSummary) -> Option<Section> {
    if doc.dispersion.is_empty() {
        return None;
    }
    let rows = doc.dispersion.iter().map(|one| {
        vec![
            plain(format!("in {}", format::moment(one.window_ns))),
            plain(format!("{:.2}", one.index)),
            plain(format::count(one.windows)),
        ]
    });
    let columns = [left("requests"), right("variance / mean"), right("windows")];
    let note = "index of dispersion: 1 is Poisson, more is bursts or a rate that changes";
    section("Burstiness", note, vec![Block::Table(Table::new(columns, rows.collect()))])
}

fn lacking(doc: &TraceSummary) -> Option<Section> {
    if doc.lacking.is_empty() {
        return None;
    }
    let words = |code: &str| match code {
        "body" => "a body",
        "credentials" => "credentials",
        "query_values" => "values of the query",
        "path_ids" => "ids of the path, which are numbers now",
        _ => "a path of this server",
    };
    let rows = doc.lacking.iter().map(|(code, count)| {
        vec![plain(words(code)), plain(format::count(*count)), plain(format::share(*count, doc.requests))]
    });
    let columns = [left("they had"), right("requests"), right("share")];
    let note = "requests that can't be sent again as they were";
    section("What the trace lacks", note, vec![Block::Table(Table::new(columns, rows.collect()))])
}
