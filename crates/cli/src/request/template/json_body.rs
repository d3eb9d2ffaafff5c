//! Bodies that are JSON: what is filled in is written there as JSON asks.

use super::BodyForm;
use crate::request::Parts;
use std::iter::repeat_n;
use unblink_workload::template::{Piece, TemplateError, is_number, is_raw, pieces};
use unblink_workload::{Context, Lets};

/// What stands for a variable that the environment lacks, where nothing is sent. It may stand where JSON has a value. By the `~`,
/// which a URL may have anywhere and no name of a host has, it is told from what somebody wrote.
pub(crate) const UNKNOWN_VARIABLE: &str = "variable~";

/// How values are written in the places of `text`, the body of a request with these headers.
pub(super) fn context(
    parts: &Parts,
    headers: &[(String, String)],
    text: &str,
    lets: &Lets,
) -> Result<Context, TemplateError> {
    let is_statement = parts.is_command || parts.is_sql || parts.cql.is_statement;
    match parts.body_form {
        BodyForm::Json => check(text, lets, parts.taking.known)?,
        BodyForm::Plain if !is_statement => {
            let checked = check(text, lets, parts.taking.known);
            match (what_says_so(parts, headers), checked) {
                (Said::Json(how), checked) => checked.map_err(|error| instead(error, how))?,
                (Said::Nothing, Ok(())) if is_object_or_list(text) => {}
                (Said::Nothing | Said::Other, _) => return Ok(Context::Body),
            }
        }
        form => return Ok(form.context()),
    }
    Ok(Context::Json)
}

/// What a body is said to be.
enum Said {
    /// JSON, in this way.
    Json(&'static str),
    Other,
    Nothing,
}

fn what_says_so(parts: &Parts, headers: &[(String, String)]) -> Said {
    let of_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    match of_type {
        Some((_, value)) if is_json(value) => Said::Json("by its Content-Type"),
        Some(_) => Said::Other,
        None => {
            let ending = parts.file.as_ref().and_then(|file| file.extension());
            let is_json = ending.is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
            if is_json { Said::Json("by the name of its file") } else { Said::Nothing }
        }
    }
}

/// As it begins, if it is JSON. No object begins with a place.
fn is_object_or_list(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['{', '[']) && !text.starts_with("{{")
}

/// A media type of JSON (RFC 6838 §4.2.8).
fn is_json(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    name.ends_with("/json") || name.ends_with("+json")
}

/// The same error, with what else can be done.
fn instead(error: TemplateError, how: &str) -> TemplateError {
    let TemplateError { at, message } = error;
    let message = format!(
        "{message}. It is JSON {how}; what is to be sent as it is needs another Content-Type, such as text/plain"
    );
    TemplateError { at, message }
}

/// Is `text` JSON, whatever stands in its places? Where JSON has a value, only a number can be filled in.
fn check(text: &str, lets: &Lets, taken: u64) -> Result<(), TemplateError> {
    // As long as the text, so that what is wrong is found where it stands.
    let mut filled = String::with_capacity(text.len());
    let mut quotes = Quotes::default();
    for piece in pieces(text)? {
        match piece {
            Piece::Text(text) => quotes.pass(text, &mut filled),
            Piece::Place(inside, at) => {
                let wrong = |what: String| {
                    let (line, column) = line_and_column(text, at.start);
                    TemplateError { at: at.clone(), message: format!("line {line}, column {column}: {what}") }
                };
                let (kind, rest) = match quotes.is_inside {
                    true if is_raw(inside) => {
                        return Err(wrong(format!(
                            "{{{{{inside}}}}} is JSON by itself, and stands in a text: leave the quotes out, or raw"
                        )));
                    }
                    false if !is_raw(inside) && is_number(inside, lets, taken) == Some(false) => {
                        return Err(wrong(format!(
                            "{{{{{inside}}}}} is not a number, and stands where JSON has a value: write \
                             \"{{{{{inside}}}}}\", or {{{{raw({inside})}}}} if it is JSON by itself"
                        )));
                    }
                    true => ("", 'x'),
                    false => ("null", ' '),
                };
                filled.push_str(kind);
                filled.extend(repeat_n(rest, at.len().saturating_sub(kind.len())));
                quotes.is_escaped = false;
            }
        }
    }
    serde_json::from_str::<serde::de::IgnoredAny>(&filled).map(drop).map_err(|error| {
        let said = error.to_string();
        let why = said.split(" at line ").next().unwrap_or_default();
        let message = format!("line {}, column {}: this is not JSON ({why})", error.line(), error.column());
        TemplateError { at: 0..0, message }
    })
}

/// Of a byte, both from 1 on.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, at - start + 1)
}

/// Where in a JSON text one is.
#[derive(Default)]
struct Quotes {
    is_inside: bool,
    is_escaped: bool,
}

impl Quotes {
    /// Appends `text` to `filled`, with a value for what nothing is known of.
    fn pass(&mut self, mut text: &str, filled: &mut String) {
        while let Some(next) = text.chars().next() {
            if !self.is_inside && text.starts_with(UNKNOWN_VARIABLE) {
                filled.push_str("null     ");
                text = &text[UNKNOWN_VARIABLE.len()..];
                continue;
            }
            match next {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = self.is_inside,
                '"' => self.is_inside = !self.is_inside,
                _ => {}
            }
            filled.push(next);
            text = &text[next.len_utf8()..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn lets() -> Lets {
        let mut lets = Lets::default();
        for (name, text) in [("item", "zipf(9)"), ("word", "['a', 'b']")] {
            let source =
                unblink_workload::Source::parse(text, &mut |_| Err(std::io::ErrorKind::NotFound.into()));
            lets.add(name, source.unwrap()).unwrap();
        }
        lets
    }

    fn found(text: &str, content_type: Option<&str>, file: Option<&str>) -> Result<Context, String> {
        let parts = Parts { file: file.map(|file| Path::new(file).into()), ..Parts::default() };
        let headers: Vec<_> =
            content_type.iter().map(|value| ("content-type".to_string(), value.to_string())).collect();
        context(&parts, &headers, text, &lets()).map_err(|error| error.message)
    }

    #[test]
    fn what_a_body_is_said_to_be_decides_how_values_are_written() {
        let text = "{\"a\": \"{{word}}\"}";
        for (content_type, file, expected) in [
            (Some("application/json; charset=utf-8"), None, Context::Json),
            (Some("application/problem+JSON"), None, Context::Json),
            (Some("text/plain"), Some("a.json"), Context::Body),
            (Some("application/x-ndjson"), None, Context::Body),
            (None, Some("a.JSON"), Context::Json),
            (None, Some("a.txt"), Context::Json),
            (None, None, Context::Json),
        ] {
            assert_eq!(found(text, content_type, file), Ok(expected), "{content_type:?} {file:?}");
        }
        // Of which nothing is said, and which is none, is any text.
        for text in ["{{word}}", "a={{word}}", "{\"a\": {{word}}}", "{{item}}", "{ {{word}} }"] {
            assert_eq!(found(text, None, None), Ok(Context::Body), "{text}");
            assert_eq!(found(text, Some("text/plain"), Some("a.json")), Ok(Context::Body), "{text}");
        }
        for parts in [
            Parts { is_command: true, ..Parts::default() },
            Parts { is_sql: true, ..Parts::default() },
            Parts { body_form: BodyForm::Message, ..Parts::default() },
        ] {
            assert_eq!(context(&parts, &[], text, &lets()).unwrap(), Context::Body);
        }
    }

    #[test]
    fn what_is_no_json_around_its_places_is_found() {
        for text in [
            "{{item}}",
            "{\"{{word}}\": [{{item}}, {{ number(index) }}, -1, \"\\\"{{word}}\\\\\"]}",
            "{\n\"é\": {{raw(word)}}, \"b\": variable~, \"c\": \"variable~\"}",
            "{\"a\": \"{{'{{'}}\"}",
        ] {
            assert_eq!(check(text, &lets(), 0), Ok(()), "{text}");
        }
        for (text, why) in [
            ("{\n \"é\": {{word}}}", "line 2, column 8: {{word}} is not a number"),
            ("{\"a\": {{word}}}", "write \"{{word}}\", or {{raw(word)}}"),
            ("{\"a\": {{uuid}}}", "{{uuid}} is not a number"),
            ("{\"a\": \"{{raw(word)}}\"}", "leave the quotes out"),
            ("[{{item}}{{item}}]", "line 1, column 10: this is not JSON"),
            ("[1{{item}}]", "this is not JSON"),
            ("[-{{item}}]", "this is not JSON"),
            ("{\"a\": \"\\{{word}}\"}", "this is not JSON"),
            ("{\"a\": \"\\u00{{word}}\"}", "this is not JSON"),
            ("{'a': {{item}}}", "line 1, column 2: this is not JSON"),
            ("{{{item}}: 1}", "this is not JSON"),
            ("{\"a\": \"{{word}}\"} {}", "this is not JSON"),
            ("{\"a\": \"{{word}}", "this is not JSON"),
        ] {
            let error = check(text, &lets(), 0).expect_err(text).message;
            assert!(error.contains(why), "{text}: {error}");
        }
        let error = found("{\"a\": {{word}}}", None, Some("a.json")).unwrap_err();
        assert!(
            error.contains("It is JSON by the name of its file") && error.contains("text/plain"),
            "{error}"
        );
        let error = found("a={{word}}", Some("application/json"), None).unwrap_err();
        assert!(error.contains("It is JSON by its Content-Type"), "{error}");
    }
}
