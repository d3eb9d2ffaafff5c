//! One condition on an answer, as it is written.

use super::events::EventFormat;
use super::head;
use super::json::{self, Path, PathError};
use super::needle::Needle;
use regex::bytes::{Regex, RegexBuilder};
use std::cmp::Ordering;
use std::fmt;
use std::ops::RangeInclusive;

/// Bytes that a compiled expression may take.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// What an answer must be like. Its text hides what an answer is compared with, which may be a secret that it gives back.
#[derive(Clone, PartialEq, Debug)]
pub enum Condition {
    /// The status is one of these.
    Statuses(Vec<RangeInclusive<u16>>),
    /// The code is one of these, in a protocol whose codes have names.
    Codes(Vec<NamedCode>),
    /// The body has so many bytes, as it is sent.
    Size(RangeInclusive<u64>),
    /// The body contains this.
    Contains(Needle),
    /// A header's value is like this.
    Header(String, Test),
    /// The body matches this.
    Regex(Pattern),
    /// A value in the body is like this.
    Json(Path, Test),
    /// The body comes event by event, and has one at least.
    Events(EventFormat),
}

/// A code of an answer that has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedCode {
    /// Whose code it is, as its codes call the protocol.
    pub protocol: &'static str,
    /// As the protocol calls it.
    pub name: String,
    /// Its place among the codes of the protocol.
    pub place: u16,
}

/// What a single value must be like.
#[derive(Clone, PartialEq, Debug)]
pub enum Test {
    /// It is there.
    Exists,
    /// It is there and is this.
    Is(Literal),
    /// It is there and is something else.
    IsNot(Literal),
    /// It is there and matches this.
    Matches(Pattern),
    /// It is a number on this side of another one, or may equal it.
    Number {
        /// [`Ordering::Less`] or [`Ordering::Greater`].
        side: Ordering,
        /// Equal is as good.
        or_equal: bool,
        /// What it is compared with.
        limit: f64,
    },
}

/// What a value is compared with.
#[derive(Clone, PartialEq, Debug)]
pub enum Literal {
    /// A text, without its quotes.
    Text(String),
    /// A number, `true`, `false` or `null`, as JSON writes it.
    Word(String),
}

/// A regular expression. It is bounded in size, and searches in time that is linear in what it searches.
#[derive(Clone, Debug)]
pub struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Pattern {
    /// An expression in the syntax of the `regex` crate.
    ///
    /// # Errors
    /// [`ConditionError::Regex`].
    pub fn new(text: &str) -> Result<Pattern, ConditionError> {
        let built = RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).build();
        built.map(Pattern).map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => ConditionError::RegexTooLarge,
            _ => ConditionError::Regex,
        })
    }

    /// It matches somewhere in `bytes`.
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        self.0.is_match(bytes)
    }

    /// A part of it is in parentheses that take what they match.
    pub(super) fn has_group(&self) -> bool {
        self.0.captures_len() > 1
    }

    /// What its first group matched first.
    pub(super) fn capture<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        self.0.captures(bytes)?.get(1).map(|group| group.as_bytes())
    }
}

/// Why a text is no condition. None of it quotes the text, which may be a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConditionError {
    /// It begins with another word.
    #[error("a condition begins with status, size, contains, header, regex or json")]
    Name,
    /// No header can be called so.
    #[error("expected header NAME, such as 'header X-Id', 'header X-Id = 7' or 'header X-Id ~ ^[0-9]+$'")]
    Header,
    /// Behind the path stands something else.
    #[error(
        "after a JSON path, expected exists, == VALUE, != VALUE, ~ REGEX, or >, >=, < or <= and a number, where \
         VALUE is 'a text' in quotes, a number, true, false or null"
    )]
    Json,
    /// What is wrong with the path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// Several values have no comparison.
    #[error("a path with * may lead to several values: ask whether one exists, or name the one to compare")]
    Several,
    /// It is no regular expression.
    #[error("this is not a regular expression")]
    Regex,
    /// It would take too much memory.
    #[error("this regular expression is too large")]
    RegexTooLarge,
}

impl Condition {
    /// `header …`, `regex …` or `json …`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Condition, ConditionError> {
        let (name, rest) = text.trim().split_once(' ').ok_or(ConditionError::Name)?;
        let rest = rest.trim_start();
        match name {
            "regex" => Pattern::new(rest).map(Condition::Regex),
            "header" => {
                // The latter two could stand in a name, and in none that is used.
                let end = rest.find([' ', '=', '!', '~']).unwrap_or(rest.len());
                let name = &rest[..end];
                if !head::is_name(name) {
                    return Err(ConditionError::Header);
                }
                header_test(rest[end..].trim_start()).map(|test| Condition::Header(name.into(), test))
            }
            "json" => {
                let (path, rest) = Path::parse(rest)?;
                let test = json_test(rest.trim_start())?;
                match path.is_of_several() && test != Test::Exists {
                    true => Err(ConditionError::Several),
                    false => Ok(Condition::Json(path, test)),
                }
            }
            _ => Err(ConditionError::Name),
        }
    }

    /// Both are about the same: of two that are, one given for a single request takes the place of one for all.
    pub fn is_about_the_same(&self, other: &Condition) -> bool {
        match (self, other) {
            (Condition::Header(name, _), Condition::Header(other, _)) => name.eq_ignore_ascii_case(other),
            (Condition::Json(path, _), Condition::Json(other, _)) => path == other,
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        }
    }
}

/// Of a header's value, which is a text whether or not it stands in quotes.
fn header_test(text: &str) -> Result<Test, ConditionError> {
    let literal = |value: &str| Literal::Text(value.trim().into());
    if matches!(text, "" | "exists") {
        Ok(Test::Exists)
    } else if let Some(pattern) = text.strip_prefix('~') {
        Pattern::new(pattern.trim()).map(Test::Matches)
    } else if let Some(value) = text.strip_prefix("!=") {
        Ok(Test::IsNot(literal(value)))
    } else if let Some(value) = text.strip_prefix("==").or(text.strip_prefix('=')) {
        Ok(Test::Is(literal(value)))
    } else {
        Err(ConditionError::Header)
    }
}

fn json_test(text: &str) -> Result<Test, ConditionError> {
    if text == "exists" {
        return Ok(Test::Exists);
    }
    let sides =
        [(">=", Ordering::Greater, true), ("<=", Ordering::Less, true), (">", Ordering::Greater, false)];
    for (sign, side, or_equal) in sides.into_iter().chain([("<", Ordering::Less, false)]) {
        if let Some(number) = text.strip_prefix(sign) {
            let Some(Literal::Word(word)) = literal(number.trim()) else { return Err(ConditionError::Json) };
            let limit = word.parse().map_err(|_| ConditionError::Json)?;
            return Ok(Test::Number { side, or_equal, limit });
        }
    }
    if let Some(pattern) = text.strip_prefix('~') {
        return Pattern::new(pattern.trim()).map(Test::Matches);
    }
    let value = |rest: &str| literal(rest.trim()).ok_or(ConditionError::Json);
    match text.strip_prefix("!=") {
        Some(rest) => value(rest).map(Test::IsNot),
        None => {
            let rest = text.strip_prefix("==").or(text.strip_prefix('=')).ok_or(ConditionError::Json)?;
            value(rest).map(Test::Is)
        }
    }
}

/// A text in quotes, or a word of JSON.
fn literal(text: &str) -> Option<Literal> {
    if text.starts_with(['\'', '"']) {
        return json::quoted(text).filter(|(_, rest)| rest.is_empty()).map(|(text, _)| Literal::Text(text));
    }
    let (root, _) = Path::parse("$").ok()?;
    let raw = root.first(text.as_bytes()).ok()??;
    let is_word = matches!(json::kind_of(raw), json::Kind::Number | json::Kind::Word);
    is_word.then(|| Literal::Word(text.into()))
}

impl Test {
    /// A header's value is like this.
    pub(super) fn holds_for_text(&self, value: &[u8]) -> bool {
        match self {
            Test::Exists => true,
            Test::Is(literal) => value == literal.as_bytes(),
            Test::IsNot(literal) => value != literal.as_bytes(),
            Test::Matches(pattern) => pattern.is_in(value),
            // Only of JSON.
            Test::Number { .. } => false,
        }
    }

    /// A value of JSON, as it stands there, is like this. `scratch` is for texts that have escapes in them.
    pub(super) fn holds_for_json(&self, raw: &[u8], scratch: &mut Vec<u8>) -> bool {
        match self {
            Test::Exists => true,
            Test::Is(literal) => literal.is(raw),
            Test::IsNot(literal) => !literal.is(raw),
            Test::Matches(pattern) => {
                scratch.clear();
                json::value_into(raw, scratch);
                pattern.is_in(scratch)
            }
            Test::Number { side, or_equal, limit } => {
                let number = json::number(raw).and_then(|number| number.parse::<f64>().ok());
                let ordering = number.and_then(|number| number.partial_cmp(limit));
                ordering.is_some_and(|ordering| ordering == *side || (*or_equal && ordering.is_eq()))
            }
        }
    }
}

impl Literal {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Literal::Text(text) | Literal::Word(text) => text.as_bytes(),
        }
    }

    fn is(&self, raw: &[u8]) -> bool {
        match (self, json::kind_of(raw)) {
            (Literal::Text(text), json::Kind::Text) => json::equals(json::inside(raw), text.as_bytes()),
            (Literal::Word(word), json::Kind::Number) => {
                json::number(raw).is_some_and(|raw| is_equal(raw, word))
            }
            (Literal::Word(word), json::Kind::Word) => raw == word.as_bytes(),
            _ => false,
        }
    }
}

/// The same number, `1.0` and `1` included. Whole numbers are compared exactly, beyond what a `f64` tells apart.
fn is_equal(one: &str, other: &str) -> bool {
    match (one.parse::<i128>(), other.parse::<i128>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.parse::<f64>().is_ok_and(|one| other.parse() == Ok(one)),
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Statuses(ranges) => {
                let one = |range: &RangeInclusive<u16>| match (*range.start(), *range.end()) {
                    (low, high) if low == high => low.to_string(),
                    (low, high) if low % 100 == 0 && high == low + 99 => format!("{}xx", low / 100),
                    (low, high) => format!("{low}..{high}"),
                };
                write!(f, "status={}", ranges.iter().map(one).collect::<Vec<_>>().join(","))
            }
            Condition::Codes(codes) => {
                let names: Vec<&str> = codes.iter().map(|code| code.name.as_str()).collect();
                write!(f, "status={}", names.join(","))
            }
            Condition::Size(range) => match (*range.start(), *range.end()) {
                (low, high) if low == high => write!(f, "size={low}"),
                (low, u64::MAX) => write!(f, "size={low}.."),
                (low, high) => write!(f, "size={low}..{high}"),
            },
            Condition::Contains(needle) => write!(f, "contains=({} bytes)", needle.len()),
            Condition::Header(name, test) => write!(f, "header {name} {test}"),
            Condition::Regex(pattern) => write!(f, "regex ({} bytes)", pattern.0.as_str().len()),
            Condition::Json(path, test) => write!(f, "json {} {test}", path.as_str()),
            Condition::Events(format) => write!(f, "stream {format}"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Test::Exists => write!(f, "exists"),
            Test::Is(literal) => write!(f, "== {literal}"),
            Test::IsNot(literal) => write!(f, "!= {literal}"),
            Test::Matches(pattern) => write!(f, "~ ({} bytes)", pattern.0.as_str().len()),
            Test::Number { side, or_equal, limit } => {
                let sign = if side.is_gt() { ">" } else { "<" };
                write!(f, "{sign}{} {limit}", if *or_equal { "=" } else { "" })
            }
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Text(text) => write!(f, "({} bytes)", text.len()),
            Literal::Word(word) => write!(f, "{word}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_and_how_they_are_shown() {
        for (text, shown) in [
            ("header X-Id", "header X-Id exists"),
            ("header X-Id exists", "header X-Id exists"),
            ("header X-Id = s3cret", "header X-Id == (6 bytes)"),
            ("header X-Id=s3cret", "header X-Id == (6 bytes)"),
            ("header X-Id!= s3cret", "header X-Id != (6 bytes)"),
            ("header X-Id ~ ^s3cret$", "header X-Id ~ (8 bytes)"),
            ("regex s3cret|x", "regex (8 bytes)"),
            ("json $.id exists", "json $.id exists"),
            ("json $.a[0]['b c'] == 's3cret'", "json $.a[0]['b c'] == (6 bytes)"),
            ("json $.a==\"s3cret\"", "json $.a == (6 bytes)"),
            ("json $.a != null", "json $.a != null"),
            ("json $.a = -1.5e3", "json $.a == -1.5e3"),
            ("json $.a ~ s3cret", "json $.a ~ (6 bytes)"),
            ("json $.a>5", "json $.a > 5"),
            ("json $.a <= 0.5", "json $.a <= 0.5"),
            ("json $.a[*] exists", "json $.a[*] exists"),
        ] {
            assert_eq!(Condition::parse(text).map(|c| c.to_string()), Ok(shown.to_string()), "{text}");
        }
    }

    #[test]
    fn what_is_no_condition_is_not_quoted() {
        for (text, error) in [
            ("", ConditionError::Name),
            ("s3cret x", ConditionError::Name),
            ("json", ConditionError::Name),
            ("header s3cret: x", ConditionError::Header),
            ("header  = x", ConditionError::Header),
            ("header X-Id > 5", ConditionError::Header),
            ("json s3cret", ConditionError::Path(PathError::NoRoot)),
            ("json $.a", ConditionError::Json),
            ("json $.a s3cret", ConditionError::Json),
            ("json $.a == s3cret", ConditionError::Json),
            ("json $.a == 's3cret", ConditionError::Json),
            ("json $.a == [1]", ConditionError::Json),
            ("json $.a > 's3cret'", ConditionError::Json),
            ("json $.a > null", ConditionError::Json),
            ("json $.a[*] == 1", ConditionError::Several),
            ("regex (", ConditionError::Regex),
            ("header A ~ (", ConditionError::Regex),
            (r"regex (\w{1000}){1000}", ConditionError::RegexTooLarge),
        ] {
            assert_eq!(Condition::parse(text), Err(error), "{text}");
            assert!(!error.to_string().contains("s3cret"));
        }
    }

    #[test]
    fn values_of_json_are_compared_as_what_they_are() {
        for (condition, value, holds) in [
            ("== 5", "5", true),
            ("== 5", "5.0", true),
            ("== 5", "\"5\"", false),
            ("== '5'", "5", false),
            ("== '5'", "\"5\"", true),
            ("== 9007199254740993", "9007199254740992", false),
            ("== 'ü'", r#""\u00fc""#, true),
            ("== true", "true", true),
            ("== null", "null", true),
            ("!= 'x'", "\"y\"", true),
            ("!= 'x'", "\"x\"", false),
            ("!= null", "0", true),
            ("> 5", "5", false),
            (">= 5", "5", true),
            (">= 5", "4.9", false),
            ("< 5", "-1e3", true),
            ("< 5", "\"1\"", false),
            ("< 5", "null", false),
            ("~ ^a.c$", r#""a\u0062c""#, true),
            ("~ ^a.c$", r#""ac""#, false),
            ("~ ^4", "42", true),
            ("exists", "null", true),
        ] {
            let Ok(Condition::Json(_, test)) = Condition::parse(&format!("json $.a {condition}")) else {
                panic!("{condition}")
            };
            assert_eq!(test.holds_for_json(value.as_bytes(), &mut Vec::new()), holds, "{value} {condition}");
        }
    }

    #[test]
    fn one_for_a_single_request_takes_the_place_of_its_like() {
        let same = |one: &str, other: &str| {
            Condition::parse(one).unwrap().is_about_the_same(&Condition::parse(other).unwrap())
        };
        assert!(same("header X-Id", "header x-id = 5") && !same("header X-Id", "header X-Other"));
        assert!(same("json $.a exists", "json $.a == 1") && !same("json $.a exists", "json $.b exists"));
        assert!(same("regex a", "regex b") && !same("regex a", "header a"));
    }
}
