//! HTTP/1.1 as a protocol: one request at a time.

mod words;

use crate::blank::{Blank, Filler, place};
use crate::protocol::{Carrier, Places, Protocol, Reply, Sink, Tag, Violation};
use crate::request::{LENGTH, write_decimal};
use crate::{LastHead, Limits, Parser, Parts, Progress, ProtocolError, RequestKind, Response};
use std::sync::Arc;

/// Requests whose last heads are remembered apart.
const LAST_HEADS_MAX: usize = 32;

/// A request, rendered ahead of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Everything before the body, or all of a request whose body is its own.
    pub head: Box<[u8]>,
    /// What follows it: one for all requests that have the same.
    pub body: Arc<[u8]>,
    /// How its answer is framed.
    pub kind: RequestKind,
    /// It asks for the connection to be closed after the answer.
    pub closes: bool,
    /// Head and body of a request that differs from one arrival to the next; `head` and `body` are not sent then.
    pub blank: Option<Arc<[Blank; 2]>>,
}

impl Request {
    /// One that is nothing but what a [`Filler`] writes, who then knows what it is ([`Filler::whole`]).
    pub fn filled_in() -> Request {
        Request {
            head: Box::default(),
            body: Arc::default(),
            kind: RequestKind::Normal,
            closes: false,
            blank: Some(Arc::new([Blank::new(place(0).as_bytes()), Blank::default()])),
        }
    }

    /// Bytes of head and body, where they are always the same.
    pub fn length(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// A connection.
#[derive(Debug)]
pub struct Http1 {
    parser: Parser,
    /// What is under way.
    tag: Option<Tag>,
    number: u32,
    /// Bytes of the request that are still to be written.
    unwritten: usize,
    closes: bool,
    has_first: bool,
    /// What is sent of a request that was filled in.
    filled: Vec<u8>,
}

/// What the connections of a thread share.
#[derive(Debug)]
pub struct Shared {
    /// By request, modulo their number.
    last_heads: Vec<LastHead>,
    /// Buffers of requests that were filled in and have been answered.
    spare: Vec<Vec<u8>>,
    /// A body before its length is known.
    body: Vec<u8>,
}

impl Http1 {
    /// Renders what is sent for one arrival.
    fn fill_in(&mut self, shared: &mut Shared, [head, body]: &[Blank; 2], filler: &mut impl Filler) {
        if self.filled.capacity() == 0
            && let Some(spare) = shared.spare.pop()
        {
            self.filled = spare;
        }
        self.filled.clear();
        shared.body.clear();
        body.write(|place, out| filler.fill(place, out), &mut shared.body);
        let length = shared.body.len();
        let fill = |place, out: &mut Vec<u8>| match place {
            LENGTH => write_decimal(length as u64, out),
            place => filler.fill(place, out),
        };
        head.write(fill, &mut self.filled);
        self.filled.extend_from_slice(&shared.body);
    }

    /// What is left to write of the request that is under way, which `request` gives by its number.
    #[inline]
    pub(crate) fn left<'a>(&'a self, request: impl FnOnce(usize) -> &'a Request) -> [&'a [u8]; 2] {
        if self.unwritten == 0 || self.tag.is_none() {
            return [&[], &[]];
        }
        if !self.filled.is_empty() {
            return [&self.filled[self.filled.len() - self.unwritten..], &[]];
        }
        let Request { head, body, .. } = request(self.number as usize);
        let of_head = self.unwritten.saturating_sub(body.len());
        let of_body = self.unwritten - of_head;
        [&head[head.len() - of_head..], &body[body.len() - of_body..]]
    }

    /// True if the connection may carry another request, but for bytes behind this answer.
    #[inline(always)] // for each answer
    fn done(&mut self, response: &Response, all_taken: bool, sink: &mut impl Sink) -> bool {
        let Some(tag) = self.tag.take() else { return false };
        // Had it been written only in part, the rest would be read as the next request.
        let goes_on = response.reusable && self.unwritten == 0 && !self.closes;
        let reusable = goes_on && all_taken;
        sink.done(tag, Reply { code: response.status, body_bytes: response.body_bytes, reusable });
        goes_on
    }
}

/// Bytes have come while nothing was under way. A server may say so that it closes a connection which it has waited for too
/// long (408, RFC 9110 §15.5.9).
#[cold]
fn unasked(bytes: &[u8]) -> Violation {
    let is_farewell = match bytes {
        [b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0' | b'1', b' ', rest @ ..] => rest.starts_with(b"408"),
        _ => false,
    };
    if is_farewell { Violation::ClosedEarly } else { ProtocolError::UnsolicitedData.into() }
}

/// Hands the parts of an answer on under its tag.
struct Tagged<'a, S> {
    tag: Tag,
    sink: &'a mut S,
}

impl<S: Sink> Parts for Tagged<'_, S> {
    #[inline]
    fn head(&mut self, status: u16, head: &[u8]) {
        self.sink.code(self.tag, status);
        self.sink.head(self.tag, head);
    }

    #[inline]
    fn body(&mut self, piece: &[u8]) {
        self.sink.body(self.tag, piece);
    }
}

impl From<ProtocolError> for Violation {
    fn from(error: ProtocolError) -> Violation {
        match error {
            ProtocolError::BodyTooLarge => Violation::TooLarge,
            e if e.is_closed_early() => Violation::ClosedEarly,
            e => Violation::Malformed(e.number()),
        }
    }
}

impl Protocol for Http1 {
    type Request = Request;
    type Settings = Limits;
    type Shared = Shared;

    const VIOLATIONS: &'static [&'static str] = ProtocolError::CODES;

    const TAKES_TURNS: bool = true;

    fn is_unasked(violation: Violation) -> bool {
        violation == ProtocolError::UnsolicitedData.into()
    }

    fn places(_: &Limits) -> Places {
        Places { max: 1, cancels: false }
    }

    fn shared(requests: usize) -> Shared {
        let last_heads = (0..requests.clamp(1, LAST_HEADS_MAX)).map(|_| LastHead::new()).collect();
        Shared { last_heads, spare: Vec::new(), body: Vec::new() }
    }

    fn new(limits: &Limits) -> Http1 {
        Http1 {
            parser: Parser::new(*limits),
            tag: None,
            number: 0,
            unwritten: 0,
            closes: false,
            has_first: false,
            filled: Vec::new(),
        }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        Ok(true)
    }

    #[inline(always)]
    fn submit(
        &mut self,
        shared: &mut Shared,
        tag: Tag,
        number: u32,
        request: &Request,
        filler: &mut impl Filler,
    ) {
        self.tag = Some(tag);
        self.number = number;
        self.unwritten = match &request.blank {
            None => request.length(),
            Some(blank) => {
                self.fill_in(shared, blank, filler);
                self.filled.len()
            }
        };
        let (kind, closes) = match filler.whole() {
            None => (request.kind, request.closes),
            Some(whole) => (whole.kind, whole.closes),
        };
        self.closes = closes;
        self.has_first = false;
        self.parser.begin(kind);
    }

    fn cancel(&mut self, _: Tag, _: u64) -> bool {
        false
    }

    #[inline]
    fn output<'a>(&'a self, requests: &'a [Request]) -> [&'a [u8]; 2] {
        self.left(|number| &requests[number])
    }

    #[inline]
    fn is_written(&self) -> bool {
        self.unwritten == 0
    }

    #[inline]
    fn wrote(&mut self, n: usize) {
        self.unwritten -= n;
    }

    #[inline]
    fn feed(&mut self, shared: &mut Shared, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        let Some(tag) = self.tag else { return Err(unasked(bytes)) };
        if !std::mem::replace(&mut self.has_first, true) {
            sink.first(tag);
        }
        let (number, n) = (self.number as usize, shared.last_heads.len());
        // A division costs more than all else that is done to find it.
        let last = &mut shared.last_heads[if number < n { number } else { number % n }];
        match self.parser.feed_after(last, bytes, &mut Tagged { tag, sink })? {
            Progress::NeedMore => {}
            Progress::Done { response, consumed } => {
                let reusable = self.done(&response, consumed == bytes.len(), sink);
                if !self.filled.is_empty() {
                    let mut filled = std::mem::take(&mut self.filled);
                    filled.clear();
                    shared.spare.push(filled);
                }
                // A moment later they would have been read as the answer to the next request.
                if consumed < bytes.len() && reusable {
                    return Err(ProtocolError::UnsolicitedData.into());
                }
            }
        }
        Ok(())
    }

    fn eof(&mut self, clean: bool, sink: &mut impl Sink) -> Result<(), Violation> {
        if self.tag.is_none() || (!clean && self.parser.is_close_delimited_body()) {
            return Err(Violation::ClosedEarly);
        }
        let response = self.parser.eof()?;
        let _ = self.done(&Response { reusable: false, ..response }, true, sink);
        Ok(())
    }

    #[inline]
    fn body_left(&self) -> u64 {
        self.parser.body_left()
    }

    fn skip(&mut self, n: u64) {
        self.parser.skip(n);
    }

    fn is_answering(&self) -> bool {
        self.parser.has_started()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blank::NothingToFill;

    /// Answers, and whether each lets its connection go on.
    #[derive(Default)]
    struct Heard(Vec<(u16, bool)>);

    impl Sink for Heard {
        fn ready(&mut self) {}
        fn room(&mut self, _: u32) {}
        fn retired(&mut self) {}
        fn first(&mut self, _: Tag) {}
        fn head(&mut self, _: Tag, _: &[u8]) {}
        fn body(&mut self, _: Tag, _: &[u8]) {}
        fn done(&mut self, _: Tag, reply: Reply) {
            self.0.push((reply.code, reply.reusable));
        }
        fn lost(&mut self, _: Tag, _: Violation, _: bool) {}
    }

    /// Each piece is read by itself; the first answers a request.
    fn fed(pieces: &[&[u8]]) -> (Vec<(u16, bool)>, Result<(), Violation>) {
        let request = Request {
            head: b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..].into(),
            body: Arc::default(),
            kind: RequestKind::Normal,
            closes: false,
            blank: None,
        };
        let (mut http, mut shared) = (Http1::new(&Limits::default()), Http1::shared(1));
        let mut heard = Heard::default();
        http.submit(&mut shared, Tag(0), 0, &request, &mut NothingToFill);
        http.wrote(request.length());
        let fed = pieces.iter().try_for_each(|piece| http.feed(&mut shared, piece, &mut heard));
        (heard.0, fed)
    }

    #[test]
    fn bytes_behind_an_answer_are_unasked_whenever_they_are_read() {
        let violation = ProtocolError::UnsolicitedData.into();
        let unasked = Err(violation);
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        assert_eq!(fed(&[answer]), (vec![(200, true)], Ok(())));
        assert_eq!(fed(&[&[&answer[..], b"x"].concat()]), (vec![(200, false)], unasked));
        assert_eq!(fed(&[answer, b"x"]), (vec![(200, true)], unasked));
        assert!(Http1::is_unasked(violation));
        // Nothing would have followed it in any case.
        let last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nokx";
        assert_eq!(fed(&[last]), (vec![(200, false)], Ok(())));
    }

    #[test]
    fn a_server_may_say_that_it_has_waited_for_too_long() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        let said = |bytes: &[u8]| fed(&[answer, bytes]).1;
        assert_eq!(said(b"HTTP/1.1 408 Request Timeout\r\n\r\n"), Err(Violation::ClosedEarly));
        assert_eq!(said(b"HTTP/1.0 408 \r\n\r\n"), Err(Violation::ClosedEarly));
        assert_eq!(said(b"HTTP/1.1 400 \r\n\r\n"), Err(ProtocolError::UnsolicitedData.into()));
    }
}
