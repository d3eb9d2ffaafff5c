//! One connection, as the driver sees it.

use super::exchange::Exchange;
use super::fault::Fault;
use super::frame::Opcode;
use super::handshake::Handshake;
use super::keys::Keys;
use super::matching::Matching;
use super::message::Message;
use super::reader::Reader;
use super::shared::Shared;
use crate::Limits;
use crate::blank::Filler;
use crate::protocol::{Carrier, Places, Protocol, Sink, Tag, Violation};
use std::sync::Arc;

/// What is the same for all connections.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How each begins.
    pub handshake: Arc<Handshake>,
    /// How large an answer, and the head of the answer to the handshake, may be.
    pub limits: Limits,
    /// Messages that may be under way on a socket; not zero.
    pub depth: u32,
    /// Which message answers which.
    pub matching: Matching,
    /// Messages are sent as bytes, not as text.
    pub is_binary: bool,
}

/// The answer to the upgrade, as far as it has come.
#[derive(Debug)]
pub(super) struct Upgrade {
    handshake: Arc<Handshake>,
    limits: Limits,
    accept: String,
    pub(super) received: Vec<u8>,
}

/// A connection.
#[derive(Debug)]
pub struct Ws {
    /// Until the server has switched.
    pub(super) upgrade: Option<Box<Upgrade>>,
    reader: Reader,
    pub(super) exchange: Exchange,
}

impl Ws {
    /// Takes bytes of the answer to the upgrade. What follows it, once it is whole and right.
    fn switch(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<Option<Vec<u8>>, Fault> {
        let Some(upgrade) = &mut self.upgrade else { return Ok(None) };
        upgrade.received.extend_from_slice(bytes);
        let Upgrade { handshake, limits, accept, received } = &**upgrade;
        let Some(length) = handshake.check(received, accept, limits)? else { return Ok(None) };
        let rest = received[length..].to_vec();
        self.upgrade = None;
        sink.ready();
        Ok(Some(rest))
    }
}

impl Protocol for Ws {
    type Request = Message;
    type Settings = Settings;
    type Shared = Shared;

    const VIOLATIONS: &'static [&'static str] = Fault::CODES;

    const TAKES_TURNS: bool = false;

    fn is_farewell(violation: Violation) -> bool {
        Fault::is_close(violation)
    }

    /// A message that was sent can't be called back.
    fn places(settings: &Settings) -> Places {
        Places { max: settings.depth, cancels: false }
    }

    fn shared(_: usize) -> Shared {
        Shared::default()
    }

    fn new(settings: &Settings) -> Ws {
        let Settings { handshake, limits, matching, is_binary, depth: _ } = settings;
        let opcode = if *is_binary { Opcode::Binary } else { Opcode::Text };
        let (handshake, accept, received) = (handshake.clone(), String::new(), Vec::new());
        Ws {
            upgrade: Some(Box::new(Upgrade { handshake, limits: *limits, accept, received })),
            reader: Reader::new(limits.body_bytes_max),
            exchange: Exchange::new(matching.clone(), opcode, Keys::new()),
        }
    }

    fn begin(&mut self, _: Carrier<'_>) -> Result<bool, Violation> {
        if let Some(upgrade) = &mut self.upgrade {
            upgrade.accept = self.exchange.ask(&upgrade.handshake);
        }
        Ok(false)
    }

    #[inline]
    fn submit(&mut self, shared: &mut Shared, tag: Tag, _: u32, message: &Message, filler: &mut impl Filler) {
        self.exchange.submit(shared, tag, message, filler);
    }

    /// Its place is taken until the answer has come: the next message would be taken to be answered by it.
    fn cancel(&mut self, _: Tag, _: u64) -> bool {
        false
    }

    #[inline]
    fn output<'a>(&'a self, _: &'a [Message]) -> [&'a [u8]; 2] {
        [self.exchange.output(), &[]]
    }

    #[inline]
    fn wrote(&mut self, n: usize) {
        self.exchange.wrote(n);
    }

    #[inline]
    fn feed(&mut self, shared: &mut Shared, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Violation> {
        if self.upgrade.is_some() {
            // What follows the answer is handed on once; a connection is opened rarely.
            return match self.switch(bytes, sink)? {
                Some(rest) => {
                    self.feed(shared, &rest, sink)?;
                    // One that is closed before its first message was never of use.
                    self.exchange.closed().map_or(Ok(()), |fault| Err(fault.into()))
                }
                None => Ok(()),
            };
        }
        let Ws { reader, exchange, .. } = self;
        let fed = reader.take(bytes, &mut |event| exchange.hear(shared, event, sink));
        exchange.take_back(shared);
        fed
    }

    fn eof(&mut self, _: bool, _: &mut impl Sink) -> Result<(), Violation> {
        Err(Violation::ClosedEarly)
    }

    fn body_left(&self) -> u64 {
        0
    }

    fn skip(&mut self, _: u64) {}

    fn is_answering(&self) -> bool {
        self.exchange.is_answering() || (self.upgrade.is_none() && self.reader.is_inside())
    }
}
