//! What a plan comes to, on a screen: the rate that it offers over time, drawn with characters, and words in lines.

use unblink_core::plan::{LoadSpec, OpenPart, Plan, highest_per_s};
use unblink_core::schedule::Schedule;
use unblink_core::time::Nanos;
use unblink_report::format;

/// Columns of the picture itself, at the most and at the least, and rows.
const WIDTH_MAX: usize = 60;
const WIDTH_MIN: usize = 20;
const ROWS: usize = 8;
/// A cell, filled by eighths from below.
pub(super) const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The picture of an open plan on a screen of so many columns: what its loads offer together and, where there are
/// several, what each of them offers.
pub(crate) fn of(plan: &Plan, columns: usize) -> String {
    let schedules: Vec<&Schedule> = plan.schedules().map(|schedule| &**schedule).collect();
    let sum = |at: Nanos| schedules.iter().map(|schedule| schedule.rate_at(at)).sum();
    let top = match &schedules[..] {
        [only] => only.rate_max().as_per_s(),
        _ => highest_per_s(&plan.spec().load.open_parts()),
    };
    let mut out = draw(&sum, top, plan.load_length(), plan.spec().warmup, columns);
    let bursts = bursts(&schedules);
    if !bursts.is_empty() {
        out += &wrapped(&format!("This is the mean: {}.", bursts.join(", ")), columns);
    }
    if let LoadSpec::Several(parts) = &plan.spec().load
        && parts.len() > 1
    {
        out += &each(parts, &schedules, plan.load_length(), columns);
    }
    out
}

/// How high the bursts of each bursty load go.
fn bursts(schedules: &[&Schedule]) -> Vec<String> {
    let bursty = schedules.iter().filter(|schedule| schedule.process().peak() > 1.0);
    let said = |schedule: &&Schedule| {
        let top = schedule.rate_max().as_per_s() * schedule.process().peak();
        format!("bursts go up to {}", format::plain(&format::rate(top)))
    };
    bursty.map(said).collect()
}

/// A row for each load, up to its own highest rate.
fn each(parts: &[OpenPart], schedules: &[&Schedule], length: Nanos, columns: usize) -> String {
    let labels: Vec<String> = parts.iter().map(|part| part.name.clone().unwrap_or_default()).collect();
    let tops: Vec<f64> = schedules.iter().map(|schedule| schedule.rate_max().as_per_s()).collect();
    let rates: Vec<String> = tops.iter().map(|&top| format::plain(&format::rate(top))).collect();
    let widest = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or_default();
    let room = columns.saturating_sub(WIDTH_MIN + widest(&rates) + 7).max(8);
    let name = widest(&labels).min(room);
    let rate = widest(&rates);
    let width = columns.saturating_sub(name + rate + 6).clamp(WIDTH_MIN, WIDTH_MAX);
    let mut out = String::from("Each load, up to its own highest rate\n");
    for ((label, said), (schedule, &top)) in labels.iter().zip(&rates).zip(schedules.iter().zip(&tops)) {
        let label: String = label.chars().take(name).collect();
        let cells = heights(&|at| schedule.rate_at(at), top, length, width, 8);
        let cells: String = cells.into_iter().map(|height| EIGHTHS[height]).collect();
        out += format!("  {label:<name$}  {said:>rate$} ┤{}", cells.trim_end()).trim_end();
        out.push('\n');
    }
    out
}

/// The rate in each column, in `steps` up to `top`.
fn heights(
    rate_at: &dyn Fn(Nanos) -> f64,
    top: f64,
    length: Nanos,
    width: usize,
    steps: usize,
) -> Vec<usize> {
    let middle =
        |column: usize| Nanos((length.0.max(1) as f64 * (column as f64 + 0.5) / width as f64) as u64);
    let height = |rate: f64| match rate {
        rate if rate <= 0.0 => 0,
        // What is offered is never drawn as nothing.
        rate => ((rate / top * steps as f64).round() as usize).clamp(1, steps),
    };
    (0..width).map(|column| height(rate_at(middle(column)))).collect()
}

/// A rate over time, which is `top` at its highest; `warmup` comes before what is measured.
fn draw(rate_at: &dyn Fn(Nanos) -> f64, top: f64, length: Nanos, warmup: Nanos, columns: usize) -> String {
    let label = format::plain(&format::rate(top));
    let gutter = label.chars().count().max(3);
    let width = columns.saturating_sub(gutter + 5).clamp(WIDTH_MIN, WIDTH_MAX);
    let heights = heights(rate_at, top, length, width, ROWS * 8);
    let length = length.0.max(1);
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

/// With an ellipsis where it does not fit.
pub(super) fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
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
        let (span, top) = (schedule.span(), schedule.rate_max().as_per_s());
        let draw = |columns| draw(&|at| schedule.rate_at(at), top, span, Nanos::from_secs(10), columns);
        let picture = draw(80);
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), ROWS + 5);
        assert!(lines[1].starts_with("  800/s ┤") && lines[1].ends_with('▇'), "{picture}");
        assert_eq!(lines[ROWS].matches('█').count(), WIDTH_MAX, "{picture}");
        assert!(lines[ROWS + 2].ends_with("60 s"), "{picture}");
        assert!(lines[ROWS + 3].contains(&"~".repeat(10)), "{picture}");
        for columns in [50, 60, 80] {
            let picture = draw(columns);
            assert!(picture.lines().all(|line| line.chars().count() <= columns), "{picture}");
        }
    }
}
