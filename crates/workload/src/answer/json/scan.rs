//! One pass over a JSON text (RFC 8259) that checks all of it and finds a value on the way.

use super::step::Step;
use super::text::{equals, escaped};

/// Objects and arrays in each other. A text that goes deeper is refused, as by most readers.
const DEPTH_MAX: u32 = 127;

/// A body that is no JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid JSON at byte {at}")]
pub struct NotJson {
    /// The first byte that is wrong, or the length of a body that ends too early.
    pub at: usize,
}

pub(super) struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
    found: Option<&'b [u8]>,
}

/// What of a path is still ahead; `None` beside it.
type Ahead<'p> = Option<&'p [Step]>;

impl<'b> Scan<'b> {
    /// The first value at the end of `steps`.
    pub(super) fn find(body: &'b [u8], steps: &[Step]) -> Result<Option<&'b [u8]>, NotJson> {
        if let Err(error) = std::str::from_utf8(body) {
            return Err(NotJson { at: error.valid_up_to() });
        }
        // RFC 8259 §8.1: a reader may ignore a byte order mark.
        let at = if body.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let mut scan = Scan { bytes: body, at, found: None };
        scan.value(Some(steps), 0)?;
        scan.space();
        if scan.at == body.len() { Ok(scan.found) } else { Err(scan.wrong()) }
    }

    fn wrong(&self) -> NotJson {
        NotJson { at: self.at.min(self.bytes.len()) }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Takes `byte` if it comes next.
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn value(&mut self, ahead: Ahead<'_>, depth: u32) -> Result<(), NotJson> {
        self.space();
        let from = self.at;
        match self.peek() {
            Some(b'{') if depth < DEPTH_MAX => self.object(ahead, depth)?,
            Some(b'[') if depth < DEPTH_MAX => self.array(ahead, depth)?,
            Some(b'"') => self.text()?,
            Some(b't') => self.word(b"true")?,
            Some(b'f') => self.word(b"false")?,
            Some(b'n') => self.word(b"null")?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => return Err(self.wrong()),
        }
        if ahead.is_some_and(<[Step]>::is_empty) && self.found.is_none() {
            self.found = Some(&self.bytes[from..self.at]);
        }
        Ok(())
    }

    fn object(&mut self, ahead: Ahead<'_>, depth: u32) -> Result<(), NotJson> {
        self.at += 1;
        self.space();
        if self.takes(b'}') {
            return Ok(());
        }
        let before = self.found;
        loop {
            self.space();
            let from = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.wrong());
            }
            self.text()?;
            let name = &self.bytes[from + 1..self.at - 1];
            self.space();
            if !self.takes(b':') {
                return Err(self.wrong());
            }
            let ahead = match ahead {
                Some([Step::Member(wanted), behind @ ..]) if equals(name, wanted.as_bytes()) => {
                    // What an earlier member of this name held counts no more.
                    self.found = before;
                    Some(behind)
                }
                Some([Step::Each, behind @ ..]) => Some(behind),
                _ => None,
            };
            self.value(ahead, depth + 1)?;
            self.space();
            if self.takes(b'}') {
                return Ok(());
            }
            if !self.takes(b',') {
                return Err(self.wrong());
            }
        }
    }

    fn array(&mut self, ahead: Ahead<'_>, depth: u32) -> Result<(), NotJson> {
        self.at += 1;
        self.space();
        if self.takes(b']') {
            return Ok(());
        }
        for place in 0.. {
            let ahead = match ahead {
                Some([Step::Element(wanted), behind @ ..]) if *wanted == place => Some(behind),
                Some([Step::Each, behind @ ..]) => Some(behind),
                _ => None,
            };
            self.value(ahead, depth + 1)?;
            self.space();
            if self.takes(b']') {
                break;
            }
            if !self.takes(b',') {
                return Err(self.wrong());
            }
        }
        Ok(())
    }

    fn text(&mut self) -> Result<(), NotJson> {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    let (_, length) = escaped(&self.bytes[self.at..]).ok_or(self.wrong())?;
                    self.at += length;
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(self.wrong()),
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), NotJson> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.wrong());
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotJson> {
        self.takes(b'-');
        // No number has a leading zero.
        if !self.takes(b'0') {
            self.digits()?;
        }
        if self.takes(b'.') {
            self.digits()?;
        }
        if self.takes(b'e') || self.takes(b'E') {
            let _ = self.takes(b'+') || self.takes(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > from { Ok(()) } else { Err(self.wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use crate::answer::json::{NotJson, Path};

    fn first<'b>(body: &'b str, path: &str) -> Result<Option<&'b str>, NotJson> {
        let (path, _) = Path::parse(path).unwrap();
        Ok(path.first(body.as_bytes())?.map(|raw| std::str::from_utf8(raw).unwrap()))
    }

    #[test]
    fn finds_where_it_stands() {
        let body = r#" {"a": {"b": [1, {"c d": "x\"}"}, null]}, "n": -1.5e+3 , "t":true, "\u0061b": []} "#;
        for (path, value) in [
            ("$.a.b[0]", Some("1")),
            ("$.a.b[1]['c d']", Some(r#""x\"}""#)),
            ("$.a.b[2]", Some("null")),
            ("$.a.b[3]", None),
            ("$.a.b.c", None),
            ("$.n", Some("-1.5e+3")),
            ("$.t", Some("true")),
            ("$.t.x", None),
            ("$.ab", Some("[]")),
            ("$.ab[*]", None),
            ("$.a.b[*]", Some("1")),
            ("$.a.b[*]['c d']", Some(r#""x\"}""#)),
            ("$[*].b[2]", Some("null")),
            ("$.A", None),
            ("$[0]", None),
        ] {
            assert_eq!(first(body, path), Ok(value), "{path}");
        }
        assert_eq!(first(" 5 ", "$"), Ok(Some("5")));
        assert_eq!(first("\u{feff}[5]", "$[0]"), Ok(Some("5")));
    }

    #[test]
    fn the_last_of_one_name_counts() {
        assert_eq!(first(r#"{"a":1,"a":2}"#, "$.a"), Ok(Some("2")));
        assert_eq!(first(r#"{"a":{"b":1},"a":2}"#, "$.a.b"), Ok(None));
        assert_eq!(first(r#"[{"a":1},{"a":2,"a":3}]"#, "$[*].a"), Ok(Some("1")));
    }

    #[test]
    fn all_of_it_must_be_json() {
        for (body, at) in [
            ("", 0),
            ("{\"a\":1", 6),
            ("{\"a\":1}}", 7),
            ("{\"a\":1,}", 7),
            ("[1,]", 3),
            ("[01]", 2),
            ("[1.]", 3),
            ("[+1]", 1),
            ("nul", 0),
            ("\"\n\"", 1),
            (r#""\x""#, 1),
            (r#""\ud800""#, 1),
            ("{a:1}", 1),
            ("<html>", 0),
        ] {
            assert_eq!(first(body, "$.a"), Err(NotJson { at }), "{body}");
        }
        let (path, _) = Path::parse("$").unwrap();
        assert_eq!(path.first(b"\"\xff\""), Err(NotJson { at: 1 }));
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(first(&nested(127), "$").is_ok());
        assert_eq!(first(&nested(128), "$"), Err(NotJson { at: 127 }));
    }
}
