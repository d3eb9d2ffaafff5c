//! YAML to the tree of a plan: a plain subset, without anchors and tags.

use super::source::Wrong;
use super::tree::{Key, Node, Value};
use saphyr_parser::{Event, Parser, ScalarStyle, Span};
use std::ops::Range;

/// Deeper than any plan.
const DEPTH_MAX: usize = 16;

/// The first document of `text`.
pub(crate) fn of_yaml(text: &str) -> Result<Node, Wrong> {
    let mut reader = Reader { parser: Parser::new_from_str(text), places: Places::new(text), text };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_), _) => {}
            (Event::StreamEnd | Event::DocumentEnd, at) => {
                return Ok(Node { at, value: Value::Table(Vec::new()), is_text: false });
            }
            (event, at) => {
                let node = reader.node(event, at, 0)?;
                return match reader.next()? {
                    (Event::DocumentEnd, _) => match reader.next()? {
                        (Event::StreamEnd, _) => Ok(node),
                        (_, at) => Err(Wrong::new(at, "a plan is one document: nothing may follow")),
                    },
                    (_, at) => Err(Wrong::new(at, "a plan is one document: nothing may follow")),
                };
            }
        }
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) && text.parse::<f64>().is_ok()
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    places: Places,
    text: &'a str,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Range<usize>), Wrong> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, self.places.bytes(&span))),
            Some(Err(error)) => {
                let at = self.places.byte(error.marker().index());
                Err(Wrong::new(at..at + 1, error.info()))
            }
            None => Err(Wrong::new(self.text.len()..self.text.len(), "the text ends too early")),
        }
    }

    fn node(&mut self, event: Event<'a>, at: Range<usize>, depth: usize) -> Result<Node, Wrong> {
        if depth > DEPTH_MAX {
            return Err(Wrong::new(at, "this is nested more deeply than any plan"));
        }
        let anchored = |anchor: usize, tagged: bool| match (anchor, tagged) {
            (0, false) => Ok(()),
            _ => Err(Wrong::new(
                at.clone(),
                "anchors and tags have no meaning in a plan: write the value itself",
            )),
        };
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                anchored(anchor, tag.is_some())?;
                // A plain one is a text unless it is something else (YAML 1.2, section 10.3.2).
                let is_plain = style == ScalarStyle::Plain;
                let is_other = ["", "~", "null", "true", "false"].contains(&&*text) || is_number(&text);
                Ok(Node { at, value: Value::Scalar(text.into_owned()), is_text: !(is_plain && is_other) })
            }
            Event::SequenceStart(anchor, tag) => {
                anchored(anchor, tag.is_some())?;
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, end) => {
                            return Ok(Node {
                                at: at.start..end.end,
                                value: Value::List(items),
                                is_text: false,
                            });
                        }
                        (event, at) => items.push(self.node(event, at, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(anchor, tag) => {
                anchored(anchor, tag.is_some())?;
                self.table(at, depth)
            }
            _ => Err(Wrong::new(at, "an alias has no meaning in a plan: write the value itself")),
        }
    }

    fn table(&mut self, at: Range<usize>, depth: usize) -> Result<Node, Wrong> {
        let mut entries: Vec<(Key, Node)> = Vec::new();
        loop {
            let key = match self.next()? {
                (Event::MappingEnd, end) => {
                    return Ok(Node { at: at.start..end.end, value: Value::Table(entries), is_text: false });
                }
                (Event::Scalar(name, ..), at) => Key { at, name: name.into_owned() },
                (_, at) => return Err(Wrong::new(at, "expected the name of a field")),
            };
            // The format forbids it, and the parser does not look.
            if entries.iter().any(|(other, _)| other.name == key.name) {
                return Err(Wrong::new(key.at, format!("{:?} was given before", key.name)));
            }
            let (event, at) = self.next()?;
            entries.push((key, self.node(event, at, depth + 1)?));
        }
    }
}

/// The parser counts characters; everything else counts bytes.
struct Places {
    bytes: Vec<usize>,
}

impl Places {
    fn new(text: &str) -> Places {
        Places { bytes: text.char_indices().map(|(at, _)| at).chain([text.len()]).collect() }
    }

    fn byte(&self, character: usize) -> usize {
        self.bytes[character.min(self.bytes.len() - 1)]
    }

    fn bytes(&self, span: &Span) -> Range<usize> {
        let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
        start..end.max(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_keeps_text_and_place() {
        let text = "# ü\nload:\n  rate: 100..5000\n  duration: \"30s\"\nslo: [p99 < 1s, 'a: b']\n";
        let Value::Table(entries) = of_yaml(text).unwrap().value else { panic!("a table") };
        let (load, slo) = (&entries[0], &entries[1]);
        assert_eq!(&text[load.0.at.clone()], "load");
        let Value::Table(inner) = &load.1.value else { panic!("a table") };
        assert!(matches!(&inner[0].1.value, Value::Scalar(rate) if rate == "100..5000"));
        assert_eq!(&text[inner[1].1.at.clone()], "\"30s\"");
        assert!(matches!(&slo.1.value, Value::List(items) if items.len() == 2));
        assert!(matches!(of_yaml("").unwrap().value, Value::Table(entries) if entries.is_empty()));
    }

    #[test]
    fn what_is_no_plain_plan_is_refused_where_it_stands() {
        for (text, part, word) in [
            ("a: 1\na: 2\n", "given before", "a: 2"),
            ("a: &x 1\nb: *x\n", "anchors", "&x"),
            ("a: !!str 1\n", "anchors and tags", ""),
            ("a: [1, 2\n", "", ""),
            ("a: 1\n---\nb: 2\n", "one document", ""),
        ] {
            let wrong = of_yaml(text).expect_err(text);
            assert!(wrong.message.contains(part), "{text}: {wrong:?}");
            assert!(text[wrong.at.start..].starts_with(word), "{text}: {wrong:?}");
        }
        let deep = format!("a: {}1{}", "[".repeat(40), "]".repeat(40));
        assert!(of_yaml(&deep).unwrap_err().message.contains("nested"));
    }
}
