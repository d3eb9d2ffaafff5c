//! HTTP/1.1 as a protocol: one request at a time.

mod words;

use crate::protocol::{Places, Protocol, Reply, Sink, Tag, Violation};
use crate::{LastHead, Limits, Parser, Progress, ProtocolError, RequestKind, Response};
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
}

impl Request {
    /// Bytes of head and body.
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
}

impl Http1 {
    fn done(&mut self, response: &Response, all_taken: bool, sink: &mut impl Sink) {
        let Some(tag) = self.tag.take() else { return };
        // Had it been written only in part, the rest would be read as the next request.
        let reusable = response.reusable && all_taken && self.unwritten == 0 && !self.closes;
        sink.done(tag, Reply { code: response.status, body_bytes: response.body_bytes, reusable });
    }
}

impl From<ProtocolError> for Violation {
    fn from(error: ProtocolError) -> Violation {
        match error {
            ProtocolError::BodyTooLarge => Violation::TooLarge,
            e if e.is_closed_early() => Violation::ClosedEarly,
            e => Violation::Malformed(
                ProtocolError::ALL.iter().position(|&known| known == e).unwrap_or(0) as u16
            ),
        }
    }
}

impl Protocol for Http1 {
    type Request = Request;
    type Settings = Limits;
    /// By request, modulo their number.
    type Shared = Vec<LastHead>;

    const VIOLATIONS: &'static [&'static str] = ProtocolError::CODES;

    const TAKES_TURNS: bool = true;

    fn places(_: &Limits) -> Places {
        Places { max: 1, cancels: false }
    }

    fn shared(requests: usize) -> Vec<LastHead> {
        (0..requests.clamp(1, LAST_HEADS_MAX)).map(|_| LastHead::new()).collect()
    }

    fn new(limits: &Limits) -> Http1 {
        Http1 {
            parser: Parser::new(*limits),
            tag: None,
            number: 0,
            unwritten: 0,
            closes: false,
            has_first: false,
        }
    }

    fn begin(&mut self) -> bool {
        true
    }

    #[inline]
    fn submit(&mut self, tag: Tag, number: u32, request: &Request) {
        self.tag = Some(tag);
        self.number = number;
        self.unwritten = request.length();
        self.closes = request.closes;
        self.has_first = false;
        self.parser.begin(request.kind);
    }

    fn cancel(&mut self, _: Tag) -> bool {
        false
    }

    #[inline]
    fn output<'a>(&'a self, requests: &'a [Request]) -> [&'a [u8]; 2] {
        if self.unwritten == 0 || self.tag.is_none() {
            return [&[], &[]];
        }
        let Request { head, body, .. } = &requests[self.number as usize];
        let of_head = self.unwritten.saturating_sub(body.len());
        let of_body = self.unwritten - of_head;
        [&head[head.len() - of_head..], &body[body.len() - of_body..]]
    }

    #[inline]
    fn wrote(&mut self, n: usize) {
        self.unwritten -= n;
    }

    #[inline]
    fn feed(
        &mut self,
        last_heads: &mut Vec<LastHead>,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        let Some(tag) = self.tag else { return Err(ProtocolError::UnsolicitedData.into()) };
        if !std::mem::replace(&mut self.has_first, true) {
            sink.first(tag);
        }
        let n = last_heads.len();
        let last = &mut last_heads[self.number as usize % n];
        match self.parser.feed_after(last, bytes, &mut |piece: &[u8]| sink.body(tag, piece))? {
            Progress::NeedMore => {}
            Progress::Done { response, consumed } => self.done(&response, consumed == bytes.len(), sink),
        }
        Ok(())
    }

    fn eof(&mut self, clean: bool, sink: &mut impl Sink) -> Result<(), Violation> {
        if self.tag.is_none() || (!clean && self.parser.is_close_delimited_body()) {
            return Err(Violation::ClosedEarly);
        }
        let response = self.parser.eof()?;
        self.done(&Response { reusable: false, ..response }, true, sink);
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
