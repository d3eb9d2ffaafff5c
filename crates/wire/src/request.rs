//! Renders a request into bytes ahead of its time, and refuses what would not arrive as meant.

use crate::blank::{Blank, place};
use crate::syntax::{is_token, is_value_byte, trim};

/// Sent unless the user gives a User-Agent.
const USER_AGENT: &str = concat!("unblink/", env!("CARGO_PKG_VERSION"));

/// The place for the length of a body that is filled in.
pub(crate) const LENGTH: u32 = u32::MAX;

/// The parts of a request.
///
/// `Host`, `User-Agent`, `Accept: */*` and `Content-Length` are added unless `headers` contain them
/// (names are compared without case); `Content-Length` only with a body or for `POST`, `PUT` and
/// `PATCH`, where its absence would leave a server in doubt (RFC 9110 §8.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestBuilder<'a> {
    /// The method, as it is to be sent.
    pub method: &'a str,
    /// The request target: a path with query, or an absolute URL through a proxy (RFC 9112 §3.2).
    pub target: &'a str,
    /// The authority for `Host`: a name or address, with the port unless it is the scheme's own.
    pub host: &'a str,
    /// The user's headers, sent in this order and with these names.
    pub headers: &'a [(String, String)],
    /// The body. With `Transfer-Encoding: chunked` among the headers it is sent as one chunk.
    pub body: &'a [u8],
}

/// Why a request cannot be rendered.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum RenderError {
    /// The method is not a token (RFC 9110 §9.1).
    #[error("method {method:?} is not valid: it must be letters, as in GET")]
    Method {
        /// The method as given.
        method: String,
    },
    /// The target is empty or contains what cannot stand in a request line.
    #[error("request target {target:?} contains {found}: percent-encode it")]
    Target {
        /// The target as given.
        target: String,
        /// What is wrong in it.
        found: Found,
    },
    /// The request target is empty.
    #[error("the request target is empty: use / for the root")]
    EmptyTarget,
    /// The target has a fragment, which is never sent to a server (RFC 9110 §4.2.5).
    #[error("request target {target:?} has a fragment: remove # and what follows, or write it as %23")]
    Fragment {
        /// The target as given.
        target: String,
    },
    /// The authority for `Host` contains what cannot stand in it.
    #[error("host {host:?} contains {found}")]
    Host {
        /// The host as given.
        host: String,
        /// What is wrong in it.
        found: Found,
    },
    /// A header line has no colon.
    #[error("header {line:?} has no colon: write it as 'Name: value'")]
    HeaderWithoutColon {
        /// The line as given.
        line: String,
    },
    /// A header's name is not a token (RFC 9110 §5.1).
    #[error("header name {name:?} is not valid: it must be letters, digits and -, without spaces")]
    HeaderName {
        /// The name as given.
        name: String,
    },
    /// A header's value contains a character that would end the line or confuse its reader.
    #[error("the value of header {name} contains {found}")]
    HeaderValue {
        /// The header's name.
        name: String,
        /// What is wrong in its value.
        found: Found,
    },
    /// A header that must stand once is given twice.
    #[error("header {name} is given more than once")]
    Repeated {
        /// The header's name.
        name: &'static str,
    },
    /// The given Content-Length is not the body's.
    #[error("Content-Length is given as {given:?} but the body has {body_bytes} bytes: leave the header out")]
    ContentLength {
        /// The value as given.
        given: String,
        /// The body's length.
        body_bytes: usize,
    },
    /// A transfer coding that this renderer does not apply.
    #[error("Transfer-Encoding {given:?} is not supported: only chunked is")]
    TransferEncoding {
        /// The value as given.
        given: String,
    },
    /// The body differs from one arrival to the next, and so does its length.
    #[error(
        "the body is filled in for each request, and so is its Content-Length: leave Content-Length and Transfer-Encoding out"
    )]
    FramedBlank,
    /// Both framings are given (RFC 9112 §6.2 forbids it).
    #[error("Content-Length and Transfer-Encoding are both given: leave one out")]
    BothFramings,
}

/// A character that must not be sent, by the name a user knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found(u8);

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            b'\r' => f.write_str("a carriage return (CR)"),
            b'\n' => f.write_str("a line break (LF)"),
            0 => f.write_str("a NUL"),
            b' ' => f.write_str("a space"),
            b'\t' => f.write_str("a tab"),
            byte if byte >= 0x80 => f.write_str("a character outside ASCII"),
            byte if byte.is_ascii_control() => write!(f, "the control character {byte:#04x}"),
            byte => write!(f, "the character {:?}", char::from(byte)),
        }
    }
}

impl RequestBuilder<'_> {
    /// Renders head and body into one buffer.
    ///
    /// # Errors
    /// [`RenderError`] if a part would break the request's syntax or framing.
    pub fn render(&self) -> Result<Vec<u8>, RenderError> {
        let (mut out, framing) = self.head()?;
        if framing == Framing::Chunked {
            write_chunked(&mut out, self.body);
        } else {
            out.extend_from_slice(self.body);
        }
        Ok(out)
    }

    /// Renders the head alone where the body follows it as it is, so that many requests can share one body; `None` where
    /// it is sent in chunks.
    ///
    /// # Errors
    /// As [`RequestBuilder::render`].
    pub fn render_head(&self) -> Result<Option<Vec<u8>>, RenderError> {
        let (head, framing) = self.head()?;
        Ok((framing != Framing::Chunked).then_some(head))
    }

    /// Renders head and body with the places that they have, see [`crate::blank`]; `None` where neither has any. The
    /// length of a body that has some is filled in at the place [`LENGTH`].
    ///
    /// # Errors
    /// As [`RequestBuilder::render`], and where the user frames a body whose length is not known ahead.
    pub fn render_blank(&self) -> Result<Option<[Blank; 2]>, RenderError> {
        let body = Blank::new(self.body);
        if !body.has_gaps() {
            let (head, framing) = self.head()?;
            let head = Blank::new(&head);
            if !head.has_gaps() {
                return Ok(None);
            }
            let mut framed = Vec::new();
            match framing {
                Framing::Chunked => write_chunked(&mut framed, self.body),
                Framing::Unsaid | Framing::Length => framed.extend_from_slice(self.body),
            }
            return Ok(Some([head, Blank::new(&framed)]));
        }
        if self.has("content-length") || self.has("transfer-encoding") {
            return Err(RenderError::FramedBlank);
        }
        self.check_line()?;
        self.check_headers()?;
        let head = self.written(Some(&place(LENGTH)));
        Ok(Some([Blank::new(&head), body]))
    }

    fn head(&self) -> Result<(Vec<u8>, Framing), RenderError> {
        self.check_line()?;
        let framing = self.check_headers()?;
        let length = self.says_length(framing).then(|| self.body.len().to_string());
        Ok((self.written(length.as_deref()), framing))
    }

    fn says_length(&self, framing: Framing) -> bool {
        framing == Framing::Unsaid
            && (!self.body.is_empty() || matches!(self.method, "POST" | "PUT" | "PATCH"))
    }

    /// Checks everything, and gives the length of the body if a header must be added for it. A body that is filled in has
    /// another one each time.
    pub(crate) fn length_to_say(&self, is_filled: bool) -> Result<Option<usize>, RenderError> {
        if is_filled && (self.has("content-length") || self.has("transfer-encoding")) {
            return Err(RenderError::FramedBlank);
        }
        self.check_line()?;
        let framing = self.check_headers()?;
        Ok(self.says_length(framing).then_some(self.body.len()))
    }

    /// The user's `Host`.
    pub(crate) fn host_header(&self) -> Option<&str> {
        self.values("host").next()
    }

    /// What is sent unless the user says otherwise.
    pub(crate) fn defaults(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        [("User-Agent", USER_AGENT), ("Accept", "*/*")].into_iter().filter(|(name, _)| !self.has(name))
    }

    fn written(&self, length: Option<&str>) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        for part in [self.method, " ", self.target, " HTTP/1.1\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
        // RFC 9110 §7.2: Host should come first.
        if !self.has("host") {
            write_header(&mut out, "Host", self.host);
        }
        for (name, value) in self.defaults() {
            write_header(&mut out, name, value);
        }
        for (name, value) in self.headers {
            write_header(&mut out, name, value);
        }
        if let Some(length) = length {
            write_header(&mut out, "Content-Length", length);
        }
        out.extend_from_slice(b"\r\n");
        out
    }

    /// The request itself asks to close the connection after its answer; no other may be sent on it
    /// then, whatever the answer says (RFC 9112 §9.6).
    pub fn asks_to_close(&self) -> bool {
        self.values("connection")
            .flat_map(|value| value.split(','))
            .any(|option| option.trim().eq_ignore_ascii_case("close"))
    }

    fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        self.headers
            .iter()
            .filter(move |(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    fn check_line(&self) -> Result<(), RenderError> {
        if !is_token(self.method.as_bytes()) {
            return Err(RenderError::Method { method: self.method.to_owned() });
        }
        if self.target.is_empty() {
            return Err(RenderError::EmptyTarget);
        }
        if let Some(found) = first_not(self.target, |byte| byte.is_ascii_graphic()) {
            return Err(RenderError::Target { target: self.target.to_owned(), found });
        }
        if self.target.contains('#') {
            return Err(RenderError::Fragment { target: self.target.to_owned() });
        }
        // `/`, `@`, `?` and `#` would mean that more than the authority was given.
        match first_not(self.host, |byte| byte.is_ascii_graphic() && !b"/@?#\\".contains(&byte)) {
            Some(found) => Err(RenderError::Host { host: self.host.to_owned(), found }),
            None => Ok(()),
        }
    }

    fn check_headers(&self) -> Result<Framing, RenderError> {
        for (name, value) in self.headers {
            check_header(name, value)?;
        }
        // RFC 9112 §3.2: a server must answer 400 to a second Host.
        for name in ["Host", "Content-Length", "Transfer-Encoding"] {
            if self.values(name).nth(1).is_some() {
                return Err(RenderError::Repeated { name });
            }
        }
        let length = self.values("content-length").next();
        let coding = self.values("transfer-encoding").next();
        match (length, coding) {
            (None, None) => Ok(Framing::Unsaid),
            (Some(_), Some(_)) => Err(RenderError::BothFramings),
            (Some(given), None) => {
                let digits = given.trim_matches([' ', '\t']);
                let is_decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
                if !is_decimal || digits.parse() != Ok(self.body.len()) {
                    return Err(RenderError::ContentLength {
                        given: given.to_owned(),
                        body_bytes: self.body.len(),
                    });
                }
                Ok(Framing::Length)
            }
            (None, Some(given)) if given.trim_matches([' ', '\t']).eq_ignore_ascii_case("chunked") => {
                Ok(Framing::Chunked)
            }
            (None, Some(given)) => Err(RenderError::TransferEncoding { given: given.to_owned() }),
        }
    }
}

/// Splits a header as users write it, `Name: value`; `Name:` is an empty value. White space around the
/// value is dropped.
///
/// # Errors
/// [`RenderError`] if the colon is missing, or if name or value cannot be sent.
pub fn parse_header(line: &str) -> Result<(String, String), RenderError> {
    let Some((name, value)) = line.split_once(':') else {
        return Err(RenderError::HeaderWithoutColon { line: line.to_owned() });
    };
    let value = value.trim_matches([' ', '\t']);
    check_header(name, value)?;
    Ok((name.to_owned(), value.to_owned()))
}

/// What the user's headers say about the body's framing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    Unsaid,
    Length,
    Chunked,
}

fn check_header(name: &str, value: &str) -> Result<(), RenderError> {
    if !is_token(name.as_bytes()) {
        return Err(RenderError::HeaderName { name: name.to_owned() });
    }
    match first_not(value, is_value_byte) {
        Some(found) => Err(RenderError::HeaderValue { name: name.to_owned(), found }),
        None => Ok(()),
    }
}

fn first_not(text: &str, accept: impl Fn(u8) -> bool) -> Option<Found> {
    text.bytes().find(|&byte| !accept(byte)).map(Found)
}

fn write_header(out: &mut Vec<u8>, name: &str, value: &str) {
    out.extend_from_slice(name.as_bytes());
    out.push(b':');
    let value = trim(value.as_bytes());
    if !value.is_empty() {
        out.push(b' ');
        out.extend_from_slice(value);
    }
    out.extend_from_slice(b"\r\n");
}

/// One chunk: the body is known as a whole, and more chunks would only be more bytes.
fn write_chunked(out: &mut Vec<u8>, body: &[u8]) {
    if !body.is_empty() {
        out.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
        out.extend_from_slice(body);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
}

/// Appends a number in digits.
pub(crate) fn write_decimal(mut number: u64, out: &mut Vec<u8>) {
    let from = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[from..].reverse();
}
