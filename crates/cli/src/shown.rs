//! Requests and answers as they may be shown.

mod expected;
mod made;

pub(crate) use expected::{awaited, captures, expected, expected_of_message};
pub(crate) use made::Made;

use crate::secrets::{self, Known, MASK, is_secret_name};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::str::Utf8Error;
use unblink_artifact::tried::{NamedValue, TriedBody, TriedMessage};
use unblink_core::arrival::Arrival;
use unblink_core::time::Instant;
use unblink_engine::job::Job;
use unblink_wire::http1::Http1;
use unblink_workload::Composer;
use unblink_workload::answer::Coding;

/// Bytes that are shown of a drawn value.
const VALUE_MAX: usize = 4_096;
/// How much of each text is shown.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    /// As much as anybody looks at of one of many.
    Begun,
    Whole,
}

impl Length {
    fn bytes_max(self) -> usize {
        match self {
            Length::Begun => 4_096,
            Length::Whole => usize::MAX,
        }
    }
}

/// Bytes that are shown of what is no text.
const HEX_MAX: usize = 32;

/// Headers of answers whose values tell nothing of who asked.
const HARMLESS: [&str; 20] = [
    "age",
    "allow",
    "alt-svc",
    "accept-ranges",
    "content-disposition",
    "content-language",
    "content-range",
    "date",
    "etag",
    "expires",
    "grpc-accept-encoding",
    "grpc-encoding",
    "grpc-message",
    "grpc-status",
    "keep-alive",
    "last-modified",
    "retry-after",
    "server",
    "vary",
    "via",
];

/// A request as it was sent.
pub(crate) fn request(length: Length, bytes: &[u8], made: &Made, known: &mut Known) -> TriedMessage {
    let coding = Coding::of(head_and_body(bytes).0);
    request_as(coding, length, bytes, made, known)
}

/// The same with all of its body as it is sent, if that is text.
pub(crate) fn whole_request(bytes: &[u8], made: &Made, known: &mut Known) -> TriedMessage {
    request_as(Coding::Plain, Length::Whole, bytes, made, known)
}

/// A command of Redis or a statement of SQL, which is the body of the request: its words in one line.
pub(crate) fn command(length: Length, bytes: &[u8], known: &Known) -> TriedMessage {
    let body = head_and_body(bytes).1;
    let text = match text_of(body).map(|text| known.masked(&text.replace('\n', "\\n").replace('\r', "\\r"))) {
        Some(text) => text[..text.floor_char_boundary(length.bytes_max())].to_string(),
        None => body[..body.len().min(length.bytes_max())].escape_ascii().to_string(),
    };
    TriedMessage { line: text, headers: Vec::new(), body: None }
}

/// A message over a WebSocket, which is the body of the request.
pub(crate) fn message(length: Length, bytes: &[u8], known: &mut Known) -> TriedMessage {
    let TriedMessage { body, .. } = request(length, bytes, &Made::default(), known);
    TriedMessage { line: "message".into(), headers: Vec::new(), body }
}

fn request_as(coding: Coding, length: Length, bytes: &[u8], made: &Made, known: &mut Known) -> TriedMessage {
    let (head, body) = head_and_body(bytes);
    let (line, headers) = lines(head);
    note_secrets(&headers, known);
    let mut words: Vec<&str> = line.split(' ').collect();
    let target =
        words.get(1).map(|target| made.shown(&secrets::mask_path_of(&format!("http://h{target}")), target));
    if let Some(target) = &target {
        words[1] = target;
    }
    let line = known.masked(&words.join(" "));
    let named = headers.iter().map(|(name, value)| {
        let shown = secrets::mask_header(&format!("{name}: {value}"));
        let value = shown.split_once(": ").map_or(MASK, |(_, value)| value);
        NamedValue { name: name.clone(), value: known.masked(value) }
    });
    let headers = named.collect();
    TriedMessage { line, headers, body: self::body((body, body.len() as u64), coding, length, known) }
}

fn head_and_body(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(bytes.len(), |at| at + 4);
    bytes.split_at(end)
}

/// An answer; `body_bytes` are those that it had, of which the first are `body`.
pub(crate) fn answer(
    length: Length,
    head: &[u8],
    (body, body_bytes): (&[u8], u64),
    known: &mut Known,
) -> TriedMessage {
    let (line, headers) = lines(head);
    note_secrets(&headers, known);
    let named = headers.iter().map(|(name, value)| {
        let shown = match name.to_ascii_lowercase().as_str() {
            "location" | "content-location" => secrets::mask_url(value),
            lower if HARMLESS.contains(&lower) => value.clone(),
            _ => secrets::mask_header(&format!("{name}: {value}"))
                .split_once(": ")
                .map_or(MASK, |(_, value)| value)
                .into(),
        };
        NamedValue { name: name.clone(), value: known.masked(&shown) }
    });
    let headers = named.collect();
    TriedMessage {
        line: known.masked(&line),
        headers,
        body: self::body((body, body_bytes), Coding::of(head), length, known),
    }
}

/// A drawn value. One whose name says that it is secret is known from then on, unless a law gave it as a number.
fn value(name: &str, value: &[u8], is_number: bool, known: &mut Known) -> NamedValue {
    let text = String::from_utf8_lossy(value);
    let value = match is_secret_name(name) && !is_number {
        true => {
            known.add(&text);
            MASK.to_string()
        }
        false => {
            let mut text = known.masked(&text);
            if text.len() > VALUE_MAX {
                let end = text.floor_char_boundary(VALUE_MAX);
                text.truncate(end);
                text.push('…');
            }
            text
        }
    };
    NamedValue { name: name.to_string(), value }
}

/// The named values of an arrival. Rows of files whose names say that they are secret are known then.
pub(crate) fn drawn(job: &Job<Http1>, arrival: &Arrival, known: &mut Known) -> Vec<NamedValue> {
    let Some(values) = &job.values else { return Vec::new() };
    let mut composer = Composer::new(values, &job.plan);
    composer.draw(values, &job.plan, arrival, Instant(0));
    composer.drawn(values).map(|(name, drawn, is_number)| value(&name, &drawn, is_number, known)).collect()
}

/// The first line, and names and values.
fn lines(head: &[u8]) -> (String, Vec<(String, String)>) {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().skip_while(|line| line.is_empty());
    let first = lines.next().unwrap_or_default().to_string();
    let named = lines.take_while(|line| !line.is_empty()).map(|line| match line.split_once(':') {
        Some((name, value)) => (name.to_string(), value.trim().to_string()),
        None => (String::new(), line.to_string()),
    });
    (first, named.collect())
}

/// What these headers keep secret, a body may give back.
fn note_secrets(headers: &[(String, String)], known: &mut Known) {
    for (name, value) in headers.iter().filter(|(name, _)| is_secret_name(name)) {
        match name.to_ascii_lowercase().as_str() {
            "cookie" => value.split(';').for_each(|pair| known.add(of_pair(pair))),
            "set-cookie" => known.add(of_pair(value.split(';').next().unwrap_or_default())),
            _ => {
                known.add(value);
                note_user(value, known);
            }
        }
    }
}

/// User and password in a header (RFC 7617): either may be given back as it is.
fn note_user(value: &str, known: &mut Known) {
    let coded = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let user = coded.and_then(|(_, coded)| String::from_utf8(STANDARD.decode(coded.trim()).ok()?).ok());
    if let Some((_, password)) = user.as_deref().and_then(|user| user.split_once(':')) {
        known.add(user.as_deref().unwrap_or_default());
        known.add(password);
    }
}

/// The value of a cookie.
fn of_pair(pair: &str) -> &str {
    pair.split_once('=').map_or(pair, |(_, value)| value).trim()
}

/// So many bytes of which the first are there.
fn body((body, bytes): (&[u8], u64), coding: Coding, length: Length, known: &Known) -> Option<TriedBody> {
    if bytes == 0 && body.is_empty() {
        return None;
    }
    let mut decoded = Vec::new();
    let (content, undecoded) = match coding.decode(body, &mut decoded) {
        Ok(content) => (content, None),
        Err(why) => (body, Some(why.to_string())),
    };
    let is_decoded = coding != Coding::Plain && undecoded.is_none();
    let shown = if undecoded.is_some() { None } else { text_of(content) };
    let is_whole = is_decoded || content.len() as u64 >= bytes;
    let shown = shown.map(|text| known.masked(text)).map(|text| {
        let end = text.floor_char_boundary(length.bytes_max());
        (text[..end].to_string(), end < text.len())
    });
    let (text, is_text_cut) = shown.map_or((None, false), |(text, is_cut)| (Some(text), is_cut));
    let hex = (text.is_none() && !known.is_in(content)).then(|| {
        let first = &content[..content.len().min(HEX_MAX)];
        first.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
    });
    Some(TriedBody {
        bytes,
        decoded_bytes: is_decoded.then_some(content.len() as u64),
        is_cut: !is_whole || is_text_cut || (text.is_none() && content.len() > HEX_MAX),
        text,
        hex,
        undecoded,
    })
}

/// What is a text, as far as it came.
fn text_of(bytes: &[u8]) -> Option<&str> {
    let is_broken_off = |error: &Utf8Error| error.error_len().is_none();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if is_broken_off(&error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?,
        Err(_) => return None,
    };
    let is_text = |c: char| !c.is_control() || c.is_whitespace();
    text.chars().all(is_text).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_shown_without_its_secrets() {
        let mut known = Known::of_variables();
        let sent = b"POST /a/7?limit=3&q=s3cret1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer s3cret2\r\n\
            Cookie: a=s3cret3; b=c\r\nProxy-Authorization: Basic bWU6czNjcmV0Ng==\r\nX-Own: s3cret4\r\nContent-Length: 9\r\n\r\n{\"n\":\"s3cret2\",\"token\":\"s3cret5\",\"m\":\"s3cret3\",\"u\":\"s3cret6\",\"i\":1}";
        let shown = request(Length::Whole, sent, &Made::default(), &mut known);
        assert_eq!(shown.line, "POST /a/7?limit=3&q=*** HTTP/1.1");
        let text = format!("{shown:?}");
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(
            shown.body.unwrap().text.unwrap(),
            r#"{"n":"***","token":"***","m":"***","u":"***","i":1}"#
        );
        assert_eq!(shown.headers[0], NamedValue { name: "Host".into(), value: "h".into() });
    }

    #[test]
    fn a_long_drawn_value_is_cut() {
        let mut known = Known::of_variables();
        let shown = value("u.big", "ä".repeat(3_000).as_bytes(), false, &mut known).value;
        assert_eq!((shown.chars().count(), shown.ends_with("ä…")), (2_049, true));
    }

    #[test]
    fn a_number_that_a_law_gave_is_no_secret_and_a_row_is() {
        let mut known = Known::of_variables();
        let mut of = |name, is_number| value(name, b"80215", is_number, &mut known).value;
        assert_eq!((of("key", true), of("items.id", false)), ("80215".into(), "80215".into()));
        assert_eq!(of("user.key", false), MASK);
        assert_eq!(
            known.masked("GET /items/80215"),
            "GET /items/***",
            "a row's secret is one wherever it stands"
        );
    }

    #[test]
    fn bodies_are_cut_and_what_is_no_text_is_said_in_hex() {
        let known = Known::of_variables();
        let of =
            |bytes: &[u8], length| body((bytes, bytes.len() as u64), Coding::Plain, length, &known).unwrap();
        let text = "ä".repeat(3_000);
        let long = of(text.as_bytes(), Length::Begun);
        assert_eq!((long.text.unwrap().len(), long.is_cut, long.bytes), (4_096, true, 6_000));
        let whole = of(text.as_bytes(), Length::Whole);
        assert_eq!((whole.text, whole.is_cut), (Some(text), false));
        let binary = of(&[0, 255, 16], Length::Whole);
        assert_eq!((binary.text, binary.hex.as_deref(), binary.is_cut), (None, Some("00 ff 10"), false));
        assert_eq!(body((b"", 0), Coding::Plain, Length::Whole, &known), None);
        let broken = body((b"xy", 2), Coding::Gzip, Length::Whole, &known).unwrap();
        assert!(broken.undecoded.is_some() && broken.text.is_none() && broken.hex.is_some());
        let came = body((b"half", 10), Coding::Plain, Length::Whole, &known).unwrap();
        assert_eq!((came.text.as_deref(), came.is_cut), (Some("half"), true));
    }
}
