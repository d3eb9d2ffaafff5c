//! The head of a request, and what a copy of the request says.

use super::Unreadable;
use crate::syntax::{is_token, is_value_byte, trim};
use crate::{RequestKind, Whole};
use std::ops::Range;

/// What holds for one connection and is not handed on (RFC 9110 §7.6.1), with what frames the body, which a copy says in
/// its own way.
const OF_THE_CONNECTION: [&str; 10] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// What a proxy that mirrors adds to the host's name (Envoy).
const SHADOW: &str = "-shadow";

/// A request that somebody sent here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incoming {
    head: Head,
    body: Vec<u8>,
    /// Why the body was not kept, if it was not.
    pub missing: Option<Missing>,
}

/// Why a body was read and not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// It had more bytes than may be kept of one.
    TooLarge,
    /// Too much was held when it came.
    NoRoom,
}

/// How the end of the body is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    None,
    Length(u64),
    Chunked,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Head {
    text: Box<[u8]>,
    method: Range<usize>,
    target: Range<usize>,
    /// Name and value.
    lines: Vec<(Range<usize>, Range<usize>)>,
    pub(super) framing: Framing,
    /// Leave to send the body is waited for.
    pub(super) waits: bool,
    is_upgrade: bool,
    is_1_0: bool,
    keeps: bool,
}

impl Head {
    pub(super) fn parse(text: &[u8], headers_max: usize) -> Result<Head, Unreadable> {
        let mut at = 0;
        let mut lines = Vec::new();
        // The last line is empty, and so is what follows it.
        while at < text.len() {
            let end = line_end(text, at)?;
            lines.push(at..end);
            at = end + 2;
        }
        lines.pop();
        let mut lines = lines.into_iter();
        let (method, target, is_1_0) = request_line(text, lines.next().ok_or(Unreadable::RequestLine)?)?;
        let mut head = Head {
            text: text.into(),
            method,
            target,
            lines: Vec::with_capacity(lines.len()),
            framing: Framing::None,
            waits: false,
            is_upgrade: false,
            is_1_0,
            keeps: !is_1_0,
        };
        if lines.len() > headers_max {
            return Err(Unreadable::TooManyHeaders);
        }
        for line in lines {
            head.lines.push(header(text, line)?);
        }
        head.understand()?;
        Ok(head)
    }

    fn understand(&mut self) -> Result<(), Unreadable> {
        let (mut hosts, mut length, mut is_chunked, mut closes) = (0, None, false, false);
        for (name, value) in &self.lines {
            let (name, value) = (&self.text[name.clone()], &self.text[value.clone()]);
            let is = |wanted: &str| name.eq_ignore_ascii_case(wanted.as_bytes());
            if is("host") {
                hosts += 1;
            } else if is("content-length") {
                let number = number(value).filter(|_| length.is_none()).ok_or(Unreadable::Length)?;
                length = Some(number);
            } else if is("transfer-encoding") {
                if is_chunked || self.is_1_0 || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Unreadable::Coding);
                }
                is_chunked = true;
            } else if is("expect") {
                self.waits |= value.eq_ignore_ascii_case(b"100-continue") && !self.is_1_0;
            } else if is("upgrade") {
                self.is_upgrade = true;
            } else if is("connection") {
                for option in options(value) {
                    match () {
                        () if option.eq_ignore_ascii_case(b"close") => closes = true,
                        () if option.eq_ignore_ascii_case(b"keep-alive") => self.keeps = true,
                        () => {}
                    }
                }
            }
        }
        self.keeps &= !closes;
        if hosts > 1 || hosts == 0 && !self.is_1_0 {
            return Err(Unreadable::Host);
        }
        self.framing = match (length, is_chunked) {
            (Some(_), true) => return Err(Unreadable::TwoFramings),
            (_, true) => Framing::Chunked,
            (None | Some(0), false) => Framing::None,
            (Some(length), false) => Framing::Length(length),
        };
        Ok(())
    }

    pub(super) fn without_body(self) -> Box<Incoming> {
        self.with_body(Vec::new(), None)
    }

    pub(super) fn with_body(self, body: Vec<u8>, missing: Option<Missing>) -> Box<Incoming> {
        Box::new(Incoming { head: self, body, missing })
    }

    /// Its bytes.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Names that `Connection` says belong to it.
    fn belongs_to_connection(&self, name: &[u8]) -> bool {
        let named = |(field, value): &(Range<usize>, Range<usize>)| {
            self.text[field.clone()].eq_ignore_ascii_case(b"connection")
                && options(&self.text[value.clone()]).any(|option| option.eq_ignore_ascii_case(name))
        };
        !name.eq_ignore_ascii_case(b"host") && self.lines.iter().any(named)
    }
}

impl Incoming {
    /// Its method.
    pub fn method(&self) -> &str {
        // A token is ASCII.
        std::str::from_utf8(&self.head.text[self.head.method.clone()]).unwrap_or_default()
    }

    /// Its path and query.
    pub fn target(&self) -> &[u8] {
        &self.head.text[self.head.target.clone()]
    }

    /// It asks for another protocol on the connection.
    pub fn is_upgrade(&self) -> bool {
        self.head.is_upgrade
    }

    /// Its sender leaves the connection open for another request.
    pub fn keeps_connection(&self) -> bool {
        self.head.keeps
    }

    /// Its sender speaks HTTP/1.0, to whom an open connection has to be announced.
    pub fn is_http_1_0(&self) -> bool {
        self.head.is_1_0
    }

    /// Bytes of a copy, at the most, with `headers`.
    pub fn copy_bytes_max(&self, headers: &[(String, String)]) -> usize {
        let added: usize = headers.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        self.head.text.len() + self.body.len() + added + "Content-Length: \r\nHost: \r\n".len() + 20
    }

    /// The request once more, for somebody else: in HTTP/1.1, without what holds for the connection it came on, with the
    /// host's name as it was before it was mirrored. `headers` replace those of the same name; `host` stands for a missing
    /// one.
    pub fn copy(&self, headers: &[(String, String)], host: &str) -> Copied {
        let Head { text, method, target, lines, .. } = &self.head;
        let mut bytes = Vec::with_capacity(self.copy_bytes_max(headers) + host.len());
        bytes.extend_from_slice(&text[method.clone()]);
        bytes.push(b' ');
        bytes.extend_from_slice(&text[target.clone()]);
        bytes.extend_from_slice(b" HTTP/1.1\r\n");
        let is_replaced =
            |name: &[u8]| headers.iter().any(|(own, _)| name.eq_ignore_ascii_case(own.as_bytes()));
        let mut has_host = is_replaced(b"host");
        for (name, value) in lines {
            let (name, value) = (&text[name.clone()], &text[value.clone()]);
            let is_of_connection =
                OF_THE_CONNECTION.iter().any(|of| name.eq_ignore_ascii_case(of.as_bytes()));
            if is_of_connection || is_replaced(name) || self.head.belongs_to_connection(name) {
                continue;
            }
            let is_host = name.eq_ignore_ascii_case(b"host");
            has_host |= is_host;
            let value = if is_host { without_shadow(value) } else { value.to_vec() };
            line(&mut bytes, name, &value);
        }
        if !has_host {
            line(&mut bytes, b"Host", host.as_bytes());
        }
        for (name, value) in headers {
            line(&mut bytes, name.as_bytes(), value.as_bytes());
        }
        if self.head.framing != Framing::None {
            line(&mut bytes, b"Content-Length", self.body.len().to_string().as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        Copied {
            bytes: bytes.into(),
            whole: Whole { kind: RequestKind::of_method(self.method()), closes: false },
        }
    }
}

/// A request that is ready to be sent to somebody else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copied {
    /// All of it.
    pub bytes: Box<[u8]>,
    /// How its answer is framed.
    pub whole: Whole,
}

fn line(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

/// `shop.test-shadow:8080` was `shop.test:8080`.
fn without_shadow(host: &[u8]) -> Vec<u8> {
    // The colons of an IPv6 address stand in brackets.
    let after = host.iter().rposition(|&byte| byte == b']').unwrap_or(0);
    let port = host[after..].iter().position(|&byte| byte == b':').map_or(host.len(), |at| after + at);
    let name = host[..port].strip_suffix(SHADOW.as_bytes()).unwrap_or(&host[..port]);
    [name, &host[port..]].concat()
}

/// Where the line that begins at `from` ends: before its CR LF.
fn line_end(text: &[u8], from: usize) -> Result<usize, Unreadable> {
    let length = text[from..].iter().position(|&byte| !is_value_byte(byte));
    let end = from + length.ok_or(Unreadable::Line)?;
    if text[end..].starts_with(b"\r\n") { Ok(end) } else { Err(Unreadable::Line) }
}

fn request_line(text: &[u8], line: Range<usize>) -> Result<(Range<usize>, Range<usize>, bool), Unreadable> {
    let bytes = &text[line.clone()];
    let space = |from: usize| bytes[from..].iter().position(|&byte| byte == b' ').map(|at| from + at);
    let first = space(0).ok_or(Unreadable::RequestLine)?;
    let second = space(first + 1).ok_or(Unreadable::RequestLine)?;
    let (method, target) = (0..first, first + 1..second);
    if !is_token(&bytes[method.clone()]) {
        return Err(Unreadable::RequestLine);
    }
    let is_1_0 = match &bytes[second + 1..] {
        b"HTTP/1.1" => false,
        b"HTTP/1.0" => true,
        other if other.starts_with(b"HTTP/") => return Err(Unreadable::Version),
        _ => return Err(Unreadable::RequestLine),
    };
    let is_path = bytes[target.clone()].starts_with(b"/");
    let is_all = &bytes[target.clone()] == b"*" && &bytes[method.clone()] == b"OPTIONS";
    if !is_path && !is_all || bytes[target.clone()].contains(&b'\t') {
        return Err(Unreadable::Target);
    }
    let at = |range: Range<usize>| line.start + range.start..line.start + range.end;
    Ok((at(method), at(target), is_1_0))
}

fn header(text: &[u8], line: Range<usize>) -> Result<(Range<usize>, Range<usize>), Unreadable> {
    let bytes = &text[line.clone()];
    let colon = bytes.iter().position(|&byte| byte == b':').ok_or(Unreadable::HeaderName)?;
    if !is_token(&bytes[..colon]) {
        return Err(Unreadable::HeaderName);
    }
    let untrimmed = &bytes[colon + 1..];
    let value = trim(untrimmed);
    let before = untrimmed.len() - untrimmed.trim_ascii_start().len();
    let start = line.start + colon + 1 + if value.is_empty() { 0 } else { before };
    Ok((line.start..line.start + colon, start..start + value.len()))
}

fn number(value: &[u8]) -> Option<u64> {
    let digits =
        std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}

fn options(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(trim)
}
