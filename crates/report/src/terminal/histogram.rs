//! Response times as a picture of rows: cells of the heat map summed over time.

use super::text::{Align, Paint, Screen, Span, clean};
use crate::{facts, format};
use unblink_artifact::document::RunDocument;

/// Rows at most; bins are put together to stay below.
const ROWS_MAX: usize = 16;
/// Not nothing, and shorter than the shortest bar.
const FEW: char = '∙';
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Draws the histogram; nothing where nothing is known.
pub(super) fn draw(screen: &mut Screen, doc: &RunDocument) {
    let bins = bins(doc);
    let censored = censored(doc);
    let (Some(first), Some(last)) = (bins.iter().position(|&n| n > 0), bins.iter().rposition(|&n| n > 0))
    else {
        return;
    };
    screen
        .heading("Response times", &format!("arrivals, as many as the bar is long; {FEW} too few for a bar"));
    let edges = &doc.heatmap.bin_edges_ns;
    let per_row = (last + 1 - first).div_ceil(ROWS_MAX);
    let groups: Vec<(usize, u64)> = (first..=last)
        .step_by(per_row)
        .map(|from| {
            (
                from,
                bins[from..(from + per_row).min(last + 1)]
                    .iter()
                    .fold(0, |sum: u64, n| sum.saturating_add(*n)),
            )
        })
        .collect();
    let most = groups.iter().map(|group| group.1).max().unwrap_or(1);
    let most = censored.iter().map(|(_, n)| *n).fold(most, u64::max);

    let labels: Vec<[String; 2]> = groups
        .iter()
        .map(|&(from, _)| {
            let low = if from == 0 { 0 } else { edges[from] };
            let high = edges.get(from + per_row).map_or("and more".into(), |&high| format::duration(high));
            // From where on is enough where there is little room.
            let high = if screen.is_narrow() { String::new() } else { high };
            [clean(&format::duration(low)), clean(&high)]
        })
        .collect();
    let count_width = clean(&format::count(most)).chars().count();
    let mut label_widths = [0, 1].map(|i| labels.iter().map(|l| l[i].chars().count()).max().unwrap_or(0));
    // The bars of all rows begin together.
    let longest = censored.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    label_widths[0] = label_widths[0].max(longest.saturating_sub(label_widths[1] + 3));
    let mark_width = widest_mark(doc, &groups, per_row);
    // Between them: indent, dash, and a gap on either side of the bar and before the marks.
    let used = 2 + label_widths[0] + 3 + label_widths[1] + 2 + 2 + count_width + 2 + mark_width;
    let bar_width = screen.width().saturating_sub(used).max(if screen.is_narrow() { 4 } else { 8 });

    let align = [Align::Right, Align::Left, Align::Left];
    let rows: Vec<Vec<Span>> = groups
        .iter()
        .zip(&labels)
        .map(|(&(from, n), label)| {
            let (low, high) = bounds(edges, from, per_row);
            let text =
                format!("{:>a$} – {:>b$}", label[0], label[1], a = label_widths[0], b = label_widths[1]);
            let bar = bar(n, most, bar_width);
            let right = format!("{:>count_width$}  {}", clean(&format::count(n)), marks(doc, low, high));
            vec![(Paint::Plain, text), (Paint::Response, format!("{bar:bar_width$}")), (Paint::Plain, right)]
        })
        .collect();
    screen.table(&align, &rows);
    let label_width = label_widths[0] + 3 + label_widths[1];
    let mut marks = marks_beyond(doc);
    for (label, n) in censored {
        // Whole characters only: there are no parts of this one.
        let hatched = match (n as f64 / most.max(1) as f64 * bar_width as f64).round() as usize {
            0 => FEW.to_string(),
            length => "░".repeat(length),
        };
        let right = format!("{:>count_width$}  {}", clean(&format::count(n)), std::mem::take(&mut marks));
        screen.line(&[
            (Paint::Plain, format!("  {label:>label_width$}  ")),
            (Paint::Dim, format!("{hatched:bar_width$}")),
            (Paint::Plain, format!("  {right}")),
        ]);
    }
}

/// Arrivals of which only a bound is known, by what became of them.
fn censored(doc: &RunDocument) -> Vec<(&'static str, u64)> {
    let a = &doc.arrivals;
    [("no answer in time", a.timed_out), ("open at the end", a.unfinished.saturating_add(a.unsent))]
        .into_iter()
        .filter(|(_, n)| *n > 0)
        .collect()
}

fn measured(doc: &RunDocument) -> impl Iterator<Item = &unblink_artifact::document::HeatColumn> {
    doc.heatmap.columns.iter().filter(|column| column.start_ns >= doc.measured_from_ns())
}

/// Cells summed over time, as long as the edges.
fn bins(doc: &RunDocument) -> Vec<u64> {
    let mut bins = vec![0u64; doc.heatmap.bin_edges_ns.len()];
    for column in measured(doc) {
        for &(bin, n) in &column.cells {
            if let Some(sum) = bins.get_mut(bin as usize) {
                *sum += u64::from(n);
            }
        }
    }
    bins
}

fn bounds(edges: &[u64], from: usize, per_row: usize) -> (u64, u64) {
    (if from == 0 { 0 } else { edges[from] }, edges.get(from + per_row).copied().unwrap_or(u64::MAX))
}

fn widest_mark(doc: &RunDocument, groups: &[(usize, u64)], per_row: usize) -> usize {
    let edges = &doc.heatmap.bin_edges_ns;
    let marks = groups.iter().map(|&(from, _)| {
        let (low, high) = bounds(edges, from, per_row);
        marks(doc, low, high).chars().count()
    });
    marks.max().unwrap_or(0).max(marks_beyond(doc).chars().count())
}

/// `◂ p50 p99` where those lie in `low..high`.
fn marks(doc: &RunDocument, low: u64, high: u64) -> String {
    let (shown, _) = facts::shown(&doc.response_time);
    let here =
        doc.response_time.quantiles[..shown].iter().filter(|q| !q.censored && (low..high).contains(&q.value));
    arrow(here.map(|q| q.q))
}

fn marks_beyond(doc: &RunDocument) -> String {
    arrow(doc.response_time.quantiles.iter().filter(|q| q.censored).map(|q| q.q))
}

fn arrow(quantiles: impl Iterator<Item = f64>) -> String {
    const SHOWN: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
    let labels: Vec<String> = quantiles.filter(|q| SHOWN.contains(q)).map(format::quantile_label).collect();
    if labels.is_empty() { String::new() } else { format!("◂ {}", labels.join(" ")) }
}

/// A bar in eighths of a character, as long as `n` is beside `most`.
fn bar(n: u64, most: u64, width: usize) -> String {
    let eighths = (n as f64 / most.max(1) as f64 * (width * 8) as f64).round() as usize;
    if eighths == 0 {
        return if n == 0 { String::new() } else { FEW.to_string() };
    }
    let mut bar = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.push(EIGHTHS[eighths % 8 - 1]);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::terminal::Style;

    /// 40 looked like half of 4,126.
    #[test]
    fn a_bar_is_as_long_as_its_count() {
        for (n, most) in
            [(4_126, 4_126), (2_063, 4_126), (1_000, 4_126), (120, 4_126), (59_004, 60_000), (1, 3)]
        {
            let eighths: usize = bar(n, most, 40)
                .chars()
                .map(|c| EIGHTHS.iter().position(|&part| part == c).map_or(0, |place| place + 1))
                .sum();
            let share = n as f64 / most as f64;
            assert!((eighths as f64 / 320.0 - share).abs() <= 0.5 / 320.0 + 1e-9, "{n} of {most}: {eighths}");
        }
        assert_eq!(bar(40, 4_126, 40), "▍");
        assert_eq!((bar(1, 4_126, 40).as_str(), bar(0, 4_126, 40).as_str()), ("∙", ""));
    }

    #[test]
    fn arrivals_without_an_answer_are_named_by_what_became_of_them() {
        let mut doc = fixture::saturated();
        doc.arrivals.timed_out -= 11;
        doc.arrivals.unfinished = 9;
        doc.arrivals.unsent = 2;
        let mut screen = Screen::new(&Style { width: 60, color: false });
        draw(&mut screen, &doc);
        let text = screen.finish();
        assert!(text.contains("  no answer in time  ░"), "{text}");
        assert!(text.contains("    open at the end  ∙") && text.trim_end().ends_with("11"), "{text}");
        assert!(!text.contains('>'), "{text}");
    }
}
