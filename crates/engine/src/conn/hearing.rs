//! What answers say: the sink of a connection's protocol, and what a worker is told of it.

use super::collecting::{Collecting, Place};
use unblink_core::dispatch::{FlightId, Loss};
use unblink_core::failure::FailureKind;
use unblink_core::record::Answer;
use unblink_core::time::Instant;
use unblink_wire::protocol::{Reply, Sink, Tag, Violation};
use unblink_workload::answer::{Coding, Expect, Expects, Undecoded};

/// What a worker is told of a connection that goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// The answer is whole.
    Answered(FlightId, Answer),
    /// There will be none.
    Lost(FlightId, Loss),
    /// It takes so many requests at once.
    Room(u32),
    /// It takes no more requests.
    Retired,
}

/// How far the answer to a flight has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    first_byte: Option<Instant>,
    operation: u32,
    /// How far a search over the pieces of a plain body has come.
    matched: usize,
    /// Its headers are as they must be.
    head_is_right: bool,
    coding: Coding,
    /// Of a body that is looked at as a whole.
    body: Option<Place>,
    /// There is more of it than may be looked at.
    is_too_large: bool,
}

/// What has been heard of a worker's flights, and the news that nobody has been told yet.
pub(crate) struct Hearing {
    /// By the flight's place.
    flights: Vec<Heard>,
    pub(crate) news: Vec<News>,
    /// A copy of this worker's own.
    expects: Expects,
    /// Some answer's head must be looked at; some answer's body.
    reads: (bool, bool),
    collecting: Collecting,
    decoded: Vec<u8>,
    scratch: Vec<u8>,
}

impl Hearing {
    /// Of as many flights as that, nothing is allocated for one.
    pub(crate) fn with_capacity(flights: usize, expects: &Expects) -> Hearing {
        Hearing {
            flights: Vec::with_capacity(flights),
            news: Vec::with_capacity(64),
            expects: expects.clone(),
            reads: (expects.read_heads(), expects.read_bodies()),
            collecting: Collecting::default(),
            decoded: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// A request for `operation` is sent.
    #[inline]
    pub(super) fn begin(&mut self, flight: FlightId, operation: u32) {
        let slot = flight.slot as usize;
        if self.flights.len() <= slot {
            self.flights.resize(slot + 1, Heard::default());
        }
        let heard = &mut self.flights[slot];
        // Of an answer that broke off, a part may have been kept.
        if heard.body.is_some() {
            self.collecting.forget(heard.body);
        }
        *heard = Heard { operation, ..Heard::default() };
    }

    /// Why a whole answer counts as failed.
    #[inline]
    fn judge(&mut self, slot: usize, reply: &Reply) -> Option<FailureKind> {
        let heard = &self.flights[slot];
        let expect = self.expects.of(heard.operation);
        let by_status = FailureKind::of_status(reply.code);
        match expect.allows_status(reply.code) {
            Some(true) => {}
            Some(false) => return Some(by_status.unwrap_or(FailureKind::UNEXPECTED_STATUS)),
            None if by_status.is_some() => return by_status,
            None => {}
        }
        if !heard.head_is_right && !expect.headers.is_empty() {
            return Some(FailureKind::UNEXPECTED_HEADER);
        }
        if !expect.allows_size(reply.body_bytes) {
            return Some(FailureKind::UNEXPECTED_BODY);
        }
        if expect.reads_body() { self.judge_body(slot) } else { None }
    }

    fn judge_body(&mut self, slot: usize) -> Option<FailureKind> {
        let heard = &self.flights[slot];
        let expect = self.expects.of(heard.operation);
        let unexpected = |is_right: bool| (!is_right).then_some(FailureKind::UNEXPECTED_BODY);
        if !heard.is_collected(expect) {
            return unexpected(expect.contains.as_ref().is_none_or(|needle| heard.matched == needle.len()));
        }
        if heard.is_too_large {
            return Some(FailureKind::UNCHECKED);
        }
        match heard.coding.decode(self.collecting.body(heard.body), &mut self.decoded) {
            Ok(body) => unexpected(expect.allows_body(body, &mut self.scratch)),
            Err(Undecoded::TooLarge) => Some(FailureKind::UNCHECKED),
            Err(Undecoded::Unknown | Undecoded::Broken) => Some(FailureKind::UNDECODABLE),
        }
    }

    /// Answers of a connection that ended in the same moment can't be followed by others on it.
    pub(super) fn forbid_reuse(&mut self) {
        for news in &mut self.news {
            if let News::Answered(_, answer) = news {
                answer.reusable = false;
            }
        }
    }
}

impl Heard {
    /// The body is looked at as a whole, and not piece by piece.
    fn is_collected(&self, expect: &Expect) -> bool {
        expect.collects_body() || self.coding != Coding::Plain
    }
}

/// The tag of a flight's request.
#[inline]
pub(super) fn tag_of(flight: FlightId) -> Tag {
    Tag(u64::from(flight.generation) << 32 | u64::from(flight.slot))
}

#[inline]
fn flight_of(Tag(tag): Tag) -> FlightId {
    FlightId { slot: tag as u32, generation: (tag >> 32) as u32 }
}

/// Takes what was read at `now`.
pub(super) struct Ear<'a> {
    pub(super) hearing: &'a mut Hearing,
    pub(super) now: Instant,
    /// The peer's side is closed: nothing more can be asked.
    pub(super) is_last: bool,
    pub(super) is_ready: bool,
}

impl Sink for Ear<'_> {
    fn ready(&mut self) {
        self.is_ready = true;
    }

    fn room(&mut self, places: u32) {
        // Before a place that has become free is used again.
        self.hearing.news.insert(0, News::Room(places));
    }

    fn retired(&mut self) {
        self.hearing.news.insert(0, News::Retired);
    }

    #[inline]
    fn first(&mut self, tag: Tag) {
        self.hearing.flights[flight_of(tag).slot as usize].first_byte = Some(self.now);
    }

    #[inline]
    fn head(&mut self, tag: Tag, head: &[u8]) {
        let Hearing { flights, expects, reads: (true, _), .. } = &mut *self.hearing else { return };
        let heard = &mut flights[flight_of(tag).slot as usize];
        let expect = expects.of(heard.operation);
        heard.head_is_right = expect.allows_head(head);
        if expect.reads_body() {
            heard.coding = Coding::of(head);
        }
    }

    #[inline]
    fn body(&mut self, tag: Tag, piece: &[u8]) {
        let Hearing { flights, expects, reads: (_, true), collecting, .. } = &mut *self.hearing else {
            return;
        };
        let heard = &mut flights[flight_of(tag).slot as usize];
        let expect = expects.of(heard.operation);
        if !expect.reads_body() || heard.is_too_large {
            return;
        }
        if heard.is_collected(expect) {
            heard.is_too_large = !collecting.add(&mut heard.body, piece);
        } else if let Some(needle) = &expect.contains {
            heard.matched = needle.advance(heard.matched, piece);
        }
    }

    #[inline]
    fn done(&mut self, tag: Tag, reply: Reply) {
        let flight = flight_of(tag);
        let slot = flight.slot as usize;
        let failure = self.hearing.judge(slot, &reply);
        let heard = &mut self.hearing.flights[slot];
        let answer = Answer {
            failure,
            status: reply.code,
            first_byte: heard.first_byte.unwrap_or(self.now),
            reusable: reply.reusable && !self.is_last,
        };
        if let body @ Some(_) = heard.body.take() {
            self.hearing.collecting.forget(body);
        }
        self.hearing.news.push(News::Answered(flight, answer));
    }

    fn lost(&mut self, tag: Tag, violation: Violation, unprocessed: bool) {
        let loss = Loss { kind: kind_of_violation(violation), unprocessed };
        self.hearing.news.push(News::Lost(flight_of(tag), loss));
    }
}

/// How a violation is counted.
pub(super) fn kind_of_violation(violation: Violation) -> FailureKind {
    match violation {
        Violation::TooLarge => FailureKind::TOO_LARGE,
        Violation::ClosedEarly => FailureKind::CLOSED_EARLY,
        Violation::Malformed(number) => FailureKind::protocol(usize::from(number)),
    }
}
