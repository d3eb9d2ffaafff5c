//! The answers of one connection, one after the other.

use crate::body::Body;
use crate::head::{Framing, Head, RequestKind};
use crate::last_head::{Known, LastHead};
use crate::response::Response;
use crate::scan::Scanner;
use crate::{Limits, ProtocolError};

/// 1xx answers skipped before a final one. RFC 9110 §15.2 sets no limit; a few early hints are usual.
const INTERIM_ANSWERS_MAX: u8 = 16;

/// What came of a piece of input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The whole piece belonged to the answer, which is not complete.
    NeedMore,
    /// The answer is complete.
    Done {
        /// The answer.
        response: Response,
        /// Bytes of this piece that belonged to it. Any beyond were not asked for and are the caller's.
        consumed: usize,
    },
}

/// Takes an answer apart as it comes. A closure takes the body alone.
pub trait Parts {
    /// The final head, from its status line to the empty line; empty lines may stand before it.
    fn head(&mut self, status: u16, head: &[u8]);
    /// A piece of the body; never empty.
    fn body(&mut self, piece: &[u8]);
}

impl<F: FnMut(&[u8])> Parts for F {
    #[inline]
    fn head(&mut self, _: u16, _: &[u8]) {}

    #[inline]
    fn body(&mut self, piece: &[u8]) {
        self(piece);
    }
}

/// Reads the answers of one connection. Keep it as long as the connection, or longer: nothing is
/// allocated for an answer whose head arrives in one piece, and the buffer for split heads is reused.
///
/// After an answer or an error the parser rests until [`Parser::begin`]: bytes fed to it then are
/// [`ProtocolError::UnsolicitedData`] after an answer, and the same error again after an error.
#[derive(Clone, Debug)]
pub struct Parser {
    limits: Limits,
    kind: RequestKind,
    state: State,
    scanner: Scanner,
    /// The part of the current head that earlier pieces brought.
    head: Vec<u8>,
    interim_answers: u8,
    started: bool,
    response: Response,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// No request is out.
    Idle,
    Head,
    Body(Body),
    Done,
    Failed(ProtocolError),
}

const NO_RESPONSE: Response =
    Response { status: 0, http10: false, head_bytes: 0, body_bytes: 0, reusable: false };

impl Parser {
    /// A parser for a new connection.
    pub fn new(limits: Limits) -> Parser {
        Parser {
            limits,
            kind: RequestKind::Normal,
            state: State::Idle,
            scanner: Scanner::new(),
            head: Vec::new(),
            interim_answers: 0,
            started: false,
            response: NO_RESPONSE,
        }
    }

    /// Makes ready for the answer to a request of this kind. Call before each request, also after an
    /// error when the parser is reused for a new connection.
    pub fn begin(&mut self, kind: RequestKind) {
        self.kind = kind;
        self.state = State::Head;
        self.scanner = Scanner::new();
        self.head.clear();
        self.interim_answers = 0;
        self.started = false;
        self.response = NO_RESPONSE;
    }

    /// Takes the next bytes of the connection, handing the body's to `body` in non-empty slices. All
    /// of `bytes` is taken unless the answer ends within.
    ///
    /// # Errors
    /// What is wrong with the answer. The connection cannot be used any longer.
    pub fn feed(&mut self, bytes: &[u8], body: &mut impl FnMut(&[u8])) -> Result<Progress, ProtocolError> {
        self.feed_after(&mut LastHead::none(), bytes, body)
    }

    /// The same with the final head, too; and quicker when the head is `last` again, which it otherwise becomes.
    ///
    /// # Errors
    /// As [`Parser::feed`].
    #[inline]
    pub fn feed_after(
        &mut self,
        last: &mut LastHead,
        bytes: &[u8],
        parts: &mut impl Parts,
    ) -> Result<Progress, ProtocolError> {
        match self.feed_unlatched(last, bytes, parts) {
            Ok(progress) => Ok(progress),
            Err(error) => {
                self.state = State::Failed(error);
                Err(error)
            }
        }
    }

    /// So many bytes of a body of known length are still to come. They may be fed, or, where nobody looks at them, be
    /// dropped and passed over by [`Parser::skip`]. None of a body in any other framing.
    #[inline]
    pub fn body_left(&self) -> u64 {
        match self.state {
            State::Body(Body::Length(left)) => left,
            _ => 0,
        }
    }

    /// Passes over `n` bytes that came and were dropped: of [`Parser::body_left`], so many at the most.
    pub fn skip(&mut self, n: u64) -> Progress {
        let State::Body(Body::Length(left)) = &mut self.state else { return Progress::NeedMore };
        let n = n.min(*left);
        *left -= n;
        self.response.body_bytes += n;
        if *left > 0 {
            return Progress::NeedMore;
        }
        self.state = State::Done;
        Progress::Done { response: self.response, consumed: n as usize }
    }

    /// The peer closed its side cleanly. `Ok` if that is how the answer ends (a close-delimited body),
    /// or if it was complete already.
    ///
    /// # Errors
    /// One of the `Closed…` variants, by how far the answer had come, or the error of an earlier call.
    pub fn eof(&mut self) -> Result<Response, ProtocolError> {
        let error = match self.state {
            State::Done | State::Body(Body::UntilClose) => {
                self.state = State::Done;
                return Ok(self.response);
            }
            State::Failed(error) => error,
            State::Idle => ProtocolError::ClosedBeforeAnswer,
            State::Head if !self.started => ProtocolError::ClosedBeforeAnswer,
            State::Head => ProtocolError::ClosedInHead,
            State::Body(_) => ProtocolError::ClosedInBody,
        };
        self.state = State::Failed(error);
        Err(error)
    }

    /// Any byte of this answer was seen, be it of a 1xx answer: the server has taken the request up.
    pub fn has_started(&self) -> bool {
        self.started
    }

    /// What was found wrong with the answer.
    pub(crate) fn error(&self) -> Option<ProtocolError> {
        match self.state {
            State::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The head is complete and the body lasts until the peer closes.
    pub fn is_close_delimited_body(&self) -> bool {
        matches!(self.state, State::Body(Body::UntilClose))
    }

    #[inline]
    fn feed_unlatched(
        &mut self,
        last: &mut LastHead,
        bytes: &[u8],
        parts: &mut impl Parts,
    ) -> Result<Progress, ProtocolError> {
        if bytes.is_empty() {
            // Reading nothing is no event, whatever the state.
            return match self.state {
                State::Failed(error) => Err(error),
                State::Done => Ok(Progress::Done { response: self.response, consumed: 0 }),
                _ => Ok(Progress::NeedMore),
            };
        }
        let mut at = 0;
        if let State::Head = self.state {
            self.started = true;
            at = match self.take_known(last, bytes, parts) {
                Some(consumed) => consumed,
                None => match self.feed_heads(last, bytes, parts)? {
                    Some(consumed) => consumed,
                    None => return Ok(Progress::NeedMore),
                },
            };
        }
        match &mut self.state {
            State::Body(reader) => {
                let body = &mut |piece: &[u8]| parts.body(piece);
                match reader.feed(&bytes[at..], &self.limits, &mut self.response.body_bytes, body)? {
                    None => Ok(Progress::NeedMore),
                    Some(end) => {
                        self.state = State::Done;
                        Ok(Progress::Done { response: self.response, consumed: at + end })
                    }
                }
            }
            // Only a head that ended just now leads here with bytes taken.
            State::Done if at > 0 => Ok(Progress::Done { response: self.response, consumed: at }),
            State::Idle | State::Head | State::Done => Err(ProtocolError::UnsolicitedData),
            State::Failed(error) => Err(*error),
        }
    }

    /// Takes a final head that is the last one again, and its body if that has come whole with it. Returns the offset after
    /// what was taken, with the state set to what follows.
    #[inline]
    fn take_known(&mut self, last: &LastHead, bytes: &[u8], parts: &mut impl Parts) -> Option<usize> {
        if !self.head.is_empty() {
            return None;
        }
        let Known { response, body } = last.recall(bytes, self.kind, &self.limits)?;
        let length = response.head_bytes as usize;
        let (head, rest) = bytes.split_at_checked(length)?;
        self.response = Response { head_bytes: self.response.head_bytes + response.head_bytes, ..*response };
        parts.head(response.status, head);
        // Read here, a short body passes through no state of its own.
        if let Some(Body::Length(left)) = *body
            && let Some(piece) = usize::try_from(left).ok().and_then(|left| rest.get(..left))
        {
            parts.body(piece);
            self.response.body_bytes = left;
            self.state = State::Done;
            return Some(length + piece.len());
        }
        self.state = body.map_or(State::Done, State::Body);
        Some(length)
    }

    /// Takes heads up to and including the final one. Returns the offset after it, with the state set
    /// to what follows, or `None` if all bytes were taken and it is not complete.
    #[inline(never)] // most answers begin with the same head as the one before
    fn feed_heads(
        &mut self,
        last: &mut LastHead,
        bytes: &[u8],
        parts: &mut impl Parts,
    ) -> Result<Option<usize>, ProtocolError> {
        let mut at = 0;
        loop {
            let Some((head, consumed)) = self.feed_head(&bytes[at..])? else {
                return Ok(None);
            };
            at += consumed;
            self.response.head_bytes += head.len as u64;
            match head.status {
                101 => return Err(ProtocolError::UnexpectedUpgrade),
                // RFC 9110 §15.2: a 1xx answer ends with its head, and any number may come.
                100..=199 if self.interim_answers == INTERIM_ANSWERS_MAX => {
                    return Err(ProtocolError::TooManyInterimAnswers);
                }
                100..=199 => {
                    self.interim_answers += 1;
                    self.head.clear();
                    self.scanner = Scanner::new();
                }
                _ => {
                    self.finish_head(&head)?;
                    // One that came in several pieces has been put together.
                    let whole = if self.head.is_empty() { &bytes[at - consumed..at] } else { &self.head };
                    // Empty lines before it count as its own.
                    if self.head.is_empty() && whole.first() == Some(&b'H') {
                        last.learn(whole, self.kind, &self.limits, self.known(&head));
                    }
                    parts.head(head.status, whole);
                    return Ok(Some(at));
                }
            }
        }
    }

    /// Takes one head, returning it with the number of bytes taken, or `None` if it is not complete.
    ///
    /// What an incomplete head contains is judged only when its end has come (but for its first bytes,
    /// see [`Scanner`]), so that the outcome is the same wherever the input is cut.
    fn feed_head(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, ProtocolError> {
        let headers_max = self.limits.headers_max;
        let room = self.limits.head_bytes_max - self.head.len();
        let window = &bytes[..bytes.len().min(room)];
        // The common case: the whole head in one piece, read in place and once. A first byte other than
        // H leaves the empty lines to the scanner.
        if self.head.is_empty()
            && window.first() == Some(&b'H')
            && let Ok(Some(head)) = Head::parse(window, headers_max)
        {
            return Ok(Some((head, head.len)));
        }
        match self.scanner.scan(window)? {
            None if window.len() == room => Err(ProtocolError::HeadTooLarge),
            None => {
                self.head.extend_from_slice(window);
                Ok(None)
            }
            Some(end) => {
                let head = if self.head.is_empty() {
                    Head::parse(&window[..end], headers_max)?
                } else {
                    self.head.extend_from_slice(&window[..end]);
                    Head::parse(&self.head, headers_max)?
                };
                // The scanner has seen the empty line, so httparse finds it too, or an error before.
                let head = head.ok_or(ProtocolError::InvalidLineEnd)?;
                Ok(Some((head, end)))
            }
        }
    }

    /// What the final head that was just taken leads to.
    fn known(&self, head: &Head) -> Known {
        let body = match self.state {
            State::Body(body) => Some(body),
            _ => None,
        };
        Known { response: Response { head_bytes: head.len as u64, ..self.response }, body }
    }

    fn finish_head(&mut self, head: &Head) -> Result<(), ProtocolError> {
        let framing = head.framing(self.kind)?;
        let is_tunnel = self.kind == RequestKind::Connect && (200..=299).contains(&head.status);
        self.response.status = head.status;
        self.response.http10 = head.http10;
        self.response.reusable = head.keeps_alive && framing != Framing::UntilClose && !is_tunnel;
        self.state = match Body::new(framing, &self.limits)? {
            Some(body) => State::Body(body),
            None => State::Done,
        };
        Ok(())
    }
}
