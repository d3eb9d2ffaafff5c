//! nginx's `log_format`: the string itself, or the whole directive as it stands in the configuration.

use super::Edge;
use super::error::FormatError;
use super::field::Field;
use super::map::Map;
use super::pattern::{Pattern, Token, Variable};
use crate::time::{TimeForm, Unit};

/// What nginx writes where no format is named.
const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// Reads a `log_format`; without one, it is nginx's own `combined`.
///
/// # Errors
/// It can't be read, or lines of it say too little.
pub fn nginx(format: Option<&str>, map: &Map, keep: &[String]) -> Result<Pattern, FormatError> {
    let directive = format.unwrap_or(COMBINED).trim();
    let text = match directive.strip_prefix("log_format").filter(|rest| rest.starts_with(char::is_whitespace))
    {
        Some(rest) => unquoted(rest, directive)?,
        None => directive.to_string(),
    };
    let tokens = joined(tokens(&text)?);
    Pattern::new(&text, tokens, map, keep, "$time_local, $time_iso8601 or $msec", false)
}

/// The string of a directive: its pieces in quotes, one behind the other.
fn unquoted(rest: &str, directive: &str) -> Result<String, FormatError> {
    let wrong = |message: &str| FormatError::at(message, directive, directive.len());
    let start = rest.find(['\'', '"']).ok_or_else(|| wrong("the log_format has no text in quotes"))?;
    let (mut out, mut chars) = (String::new(), rest[start..].chars());
    while let Some(quote) = chars.find(|c| !c.is_whitespace()) {
        match quote {
            '\'' | '"' => loop {
                match chars.next() {
                    None => return Err(wrong("a quote of the log_format is never closed")),
                    Some(c) if c == quote => break,
                    Some('\\') => match chars.next() {
                        Some(c @ ('\'' | '"' | '\\')) => out.push(c),
                        Some('t') => out.push('\t'),
                        Some(c) => out.extend(['\\', c]),
                        None => return Err(wrong("a quote of the log_format is never closed")),
                    },
                    Some(c) => out.push(c),
                }
            },
            _ => break,
        }
    }
    Ok(out)
}

fn tokens(text: &str) -> Result<Vec<Token>, FormatError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        let Some(dollar) = rest.find('$') else {
            tokens.push(Token::Literal(rest.into()));
            break;
        };
        if dollar > 0 {
            tokens.push(Token::Literal(rest[..dollar].into()));
            rest = &rest[dollar..];
            continue;
        }
        let (name, used) = match rest[1..].strip_prefix('{') {
            Some(braced) => {
                let end = braced
                    .find('}')
                    .ok_or_else(|| FormatError::at("this brace is never closed", text, at))?;
                (&braced[..end], end + 3)
            }
            None => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = rest[1..].find(|c| !is_name(c)).unwrap_or(rest.len() - 1);
                (&rest[1..=end], end + 1)
            }
        };
        if name.is_empty() {
            return Err(FormatError::at("a variable's name is missing after this $", text, at));
        }
        let (field, rank) = field(name);
        tokens.push(Token::Variable(Variable { name: name.into(), at, field, rank }));
        rest = &rest[used..];
    }
    Ok(tokens)
}

/// `$uri$is_args$args` is the same as `$request_uri` to a trace, and `$is_args$args` is a query.
fn joined(tokens: Vec<Token>) -> Vec<Token> {
    let mut out: Vec<Token> = Vec::new();
    for token in tokens {
        if let (Some(Token::Variable(before)), Token::Variable(variable)) = (out.last(), &token) {
            let is_query = ["is_args", "args", "query_string"].contains(&&*variable.name);
            let takes_it = ["uri", "document_uri", "is_args"].contains(&&*before.name);
            if is_query && takes_it {
                continue;
            }
        }
        out.push(token);
    }
    out
}

/// What a variable is, and its rank among those of its kind.
fn field(name: &str) -> (Field, u8) {
    let end = |form| Field::Time(form, Edge::End);
    match name {
        "msec" => (end(TimeForm::Number(Unit::Seconds)), 2),
        "time_iso8601" => (end(TimeForm::Iso), 1),
        "time_local" => (end(TimeForm::Common), 0),
        "request_time" => (Field::Took(Some(Unit::Seconds)), 0),
        "request" => (Field::Request, 0),
        "request_method" => (Field::Method, 0),
        "request_uri" => (Field::Target, 1),
        "uri" | "document_uri" => (Field::Target, 0),
        "args" | "query_string" | "is_args" => (Field::Query, 0),
        "status" => (Field::Status, 0),
        "body_bytes_sent" => (Field::AnswerBytes, 1),
        "bytes_sent" => (Field::AnswerBytes, 0),
        "request_length" => (Field::RequestBytes, 0),
        "remote_user" => (Field::Login, 0),
        "remote_addr" => (Field::Address, 0),
        "realip_remote_addr" | "proxy_protocol_addr" => (Field::Skip, 0),
        "host" => (Field::Header("host".into()), 0),
        _ => match name.strip_prefix("http_") {
            Some(header) => (Field::Header(header.replace('_', "-")), 0),
            None => (Field::Skip, 0),
        },
    }
}
