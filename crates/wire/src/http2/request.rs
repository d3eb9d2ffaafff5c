//! A request, encoded ahead of its time.

use super::hpack::encoder::Encoder;
use super::hpack::literal::{self, Part};
use crate::blank::{Blank, Filler, NothingToFill, place};
use crate::message::Message;
use crate::request::{LENGTH, write_decimal};
use crate::syntax::trim;
use crate::{RenderError, RequestBuilder, RequestKind};
use std::sync::Arc;

/// How the target's URL begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS.
    Https,
}

/// A request, rendered ahead of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The block of header fields.
    parts: Box<[Part]>,
    /// The values in it that are filled in, in order.
    values: Box<[Blank]>,
    body: Arc<[u8]>,
    /// Sent instead of `body` where it differs from one arrival to the next.
    filled: Option<Arc<Filled>>,
    kind: RequestKind,
    /// Of a call of gRPC: its answer has any number of messages.
    answers_in_messages: bool,
}

/// A body that differs from one arrival to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Filled {
    Text(Blank),
    /// A message of gRPC, which begins with its length.
    Message(Message),
}

/// Why a request can't be rendered.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum Unrenderable {
    /// For a reason that HTTP/1.1 shares.
    #[error(transparent)]
    Shared(#[from] RenderError),
    /// A header that HTTP/2 does not have (RFC 9113 §8.2.2).
    #[error("header {name} is HTTP/1.1's own, and HTTP/2 forbids it: leave it out")]
    ConnectionHeader {
        /// The header's name.
        name: String,
    },
}

/// What is left of a body.
#[derive(Debug)]
pub(super) enum Body {
    /// From here on.
    Fixed(Arc<[u8]>, usize),
    Filled(Vec<u8>, usize),
}

impl Body {
    pub(super) fn left(&self) -> &[u8] {
        match self {
            Body::Fixed(bytes, from) => &bytes[*from..],
            Body::Filled(bytes, from) => &bytes[*from..],
        }
    }

    pub(super) fn take(&mut self, n: usize) {
        let (Body::Fixed(_, from) | Body::Filled(_, from)) = self;
        *from += n;
    }
}

impl Request {
    /// Encodes what `builder` says, places that are filled in later included ([`crate::blank`]).
    ///
    /// # Errors
    /// [`Unrenderable`] if a part would break the request's syntax or framing.
    pub fn new(
        builder: &RequestBuilder<'_>,
        body: Arc<[u8]>,
        scheme: Scheme,
    ) -> Result<Request, Unrenderable> {
        let forbidden = ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"];
        for (name, value) in builder.headers {
            let is_other_te = name.eq_ignore_ascii_case("te") && !value.eq_ignore_ascii_case("trailers");
            if is_other_te || forbidden.iter().any(|one| name.eq_ignore_ascii_case(one)) {
                return Err(Unrenderable::ConnectionHeader { name: name.clone() });
            }
        }
        let blank = Some(Blank::new(builder.body)).filter(Blank::has_gaps);
        let length = builder.length_to_say(blank.is_some())?;
        let scheme = if scheme == Scheme::Https { "https" } else { "http" };
        let mut parts = Parts::default();
        let host = builder.host_header().unwrap_or(builder.host);
        for (name, value) in [
            (":method", builder.method),
            (":scheme", scheme),
            (":authority", host),
            (":path", builder.target),
        ] {
            parts.add(name, value);
        }
        for (name, value) in builder.defaults() {
            parts.add(&name.to_ascii_lowercase(), value);
        }
        for (name, value) in builder.headers.iter().filter(|(name, _)| !name.eq_ignore_ascii_case("host")) {
            parts.add(&name.to_ascii_lowercase(), value);
        }
        match length {
            Some(_) if blank.is_some() => parts.add("content-length", &place(LENGTH)),
            Some(length) => parts.add("content-length", &length.to_string()),
            None => {}
        }
        let kind = RequestKind::of_method(builder.method);
        let filled = blank.map(|blank| Arc::new(Filled::Text(blank)));
        let (parts, values) = parts.done();
        Ok(Request { parts, values, body, filled, kind, answers_in_messages: false })
    }

    /// A call of gRPC: these fields, in lower case, and `message` behind its prefix.
    pub(crate) fn call(fields: &[(&str, &str)], message: Message, answers_in_messages: bool) -> Request {
        let mut parts = Parts::default();
        fields.iter().for_each(|(name, value)| parts.add(name, value));
        let mut body = Vec::new();
        let filled = match message.is_fixed() {
            true => {
                message.write_framed(&mut NothingToFill, &mut body);
                None
            }
            false => Some(Arc::new(Filled::Message(message))),
        };
        let kind = RequestKind::of_method("POST");
        let (parts, values) = parts.done();
        Request { parts, values, body: body.into(), filled, kind, answers_in_messages }
    }

    pub(crate) fn answers_in_messages(&self) -> bool {
        self.answers_in_messages
    }

    pub(super) fn kind(&self) -> RequestKind {
        self.kind
    }

    /// The body, where it is always the same.
    pub(super) fn fixed_body(&self) -> Option<&Arc<[u8]>> {
        self.filled.is_none().then_some(&self.body)
    }

    /// Writes a body that is another for each arrival.
    pub(super) fn fill_body(&self, filler: &mut impl Filler, out: &mut Vec<u8>) {
        match self.filled.as_deref() {
            Some(Filled::Text(text)) => text.write(|place, out| filler.fill(place, out), out),
            Some(Filled::Message(message)) => message.write_framed(filler, out),
            None => {}
        }
    }

    /// Appends the block of header fields of request `number`, which this is. `length` is the body's, `scratch` is written over.
    pub(super) fn write_block(
        &self,
        (number, length): (u32, usize),
        filler: &mut impl Filler,
        scratch: &mut Vec<u8>,
        encoder: &mut Encoder,
        out: &mut Vec<u8>,
    ) {
        let fill = |value: &Blank, out: &mut Vec<u8>| {
            let fill = |place, out: &mut Vec<u8>| match place {
                LENGTH => write_decimal(length as u64, out),
                place => filler.fill(place, out),
            };
            value.write(fill, out);
        };
        encoder.put_block(number, (&self.parts, &self.values), scratch, fill, out);
    }
}

/// Parts as they are put together.
#[derive(Default)]
struct Parts {
    parts: literal::Parts,
    values: Vec<Blank>,
}

impl Parts {
    fn add(&mut self, name: &str, value: &str) {
        let blank = Blank::new(trim(value.as_bytes()));
        if blank.has_gaps() {
            self.parts.put_open(name);
            self.values.push(blank);
        } else {
            self.parts.put(name, value.trim_matches([' ', '\t']));
        }
    }

    fn done(self) -> (Box<[Part]>, Box<[Blank]>) {
        (self.parts.done(), self.values.into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::decoder::{Decoder, Scratch};
    use super::*;

    struct Numbers;

    impl Filler for Numbers {
        fn fill(&mut self, place: u32, out: &mut Vec<u8>) {
            out.extend_from_slice(&b"xyz".repeat(place as usize));
        }
    }

    /// The block as a server reads it, and the body.
    fn sent(builder: &RequestBuilder<'_>) -> Result<(String, Vec<u8>), Unrenderable> {
        let request = Request::new(builder, builder.body.into(), Scheme::Https)?;
        let (mut block, mut body, mut text) = (Vec::new(), Vec::new(), String::new());
        match request.fixed_body() {
            Some(fixed) => body.extend_from_slice(fixed),
            None => request.fill_body(&mut Numbers, &mut body),
        }
        let (which, mut encoder) = ((0, body.len()), Encoder::new());
        request.write_block(which, &mut Numbers, &mut Vec::new(), &mut encoder, &mut block);
        let take = |name: &[u8], value: &[u8]| {
            text += &format!("{}: {}\n", String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            Ok(())
        };
        Decoder::new().decode(&block, &mut Scratch::default(), take).unwrap();
        Ok((text, body))
    }

    const GET: RequestBuilder<'static> =
        RequestBuilder { method: "GET", target: "/", host: "a.test", headers: &[], body: b"" };

    fn headers(lines: &[(&str, &str)]) -> Vec<(String, String)> {
        lines.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn a_request_is_four_pseudo_headers_and_lower_case_names() {
        let (text, _) = sent(&GET).unwrap();
        let agent = format!("user-agent: unblink/{}\n", env!("CARGO_PKG_VERSION"));
        let begin = ":method: GET\n:scheme: https\n:authority: a.test\n:path: /\n";
        assert_eq!(text, format!("{begin}{agent}accept: */*\n"));
        let own = headers(&[("Host", "b.test"), ("X-A", " 1 "), ("User-Agent", "u"), ("ACCEPT", "x")]);
        let (text, body) =
            sent(&RequestBuilder { method: "POST", headers: &own, body: b"abc", ..GET }).unwrap();
        assert_eq!(
            text,
            ":method: POST\n:scheme: https\n:authority: b.test\n:path: /\nx-a: 1\nuser-agent: u\naccept: x\n\
             content-length: 3\n"
        );
        assert_eq!(body, b"abc");
    }

    #[test]
    fn places_are_filled_and_lengths_follow() {
        let own = headers(&[("X-Id", "<{{2}}>"), ("User-Agent", "u"), ("Accept", "x")]);
        let builder =
            RequestBuilder { method: "PUT", target: "/{{1}}", headers: &own, body: b"a{{50}}", ..GET };
        let (text, body) = sent(&builder).unwrap();
        assert_eq!(
            text,
            ":method: PUT\n:scheme: https\n:authority: a.test\n:path: /xyz\nx-id: <xyzxyz>\nuser-agent: u\naccept: x\n\
             content-length: 151\n"
        );
        assert_eq!(body.len(), 151);
    }

    /// What the documentation says of a GET, of its block and the nine bytes of its frame: about 50, then about 15, and its path.
    #[test]
    fn a_later_get_takes_few_bytes() {
        let builder = RequestBuilder { target: "/1234567", host: "127.0.0.1:8080", ..GET };
        let request = Request::new(&builder, builder.body.into(), Scheme::Http).unwrap();
        let mut encoder = Encoder::new();
        let mut bytes = || {
            let mut block = Vec::new();
            request.write_block((0, 0), &mut Numbers, &mut Vec::new(), &mut encoder, &mut block);
            9 + block.len() - builder.target.len()
        };
        let (first, later) = (bytes(), bytes());
        assert!((40..=60).contains(&first) && (12..=16).contains(&later), "{first}, then {later}");
    }

    #[test]
    fn what_http_2_forbids_is_refused() {
        for (name, value) in [
            ("Connection", "close"),
            ("Keep-Alive", "1"),
            ("Transfer-Encoding", "chunked"),
            ("upgrade", "h2c"),
            ("TE", "gzip"),
        ] {
            let own = headers(&[(name, value)]);
            let refused = sent(&RequestBuilder { headers: &own, ..GET });
            assert_eq!(refused, Err(Unrenderable::ConnectionHeader { name: name.into() }));
        }
        let trailers = headers(&[("TE", "trailers")]);
        assert!(sent(&RequestBuilder { headers: &trailers, ..GET }).is_ok());
        let wrong = headers(&[("Content-Length", "9")]);
        let refused = sent(&RequestBuilder { headers: &wrong, body: b"abc", ..GET });
        assert!(matches!(refused, Err(Unrenderable::Shared(RenderError::ContentLength { .. }))));
        let refused = sent(&RequestBuilder { target: "a b", ..GET });
        assert!(matches!(refused, Err(Unrenderable::Shared(RenderError::Target { .. }))));
        let given = headers(&[("Content-Length", "3")]);
        let refused = sent(&RequestBuilder { headers: &given, body: b"a{{1}}", ..GET });
        assert_eq!(refused, Err(Unrenderable::Shared(RenderError::FramedBlank)));
    }
}
