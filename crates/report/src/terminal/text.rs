//! Lines of spans, wrapping, and tables, all within a width.

use super::Style;
pub(crate) use super::fit::clean;
use super::fit::{NAME_MIN, begin_alike, cells, cut, cut_name, whole_figures, within, wrap};
pub(crate) use crate::block::{Align, Paint, Span};
use crate::block::{Block, Room, Section, Table};
use unblink_artifact::document::Severity;

/// Columns from which on there is room for both response and service time with all that belongs to them.
const WIDE_MIN: usize = 78;

/// SGR parameters; from the 256 colours, chosen to be told apart by the colour-blind and to be readable
/// on black and on white.
fn sgr(paint: Paint) -> Option<&'static str> {
    match paint {
        Paint::Plain => None,
        Paint::Bold => Some("1"),
        Paint::Dim => Some("2"),
        Paint::Response => Some("38;5;166"),
        Paint::Service => Some("38;5;32"),
        Paint::Finding => Some("38;5;172"),
        Paint::Failure => Some("38;5;169"),
        Paint::Good => Some("1;38;5;29"),
        Paint::Bad => Some("1;38;5;160"),
    }
}

/// Text under construction.
pub(crate) struct Screen {
    out: String,
    width: usize,
    color: bool,
}

impl Screen {
    pub(crate) fn new(style: &Style) -> Screen {
        Screen { out: String::new(), width: usize::from(style.width.clamp(40, 120)), color: style.color }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn finish(self) -> String {
        self.out
    }

    pub(crate) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Too narrow for all that stands in tables elsewhere.
    pub(crate) fn is_narrow(&self) -> bool {
        self.width < 60
    }

    /// A section's name after a blank line.
    pub(crate) fn heading(&mut self, name: &str, note: &str) {
        self.blank();
        if cells(name) + 2 + cells(&clean(note)) > self.width {
            self.line(&[(Paint::Bold, name.into())]);
            return self.paragraph(2, Paint::Dim, note);
        }
        self.line(&[(Paint::Bold, name.into()), (Paint::Dim, format!("  {note}"))]);
    }

    /// How much stands beside each other.
    pub(crate) fn room(&self) -> Room {
        if self.width < WIDE_MIN { Room::Narrow } else { Room::Terminal }
    }

    /// A heading and what stands below it.
    pub(crate) fn section(&mut self, section: &Section) {
        self.heading(section.name, &section.note);
        section.blocks.iter().for_each(|block| self.block(block));
    }

    /// One thing in a section.
    pub(crate) fn block(&mut self, block: &Block) {
        match block {
            Block::Line(paint, text) => self.paragraph(2, *paint, text),
            Block::Marked(paint, mark, text) => self.marked(2, *paint, mark, text),
            Block::Pairs(pairs) => {
                let pairs: Vec<String> =
                    pairs.iter().map(|(name, figure)| format!("{name} {figure}")).collect();
                self.paragraph(2, Paint::Plain, &pairs.join(" · "));
            }
            Block::Counts(counts) => {
                let counts: Vec<String> = counts.iter().map(|(name, n)| format!("{n} {name}")).collect();
                self.paragraph(2, Paint::Plain, &counts.join(" · "));
            }
            Block::Table(table) => self.table(&table.align, &table.lines()),
            Block::Named(named) => {
                let width = named.iter().map(|[name, ..]| name.chars().count()).max().unwrap_or(0);
                for [name, figure, means] in named {
                    self.labelled(Paint::Bold, &format!("  {name:<width$}"), &format!("{figure}: {means}"));
                }
            }
            Block::Finding(finding, _) => {
                let (mark, paint) = match finding.severity {
                    Severity::Note => ("·", Paint::Dim),
                    Severity::Degrades => ("!", Paint::Finding),
                    Severity::Invalidates => ("✗", Paint::Bad),
                };
                self.marked(2, paint, mark, &finding.message);
                self.marked(4, Paint::Dim, "→", &finding.remedy);
            }
            Block::Picture(..) => {}
        }
    }

    /// One line, cut with `…` where it is too long.
    pub(crate) fn line(&mut self, spans: &[Span]) {
        let total: usize = spans.iter().map(|(_, text)| cells(&clean(text))).sum();
        let mut room = if total > self.width {
            let text: String = spans.iter().map(|(_, text)| clean(text)).collect();
            whole_figures(&text, within(&text, self.width - 1))
        } else {
            usize::MAX
        };
        let mut line = String::new();
        for (paint, text) in spans {
            let text: String = clean(text).chars().take(room).collect();
            room -= text.chars().count();
            self.paint(&mut line, *paint, &text);
        }
        if total > self.width {
            line.push('…');
        }
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    /// Wrapped text; lines after the first are indented like the first.
    pub(crate) fn paragraph(&mut self, indent: usize, paint: Paint, text: &str) {
        for line in wrap(text, self.width - indent) {
            self.line(&[(Paint::Plain, " ".repeat(indent)), (paint, line)]);
        }
    }

    /// Wrapped text behind a mark of one character.
    pub(crate) fn marked(&mut self, indent: usize, paint: Paint, mark: &str, text: &str) {
        let text_paint = if paint == Paint::Dim { Paint::Dim } else { Paint::Plain };
        for (i, line) in wrap(text, self.width - indent - 2).into_iter().enumerate() {
            let mark = if i == 0 { mark } else { " " };
            self.line(&[
                (Paint::Plain, " ".repeat(indent)),
                (paint, mark.into()),
                (text_paint, format!(" {line}")),
            ]);
        }
    }

    /// Names of places, each in a line of its own that is never cut, and a blank line below.
    pub(crate) fn places(&mut self, places: &[(&str, String)]) {
        let width = places.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, place) in places {
            self.out.push_str(&format!("{name:width$}  {}\n", clean(place)));
        }
        if !places.is_empty() {
            self.blank();
        }
    }

    /// Said before anything else where it is so.
    pub(crate) fn simulated(&mut self, is_simulated: bool) {
        if is_simulated {
            self.labelled(Paint::Finding, "SIMULATED", "no request was sent.");
        }
    }

    /// A word that stands out, then a sentence that wraps under itself.
    pub(crate) fn labelled(&mut self, paint: Paint, label: &str, text: &str) {
        let indent = label.chars().count() + 2;
        for (i, line) in wrap(text, self.width - indent).into_iter().enumerate() {
            let head =
                if i == 0 { (paint, format!("{label}  ")) } else { (Paint::Plain, " ".repeat(indent)) };
            self.line(&[head, (Paint::Plain, line)]);
        }
    }

    /// Rows with aligned columns, two spaces apart, indented by two. Where the table is too wide, its first
    /// column gives way, then the rightmost columns go on in lines below.
    pub(crate) fn table(&mut self, align: &[Align], rows: &[Vec<Span>]) {
        self.table_with(align, rows, NAME_MIN);
    }

    /// The same, and the first column is never cut: its names are to be typed or copied.
    pub(crate) fn table_of_names(&mut self, table: &Table) {
        self.table_with(&table.align, &table.lines(), usize::MAX);
    }

    fn table_with(&mut self, align: &[Align], rows: &[Vec<Span>], first_min: usize) {
        let mut widths = vec![0usize; align.len()];
        for row in rows {
            for (width, (_, text)) in widths.iter_mut().zip(row) {
                *width = (*width).max(cells(&clean(text)));
            }
        }
        let total: usize = widths.iter().map(|width| width + 2).sum();
        if let Some(first) = widths.first_mut() {
            let excess = total.saturating_sub(self.width);
            *first = first.saturating_sub(excess).max((*first).min(first_min));
        }
        let names = rows.iter().filter_map(|row| row.first()).map(|(_, text)| clean(text));
        let in_middle = widths.first().is_some_and(|&width| begin_alike(names, width));
        for row in rows {
            let (mut spans, mut length) = (Vec::new(), 0);
            for (i, ((paint, text), (&width, align))) in row.iter().zip(widths.iter().zip(align)).enumerate()
            {
                let text = clean(text);
                let text = if i == 0 { cut_name(&text, width, in_middle) } else { cut(&text, width) };
                if length > 0 && length + 2 + width > self.width {
                    self.row(&mut spans);
                    spans.push((Paint::Plain, "  ".to_string()));
                    length = 2;
                }
                length += 2 + width;
                let fill = " ".repeat(width.saturating_sub(cells(&text)));
                spans.push((Paint::Plain, "  ".to_string()));
                match align {
                    Align::Left => {
                        spans.push((*paint, text));
                        spans.push((Paint::Plain, fill));
                    }
                    Align::Right => {
                        spans.push((Paint::Plain, fill));
                        spans.push((*paint, text));
                    }
                }
            }
            self.row(&mut spans);
        }
    }

    /// A line of a table, unless nothing stands in it.
    fn row(&mut self, spans: &mut Vec<Span>) {
        while spans.last().is_some_and(|(_, text)| text.trim().is_empty()) {
            spans.pop();
        }
        if !spans.is_empty() {
            self.line(spans);
        }
        spans.clear();
    }

    fn paint(&self, line: &mut String, paint: Paint, text: &str) {
        match sgr(paint).filter(|_| self.color && !text.trim().is_empty()) {
            Some(sgr) => {
                line.push_str("\u{1b}[");
                line.push_str(sgr);
                line.push('m');
                line.push_str(text);
                line.push_str("\u{1b}[0m");
            }
            None => line.push_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_table_goes_on_below() {
        let mut screen = Screen::new(&Style { width: 40, color: false });
        let cell = |text: &str| (Paint::Plain, text.to_string());
        let row = vec![cell("p99.9"), cell("1 234 567 ms"), cell("12.5 ms"), cell("(9.99–10.0 ms)")];
        screen.table(&[Align::Left, Align::Right, Align::Right, Align::Right], &[row]);
        assert_eq!(screen.finish(), "  p99.9  1 234 567 ms  12.5 ms\n    (9.99–10.0 ms)\n");
    }

    #[test]
    fn a_table_gives_way_in_its_first_column() {
        let mut screen = Screen::new(&Style { width: 60, color: false });
        let row = vec![(Paint::Plain, "x".repeat(80)), (Paint::Plain, "12".into())];
        screen.table(&[Align::Left, Align::Right], &[row]);
        let line = screen.finish();
        assert_eq!(line.trim_end().chars().count(), 60);
        assert!(line.ends_with("…  12\n"));
    }

    #[test]
    fn names_that_begin_alike_are_cut_in_the_middle() {
        let names = ["recommendations_for_a_new_user", "recommendations_for_an_old_user", "basket"];
        let mut screen = Screen::new(&Style { width: 40, color: false });
        let rows = names.map(|name| vec![(Paint::Plain, name.into()), (Paint::Plain, "1".repeat(14))]);
        screen.table(&[Align::Left, Align::Right], &rows);
        let text = screen.finish();
        let shown: Vec<&str> =
            text.lines().map(|line| line.split_whitespace().next().expect("a name")).collect();
        assert_eq!(shown, ["recommendat…a_new_user", "recommendat…n_old_user", "basket"], "{text}");
        assert!(!begin_alike(["a".repeat(30), "a".repeat(30)].into_iter(), 20), "the same name twice");
    }

    /// Letters of East Asia take two cells.
    #[test]
    fn figures_stand_below_each_other_whatever_the_letters() {
        let mut screen = Screen::new(&Style { width: 40, color: false });
        let rows = ["検索", "search", &"注文の確認".repeat(9)]
            .map(|name| vec![(Paint::Plain, name.into()), (Paint::Plain, "12".into())]);
        screen.table(&[Align::Left, Align::Right], &rows);
        let text = screen.finish();
        assert!(text.lines().all(|line| cells(line) <= 40 && line.ends_with("  12")), "{text}");
        let widths: Vec<usize> = text.lines().map(cells).collect();
        assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
        assert!(wrap(&"注文".repeat(20), 15).iter().all(|line| cells(line) <= 15));
    }
}
