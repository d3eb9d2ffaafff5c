//! Messages under way, and what the server's frames mean for them.

use super::CODE;
use super::fault::Fault;
use super::frame::{self, Opcode};
use super::handshake::Handshake;
use super::keys::Keys;
use super::matching::Matching;
use super::message::Message;
use super::reader::Event;
use super::shared::{self, Shared};
use crate::blank::Filler;
use crate::protocol::{Reply, Sink, Tag, Violation};
use std::collections::VecDeque;

/// While so much waits to be written, no ping is answered: the server does not read.
const UNREAD_MAX: usize = 1 << 20;

/// A message whose answer is yet to come.
#[derive(Debug)]
struct Awaited {
    tag: Tag,
    /// Where answers are found by name.
    name: Vec<u8>,
}

/// The server's message that is coming.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coming {
    Nothing,
    /// The answer to this.
    Answer(Tag),
    /// Nothing is known of it before its end.
    Unknown,
    /// It came when nothing was awaited.
    Unsolicited,
}

/// One socket's messages, in both directions.
#[derive(Debug)]
pub(super) struct Exchange {
    matching: Matching,
    /// What our messages are.
    opcode: Opcode,
    keys: Keys,
    awaited: VecDeque<Awaited>,
    coming: Coming,
    /// A message of which nothing is known before its end.
    collected: Vec<u8>,
    /// What is to be written.
    out: Vec<u8>,
    written: usize,
    /// How the server has closed: nothing that it says counts any more.
    closed: Option<Fault>,
}

impl Exchange {
    pub(super) fn new(matching: Matching, opcode: Opcode, keys: Keys) -> Exchange {
        Exchange {
            matching,
            opcode,
            keys,
            awaited: VecDeque::new(),
            coming: Coming::Nothing,
            collected: Vec::new(),
            out: Vec::new(),
            written: 0,
            closed: None,
        }
    }

    /// How the server has closed, if it has.
    pub(super) fn closed(&self) -> Option<Fault> {
        self.closed
    }

    /// An answer has come in part.
    pub(super) fn is_answering(&self) -> bool {
        matches!(self.coming, Coming::Answer(_))
            || (self.coming == Coming::Unknown && !self.awaited.is_empty())
    }

    /// Asks for the upgrade, and says by what it is accepted.
    pub(super) fn ask(&mut self, handshake: &Handshake) -> String {
        handshake.put(self.keys.nonce(), &mut self.out)
    }

    /// What is to be written.
    pub(super) fn output(&self) -> &[u8] {
        &self.out[self.written..]
    }

    /// So much of it was.
    pub(super) fn wrote(&mut self, n: usize) {
        self.written += n;
        if self.written == self.out.len() {
            self.out.clear();
            self.written = 0;
        }
    }

    /// Gives memory back that nothing stands in.
    #[inline]
    pub(super) fn take_back(&mut self, shared: &mut Shared) {
        if self.out.is_empty() {
            shared.take_back(&mut self.out);
        }
    }

    #[inline]
    pub(super) fn submit(
        &mut self,
        shared: &mut Shared,
        tag: Tag,
        message: &Message,
        filler: &mut impl Filler,
    ) {
        shared.lend(&mut self.out);
        let payload = message.payload(filler, &mut shared.payload);
        frame::put(&mut self.out, self.opcode, payload, self.keys.mask());
        let mut name = Vec::new();
        if let Matching::Name(finder) = &self.matching {
            name = shared.spare.pop().unwrap_or_default();
            // One without a name is answered by nothing, and times out.
            finder.find(payload, &mut name);
        }
        self.awaited.push_back(Awaited { tag, name });
    }

    #[inline]
    pub(super) fn hear(
        &mut self,
        shared: &mut Shared,
        event: Event<'_>,
        sink: &mut impl Sink,
    ) -> Result<(), Violation> {
        if self.closed.is_some() {
            return Ok(());
        }
        match event {
            Event::Begins => self.begin(shared, sink),
            Event::Piece(piece) => match self.coming {
                Coming::Answer(tag) => sink.body(tag, piece),
                Coming::Unknown => shared::collect(&mut self.collected, piece)?,
                Coming::Nothing | Coming::Unsolicited => {}
            },
            Event::Ends(bytes) => self.end(shared, bytes, sink),
            Event::Ping(payload) => {
                if self.out.len() - self.written > UNREAD_MAX {
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

    #[inline]
    fn begin(&mut self, shared: &mut Shared, sink: &mut impl Sink) {
        self.coming = match (&self.matching, self.awaited.front()) {
            (_, None) => Coming::Unsolicited,
            (Matching::Order, Some(first)) => {
                sink.first(first.tag);
                Coming::Answer(first.tag)
            }
            (Matching::Name(_), Some(_)) => {
                shared.lend(&mut self.collected);
                Coming::Unknown
            }
        };
    }

    #[inline]
    fn end(&mut self, shared: &mut Shared, bytes: u64, sink: &mut impl Sink) {
        let reply = Reply { code: CODE, body_bytes: bytes, reusable: true };
        match std::mem::replace(&mut self.coming, Coming::Nothing) {
            Coming::Answer(tag) => {
                self.awaited.pop_front();
                sink.done(tag, reply);
            }
            Coming::Unknown => {
                let place = self.named(shared);
                match place.and_then(|place| self.awaited.remove(place)) {
                    Some(Awaited { tag, name }) => {
                        shared.keep(name);
                        sink.first(tag);
                        if !self.collected.is_empty() {
                            sink.body(tag, &self.collected);
                        }
                        sink.done(tag, reply);
                    }
                    None => sink.unsolicited(false),
                }
                shared.take_back(&mut self.collected);
            }
            Coming::Nothing | Coming::Unsolicited => {
                sink.unsolicited(matches!(self.matching, Matching::Order));
            }
        }
    }

    /// The place of the first message that is called as the one that was collected.
    fn named(&self, shared: &mut Shared) -> Option<usize> {
        let Matching::Name(finder) = &self.matching else { return None };
        let name = &mut shared.payload;
        let is_named = finder.find(&self.collected, name);
        self.awaited.iter().position(|awaited| is_named && awaited.name == *name)
    }

    /// Answers a control frame, in a borrowed buffer as messages are.
    fn control(&mut self, shared: &mut Shared, opcode: Opcode, payload: &[u8]) {
        shared.lend(&mut self.out);
        frame::put(&mut self.out, opcode, payload, self.keys.mask());
    }

    /// The server has closed: it is told that this was heard, and no answer comes any more.
    fn close(&mut self, shared: &mut Shared, code: Option<u16>, sink: &mut impl Sink) {
        let fault = Fault::of_close(code);
        self.closed = Some(fault);
        let code_bytes = code.map(u16::to_be_bytes);
        let payload = code_bytes.as_ref().map_or(&[][..], |bytes| bytes);
        self.control(shared, Opcode::Close, payload);
        sink.retired();
        for Awaited { tag, .. } in self.awaited.drain(..) {
            sink.lost(tag, fault.into(), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blank::NothingToFill;
    use crate::ws::COLLECTED_MAX;
    use crate::ws::matching::Finder;

    struct Nobody;

    impl Sink for Nobody {
        fn ready(&mut self) {}
        fn room(&mut self, _: u32) {}
        fn retired(&mut self) {}
        fn first(&mut self, _: Tag) {}
        fn head(&mut self, _: Tag, _: &[u8]) {}
        fn body(&mut self, _: Tag, _: &[u8]) {}
        fn done(&mut self, _: Tag, _: Reply) {}
        fn lost(&mut self, _: Tag, _: Violation, _: bool) {}
    }

    fn exchange(matching: Matching) -> (Exchange, Shared) {
        (Exchange::new(matching, Opcode::Text, Keys::new()), Shared::default())
    }

    fn by_name() -> Matching {
        Matching::Name(Finder::new(|_, name| {
            name.push(b'a');
            true
        }))
    }

    #[test]
    fn pings_whose_pongs_are_not_read_are_a_flood() {
        let (mut exchange, mut shared) = exchange(Matching::Order);
        let mut ping = || exchange.hear(&mut shared, Event::Ping(&[0; 125]), &mut Nobody);
        // A pong is a head of 6 bytes and what the ping brought.
        let taken = (0..).take_while(|_| ping().is_ok()).count();
        assert_eq!(taken, UNREAD_MAX / 131 + 1);
        assert_eq!(ping(), Err(Fault::Flood.into()));
        let all = exchange.output().len();
        exchange.wrote(all);
        assert_eq!(exchange.hear(&mut shared, Event::Ping(b""), &mut Nobody), Ok(()), "it reads again");
    }

    #[test]
    fn a_message_whose_request_is_unknown_is_collected_up_to_a_bound() {
        let (mut exchange, mut shared) = exchange(by_name());
        let message = Message::new(b"a"[..].into(), false);
        let half = vec![b'x'; COLLECTED_MAX / 2];
        for tag in 1..=2 {
            exchange.submit(&mut shared, Tag(tag), &message, &mut NothingToFill);
        }
        let mut hear = |event| exchange.hear(&mut shared, event, &mut Nobody);
        for event in [Event::Begins, Event::Piece(&half), Event::Piece(&half)] {
            assert_eq!(hear(event), Ok(()));
        }
        assert_eq!(hear(Event::Ends(COLLECTED_MAX as u64)), Ok(()), "the longest that is looked at");
        for event in [Event::Begins, Event::Piece(&half), Event::Piece(&half)] {
            assert_eq!(hear(event), Ok(()));
        }
        assert_eq!(hear(Event::Piece(b"x")), Err(Fault::MessageUnchecked.into()));
    }

    #[test]
    fn the_memory_of_a_long_message_is_not_kept() {
        let (mut exchange, mut shared) = exchange(by_name());
        let message = Message::new(b"a"[..].into(), false);
        exchange.submit(&mut shared, Tag(1), &message, &mut NothingToFill);
        for event in [Event::Begins, Event::Piece(&[b'x'; 1 << 20]), Event::Ends(1 << 20)] {
            assert_eq!(exchange.hear(&mut shared, event, &mut Nobody), Ok(()));
        }
        let kept = shared.spare.iter().map(Vec::capacity).sum::<usize>();
        assert!((1..128 << 10).contains(&kept), "{kept} bytes");
    }
}
