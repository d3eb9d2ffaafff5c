//! Text with places for values: `/items/{{item}}`, `{"id": "{{uuid}}"}`.

use crate::encode::Context;
use crate::hole::{Hole, What};
use crate::lets::Lets;
use std::ops::Range;

/// Why a template is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// Where in the text.
    pub at: Range<usize>,
    /// What is wrong, and what to do.
    pub message: String,
}

/// A piece of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// What stands between two braces, and where.
    Place(&'a str, Range<usize>),
}

/// Splits a text at its `{{…}}`.
///
/// # Errors
/// For two braces that are never closed.
pub fn pieces(text: &str) -> Result<Vec<Piece<'_>>, TemplateError> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find("{{").map(|open| at + open) {
        let inside = open + 2;
        // A literal in quotes may have braces in it.
        let quoted = text[inside..].trim_start();
        let from = match quoted.strip_prefix('\'').and_then(|rest| rest.find('\'')) {
            Some(end) => text.len() - quoted.len() + end + 2,
            None => inside,
        };
        let Some(close) = text[from..].find("}}").map(|close| from + close) else {
            let message = "this {{ is never closed by }}: a place is written {{name}}, and two braces that are \
                           meant as they are {{'{{'}}";
            return Err(TemplateError { at: open..inside, message: message.into() });
        };
        if open > at {
            pieces.push(Piece::Text(&text[at..open]));
        }
        pieces.push(Piece::Place(text[inside..close].trim(), open..close + 2));
        at = close + 2;
    }
    if at < text.len() {
        pieces.push(Piece::Text(&text[at..]));
    }
    Ok(pieces)
}

/// Has it two braces, so that it must be read as a template?
pub fn is_template(text: &str) -> bool {
    text.contains("{{")
}

/// What stands between two braces writes the same for every arrival: a text in quotes, a value that has only one.
pub fn is_fixed(inside: &str, lets: &Lets) -> bool {
    What::read(inside, lets, u64::MAX).is_ok_and(|what| what.is_fixed(lets))
}

/// What stands between two braces is always a whole number, where `taken` has a bit for each value that the journey has by then;
/// `None` of what is no value.
pub fn is_number(inside: &str, lets: &Lets, taken: u64) -> Option<bool> {
    What::read(inside, lets, taken).ok().map(|what| what.is_number(lets))
}

/// What stands between two braces is written as it is where JSON is: it is `raw(…)`.
pub fn is_raw(inside: &str) -> bool {
    called(inside, "raw").is_some()
}

/// The places of one request.
#[derive(Debug)]
pub struct Holes<'a> {
    lets: &'a Lets,
    taken: u64,
    holes: Vec<Hole>,
}

impl<'a> Holes<'a> {
    /// None so far; `lets` are those that a template may use, and `taken` has a bit for each value that its journey has taken
    /// from answers by then.
    pub fn new(lets: &'a Lets, taken: u64) -> Holes<'a> {
        Holes { lets, taken, holes: Vec::new() }
    }

    /// Reads `text`, and gives it with `place(n)` for its n-th place.
    ///
    /// # Errors
    /// What is no name, or no function, of a value.
    pub fn read(
        &mut self,
        text: &str,
        context: Context,
        place: impl Fn(u32) -> String,
    ) -> Result<String, TemplateError> {
        let mut out = String::with_capacity(text.len());
        for piece in pieces(text)? {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Place(inside, at) => {
                    let wrong = |message| TemplateError { at: at.clone(), message };
                    let what = What::read(inside, self.lets, self.taken).map_err(wrong)?;
                    let for_json =
                        ["number", "raw"].into_iter().find_map(|of| Some((of, called(inside, of)?)));
                    if let (Some((name, value)), Context::Target | Context::Header) = (for_json, context) {
                        let why = format!(
                            "{name} is for JSON, where texts have quotes: write {{{{{value}}}}} here"
                        );
                        return Err(wrong(why));
                    }
                    out.push_str(&place(self.holes.len() as u32));
                    // A whole path and query is encoded as it must be.
                    let is_as_it_is = inside == Lets::WENT || is_raw(inside);
                    let context = if is_as_it_is { Context::Body } else { context };
                    self.holes.push(Hole { what, context });
                }
            }
        }
        Ok(out)
    }

    /// All that were read.
    pub fn into_holes(self) -> Vec<Hole> {
        self.holes
    }
}

/// What stands in the parentheses of the function with this name.
fn called<'a>(inside: &'a str, function: &str) -> Option<&'a str> {
    let (name, value) = inside.split_once('(')?;
    (name.trim() == function).then(|| value.trim_end_matches(')').trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_for_json() {
        let lets = Lets::default();
        let read = |text: &str, context| Holes::new(&lets, 0).read(text, context, |n| format!("<{n}>"));
        assert_eq!(read("{{number(index)}}", Context::Json).unwrap(), "<0>");
        assert_eq!(read("{{number(index)}}", Context::Body).unwrap(), "<0>");
        for context in [Context::Target, Context::Header] {
            let error = read("/{{number( index )}}", context).unwrap_err();
            assert!(error.at == (1..20) && error.message.contains("write {{index}} here"), "{error:?}");
            let error = read("{{raw(index)}}", context).unwrap_err();
            assert!(error.message.contains("raw is for JSON"), "{error:?}");
        }
    }

    #[test]
    fn a_text_is_split_at_its_places() {
        assert_eq!(
            pieces("/a/{{ x }}/b?q={{int(1, 5)}}").unwrap(),
            [
                Piece::Text("/a/"),
                Piece::Place("x", 3..10),
                Piece::Text("/b?q="),
                Piece::Place("int(1, 5)", 15..28),
            ]
        );
        assert_eq!(pieces("{{'{{'}}x").unwrap(), [Piece::Place("'{{'", 0..8), Piece::Text("x")]);
        assert_eq!(pieces("{{'}}'}}").unwrap(), [Piece::Place("'}}'", 0..8)]);
        assert_eq!(pieces("{a} }} {").unwrap(), [Piece::Text("{a} }} {")]);
        assert_eq!(pieces("").unwrap(), []);
        let error = pieces("ab{{x}").unwrap_err();
        assert_eq!(error.at, 2..4);
        assert!(error.message.contains("never closed"));
    }
    #[test]
    fn what_is_the_same_for_every_arrival_is_known() {
        let mut lets = Lets::default();
        for (name, text) in
            [("five", "constant(5)"), ("one", "['a']"), ("two", "['a', 'b']"), ("key", "zipf(9)")]
        {
            let source = crate::Source::parse(text, &mut |_| Err(std::io::ErrorKind::NotFound.into()));
            lets.add(name, source.unwrap()).unwrap();
        }
        lets.add_captured("token").unwrap();
        for inside in ["five", "one", "'x'", "int(3,3)", "bytes(0)", "token", "number(five)"] {
            assert!(is_fixed(inside, &lets), "{inside}");
        }
        for inside in ["two", "key", "index", "uuid", "now", "int(3,4)", "bytes(9)", "no such"] {
            assert!(!is_fixed(inside, &lets), "{inside}");
        }
    }
}
