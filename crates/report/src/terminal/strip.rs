//! When it was slow: figures over time, a column for each stretch, as high as the figure.
//!
//! Drawn from the rows of the document's series. Each line has a scale of its own from 0, which is linear; its highest
//! figure and when it was stand at its end.

use super::text::{Paint, Screen, clean};
use crate::{facts, format};
use unblink_artifact::document::{RunDocument, SeriesRow};

/// With fewer rows there is no time to speak of.
const ROWS_MIN: usize = 3;
/// Columns of the strip itself, at most and at least.
const WIDTH_MAX: usize = 60;
const WIDTH_MIN: usize = 12;
/// Characters of a line's name.
const NAME: usize = 6;
/// Heights of a figure that is not nothing.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const SECOND_NS: u64 = 1_000_000_000;
/// Nothing was answered.
const NONE: char = '×';
/// Ticks below the strip.
const TICKS: usize = 4;

/// Draws the strip; nothing where there are too few rows.
pub(super) fn draw(screen: &mut Screen, doc: &RunDocument) {
    let rows = whole(&doc.series.rows);
    if rows.len() < ROWS_MIN || rows.iter().all(|row| row.response_max_ns.is_none()) {
        return;
    }
    let lines = lines(rows);
    let label_width = lines.iter().map(|line| line.label.chars().count()).max().unwrap_or(0);
    let room = screen.width().saturating_sub(2 + NAME + 2 + 2 + label_width);
    let strip = Strip::new(rows, room.clamp(WIDTH_MIN, WIDTH_MAX));
    screen.heading("Over time", "what was answered then; linear, from 0 to the highest at the end");
    let mut has_none = false;
    for line in lines {
        let cells = strip.cells(&line.values);
        has_none |= cells.contains(NONE);
        let width = strip.width();
        screen.line(&[
            (Paint::Plain, format!("  {:NAME$}  ", line.name)),
            (line.paint, format!("{cells:width$}")),
            (Paint::Plain, format!("  {}", line.label)),
        ]);
    }
    screen.line(&[(Paint::Dim, format!("  {:NAME$}  {}", "", strip.axis(rows)))]);
    if let Some(name) = facts::left_out_name(doc) {
        let until = doc.measured_from_ns();
        let left_out = rows.iter().take_while(|row| row.start_ns < until).count();
        let mark = "~".repeat(strip.column(left_out).max(1).min(strip.width()));
        screen.line(&[(Paint::Dim, format!("  {:NAME$}  {mark}", ""))]);
        screen.line(&[(Paint::Dim, format!("  {:NAME$}  ~ {name}", ""))]);
    }
    if has_none {
        screen.marked(2, Paint::Dim, &NONE.to_string(), "nothing was answered");
    }
    if strip.rows_per_cell > 1 || doc.series.intervals_per_row > 1 {
        let of = format::moment(column_ns(rows, &strip));
        screen.marked(2, Paint::Dim, "·", &format!("a column is {of} long, and shows its worst interval"));
    }
}

/// Without a last row of less than half of the others' length: a few answers in it would decide what is the highest.
fn whole(rows: &[SeriesRow]) -> &[SeriesRow] {
    let usual = rows.iter().map(|row| row.length_ns).max().unwrap_or(0);
    match rows.split_last() {
        Some((last, others)) if last.length_ns < usual / 2 => others,
        _ => rows,
    }
}

/// How long a column is that has all its rows.
fn column_ns(rows: &[SeriesRow], strip: &Strip) -> u64 {
    rows.iter().take(strip.rows_per_cell).fold(0, |sum, row| sum.saturating_add(row.length_ns))
}

/// A figure over time.
struct Line {
    name: &'static str,
    paint: Paint,
    /// By row.
    values: Vec<Option<f64>>,
    /// The highest, and when it was.
    label: String,
}

fn lines(rows: &[SeriesRow]) -> Vec<Line> {
    let time = |name, of: fn(&SeriesRow) -> Option<u64>| {
        let values: Vec<Option<f64>> = rows.iter().map(|row| of(row).map(|ns| ns as f64)).collect();
        line(name, Paint::Response, rows, values, |ns| format::duration(ns as u64))
    };
    let mut lines = vec![
        time("max", |row| row.response_max_ns),
        time("p99", |row| row.response_p99_ns),
        time("p50", |row| row.response_p50_ns),
    ];
    if rows.iter().any(|row| errors(row) > 0) {
        let shares = rows.iter().map(|row| {
            let ended = errors(row).saturating_add(row.ok);
            (ended > 0).then(|| errors(row) as f64 / ended as f64)
        });
        lines.push(line("errors", Paint::Failure, rows, shares.collect(), format::percent));
    }
    lines
}

fn errors(row: &SeriesRow) -> u64 {
    row.failed.saturating_add(row.timed_out)
}

fn line(
    name: &'static str,
    paint: Paint,
    rows: &[SeriesRow],
    values: Vec<Option<f64>>,
    write: impl Fn(f64) -> String,
) -> Line {
    let highest = values.iter().zip(rows).filter_map(|(value, row)| Some(((*value)?, row)));
    // The first of equals.
    let highest = highest.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let label = highest.map_or_else(String::new, |(value, row)| {
        let (from, to) = (row.start_ns, row.start_ns.saturating_add(row.length_ns));
        clean(&format!("{} at {}", write(value), stretch(from, to)))
    });
    Line { name, paint, values, label }
}

/// The last row is as long as the last answer took: what is left of a second is no time for an axis.
fn rounded(ns: u64) -> u64 {
    if ns < 10 * SECOND_NS { ns } else { ns.saturating_add(SECOND_NS / 2) / SECOND_NS * SECOND_NS }
}

/// `30–31 s`; of longer times `5 min–5 min 01 s`.
fn stretch(from_ns: u64, to_ns: u64) -> String {
    let (from, to) = (format::moment(from_ns), format::moment(to_ns));
    match from.strip_suffix("\u{a0}s").filter(|from| !from.contains('\u{a0}')) {
        Some(seconds) if to.ends_with("\u{a0}s") && !to.contains("min") => format!("{seconds}–{to}"),
        _ => format!("{from}–{to}"),
    }
}

/// Which rows stand in which column.
struct Strip {
    rows: usize,
    /// More than one where there are more rows than columns.
    rows_per_cell: usize,
    /// More than one where there are few rows.
    columns_per_cell: usize,
}

impl Strip {
    fn new(rows: &[SeriesRow], width: usize) -> Strip {
        let rows_per_cell = rows.len().div_ceil(width);
        let cells = rows.len().div_ceil(rows_per_cell);
        Strip { rows: rows.len(), rows_per_cell, columns_per_cell: (width / cells).max(1) }
    }

    fn width(&self) -> usize {
        self.rows.div_ceil(self.rows_per_cell) * self.columns_per_cell
    }

    /// Where the row of this number begins.
    fn column(&self, row: usize) -> usize {
        row / self.rows_per_cell * self.columns_per_cell
    }

    /// The worst of each cell's rows, as high as it is beside the worst of all.
    fn cells(&self, values: &[Option<f64>]) -> String {
        let most = values.iter().flatten().copied().fold(0.0, f64::max);
        let worst = |cell: &[Option<f64>]| cell.iter().flatten().copied().reduce(f64::max);
        let height = |value: Option<f64>| match value {
            None => NONE,
            Some(value) if value <= 0.0 || most <= 0.0 => ' ',
            // What is not nothing is seen.
            Some(value) => EIGHTHS[((value / most * 8.0).round() as usize).clamp(1, 8) - 1],
        };
        let cells = values.chunks(self.rows_per_cell).map(|cell| height(worst(cell)));
        cells.flat_map(|mark| std::iter::repeat_n(mark, self.columns_per_cell)).collect()
    }

    /// When the columns begin, and at the right when the last one ends.
    fn axis(&self, rows: &[SeriesRow]) -> String {
        let mut axis = String::new();
        let end = rows.last().map_or(0, |row| row.start_ns.saturating_add(row.length_ns));
        let end = clean(&format::moment(rounded(end)));
        let end_at = self.width().saturating_sub(end.chars().count());
        for tick in 0..TICKS {
            // A row that begins a cell, so that the time is that of the column.
            let row = rows.len() * tick / TICKS / self.rows_per_cell * self.rows_per_cell;
            let text = clean(&format::moment(rows[row].start_ns));
            let (at, used) = (self.column(row), axis.chars().count());
            let is_clear = used == 0 || at > used;
            if is_clear && at + text.chars().count() < end_at {
                axis += &" ".repeat(at - used);
                axis += &text;
            }
        }
        axis += &" ".repeat(end_at.saturating_sub(axis.chars().count()));
        axis + &end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::terminal::Style;

    fn drawn(doc: &RunDocument, width: u16) -> Vec<String> {
        let mut screen = Screen::new(&Style { width, color: false });
        draw(&mut screen, doc);
        screen.finish().lines().map(str::to_string).collect()
    }

    /// A row a second: p99, and the longest ten times that.
    fn document(p99_ms: &[Option<u64>]) -> RunDocument {
        let mut doc = fixture::stall();
        let row = |(k, ms): (usize, &Option<u64>)| SeriesRow {
            start_ns: k as u64 * 1_000_000_000,
            length_ns: 1_000_000_000,
            ok: 100,
            response_p50_ns: ms.map(|ms| ms * 500_000),
            response_p99_ns: ms.map(|ms| ms * 1_000_000),
            response_max_ns: ms.map(|ms| ms * 10_000_000),
            ..SeriesRow::default()
        };
        doc.series.rows = p99_ms.iter().enumerate().map(row).collect();
        doc
    }

    /// The values are read back out of the picture: in eighths of the highest, at their time.
    #[test]
    fn heights_are_linear_and_stand_at_their_time() {
        let values: Vec<Option<u64>> = (1..=8).map(|k| Some(10 * k)).collect();
        let lines = drawn(&document(&values), 80);
        let p99 = lines.iter().find(|line| line.starts_with("  p99 ")).expect("a line");
        let cells: Vec<char> = p99.chars().skip(2 + NAME + 2).step_by(6).take(8).collect();
        assert_eq!(cells, EIGHTHS, "{lines:#?}");
        assert!(p99.ends_with("  80 ms at 7–8 s"), "{p99}");
        let max = lines.iter().find(|line| line.starts_with("  max ")).expect("a line");
        assert!(max.ends_with("  800 ms at 7–8 s"), "{max}");
        let axis = lines.last().expect("an axis");
        for (time, column) in [("0 s", 0), ("2 s", 12), ("4 s", 24), ("6 s", 36)] {
            let shown: String = axis.chars().skip(2 + NAME + 2 + column).take(3).collect();
            assert_eq!(shown, time, "{axis}");
        }
        assert!(axis.ends_with("8 s"), "{axis}");
    }

    #[test]
    fn more_rows_than_columns_keep_their_worst() {
        let mut values = vec![Some(10); 600];
        values[437] = Some(1_000);
        let lines = drawn(&document(&values), 80);
        let p99 = lines.iter().find(|line| line.starts_with("  p99 ")).expect("a line");
        assert_eq!((p99.matches('█').count(), p99.matches('▁').count()), (1, 35), "{p99}");
        assert!(p99.ends_with("1 s at 7 min 17 s–7 min 18 s"), "{p99}");
        let note = lines.last().expect("a note");
        assert!(note.ends_with("a column is 17 s long, and shows its worst interval"), "{note}");
    }

    #[test]
    fn a_time_without_answers_is_not_a_quick_one() {
        let mut doc = document(&[Some(10), None, None, Some(10)]);
        doc.series.rows[1].ok = 0;
        doc.series.rows[2].ok = 0;
        doc.series.rows[2].timed_out = 50;
        let lines = drawn(&doc, 60);
        let line = |name: &str| lines.iter().find(|line| line.starts_with(name)).expect("a line").clone();
        assert!(
            line("  p99 ").contains('×') && lines.concat().contains("× nothing was answered"),
            "{lines:?}"
        );
        assert!(line("  errors").contains('█') && line("  errors").ends_with("100 % at 2–3 s"), "{lines:?}");
    }

    #[test]
    fn a_share_of_errors_is_as_high_as_it_is_large() {
        let mut doc = document(&[Some(10); 10]);
        doc.series.rows[4].failed = 100;
        doc.series.rows[7].timed_out = 6;
        let lines = drawn(&doc, 80);
        let errors = lines.iter().find(|line| line.starts_with("  errors")).expect("a line");
        assert!(
            errors.contains("████") && errors.contains("▁▁▁▁") && errors.ends_with("50 % at 4–5 s"),
            "{errors}"
        );
        assert!(drawn(&fixture::stall(), 80).iter().all(|line| !line.contains("errors")));
    }

    /// A few answers in the last milliseconds stood as wide as a second, and as the highest.
    #[test]
    fn a_fraction_of_a_row_at_the_end_is_left_out() {
        let mut doc = document(&[Some(10), Some(20), Some(10), Some(500)]);
        doc.series.rows[3].length_ns = 8_000_000;
        let lines = drawn(&doc, 80);
        let p99 = lines.iter().find(|line| line.starts_with("  p99 ")).expect("a line");
        assert!(p99.ends_with("20 ms at 1–2 s"), "{p99}");
        doc.series.rows[3].length_ns = 600_000_000;
        assert!(drawn(&doc, 80).concat().contains("500 ms at 3–3.6 s"));
    }

    #[test]
    fn too_little_time_has_no_strip() {
        assert!(drawn(&document(&[Some(10), Some(20)]), 80).is_empty());
    }
}
