//! The WebSocket of a journey: one step at a time, and the messages that nobody has taken yet.

use super::{Opening, Step, StepSettings};
use crate::Limits;
use crate::blank::Filler;
use crate::protocol::{Reply, Sink, Tag, Violation};
use crate::ws::CODE;
use crate::ws::fault::Fault;
use crate::ws::frame::{self, Opcode};
use crate::ws::handshake::Handshake;
use crate::ws::keys::Keys;
use crate::ws::reader::{Event, Reader};
use crate::ws::shared::{self, Shared};
use std::collections::VecDeque;
use std::sync::Arc;

/// Messages that are kept for later steps, and their bytes.
pub(super) const KEPT_MAX: usize = 256;
pub(super) const KEPT_BYTES_MAX: usize = 1 << 20;

/// While so much waits to be written, no ping is answered: the server does not read.
const UNREAD_MAX: usize = 1 << 20;

/// The status of a close that nothing is wrong with (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wait {
    /// The answer to the upgrade.
    Switch,
    /// All of it must be written.
    Written,
    /// A message; one that has come already may do.
    Kept,
    /// A message that is yet to come.
    Message,
    /// The server's close.
    Close,
}

/// The step that is under way.
#[derive(Clone, Copy, Debug)]
struct Current {
    tag: Tag,
    number: u32,
    wait: Wait,
}

/// The answer to the upgrade, as far as it has come.
#[derive(Debug)]
pub(super) struct Upgrade {
    handshake: Arc<Handshake>,
    accept: String,
    pub(super) received: Vec<u8>,
}

/// A WebSocket, from its upgrade on.
#[derive(Debug)]
pub(super) struct Socket {
    limits: Limits,
    opcode: Opcode,
    pub(super) upgrade: Option<Upgrade>,
    reader: Reader,
    keys: Keys,
    current: Option<Current>,
    /// Those that may want a message which nobody has taken.
    later: Arc<[u32]>,
    /// The message that is coming.
    coming: Vec<u8>,
    kept: VecDeque<Vec<u8>>,
    kept_bytes: usize,
    out: Vec<u8>,
    written: usize,
    /// How the server has closed: nothing that it says counts any more.
    closed: Option<Fault>,
}

impl Socket {
    pub(super) fn new(settings: &StepSettings) -> Socket {
        Socket {
            limits: settings.limits,
            opcode: if settings.is_binary { Opcode::Binary } else { Opcode::Text },
            upgrade: None,
            reader: Reader::new(settings.limits.body_bytes_max),
            keys: Keys::new(),
            current: None,
            later: Arc::default(),
            coming: Vec::new(),
            kept: VecDeque::new(),
            kept_bytes: 0,
            out: Vec::new(),
            written: 0,
            closed: None,
        }
    }

    /// Asks for the upgrade.
    pub(super) fn connect(
        &mut self,
        tag: Tag,
        number: u32,
        (opening, later): (&Opening, &Arc<[u32]>),
        filler: &mut impl Filler,
    ) {
        self.current = Some(Current { tag, number, wait: Wait::Switch });
        self.later = later.clone();
        let nonce = self.keys.nonce();
        let accept = match &opening.blank {
            None => opening.handshake.put(nonce, &mut self.out),
            Some(blank) => {
                blank.write(|place, out| filler.fill(place, out), &mut self.out);
                opening.handshake.put_key(nonce, &mut self.out)
            }
        };
        let handshake = opening.handshake.clone();
        self.upgrade = Some(Upgrade { handshake, accept, received: Vec::new() });
    }

    /// Takes on any other step.
    pub(super) fn submit(
        &mut self,
        shared: &mut Shared,
        (tag, number): (Tag, u32),
        (step, later): (&Step, &Arc<[u32]>),
        filler: &mut impl Filler,
    ) {
        self.later = later.clone();
        let wait = match step {
            // It goes nowhere, and is told so.
            _ if self.closed.is_some() => Wait::Message,
            Step::Send { message, awaits } => {
                shared.lend(&mut self.out);
                let payload = message.payload(filler, &mut shared.payload);
                frame::put(&mut self.out, self.opcode, payload, self.keys.mask());
                if *awaits { Wait::Message } else { Wait::Written }
            }
            Step::Await => Wait::Kept,
            Step::Close => {
                self.control(shared, Opcode::Close, &NORMAL.to_be_bytes());
                Wait::Close
            }
            Step::Http(_) | Step::Connect(_) => unreachable!("neither is a message"),
        };
        self.current = Some(Current { tag, number, wait });
    }

    pub(super) fn output(&self) -> &[u8] {
        &self.out[self.written..]
    }

    pub(super) fn wrote(&mut self, n: usize) {
        self.written += n;
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// A message was written that no answer is awaited to, or one may have come already, or none will.
    pub(super) fn is_settled(&self) -> bool {
        if self.closed.is_some() {
            return self.current.is_some();
        }
        match self.current.map(|current| current.wait) {
            Some(Wait::Written) => self.out.is_empty(),
            Some(Wait::Kept) => true,
            _ => false,
        }
    }

    pub(super) fn settle(&mut self, shared: &mut Shared, sink: &mut impl Sink) {
        let Some(Current { tag, number, wait }) = self.current.filter(|_| self.is_settled()) else { return };
        if let Some(fault) = self.closed {
            self.current = None;
            sink.retired();
            return sink.lost(tag, super::shifted(fault.into()), false);
        }
        if wait == Wait::Written {
            self.current = None;
            shared.take_back(&mut self.out);
            sink.first(tag);
            return sink.done(tag, Reply { code: CODE, body_bytes: 0, reusable: true });
        }
        let place = self.kept.iter().position(|message| sink.wants(number, message));
        match place.and_then(|place| self.kept.remove(place)) {
            Some(message) => {
                self.kept_bytes -= message.len();
                self.answer(tag, &message, sink);
                shared.keep(message);
            }
            None => self.current = Some(Current { tag, number, wait: Wait::Message }),
        }
    }

    fn answer(&mut self, tag: Tag, message: &[u8], sink: &mut impl Sink) {
        self.current = None;
        sink.first(tag);
        // It has none, and is not held against one.
        sink.head(tag, &[]);
        if !message.is_empty() {
            sink.body(tag, message);
        }
        sink.done(tag, Reply { code: CODE, body_bytes: message.len() as u64, reusable: true });
    }

    /// Takes what comes next.
    pub(super) fn feed(
        &mut self,
        shared: &mut Shared,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        if self.upgrade.is_some() {
            return match self.switch(bytes, sink)? {
                Some(rest) => self.feed(shared, &rest, sink),
                None => Ok(()),
            };
        }
        // It is put back, whatever comes of it.
        let mut reader = std::mem::replace(&mut self.reader, Reader::new(0));
        let fed = reader.take(bytes, &mut |event| self.hear(shared, event, sink));
        self.reader = reader;
        if self.out.is_empty() {
            shared.take_back(&mut self.out);
        }
        fed
    }

    /// Takes bytes of the answer to the upgrade. What follows it, once it is whole and right.
    fn switch(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<Option<Vec<u8>>, Fault> {
        let Some(Upgrade { handshake, accept, received }) = &mut self.upgrade else { return Ok(None) };
        received.extend_from_slice(bytes);
        let Some(length) = handshake.check(received, accept, &self.limits)? else { return Ok(None) };
        let (head, rest) = received.split_at(length);
        let rest = rest.to_vec();
        if let Some(Current { tag, .. }) = self.current.take() {
            sink.first(tag);
            sink.code(tag, CODE);
            sink.head(tag, head);
            sink.done(tag, Reply { code: CODE, body_bytes: 0, reusable: true });
        }
        self.upgrade = None;
        Ok(Some(rest))
    }

    fn hear(&mut self, shared: &mut Shared, event: Event<'_>, sink: &mut impl Sink) -> Result<(), Violation> {
        if self.closed.is_some() {
            return Ok(());
        }
        match event {
            Event::Begins => shared.lend(&mut self.coming),
            Event::Piece(piece) => shared::collect(&mut self.coming, piece)?,
            Event::Ends(_) => return self.end_message(shared, sink),
            Event::Ping(payload) => {
                if self.output().len() > UNREAD_MAX {
                    return Err(Fault::Flood.into());
                }
                self.control(shared, Opcode::Pong, payload);
                sink.pinged();
            }
            Event::Pong => {}
            Event::Close(code) => self.close(shared, code, sink),
        }
        Ok(())
    }

    /// A message is whole.
    fn end_message(&mut self, shared: &mut Shared, sink: &mut impl Sink) -> Result<(), Violation> {
        let message = std::mem::take(&mut self.coming);
        let waiting = self.current.filter(|current| current.wait == Wait::Message);
        if let Some(Current { tag, number, .. }) = waiting
            && sink.wants(number, &message)
        {
            self.answer(tag, &message, sink);
        } else if self.later.iter().any(|&number| sink.wants(number, &message)) {
            if self.kept.len() == KEPT_MAX || self.kept_bytes + message.len() > KEPT_BYTES_MAX {
                return Err(Fault::UnawaitedOverflow.into());
            }
            self.kept_bytes += message.len();
            self.kept.push_back(message);
            return Ok(());
        } else {
            sink.unsolicited(false);
        }
        shared.keep(message);
        Ok(())
    }

    fn control(&mut self, shared: &mut Shared, opcode: Opcode, payload: &[u8]) {
        shared.lend(&mut self.out);
        frame::put(&mut self.out, opcode, payload, self.keys.mask());
    }

    /// The server closes. That is the answer to our own close; otherwise it is told that this was heard, and the step that is under
    /// way fails by its code.
    fn close(&mut self, shared: &mut Shared, code: Option<u16>, sink: &mut impl Sink) {
        let fault = Fault::of_close(code);
        self.closed = Some(fault);
        match self.current.take() {
            Some(Current { tag, wait: Wait::Close, .. }) => {
                sink.first(tag);
                sink.done(tag, Reply { code: CODE, body_bytes: 0, reusable: false });
            }
            Some(Current { tag, .. }) => {
                let violation = super::shifted(fault.into());
                self.reply(shared, code);
                sink.retired();
                sink.lost(tag, violation, false);
            }
            // A later step meets it.
            None => self.reply(shared, code),
        }
    }

    fn reply(&mut self, shared: &mut Shared, code: Option<u16>) {
        let code = code.map(u16::to_be_bytes);
        self.control(shared, Opcode::Close, code.as_ref().map_or(&[][..], |bytes| bytes));
    }

    /// How the server has closed, if it has.
    pub(super) fn end(&self) -> Option<Fault> {
        self.closed
    }

    pub(super) fn is_answering(&self) -> bool {
        self.current.is_some() && self.upgrade.is_none() && self.reader.is_inside()
    }
}
