//! Blocks as HTML.

use super::inert::inert;
use crate::block::{Align, Block, Paint, Section, Table, Tone, dim, plain};
use crate::svg::canvas::escape;
use crate::svg::{self, Picture};
use crate::{facts, format};
use std::fmt::Write;
use unblink_artifact::document::{Finding, Severity};

/// Sections, each as a block of a page; headings are of `level`.
pub(crate) fn write(out: &mut String, sections: impl IntoIterator<Item = Section>, level: u8) {
    for section in sections {
        let note = match section.note.as_str() {
            "" => String::new(),
            note => format!(" <small>{}</small>", escape(note)),
        };
        let _ =
            write!(out, "<div class=\"block {}\"><h{level}>{}{note}</h{level}>", section.class, section.name);
        blocks(out, &section.blocks, "", level);
        out.push_str("</div>");
    }
}

/// Begins the section of an answer: a word, and the sentence beside it.
pub(crate) fn answer(out: &mut String, tone: Tone, (word, says): (&str, String), class: &str, level: u8) {
    let (tone, icon) = match tone {
        Tone::Good => ("valid", "✓"),
        Tone::Doubt => ("degraded", "!"),
        Tone::Bad => ("invalid", "✕"),
    };
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let _ = write!(
        out,
        "<section class=\"verdict {tone}\"><h{level}{class}><span class=\"icon\" aria-hidden=\"true\">{icon}</span>{}</h{level}>\
         <p class=\"sentence\">{}</p>",
        escape(word),
        escape(&format::hold_figures(&says)),
    );
}

/// What stands in a section; `scope` names the document that the tooltips of its pictures read.
pub(crate) fn blocks(out: &mut String, blocks: &[Block], scope: &str, level: u8) {
    for block in blocks {
        let _ = match block {
            Block::Line(Paint::Dim, text) => {
                write!(out, "<p class=\"foot\">{}</p>", escape(text))
            }
            Block::Line(_, text) => write!(out, "<p>{}</p>", escape(text)),
            Block::Marked(paint, mark, text) => {
                let class = match paint {
                    Paint::Dim => "foot",
                    Paint::Bad => "must-not",
                    _ => "extent",
                };
                let text = escape(&format::hold_figures(text));
                write!(out, "<p class=\"{class}\"><b>{mark}</b> {text}</p>")
            }
            Block::Pairs(pairs) | Block::Counts(pairs) => {
                let rows = pairs.iter().map(|(name, figure)| vec![plain(name), plain(figure)]).collect();
                write_table(out, &Table::of(Vec::new(), vec![Align::Left, Align::Right], rows));
                Ok(())
            }
            Block::Named(named) => {
                let row = |[name, figure, means]: &[String; 3]| vec![plain(name), plain(figure), dim(means)];
                let rows = named.iter().map(row).collect();
                write_table(out, &Table::of(Vec::new(), vec![Align::Left; 3], rows));
                Ok(())
            }
            Block::Table(table) => {
                write_table(out, table);
                Ok(())
            }
            Block::Finding(finding, evidence) => {
                write_finding(out, finding, evidence);
                Ok(())
            }
            Block::Picture(_, picture) => {
                figure(out, picture, scope, level);
                Ok(())
            }
        };
    }
}

/// A picture with its words; `scope` names the document that its tooltips read.
pub(crate) fn figure(out: &mut String, picture: &Picture, scope: &str, level: u8) {
    let class = if picture.full { "full" } else { "half" };
    let _ = write!(
        out,
        "<figure class=\"{class}\" data-scope=\"{scope}\"><figcaption><h{level}>{}</h{level}><p>{}</p>",
        escape(&picture.title.finding),
        escape(&picture.title.plotted)
    );
    if !picture.legend.is_empty() {
        out.push_str("<ul class=\"legend\">");
        for (i, (mark, name)) in picture.legend.iter().enumerate() {
            let id = format!("{scope}{}-k{i}", picture.stem);
            let _ = write!(
                out,
                "<li><svg width=\"24\" height=\"12\" viewBox=\"0 0 24 12\" aria-hidden=\"true\">{}{}</svg>{}</li>",
                if mark.starts_with("unknown") { hatch(&id) } else { String::new() },
                svg::swatch(mark, &id),
                escape(name)
            );
        }
        out.push_str("</ul>");
    }
    let _ = write!(out, "</figcaption><div class=\"plot\">{}</div>", picture.inline());
    if let Some(lines) = &picture.lines {
        let _ = write!(out, "<script type=\"application/json\" class=\"lines\">{}</script>", inert(lines));
    }
    out.push_str("</figure>");
}

fn hatch(id: &str) -> String {
    let mut canvas = svg::canvas::Canvas::new(id, svg::canvas::Size { width: 24.0, height: 12.0 });
    canvas.hatching();
    canvas.body
}

fn write_finding(out: &mut String, finding: &Finding, evidence: &[(String, String)]) {
    let class = severity_class(finding.severity);
    let _ = write!(
        out,
        "<article class=\"finding {class}\"><p class=\"message\">{}</p><p class=\"remedy\">{}</p><p class=\"evidence\"><span class=\"code\">{}</span> <span class=\"severity\">{}</span>",
        escape(&format::hold_figures(&finding.message)),
        escape(&format::hold_figures(&finding.remedy)),
        escape(&finding.code),
        facts::severity_word(finding.severity),
    );
    for (name, value) in evidence {
        let _ = write!(out, " <span>{} <b>{}</b></span>", escape(name), escape(value));
    }
    out.push_str("</p></article>");
}

pub(super) fn severity_class(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Degrades => "degrades",
        Severity::Invalidates => "invalidates",
    }
}

/// A table that can be moved sideways.
pub(crate) fn write_table(out: &mut String, table: &Table) {
    let named = table.head.iter().filter_map(|(_, name)| name.lines().next()).find(|name| !name.is_empty());
    // Who has no mouse moves it with the keys.
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table: {}\"><table>",
        escape(named.unwrap_or("figures"))
    );
    let align = || table.align.iter().map(|align| if *align == Align::Right { " n" } else { "" });
    if !table.head.is_empty() {
        out.push_str("<thead><tr>");
        for ((paint, name), align) in table.head.iter().zip(align()) {
            // All names are dim that have no colour.
            let paint = if *paint == Paint::Dim { "" } else { paint_class(*paint) };
            let class = format!("{align}{paint}");
            let _ = write!(out, "<th scope=\"col\" class=\"{}\">{}</th>", class.trim(), cell(name));
        }
        out.push_str("</tr></thead>");
    }
    out.push_str("<tbody>");
    for (line, row) in table.rows.iter().enumerate() {
        // The row whose name stands out is the one that decides.
        let decides = row.first().is_some_and(|(paint, _)| *paint == Paint::Bold);
        let below = table.below.get(line);
        let class = [decides.then_some("decides"), below.map(|_| "figures")];
        match class.into_iter().flatten().collect::<Vec<_>>().join(" ").as_str() {
            "" => out.push_str("<tr>"),
            class => out.push_str(&format!("<tr class=\"{class}\">")),
        }
        for (i, ((paint, text), align)) in row.iter().zip(align()).enumerate() {
            let tag = if i == 0 { "th scope=\"row\"" } else { "td" };
            let name = if i == 0 && align.is_empty() { "name" } else { "" };
            let class = format!("{name}{align}{}", paint_class(*paint));
            let end = &tag[..2];
            let shown = if i == 0 { path(text) } else { cell(text) };
            let _ = write!(out, "<{tag} class=\"{}\"", class.trim());
            // On a phone such rows stand without their head.
            if let Some((_, column)) = table.head.get(i).filter(|_| i > 0 && below.is_some()) {
                let _ = write!(out, " data-name=\"{}\"", escape(column.lines().next().unwrap_or_default()));
            }
            let _ = write!(out, ">{shown}</{end}>");
        }
        out.push_str("</tr>");
        if let Some([says, words]) = below {
            let (columns, says, words) = (table.align.len(), escape(says), escape(words));
            let _ = write!(
                out,
                "<tr class=\"does\"><td colspan=\"{columns}\"><div>{says} <code>{words}</code></div></td></tr>"
            );
        }
    }
    out.push_str("</tbody></table></div>");
}

/// The name of a row. A path breaks behind its slashes, and not within a word.
fn path(text: &str) -> String {
    let html = cell(text);
    if text.contains(' ') { html } else { html.replace('/', "/<wbr/>").replace("</<wbr/>", "</") }
}

/// Text with its small part below it.
fn cell(text: &str) -> String {
    match text.split_once('\n') {
        Some((text, small)) => format!("{}<small>{}</small>", escape(text), escape(small)),
        None => escape(text),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_columns_have_small_parts_and_rows_a_sentence_below() {
        let head = vec![plain(""), (Paint::Response, "users\nopen".into()), dim("ratio")];
        let row = vec![(Paint::Bold, "pool".into()), plain("1 ms\n(1–2 ms)"), plain("2×")];
        let mut table = Table::of(head, vec![Align::Left, Align::Right, Align::Right], vec![row]);
        table.below = vec![["keeps <the> schedule".into(), "connections=50".into()]];
        let mut out = String::new();
        write_table(&mut out, &table);
        for part in [
            "tabindex=\"0\" role=\"region\" aria-label=\"Table: users\"",
            "<th scope=\"col\" class=\"n response-text\">users<small>open</small></th><th scope=\"col\" class=\"n\">",
            "<tr class=\"decides figures\"><th scope=\"row\" class=\"name\">pool</th>",
            "data-name=\"ratio\">2×</td></tr>",
            "<td colspan=\"3\"><div>keeps &lt;the&gt; schedule <code>connections=50</code></div></td>",
        ] {
            assert!(out.contains(part), "{part}: {out}");
        }
        table.below.clear();
        out.clear();
        write_table(&mut out, &table);
        assert!(out.contains("<tr class=\"decides\">") && !out.contains("data-name"), "{out}");
    }

    #[test]
    fn a_path_breaks_behind_its_slashes() {
        assert_eq!(path("runs/baseline/1"), "runs/<wbr/>baseline/<wbr/>1");
        assert_eq!(path("a/b\n<small>"), "a/<wbr/>b<small>&lt;small&gt;</small>");
        assert_eq!(path("GET /items"), "GET /items");
    }
}
