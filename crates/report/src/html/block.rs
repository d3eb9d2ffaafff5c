//! Blocks as HTML.

use crate::block::{Align, Block, Paint, Section, Table};
use crate::svg::canvas::escape;
use std::fmt::Write;

/// Sections, each as a block of a page; headings are of `level`.
pub(crate) fn write(out: &mut String, sections: impl IntoIterator<Item = Section>, level: u8) {
    for section in sections {
        let note = match section.note.as_str() {
            "" => String::new(),
            note => format!(" <small>{}</small>", escape(note)),
        };
        let _ =
            write!(out, "<div class=\"block {}\"><h{level}>{}{note}</h{level}>", section.class, section.name);
        section.blocks.iter().for_each(|block| write_block(out, block));
        out.push_str("</div>");
    }
}

/// One thing in a section.
fn write_block(out: &mut String, block: &Block) {
    let right = |text: &String| (Paint::Plain, text.clone());
    let _ = match block {
        Block::Line(Paint::Dim, text) => write!(out, "<p class=\"foot\">{}</p>", escape(text)),
        Block::Line(_, text) => write!(out, "<p>{}</p>", escape(text)),
        Block::Pairs(pairs) | Block::Counts(pairs) => {
            let rows = pairs.iter().map(|(name, figure)| vec![right(name), right(figure)]).collect();
            return write_table(
                out,
                &Table { head: Vec::new(), align: vec![Align::Left, Align::Right], rows },
            );
        }
        Block::Table(table) => return write_table(out, table),
    };
}

/// A table that can be moved sideways.
pub(crate) fn write_table(out: &mut String, table: &Table) {
    out.push_str("<div class=\"scroll\"><table>");
    let align = || table.align.iter().map(|align| if *align == Align::Right { " n" } else { "" });
    if !table.head.is_empty() {
        out.push_str("<thead><tr>");
        for ((_, name), align) in table.head.iter().zip(align()) {
            let _ = write!(out, "<th scope=\"col\" class=\"{}\">{}</th>", align.trim(), escape(name));
        }
        out.push_str("</tr></thead>");
    }
    out.push_str("<tbody>");
    for row in &table.rows {
        // The row whose name stands out is the one that decides.
        let decides = row.first().is_some_and(|(paint, _)| *paint == Paint::Bold);
        out.push_str(if decides { "<tr class=\"decides\">" } else { "<tr>" });
        for (i, ((paint, text), align)) in row.iter().zip(align()).enumerate() {
            let (tag, name) = if i == 0 { ("th scope=\"row\"", "name") } else { ("td", "") };
            let class = format!("{name}{align}{}", paint_class(*paint));
            let end = &tag[..2];
            let _ = write!(out, "<{tag} class=\"{}\">{}</{end}>", class.trim(), escape(text));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

fn paint_class(paint: Paint) -> &'static str {
    match paint {
        Paint::Plain | Paint::Bold | Paint::Good | Paint::Bad => "",
        Paint::Dim => " zero",
        Paint::Response => " response-text",
        Paint::Service => " service-text",
        Paint::Finding => " finding-text",
        Paint::Failure => " failure-text",
    }
}
