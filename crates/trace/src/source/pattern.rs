//! Lines by a pattern: what stands in them as it is, and fields in between.

use super::error::FormatError;
use super::field::Field;
use super::map::Map;
use super::{Edge, Got};
use crate::Unreadable;
use crate::entry::Entry;
use crate::time::{TimeForm, Times};

/// A piece of a format's text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Literal(Vec<u8>),
    Variable(Variable),
}

/// A field as the format calls it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    /// Where it stands.
    pub(super) at: usize,
    pub(super) field: Field,
    /// Of fields of the same kind, the one with the highest is read.
    pub(super) rank: u8,
}

/// A field, and what ends it.
#[derive(Clone, Debug)]
struct Part {
    field: Field,
    end: End,
}

#[derive(Clone, Debug)]
enum End {
    /// This text.
    Text(Box<memchr::memmem::Finder<'static>>),
    /// The first quote that no backslash stands before, and this text behind it.
    Quote(Vec<u8>),
    /// The slash that the next field begins with.
    Slash,
    /// The end of the line.
    Line,
    /// The end of the line or of a word; what comes behind is not looked at.
    Rest,
}

/// A compiled format.
#[derive(Clone, Debug)]
pub struct Pattern {
    lead: Vec<u8>,
    parts: Vec<Part>,
    edge: Edge,
    times: Times,
    scratch: Vec<u8>,
}

impl Pattern {
    /// Reads `tokens` of a format written as `text`; `map` says what fields are instead of what they are by their names.
    /// With `open`, lines may go on behind it. `hint` says how a field for the time is written.
    pub(super) fn new(
        text: &str,
        mut tokens: Vec<Token>,
        map: &Map,
        keep: &[String],
        hint: &str,
        open: bool,
    ) -> Result<Pattern, FormatError> {
        mapped(text, &mut tokens, map)?;
        choose(&mut tokens, keep);
        let fields = || {
            tokens.iter().filter_map(|token| match token {
                Token::Variable(variable) => Some(&variable.field),
                Token::Literal(_) => None,
            })
        };
        let Some(edge) = fields().find_map(|field| match field {
            Field::Time(_, edge) => Some(*edge),
            _ => None,
        }) else {
            return Err(FormatError::at(format!("the log format has no time: add {hint} to it"), text, 0));
        };
        let has = |wanted: &[Field]| fields().any(|field| wanted.contains(field));
        if !has(&[Field::Request, Field::Target]) {
            return Err(FormatError::at(
                "the log format does not say what was asked: it needs the request line, or the path",
                text,
                0,
            ));
        }
        let (lead, parts) = parts(text, &tokens, open)?;
        Ok(Pattern { lead, parts, edge, times: Times::default(), scratch: Vec::new() })
    }

    /// What the time of a line is.
    pub(super) fn edge(&self) -> Edge {
        self.edge
    }

    /// A line that is cut anywhere does not fit.
    pub(super) fn ends_itself(&self) -> bool {
        matches!(self.parts.last(), Some(Part { end: End::Text(_) | End::Quote(_), .. }))
    }

    /// Reads a line.
    pub(crate) fn read(&mut self, line: &[u8], entry: &mut Entry) -> Result<Got, Unreadable> {
        let mut rest = line.strip_prefix(&self.lead[..]).ok_or(Unreadable::Format)?;
        let mut got = Got::Request;
        for part in &self.parts {
            let (value, after) = part.end.split(rest).ok_or(Unreadable::Format)?;
            rest = after;
            if part.field == Field::Skip {
                continue;
            }
            let value = match memchr::memchr(b'\\', value) {
                None => value,
                Some(_) => {
                    unescape(value, &mut self.scratch);
                    &self.scratch
                }
            };
            if part.field.fill(value, entry, &mut self.times)? != Got::Request {
                got = Got::NoRequest;
            }
        }
        // More than the format says is another format.
        if rest.is_empty() { Ok(got) } else { Err(Unreadable::Format) }
    }
}

impl End {
    /// What stands before it, and behind it.
    fn split<'a>(&self, rest: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        match self {
            End::Text(text) => {
                let at = text.find(rest)?;
                Some((&rest[..at], &rest[at + text.needle().len()..]))
            }
            End::Quote(behind) => {
                let mut at = 0;
                loop {
                    at += memchr::memchr2(b'"', b'\\', &rest[at..])?;
                    if rest[at] == b'"' {
                        return Some((&rest[..at], rest[at + 1..].strip_prefix(&behind[..])?));
                    }
                    at = (at + 2).min(rest.len());
                }
            }
            End::Slash => {
                let at = memchr::memchr(b'/', rest)?;
                Some((&rest[..at], &rest[at..]))
            }
            End::Line => Some((rest, &rest[rest.len()..])),
            End::Rest => {
                let at = memchr::memchr(b' ', rest).unwrap_or(rest.len());
                Some((&rest[..at], &rest[rest.len()..]))
            }
        }
    }
}

/// Gives fields the meaning that the user says.
fn mapped(text: &str, tokens: &mut [Token], map: &Map) -> Result<(), FormatError> {
    for (name, field) in map.fields()? {
        let mut there = Vec::new();
        let mut found = false;
        for token in tokens.iter_mut() {
            let Token::Variable(variable) = token else { continue };
            there.push(variable.name.clone());
            // Who says which user it is means neither login nor address.
            if field == Field::Address && variable.field == Field::Login {
                variable.field = Field::Skip;
            }
            if variable.name == name {
                (variable.field, variable.rank) = (field.clone(), u8::MAX);
                found = true;
            }
        }
        if !found {
            return Err(FormatError::new(format!(
                "--map: the log format has no field {name:?}; there are {}\n  | {text}",
                there.join(", ")
            )));
        }
    }
    Ok(())
}

/// Leaves one field of each kind; the others are skipped.
fn choose(tokens: &mut [Token], keep: &[String]) {
    let has_duration = tokens.iter().any(|token| {
        matches!(token, Token::Variable(Variable { field: Field::Took(_) | Field::TookPart(_), .. }))
    });
    let rank = |variable: &Variable| match &variable.field {
        Field::Time(form, edge) if variable.rank < u8::MAX => {
            let fineness = u8::from(!matches!(form, TimeForm::Common)) * variable.rank;
            let is_start = *edge == Edge::Start;
            // A coarse start is nearer to the start than a fine end is.
            2 * fineness + u8::from(is_start) + if is_start && !has_duration { 100 } else { 0 }
        }
        _ => variable.rank,
    };
    let ranks: Vec<Option<(u8, u8)>> = tokens
        .iter()
        .map(|token| match token {
            Token::Variable(variable) => Some((variable.field.kind(), rank(variable))),
            Token::Literal(_) => None,
        })
        .collect();
    let has_request =
        tokens.iter().any(|token| matches!(token, Token::Variable(v) if v.field == Field::Request));
    for (place, token) in tokens.iter_mut().enumerate() {
        let Token::Variable(variable) = token else { continue };
        let (kind, own) = ranks[place].unwrap_or_default();
        let others = || ranks.iter().enumerate().filter_map(|(at, rank)| Some((at, (*rank)?)));
        let is_beaten =
            others().any(|(at, (other, rank))| other == kind && (rank > own || (rank == own && at < place)));
        let is_apart = matches!(variable.field, Field::TookPart(_) | Field::Header(_));
        let is_in_request =
            has_request && matches!(variable.field, Field::Method | Field::Target | Field::Query);
        let is_unkept = matches!(&variable.field, Field::Header(name) if !keep.contains(name));
        if (is_beaten && !is_apart) || is_in_request || is_unkept {
            variable.field = Field::Skip;
        }
    }
}

/// What the line begins with, and its fields with what ends each.
fn parts(text: &str, tokens: &[Token], open: bool) -> Result<(Vec<u8>, Vec<Part>), FormatError> {
    let literal = |place: usize| match tokens.get(place) {
        Some(Token::Literal(literal)) => &literal[..],
        _ => &[],
    };
    let lead = literal(0).to_vec();
    let mut parts = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let Token::Variable(variable) = token else { continue };
        let end = match (literal(place + 1), tokens.get(place + 1)) {
            (_, None) if open => End::Rest,
            (_, None) => End::Line,
            ([b'"', behind @ ..], _) => End::Quote(behind.to_vec()),
            ([], Some(Token::Variable(next))) if begins_with_slash(next) => End::Slash,
            ([], Some(Token::Variable(next))) => {
                let message = format!(
                    "{} and {} have nothing between them, so a line does not say where one ends",
                    variable.name, next.name
                );
                return Err(FormatError::at(message, text, next.at));
            }
            (between, _) => End::Text(Box::new(memchr::memmem::Finder::new(between).into_owned())),
        };
        parts.push(Part { field: variable.field.clone(), end });
    }
    Ok((lead, parts))
}

/// By its name, since it may not be read.
fn begins_with_slash(variable: &Variable) -> bool {
    variable.field == Field::Target || ["request_uri", "uri", "document_uri", "U"].contains(&&*variable.name)
}

/// Takes the escapes of nginx, of Apache and of JSON out of a text: `\x22`, `\"`, `\u00e9`.
fn unescape(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut rest = text;
    let hex = |digits: &[u8]| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(&kind) = rest.first() else { break };
        let code = match kind {
            b'x' => rest.get(1..3).and_then(hex).map(|code| (code, 3)),
            b'u' => rest.get(1..5).and_then(hex).map(|code| (code, 5)),
            _ => None,
        };
        match (kind, code) {
            (b'x', Some((code, used))) => {
                out.push(code as u8);
                rest = &rest[used..];
            }
            (_, Some((code, used))) => {
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[used..];
            }
            (kind, None) => {
                out.push(match kind {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'f' => 12,
                    b'v' => 11,
                    other => other,
                });
                rest = &rest[1..];
            }
        }
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_all_three() {
        let of = |text: &str| {
            let mut out = Vec::new();
            unescape(text.as_bytes(), &mut out);
            String::from_utf8_lossy(&out).into_owned()
        };
        assert_eq!(of(r#"a\x22b\"c\\d\u00e9\te\xZ"#), "a\"b\"c\\dé\texZ");
        assert_eq!(of("end\\"), "end");
        assert_eq!(of("\\u12"), "u12");
    }
}
