//! A value that is taken from an answer, for what is asked later.

use super::condition::{ConditionError, Pattern};
use super::head;
use super::json::{Path, PathError, value_into};

/// Where in an answer the value stands.
#[derive(Clone, PartialEq, Debug)]
pub enum Capture {
    /// `json $.access_token`: a value of the body; of several the first. `null` is none.
    Json(Path),
    /// `header Location`: the value of a header; of several lines the first.
    Header(String),
    /// `regex id=([0-9]+)`: what the first group matches in the body.
    Regex(Pattern),
    /// `cookie sid`: the value of a cookie that the answer sets.
    Cookie(String),
    /// `reply`: a reply of Redis that is one value.
    Reply,
    /// `element 1`: of a reply that holds several values, the one at this place.
    Element(u64),
    /// `field name`: of a reply of names and values in turn, what follows this name.
    Field(String),
    /// `column id`: the value of this column in the first row that has it.
    Column(String),
    /// All cookies that it sets, beside those that answers before it have set, as the `Cookie` of the next request says them.
    /// No text says so: journeys ask for it by `cookies`.
    Cookies,
}

/// A value that is taken, and where it goes.
#[derive(Clone, PartialEq, Debug)]
pub struct Captured {
    /// How templates call it.
    pub name: String,
    /// Its number among the values that are taken from answers.
    pub number: u32,
    /// Where it stands.
    pub capture: Capture,
}

/// A value that an answer tells by itself: see [`Capture::is_of`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Its place among those that the answer holds; nothing if it is the answer.
    pub place: Option<u64>,
    /// How the answer calls it.
    pub name: Option<Vec<u8>>,
    /// What it is.
    pub text: Vec<u8>,
}

/// Bytes of a value that a journey keeps, at the most.
pub const KEPT_BYTES_MAX: usize = 8 << 10;

/// Why a value was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missed {
    /// The answer does not have it.
    Absent,
    /// It is longer than [`KEPT_BYTES_MAX`].
    TooLong,
}

/// Why a text does not say what to take. None of it quotes the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CaptureError {
    /// It is none of these.
    #[error(
        "expected json PATH, header NAME, regex PATTERN or cookie NAME, such as 'json $.access_token'; of rows column NAME; and of \
         Redis reply, element NUMBER or field NAME"
    )]
    Source,
    /// It has no place.
    #[error("element takes the place of a value in the reply, counted from 0, such as 'element 1'")]
    Element,
    /// It does not say which part of a match is meant.
    #[error(
        "a regex takes what its first group matches: put that into parentheses, such as 'regex id=([0-9]+)'"
    )]
    Group,
    /// What is wrong with the path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// What is wrong with the expression.
    #[error(transparent)]
    Pattern(#[from] ConditionError),
}

impl Capture {
    /// Reads what is written.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Capture, CaptureError> {
        let text = text.trim();
        if text == "reply" {
            return Ok(Capture::Reply);
        }
        let (source, rest) = text.split_once(' ').ok_or(CaptureError::Source)?;
        let rest = rest.trim_start();
        match source {
            "json" => match Path::parse(rest)? {
                (path, "") => Ok(Capture::Json(path)),
                _ => Err(CaptureError::Source),
            },
            "header" if head::is_name(rest) => Ok(Capture::Header(rest.into())),
            "regex" => {
                let pattern = Pattern::new(rest)?;
                if pattern.has_group() { Ok(Capture::Regex(pattern)) } else { Err(CaptureError::Group) }
            }
            "cookie" if head::is_name(rest) => Ok(Capture::Cookie(rest.into())),
            "element" => rest.parse().map(Capture::Element).map_err(|_| CaptureError::Element),
            // Both may have blanks in them.
            "field" => Ok(Capture::Field(rest.into())),
            "column" => Ok(Capture::Column(rest.into())),
            _ => Err(CaptureError::Source),
        }
    }

    /// It stands in the body, which must be collected and decoded.
    pub fn reads_body(&self) -> bool {
        matches!(self, Capture::Json(_) | Capture::Regex(_))
    }

    /// It is a value that the answer tells by itself.
    pub fn is_told(&self) -> bool {
        matches!(self, Capture::Reply | Capture::Element(_) | Capture::Field(_) | Capture::Column(_))
    }

    /// It is the value that an answer tells at this place, by this name ([`Told`]).
    pub fn is_of(&self, place: Option<u64>, name: Option<&[u8]>) -> bool {
        match self {
            Capture::Reply => place.is_none(),
            Capture::Element(own) => place == Some(*own),
            Capture::Field(own) | Capture::Column(own) => name == Some(own.as_bytes()),
            _ => false,
        }
    }

    /// What is taken is added to what was taken before, and does not take its place.
    pub fn adds(&self) -> bool {
        *self == Capture::Cookies
    }

    /// Appends the value to `out`; a text of JSON without its quotes and escapes. False if it is not there. `head` is the
    /// answer's head as lines, `body` is whole and decoded.
    pub fn take(&self, head: &[u8], body: &[u8], out: &mut Vec<u8>) -> bool {
        let found = match self {
            Capture::Json(path) => match path.first(body) {
                Ok(Some(raw)) if raw != b"null" => {
                    value_into(raw, out);
                    return true;
                }
                _ => None,
            },
            Capture::Header(name) => head::values(head, name).next(),
            Capture::Regex(pattern) => pattern.capture(body),
            Capture::Cookie(name) => head::cookie(head, name),
            Capture::Reply | Capture::Element(_) | Capture::Field(_) | Capture::Column(_) => None,
            Capture::Cookies => {
                head::cookies(head).for_each(|(name, value)| set_cookie(out, name, value));
                return true;
            }
        };
        found.map(|value| out.extend_from_slice(value)).is_some()
    }
}

/// Sets a cookie among those in `jar`, which are written as in RFC 6265 §4.2.1: `a=1; b=2`.
fn set_cookie(jar: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    let mut at = 0;
    while at < jar.len() {
        let end = jar[at..].iter().position(|&byte| byte == b';').map_or(jar.len(), |length| at + length);
        let known = jar[at..end].strip_prefix(name).is_some_and(|rest| rest.first() == Some(&b'='));
        if known {
            let from = at + name.len() + 1;
            jar.splice(from..end, value.iter().copied());
            return;
        }
        // Behind "; ".
        at = end + 2;
    }
    if !jar.is_empty() {
        jar.extend_from_slice(b"; ");
    }
    jar.extend_from_slice(name);
    jar.push(b'=');
    jar.extend_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"HTTP/1.1 201 Created\r\nLocation: /items/7\r\nSet-Cookie: sid=abc; Path=/\r\n\r\n";
    const BODY: &[u8] = br#"{"access_token":"t\u002f1","n":[7,{"x":null}]}"#;

    #[test]
    fn takes_what_is_there() {
        for (text, value) in [
            ("json $.access_token", Some("t/1")),
            ("json $.n[0]", Some("7")),
            ("json $.n", Some(r#"[7,{"x":null}]"#)),
            ("json $.n[*].x", None),
            ("json $.missing", None),
            ("header location", Some("/items/7")),
            ("header X-Id", None),
            ("cookie sid", Some("abc")),
            ("cookie other", None),
            (r#"regex "n":\[([0-9]+)"#, Some("7")),
            ("regex (access_[a-z]+)", Some("access_token")),
            ("regex (x)y", None),
        ] {
            let mut out = b"before ".to_vec();
            let is_there = Capture::parse(text).unwrap().take(HEAD, BODY, &mut out);
            assert_eq!(is_there, value.is_some(), "{text}");
            assert_eq!(
                String::from_utf8(out).unwrap(),
                format!("before {}", value.unwrap_or_default()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_value_that_is_told_is_known_by_its_place_or_name() {
        let told = |text: &str, place, name: Option<&str>| {
            let capture = Capture::parse(text).unwrap();
            assert!(capture.is_told() && !capture.reads_body() && !capture.take(HEAD, BODY, &mut Vec::new()));
            capture.is_of(place, name.map(str::as_bytes))
        };
        assert!(told("reply", None, None) && !told(" reply ", Some(0), None));
        assert!(told("element 1", Some(1), Some("a")) && !told("element 1", None, None));
        assert!(told("field a b", Some(1), Some("a b")) && !told("field a", Some(0), None));
        assert!(told("column id", Some(0), Some("id")) && !told("column id", Some(0), Some("ID")));
    }

    #[test]
    fn what_is_no_source_is_refused() {
        for bad in [
            "",
            "json",
            "json a",
            "json $.a b",
            "header",
            "header a b",
            "cookie a=b",
            "regex (",
            "regex x",
            "body x",
            "reply x",
            "element",
            "element -1",
            "element x",
            "field",
            "column ",
        ] {
            assert!(Capture::parse(bad).is_err(), "{bad}");
        }
    }
}
