//! The frame of a page: style, script, embedded documents.

use super::inert::inert;
use crate::block::Section;
use crate::format::plural;
use crate::svg::canvas::escape;
use crate::svg::{COLORS, MARKS, Picture};
use std::fmt::Write;
use unblink_artifact::document::{Environment, RunDocument, Tool};
use unblink_artifact::harmless;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// A page under construction.
pub(crate) struct Page {
    title: String,
    pub(crate) body: String,
    documents: String,
}

impl Page {
    pub(crate) fn new(title: &str) -> Page {
        Page { title: title.into(), body: String::new(), documents: String::new() }
    }

    /// Said before anything else where it is so.
    pub(crate) fn simulated(&mut self, is_simulated: bool) {
        if is_simulated {
            self.body += "<aside class=\"simulated\"><p><b>SIMULATED</b> No request was sent.</p></aside>";
        }
    }

    /// What stands at the top: who says it, `about` what, the page's own title, and below it what was asked.
    /// What was asked is HTML, a paragraph each.
    pub(crate) fn head(&mut self, tool: &Tool, about: &str, title: &str, asked: &[String]) {
        let _ = write!(
            self.body,
            "<header><p class=\"brand\"><b>{}</b> {} <span>· {}</span></p><h1>{}</h1>",
            escape(&tool.name),
            escape(&tool.version),
            escape(about),
            super::breakable(title),
        );
        for paragraph in asked {
            let _ = write!(self.body, "<p class=\"load\">{paragraph}</p>");
        }
        self.body += "</header>";
    }

    /// Pictures, as wide or beside each other as they are meant to be; `scope` as in [`figure`](super::figure).
    pub(crate) fn pictures<'a>(&mut self, pictures: impl IntoIterator<Item = &'a Picture>, scope: &str) {
        self.body += "<section class=\"pictures\">";
        pictures.into_iter().for_each(|picture| super::figure(&mut self.body, picture, scope, 2));
        self.body += "</section>";
    }

    /// The tables below them.
    pub(crate) fn tables(&mut self, sections: impl IntoIterator<Item = Section>) {
        self.body += "<section class=\"tables\">";
        super::sections(&mut self.body, sections, 2);
        self.body += "</section>";
    }

    /// Embeds a document, so that the page carries its numbers.
    pub(crate) fn document(&mut self, name: &str, doc: &RunDocument) {
        // Only a map with other keys than strings could fail, and a document has none.
        self.json(name, &harmless::json(doc).unwrap_or_else(|_| "null".into()));
    }

    /// The same of any document.
    pub(crate) fn json(&mut self, name: &str, json: &str) {
        let _ = writeln!(
            self.documents,
            "<script type=\"application/json\" id=\"document-{name}\" data-document=\"{name}\">{}</script>",
            inert(json)
        );
    }

    /// The whole page; the footer says where and with what the run was made.
    pub(crate) fn finish(self, doc: &RunDocument) -> String {
        self.finish_holding(doc, "The page holds its whole run document")
    }

    /// The same with other words for what the page holds.
    pub(crate) fn finish_holding(self, doc: &RunDocument, holds: &str) -> String {
        self.finish_with(&doc.command, &made_by(doc, holds))
    }

    /// The same for what is not one run: the command, and the footer's other paragraphs.
    pub(crate) fn finish_with(self, command: &[String], made_by: &str) -> String {
        let mut out = String::with_capacity(self.body.len() + self.documents.len() + 40_000);
        let _ = write!(
            out,
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"/>\
             <meta name=\"color-scheme\" content=\"light dark\"/>\
             <title>{}</title><style>{COLORS}{MARKS}{STYLE}</style></head>\n<body><main>{}</main>",
            escape(&self.title),
            self.body
        );
        let command: Vec<String> = command.iter().map(|word| shell_word(word)).collect();
        let _ = write!(
            out,
            "<footer><p class=\"command\"><code>{}</code></p>{made_by}</footer>",
            super::breakable(&command.join(" "))
        );
        out.push_str(&self.documents);
        let units: Vec<String> = crate::format::UNITS
            .iter()
            .map(|(unit, length, below)| match below {
                &u64::MAX => format!("[\"{unit}\", {length}, null]"),
                below => format!("[\"{unit}\", {length}, {below}]"),
            })
            .collect();
        let script = SCRIPT.replacen("/* UNITS */ []", &format!("[{}]", units.join(", ")), 1);
        let _ = writeln!(out, "<script>{script}</script></body></html>");
        out
    }
}

/// Where and with what a run was made.
fn made_by(doc: &RunDocument, holds: &str) -> String {
    let e = &doc.environment;
    let limits = [
        plural(e.file_descriptors_max, "file descriptor", "file descriptors"),
        plural(u64::from(e.local_ports), "local port", "local ports"),
    ];
    let holds = format!("{holds} ({}) as JSON.", escape(&doc.schema));
    format!("<p>{} · {}</p>{}", machine(e), limits.join(" · "), made(&doc.tool, &holds))
}

/// The machine, in few words.
pub(crate) fn machine(e: &Environment) -> String {
    format!("{} · {} · {}", escape(&e.kernel), escape(&e.cpu), plural(u64::from(e.cores), "core", "cores"))
}

/// What made a page, and what the page holds (HTML).
pub(crate) fn made(by: &Tool, holds: &str) -> String {
    format!("<p>Made by {}. {holds}</p>", tool(by))
}

/// Name, version and, where it is known, the commit.
fn tool(tool: &Tool) -> String {
    let commit = tool.commit.as_ref().map(|commit| format!(" ({commit})")).unwrap_or_default();
    escape(&format!("{} {}{commit}", tool.name, tool.version))
}

/// Quoted for a POSIX shell where it needs to be.
fn shell_word(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_reads_the_units_of_durations() {
        let doc = crate::fixture::empty();
        let page = Page::new("").finish(&doc);
        assert!(page.contains("const units = [[\"ns\", 1, 1000], [\"µs\", 1000, 1000], "), "{page}");
        assert!(page.contains("[\"d\", 86400000000000, null]];"));
    }

    #[test]
    fn a_command_is_quoted_where_it_must_be() {
        assert_eq!(shell_word("http://a/b?c"), "'http://a/b?c'");
        assert_eq!(shell_word("-R"), "-R");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }
}
