//! HTTP/1.1 from the server's side: the requests that a connection brings, each with its whole body or without one that
//! is too large.
//!
//! It is as strict as it can be. Two readers that disagree about where a request ends can be made to see different requests
//! (request smuggling), so whatever leaves a choice is refused, and ends the connection.

mod fault;
mod head;

pub use fault::Unreadable;
pub use head::{Incoming, Missing};

use crate::Limits;
use crate::chunked::Chunked;
use head::{Framing, Head};

/// What a connection brought.
#[derive(Debug)]
pub enum Event {
    /// Its sender waits for leave to send a body (RFC 9110 §10.1.1).
    Continue,
    /// A request, whole.
    Request(Box<Incoming>),
}

/// A head that needed more room than this does not leave it to the next.
const HEAD_ROOM: usize = 4 * 1024;

/// Reads the requests of one connection, one after the other.
#[derive(Debug)]
pub struct Requests {
    limits: Limits,
    /// A larger body is read to its end and not kept.
    kept_max: usize,
    state: State,
    /// Bytes of a head that is not whole yet.
    head: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Head,
    /// The leave to send has been given.
    Begun(Box<Body>),
    /// An earlier request broke the protocol.
    Broken(Unreadable),
}

#[derive(Debug)]
struct Body {
    head: Head,
    kept: Vec<u8>,
    missing: Option<Missing>,
    rest: Rest,
}

#[derive(Debug)]
enum Rest {
    Length(u64),
    Chunked(Chunked, u64),
}

impl Requests {
    /// Of a new connection. Bodies of more than `kept_max` bytes are not kept.
    pub fn new(limits: Limits, kept_max: usize) -> Requests {
        Requests { limits, kept_max, state: State::Head, head: Vec::new() }
    }

    /// Takes bytes up to the next event: how many, and the event if one came. To be called until all bytes are taken.
    ///
    /// # Errors
    /// What is wrong. The connection can't be used any longer, and says the same from then on.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Option<Event>), Unreadable> {
        match self.advance(bytes) {
            Err(fault) => {
                self.head = Vec::new();
                self.state = State::Broken(fault);
                Err(fault)
            }
            taken => taken,
        }
    }

    /// Nothing of another request has come.
    pub fn is_between(&self) -> bool {
        self.head.is_empty() && !matches!(self.state, State::Begun(_))
    }

    /// Bytes that are held of the head of a request which is not whole.
    pub fn held_of_head(&self) -> usize {
        self.head.len() + if let State::Begun(body) = &self.state { body.head.len() } else { 0 }
    }

    /// Bytes that are held of its body.
    pub fn held_of_body(&self) -> usize {
        if let State::Begun(body) = &self.state { body.kept.len() } else { 0 }
    }

    /// Keeps nothing of the body that is being read: there is no room for it.
    pub fn give_up_body(&mut self) {
        if let State::Begun(body) = &mut self.state {
            body.lose(Missing::NoRoom);
        }
    }

    fn advance(&mut self, bytes: &[u8]) -> Result<(usize, Option<Event>), Unreadable> {
        match &mut self.state {
            State::Broken(fault) => Err(*fault),
            State::Head => self.take_head(bytes),
            State::Begun(body) => {
                let (taken, is_whole) = body.take(bytes, self.kept_max, &self.limits)?;
                let event = if is_whole { self.whole() } else { None };
                Ok((taken, event))
            }
        }
    }

    fn take_head(&mut self, bytes: &[u8]) -> Result<(usize, Option<Event>), Unreadable> {
        let before = self.head.len();
        let room = self.limits.head_bytes_max.saturating_sub(before);
        let seen = &bytes[..bytes.len().min(room)];
        self.head.extend_from_slice(seen);
        let Some(end) = end_of_head(&self.head, before)? else {
            return if seen.len() < bytes.len() {
                Err(Unreadable::HeadTooLarge)
            } else {
                Ok((seen.len(), None))
            };
        };
        let taken = end - before;
        let head = Head::parse(&self.head[..end], self.limits.headers_max)?;
        self.head.clear();
        self.head.shrink_to(HEAD_ROOM);
        let waits = head.waits;
        let rest = match head.framing {
            Framing::None => return Ok((taken, Some(Event::Request(head.without_body())))),
            Framing::Length(length) => Rest::Length(length),
            Framing::Chunked => Rest::Chunked(Chunked::new(), 0),
        };
        let body = Body { head, kept: Vec::new(), missing: None, rest };
        self.state = State::Begun(Box::new(body));
        Ok((taken, waits.then_some(Event::Continue)))
    }

    fn whole(&mut self) -> Option<Event> {
        match std::mem::replace(&mut self.state, State::Head) {
            State::Begun(body) => Some(Event::Request(body.head.with_body(body.kept, body.missing))),
            _ => None,
        }
    }
}

/// Just behind the empty line that ends a head, looked for from `from` on. A bare LF is refused here, or a head of such
/// lines would never end.
fn end_of_head(head: &[u8], from: usize) -> Result<Option<usize>, Unreadable> {
    for at in from..head.len() {
        match head[at] {
            b'\n' if at == 0 || head[at - 1] != b'\r' => return Err(Unreadable::Line),
            b'\n' if head[..=at].ends_with(b"\r\n\r\n") => return Ok(Some(at + 1)),
            _ => {}
        }
    }
    Ok(None)
}

impl Body {
    /// What is missing of a body stays so for the first reason.
    fn lose(&mut self, why: Missing) {
        self.missing.get_or_insert(why);
        self.kept = Vec::new();
    }

    /// How much was taken, and whether the body is whole.
    fn take(&mut self, bytes: &[u8], kept_max: usize, limits: &Limits) -> Result<(usize, bool), Unreadable> {
        let Body { kept, missing, rest, .. } = self;
        let mut keep = |piece: &[u8]| {
            if missing.is_some() || kept.len() + piece.len() > kept_max {
                missing.get_or_insert(Missing::TooLarge);
                *kept = Vec::new();
            } else {
                kept.extend_from_slice(piece);
            }
        };
        match rest {
            Rest::Length(left) => {
                let taken = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
                keep(&bytes[..taken]);
                *left -= taken as u64;
                Ok((taken, *left == 0))
            }
            Rest::Chunked(chunked, length) => {
                let end = chunked.feed(bytes, limits, length, &mut keep).map_err(|_| Unreadable::Chunked)?;
                Ok((end.unwrap_or(bytes.len()), end.is_some()))
            }
        }
    }
}

#[cfg(test)]
mod tests;
