//! Which condition an answer does not meet, and what stood there instead, in words for a person. What may be a secret is
//! described and not quoted.

use super::condition::{Condition, Test};
use super::events::{EventFormat, EventReader};
use super::expects::{Expect, is_of};
use super::head::values;
use super::json::{self, Kind};
use super::{Captured, Coding, KEPT_BYTES_MAX, Missed, Undecoded};

/// Texts up to this length are quoted, if nothing in them looks like a secret.
const QUOTED_MAX: usize = 24;

/// What an answer does not meet.
#[derive(Clone, PartialEq, Debug)]
pub enum Unmet {
    /// The body can't be looked at.
    Body(Undecoded),
    /// The condition does not hold, and what was found says what stood there instead.
    Condition {
        /// The condition; as a text it hides what it compares with.
        condition: Condition,
        /// What was found, as the end of a sentence.
        found: String,
    },
    /// A value can't be taken from it.
    Capture {
        /// How it is called.
        name: String,
        /// Why.
        why: Missed,
    },
}

impl Expect {
    /// The first condition that an answer, which is not as it must be, does not meet. `body` is as it was sent, and
    /// `body_bytes` its length: one that is longer than `body` is too large to be looked at. Nothing is said of values that the
    /// answer tells by themselves.
    pub fn unmet(&self, status: u16, head: &[u8], body_bytes: u64, body: &[u8]) -> Option<Unmet> {
        let unmet = |condition, found| Some(Unmet::Condition { condition, found });
        if self.allows_status(status) == Some(false) {
            return match self.codes.is_empty() {
                true => unmet(Condition::Statuses(self.statuses.clone()), format!("it is {status}")),
                false => unmet(Condition::Codes(self.codes.clone()), "it is another".into()),
            };
        }
        for (name, test) in &self.headers {
            let condition = || Condition::Header(name.clone(), test.clone());
            let mut all = values(head, name).peekable();
            if all.peek().is_none() {
                return unmet(condition(), "there is no such header".into());
            }
            if let Some(value) = all.find(|value| !test.holds_for_text(value)) {
                return unmet(condition(), format!("it is {}", text(value, name)));
            }
        }
        if let Some(size) = self.size.as_ref().filter(|_| !self.allows_size(body_bytes)) {
            return unmet(Condition::Size(size.clone()), format!("it has {body_bytes} bytes"));
        }
        if !self.reads_body() {
            return self.captures.iter().find_map(|captured| missed(captured, head, b""));
        }
        if let Some(format) = self.events
            && let Some(found) = no_events(format, head, body)
        {
            return unmet(Condition::Events(format), found);
        }
        let coding = Coding::of(head);
        if body_bytes > body.len() as u64 {
            return match self.contains.as_ref().filter(|_| coding == Coding::Plain && !self.collects_body()) {
                // It was searched to its end, as it came.
                Some(needle) => {
                    let found = format!("it is not in the body of {body_bytes} bytes");
                    unmet(Condition::Contains(needle.clone()), found)
                }
                None => Some(Unmet::Body(Undecoded::TooLarge)),
            };
        }
        let (mut decoded, mut text) = (Vec::new(), Vec::new());
        let body = match self.text_of(coding, body, &mut decoded, &mut text) {
            Ok(body) => body,
            Err(why) => return Some(Unmet::Body(why)),
        };
        let length = || format!("it is not in the body of {} bytes", body.len());
        if let Some(needle) = self.contains.as_ref().filter(|needle| !needle.is_in(body)) {
            return unmet(Condition::Contains(needle.clone()), length());
        }
        if let Some(pattern) = self.patterns.iter().find(|pattern| !pattern.is_in(body)) {
            return unmet(Condition::Regex(pattern.clone()), length());
        }
        let mut scratch = Vec::new();
        let of_json = self.json.iter().find_map(|(path, test)| {
            let found = match path.first(body) {
                Err(error) => format!("the body of {} bytes is not JSON (at byte {})", body.len(), error.at),
                Ok(None) => "there is nothing".into(),
                Ok(Some(raw)) if test.holds_for_json(raw, &mut scratch) => return None,
                Ok(Some(raw)) => value(raw, test, path.as_str()),
            };
            unmet(Condition::Json(path.clone(), test.clone()), found)
        });
        of_json.or_else(|| self.captures.iter().find_map(|captured| missed(captured, head, body)))
    }
}

/// Why a body does not come event by event, if it does not.
fn no_events(format: EventFormat, head: &[u8], body: &[u8]) -> Option<String> {
    if Coding::of(head) != Coding::Plain {
        return Some(
            "its body is compressed, and events are told apart in plain ones: leave Accept-Encoding out"
                .into(),
        );
    }
    if !is_of(format, head) {
        return Some(match values(head, "content-type").next() {
            Some(value) => format!("its Content-Type is {}", text(value, "")),
            None => "it has no Content-Type, where text/event-stream is expected".into(),
        });
    }
    if format == EventFormat::Messages {
        return body.is_empty().then(|| "it has no message".into());
    }
    let mut reader = EventReader::default();
    let found = reader.read(format, body).events + reader.end(format).events;
    (found == 0).then(|| format!("there is no event in its {} bytes", body.len()))
}

/// Why a value can't be taken, if it can't be.
fn missed(captured: &Captured, head: &[u8], body: &[u8]) -> Option<Unmet> {
    if captured.capture.is_told() {
        return None;
    }
    let mut value = Vec::new();
    let why = match captured.capture.take(head, body, &mut value) {
        false => Missed::Absent,
        true if value.len() > KEPT_BYTES_MAX => Missed::TooLong,
        true => return None,
    };
    Some(Unmet::Capture { name: captured.name.clone(), why })
}

/// A value of JSON that stands at `place`.
fn value(raw: &[u8], test: &Test, place: &str) -> String {
    let whole = || String::from_utf8_lossy(raw).into_owned();
    match json::kind_of(raw) {
        Kind::Object => format!("it is an object of {} bytes", raw.len()),
        Kind::Array => format!("it is an array of {} bytes", raw.len()),
        // A long one may be a key.
        Kind::Number if raw.len() > QUOTED_MAX => format!("it is a number of {} digits", raw.len()),
        // Where an order is asked for, a number is no secret; elsewhere it may be a code.
        Kind::Number if matches!(test, Test::Number { .. }) || raw.len() <= 3 => format!("it is {}", whole()),
        Kind::Number => format!("it is another number, of {} digits", raw.len()),
        Kind::Word => format!("it is {}", whole()),
        Kind::Text => {
            let mut plain = Vec::new();
            json::value_into(raw, &mut plain);
            format!("it is {}", text(&plain, place))
        }
    }
}

/// Words in the names of what nobody else must see.
const SECRETS: [&str; 10] =
    ["auth", "code", "cookie", "credential", "key", "password", "secret", "session", "sid", "token"];

/// A text in quotes, if it is a word or a few, as states and messages are, and `name` is none of a secret. Anything else may
/// be a token.
fn text(value: &[u8], name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let is_told = !SECRETS.iter().any(|secret| name.contains(secret));
    match std::str::from_utf8(value) {
        Ok("") => "empty".into(),
        Ok(text)
            if is_told
                && text.len() <= QUOTED_MAX
                && text.chars().all(|c| c.is_ascii_alphabetic() || " _-/".contains(c)) =>
        {
            format!("{text:?}")
        }
        Ok(text) => format!("another text, of {} characters", text.chars().count()),
        Err(_) => format!("{} bytes that are not text", value.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Capture;

    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nX-State: old\r\nX-Token: abcdef\r\n\r\n";
    const BODY: &[u8] = br#"{"state":"pending","n":7,"pin":1234,"token":"abc","id":"k9x","list":[1,2]}"#;

    fn found(condition: &str) -> Option<String> {
        let expect = Expect::new(&[Condition::parse(condition).expect(condition)]);
        match expect.unmet(200, HEAD, BODY.len() as u64, BODY)? {
            Unmet::Condition { found, .. } => Some(found),
            Unmet::Body(why) => Some(why.to_string()),
            Unmet::Capture { name, .. } => Some(name),
        }
    }

    #[test]
    fn a_value_that_can_not_be_taken_is_told_by_its_name() {
        let captured = |name: &str, text: &str| Captured {
            name: name.into(),
            number: 0,
            capture: Capture::parse(text).expect(text),
        };
        let missed = |captures: &[Captured]| {
            let expect = Expect { captures: captures.to_vec(), ..Expect::default() };
            expect.unmet(200, HEAD, BODY.len() as u64, BODY)
        };
        let (state, id) = (captured("state", "header X-State"), captured("id", "json $.id"));
        let (tag, no) = (captured("tag", "header ETag"), captured("no", "json $.no"));
        let absent = |name: &str| Some(Unmet::Capture { name: name.into(), why: Missed::Absent });
        assert_eq!(missed(&[state.clone(), id.clone()]), None);
        assert_eq!(missed(&[state, tag]), absent("tag"));
        assert_eq!(missed(&[id, no]), absent("no"));
    }

    #[test]
    fn what_stood_there_is_told_and_secrets_are_not() {
        for (condition, said) in [
            ("header X-Id", Some("there is no such header")),
            ("header X-State = new", Some("it is \"old\"")),
            ("header X-Token = new", Some("it is another text, of 6 characters")),
            ("header X-State", None),
            ("json $.state == 'done'", Some("it is \"pending\"")),
            ("json $.token == 'x'", Some("it is another text, of 3 characters")),
            ("json $.id == 'x'", Some("it is another text, of 3 characters")),
            ("json $.n > 7", Some("it is 7")),
            ("json $.pin == 1", Some("it is another number, of 4 digits")),
            ("json $.pin > 2000", Some("it is 1234")),
            ("json $.list == 1", Some("it is an array of 5 bytes")),
            ("json $.missing exists", Some("there is nothing")),
            ("json $.n >= 7", None),
            ("regex pend[a-z]+", None),
            ("regex ^x", Some("it is not in the body of 74 bytes")),
        ] {
            assert_eq!(found(condition).as_deref(), said, "{condition}");
        }
    }

    #[test]
    fn a_body_that_cannot_be_looked_at() {
        let expect = Expect::new(&[Condition::parse("regex .").unwrap()]);
        let why = |head: &str, bytes| expect.unmet(200, head.as_bytes(), bytes, b"xy");
        assert_eq!(why("Content-Encoding: zz\r\n", 2), Some(Unmet::Body(Undecoded::Unknown)));
        assert_eq!(why("Content-Encoding: gzip\r\n", 2), Some(Unmet::Body(Undecoded::Broken)));
        assert_eq!(why("", 3), Some(Unmet::Body(Undecoded::TooLarge)));
        assert_eq!(why("", 2), None);
    }
}
