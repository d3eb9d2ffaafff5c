//! Blocks as Markdown.

use super::{Align, Paint, Span, Table};
use unblink_artifact::harmless::is_harmful;

/// A table with a line feed at its end; it needs a head.
pub(crate) fn table(table: &Table) -> String {
    let line = |row: &Vec<Span>| format!("|{} |\n", row.iter().map(cell).collect::<Vec<_>>().join(" |"));
    let rule = |align: &Align| if *align == Align::Right { "---:|" } else { "---|" };
    let rule: String = table.align.iter().map(rule).collect();
    let head = line(&table.head);
    let rows: String = table.rows.iter().map(line).collect();
    format!("{head}|{rule}\n{rows}")
}

/// With a space before it, unless it is empty.
fn cell((paint, text): &Span) -> String {
    match (paint, text.as_str()) {
        (_, "") => String::new(),
        (Paint::Bold, text) => format!(" **{}**", escape(text)),
        (_, text) => format!(" {}", escape(text)),
    }
}

/// What Markdown or HTML would take for its own.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                out.push('\\');
                out.push(c);
            }
            '\n' | '\t' => out.push(' '),
            c if is_harmful(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
