//! What a plan comes to, on a screen: the rate that it offers over time, drawn with characters, and words in lines.

use unblink_core::schedule::Schedule;
use unblink_core::time::Nanos;
use unblink_report::format;

/// Columns of the picture itself, at the most and at the least, and rows.
const WIDTH_MAX: usize = 60;
const WIDTH_MIN: usize = 20;
const ROWS: usize = 8;
/// A cell, filled by eighths from below.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The picture on a screen of so many columns; `warmup` comes before what is measured.
pub(crate) fn draw(schedule: &Schedule, warmup: Nanos, columns: usize) -> String {
    let length = schedule.span().0.max(1);
    let top = schedule.rate_max().as_per_s();
    let label = format::plain(&format::rate(top));
    let gutter = label.chars().count().max(3);
    let width = columns.saturating_sub(gutter + 5).clamp(WIDTH_MIN, WIDTH_MAX);
    let middle = |column: usize| Nanos((length as f64 * (column as f64 + 0.5) / width as f64) as u64);
    let heights: Vec<usize> = (0..width)
        .map(|column| schedule.rate_at(middle(column)))
        .map(|rate| match rate {
            rate if rate <= 0.0 => 0,
            // What is offered is never drawn as nothing.
            rate => ((rate / top * (ROWS * 8) as f64).round() as usize).max(1),
        })
        .collect();
    let mut out = String::from("Offered rate over time\n");
    for row in (0..ROWS).rev() {
        let label = match row {
            _ if row == ROWS - 1 => label.as_str(),
            0 => "0/s",
            _ => "",
        };
        let cells: String =
            heights.iter().map(|height| EIGHTHS[height.saturating_sub(row * 8).min(8)]).collect();
        out += format!("  {label:>gutter$} ┤{}", cells.trim_end()).trim_end();
        out.push('\n');
    }
    let end = format::plain(&format::moment(length));
    let fill = width.saturating_sub(3 + end.chars().count());
    out += &format!(
        "  {:>gutter$} └{}\n  {:>gutter$}  0 s{}{end}\n",
        "",
        "─".repeat(width),
        "",
        " ".repeat(fill)
    );
    if warmup > Nanos::ZERO {
        let columns = (warmup.0 as f64 / length as f64 * width as f64).round().max(1.0) as usize;
        let mark = "~".repeat(columns.min(width));
        out += &format!("  {:>gutter$}  {mark}\n  {:>gutter$}  ~ warm-up, which enters no figure\n", "", "");
    }
    out
}

/// In lines of at most `width` columns, where words permit.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += length;
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::schedule::{Phase, Process, Rate};

    #[test]
    fn a_ramp_after_a_hold() {
        let phases = [
            Phase::hold(Rate::per_second(100), Nanos::from_secs(10)),
            Phase { from: Rate::per_second(100), to: Rate::per_second(800), duration: Nanos::from_secs(50) },
        ];
        let schedule = Schedule::new(&phases, Process::Even, u64::MAX);
        let picture = draw(&schedule, Nanos::from_secs(10), 80);
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), ROWS + 5);
        assert!(lines[1].starts_with("  800/s ┤") && lines[1].ends_with('▇'), "{picture}");
        assert_eq!(lines[ROWS].matches('█').count(), WIDTH_MAX, "{picture}");
        assert!(lines[ROWS + 2].ends_with("60 s"), "{picture}");
        assert!(lines[ROWS + 3].contains(&"~".repeat(10)), "{picture}");
        for columns in [50, 60, 80] {
            let picture = draw(&schedule, Nanos::from_secs(10), columns);
            assert!(picture.lines().all(|line| line.chars().count() <= columns), "{picture}");
        }
    }
}
