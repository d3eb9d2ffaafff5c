//! Secrets that are known by their text or by their name, wherever they stand in what is shown of requests and answers.

use super::{MASK, marked};
use std::sync::{Mutex, PoisonError};

/// A shorter text stands in too many places that have nothing to do with it.
const TEXT_MIN: usize = 4;

/// What `${NAME}` has been filled in with.
static VARIABLES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes what a variable of the environment was filled in with, which may be a secret.
pub(crate) fn note_variable(value: &str) {
    let mut all = VARIABLES.lock().unwrap_or_else(PoisonError::into_inner);
    if !all.iter().any(|known| known == value) {
        all.push(value.to_string());
    }
}

/// Texts that are not to be shown.
pub(crate) struct Known {
    texts: Vec<String>,
}

impl Known {
    /// The values of the variables that have been filled in.
    pub(crate) fn of_variables() -> Known {
        let all = VARIABLES.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = Known { texts: Vec::new() };
        all.iter().for_each(|value| known.add(value));
        known
    }

    /// Takes note of a secret. Its last word is one, too: that of `Bearer abc`.
    pub(crate) fn add(&mut self, text: &str) {
        for text in [text, text.rsplit(' ').next().unwrap_or_default()] {
            let forms = [
                text.to_string(),
                // As in a host.
                text.to_ascii_lowercase(),
                in_json(text),
                percent_encoded(text, "%20"),
                percent_encoded(text, "+"),
            ];
            for form in forms {
                if text.len() >= TEXT_MIN && !self.texts.contains(&form) {
                    self.texts.push(form);
                }
            }
        }
        // One may be a part of another.
        self.texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
    }

    /// Takes note of what was taken from an answer: a text, or a jar of cookies.
    pub(crate) fn add_taken(&mut self, value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        self.add(&text);
        let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
        pairs.for_each(|(_, value)| self.add(value.trim()));
    }

    /// The text without them, and without what stands behind a name that says it is one.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mut text =
            self.texts.iter().fold(text.to_string(), |text, known| text.replace(known.as_str(), MASK));
        // One that was cut off at the end.
        let beginning = self.texts.iter().filter_map(|known| {
            let lengths = (TEXT_MIN..known.len()).rev().filter(|end| known.is_char_boundary(*end));
            lengths.map(|end| &known[..end]).find(|beginning| text.ends_with(beginning)).map(str::len)
        });
        if let Some(length) = beginning.max() {
            text.truncate(text.len() - length);
            text.push_str(MASK);
        }
        marked::masked(text)
    }

    /// Some of these bytes are one of them.
    pub(crate) fn is_in(&self, bytes: &[u8]) -> bool {
        self.texts.iter().any(|known| bytes.windows(known.len()).any(|window| window == known.as_bytes()))
    }
}

/// As it stands in a text of JSON.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_string()
}

/// As it stands in a query or a form (RFC 3986 §2.3).
pub(crate) fn percent_encoded(text: &str, space: &str) -> String {
    let coded = |byte: u8| match byte {
        b' ' => space.to_string(),
        byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(coded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_masked_wherever_it_stands() {
        let mut known = Known { texts: Vec::new() };
        known.add("Bearer s3cret-one");
        known.add("abc");
        known.add("a \"b/ü");
        let shown = [
            ("say s3cret-one abc", "say *** abc"),
            (
                r#"{"id": 7, "access_token" : "x\"y", "pin":1234}"#,
                r#"{"id": 7, "access_token" : "***", "pin":***}"#,
            ),
            (r#"{"tokens": ["a", "b"], "key": {"id": 1}}"#, r#"{"tokens": ***, "key": {"id": 1}}"#),
            (r#"{"say":"a \"b/ü"} q=a%20%22b%2F%C3%BC&r=a+%22b%2F%C3%BC"#, r#"{"say":"***"} q=***&r=***"#),
            (
                r#"{"raw":"{\"password\": \"a\\\"b\\\\\",\"pin\":12,\"n\":\"x\"}"}"#,
                r#"{"raw":"{\"password\": \"***\",\"pin\":***,\"n\":\"x\"}"}"#,
            ),
            (r#"{"token":"broken of"#, r#"{"token":"***""#),
            ("the end is s3cret-o", "the end is ***"),
            ("user=me&password=a%20b&x=1", "user=me&password=***&x=1"),
            ("sid=abcd; Path=/", "sid=***; Path=/"),
        ];
        for (text, masked) in shown {
            assert_eq!(known.masked(text), masked);
        }
        assert!(known.is_in(b"\0s3cret-one\0") && !known.is_in(b"abc"));
    }
}
