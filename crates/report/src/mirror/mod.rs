//! `unblink mirror`: baseline and candidate under the same requests, with one answer.

mod words;

use crate::block::Paint;
use crate::html::{self, Page};
use crate::svg::canvas::escape;
use crate::terminal::Style;
use crate::terminal::text::Screen;
use unblink_artifact::harmless;
use unblink_artifact::mirror::MirrorDocument;

/// The answer and what it rests on, for a terminal.
pub fn terminal(doc: &MirrorDocument, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let (tone, word, sentence) = words::answer(doc);
    screen.labelled(tone.paint(), word, &sentence);
    screen.paragraph(0, Paint::Dim, &words::about(doc));
    words::sections(doc).iter().for_each(|section| screen.section(section));
    screen.finish()
}

/// The same as one self-contained page.
pub fn html(doc: &MirrorDocument) -> String {
    let (tone, word, sentence) = words::answer(doc);
    let mut page = Page::new(&format!("{word}: mirror of {}", doc.candidate));
    page.json("mirror", &harmless::json(doc).unwrap_or_else(|_| "null".into()));
    let about = format!("{} · mirror", html::moment(&doc.started_at));
    let question = format!("Is {} slower than {}?", doc.candidate, doc.baseline);
    page.head(&doc.tool, &about, &question, &[escape(&words::about(doc))]);
    html::answer(&mut page.body, tone, (word, sentence), "largest", 2);
    page.body.push_str("</section>");
    page.tables(words::sections(doc));
    let holds = format!("The page holds its document ({}) as JSON.", escape(&doc.schema));
    let made = format!("<p>{}</p>{}", html::machine(&doc.environment), html::made(&doc.tool, &holds));
    page.finish_with(&doc.command, &made)
}
