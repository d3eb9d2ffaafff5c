//! Blocks as Markdown.

use super::{Align, Block, Paint, Span, Table};
use std::fmt::Write;
use unblink_artifact::harmless::is_harmful;

/// One thing in a section, and an empty line.
pub(crate) fn block(out: &mut String, block: &Block) {
    let pair = |(name, figure): &(String, String)| format!("{} {}", escape(name), escape(figure));
    let _ = match block {
        Block::Line(_, text) => writeln!(out, "{}\n", escape(text)),
        Block::Marked(_, mark, text) => writeln!(out, "{} {}\n", escape(mark), escape(text)),
        Block::Finding(finding, _) => {
            writeln!(out, "- {} {}\n", escape(&finding.message), escape(&finding.remedy))
        }
        Block::Pairs(pairs) => writeln!(out, "{}\n", pairs.iter().map(pair).collect::<Vec<_>>().join(" · ")),
        Block::Counts(counts) => {
            let counts: Vec<String> =
                counts.iter().map(|(name, n)| format!("{n} {}", escape(name))).collect();
            writeln!(out, "{}\n", counts.join(" · "))
        }
        Block::Named(named) => named.iter().try_for_each(|[name, figure, means]| {
            writeln!(out, "**{}** {}: {}\n", escape(name), escape(figure), escape(means))
        }),
        Block::Table(of) => writeln!(out, "{}", table(of)),
        Block::Picture(stem, picture) => writeln!(out, "![{}]({stem}.svg)\n", escape(&picture.title.finding)),
    };
}

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
