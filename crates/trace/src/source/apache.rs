//! Apache's `LogFormat`: the string itself, or the whole directive.

use super::Edge;
use super::error::FormatError;
use super::field::Field;
use super::map::Map;
use super::pattern::{Pattern, Token, Variable};
use crate::time::{TimeForm, Unit};

/// Apache's own `combined`.
const COMBINED: &str = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#;

/// Reads a `LogFormat`; without one, it is Apache's own `combined`.
///
/// # Errors
/// It can't be read, or lines of it say too little.
pub fn apache(format: Option<&str>, map: &Map, keep: &[String]) -> Result<Pattern, FormatError> {
    let directive = format.unwrap_or(COMBINED).trim();
    let text = match directive.strip_prefix("LogFormat").filter(|rest| rest.starts_with(char::is_whitespace))
    {
        Some(rest) => quoted(rest.trim_start()).ok_or_else(|| {
            FormatError::at("the LogFormat has no text in quotes", directive, directive.len())
        })?,
        None => directive.replace("\\\"", "\""),
    };
    Pattern::new(&text, tokens(&text)?, map, keep, "%t or %{usec}t", false)
}

/// What stands in the first quotes.
fn quoted(text: &str) -> Option<String> {
    let (mut out, mut chars) = (String::new(), text.strip_prefix('"')?.chars());
    loop {
        match chars.next()? {
            '"' => return Some(out),
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                other => out.push(other),
            },
            c => out.push(c),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, FormatError> {
    let mut tokens: Vec<Token> = Vec::new();
    let literal = |tokens: &mut Vec<Token>, some: &str| match tokens.last_mut() {
        Some(Token::Literal(before)) => before.extend_from_slice(some.as_bytes()),
        _ if some.is_empty() => {}
        _ => tokens.push(Token::Literal(some.into())),
    };
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        literal(&mut tokens, &rest[..percent]);
        let at = text.len() - rest.len() + percent;
        rest = &rest[percent + 1..];
        if let Some(behind) = rest.strip_prefix('%') {
            literal(&mut tokens, "%");
            rest = behind;
            continue;
        }
        // Which request of a redirected one, and for which statuses: it is the same field.
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "!,<>".contains(c));
        let argument = match rest.strip_prefix('{') {
            Some(braced) => {
                let end = braced
                    .find('}')
                    .ok_or_else(|| FormatError::at("this brace is never closed", text, at))?;
                rest = &braced[end + 1..];
                Some(&braced[..end])
            }
            None => None,
        };
        rest = rest.trim_start_matches(['<', '>']);
        // `%{...}^ti` has two letters.
        let length = if rest.starts_with('^') {
            rest.chars().take(3).map(char::len_utf8).sum()
        } else {
            rest.chars().next().map_or(0, char::len_utf8)
        };
        let letter = &rest[..length];
        if letter.is_empty() {
            return Err(FormatError::at("the letter of a field is missing after this %", text, at));
        }
        rest = &rest[length..];
        let (field, rank) = field(letter, argument).map_err(|message| FormatError::at(message, text, at))?;
        let name = argument.unwrap_or(letter).to_string();
        let is_bracketed = letter == "t" && argument.is_none();
        if is_bracketed {
            literal(&mut tokens, "[");
        }
        // The query of a path that stands right before it.
        match tokens.last() {
            Some(Token::Variable(before)) if before.name == "U" && letter == "q" => {}
            _ => tokens.push(Token::Variable(Variable { name, at, field, rank })),
        }
        if is_bracketed {
            literal(&mut tokens, "]");
        }
    }
    literal(&mut tokens, rest);
    Ok(tokens)
}

/// What a field is, and its rank among those of its kind.
fn field(letter: &str, argument: Option<&str>) -> Result<(Field, u8), String> {
    Ok(match (letter, argument) {
        ("t", None) => (Field::Time(TimeForm::Common, Edge::Start), 0),
        ("t", Some(form)) => time(form)?,
        ("D", _) => (Field::Took(Some(Unit::Micros)), 3),
        ("T", None | Some("s")) => (Field::Took(Some(Unit::Seconds)), 0),
        ("T", Some("ms")) => (Field::Took(Some(Unit::Millis)), 1),
        ("T", Some("us")) => (Field::Took(Some(Unit::Micros)), 2),
        ("r", _) => (Field::Request, 0),
        ("m", _) => (Field::Method, 0),
        ("U", _) => (Field::Target, 0),
        ("q", _) => (Field::Query, 0),
        ("s", _) => (Field::Status, 0),
        ("b" | "B", _) => (Field::AnswerBytes, 1),
        ("O", _) => (Field::AnswerBytes, 0),
        ("I", _) => (Field::RequestBytes, 0),
        ("u", _) => (Field::Login, 0),
        ("h", _) => (Field::Address, 0),
        ("a", None) => (Field::Address, 1),
        ("v" | "V", _) => (Field::Header("host".into()), 0),
        ("i", Some(header)) => (Field::Header(header.to_ascii_lowercase()), 0),
        _ => (Field::Skip, 0),
    })
}

fn time(form: &str) -> Result<(Field, u8), String> {
    let (edge, form) = match form.split_once(':') {
        Some(("begin", form)) => (Edge::Start, form),
        Some(("end", form)) => (Edge::End, form),
        _ => (Edge::Start, form),
    };
    let (unit, rank) = match form {
        "sec" => (Unit::Seconds, 1),
        "msec" => (Unit::Millis, 2),
        "usec" => (Unit::Micros, 3),
        _ => {
            return Err(format!(
                "%{{{form}}}t is not read; there are %t, %{{sec}}t, %{{msec}}t, %{{usec}}t, and begin: and end: before them"
            ));
        }
    };
    Ok((Field::Time(TimeForm::Number(unit), edge), rank))
}
