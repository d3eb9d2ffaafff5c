//! What answers say: the sink of a connection's protocol, and what a worker is told of it.

use crate::expect::Expect;
use unblink_core::dispatch::{FlightId, Loss};
use unblink_core::failure::FailureKind;
use unblink_core::record::Answer;
use unblink_core::time::Instant;
use unblink_wire::protocol::{Reply, Sink, Tag, Violation};

/// What a worker is told of a connection that goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// The answer is whole.
    Answered(FlightId, Answer),
    /// There will be none.
    Lost(FlightId, Loss),
    /// It takes so many requests at once.
    Room(u32),
}

/// How far the answer to a flight has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    first_byte: Option<Instant>,
    matched: usize,
}

/// What has been heard of a worker's flights, and the news that nobody has been told yet.
pub(crate) struct Hearing {
    /// By the flight's place.
    flights: Vec<Heard>,
    pub(crate) news: Vec<News>,
}

impl Hearing {
    /// Of as many flights as that, nothing is allocated for one.
    pub(crate) fn with_capacity(flights: usize) -> Hearing {
        Hearing { flights: Vec::with_capacity(flights), news: Vec::with_capacity(64) }
    }

    /// A request is sent.
    #[inline]
    pub(super) fn begin(&mut self, flight: FlightId) {
        let slot = flight.slot as usize;
        if self.flights.len() <= slot {
            self.flights.resize(slot + 1, Heard::default());
        }
        self.flights[slot] = Heard::default();
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

/// The tag of a flight's request.
pub(super) fn tag_of(flight: FlightId) -> Tag {
    Tag(u64::from(flight.generation) << 32 | u64::from(flight.slot))
}

fn flight_of(Tag(tag): Tag) -> FlightId {
    FlightId { slot: tag as u32, generation: (tag >> 32) as u32 }
}

/// Takes what was read at `now`.
pub(super) struct Ear<'a> {
    pub(super) hearing: &'a mut Hearing,
    pub(super) expect: &'a Expect,
    pub(super) now: Instant,
    /// The peer's side is closed: nothing more can be asked.
    pub(super) is_last: bool,
    pub(super) is_ready: bool,
}

impl Ear<'_> {
    fn judge(&self, reply: &Reply, heard: &Heard) -> Option<FailureKind> {
        let by_status = FailureKind::of_status(reply.code);
        match self.expect.allows_status(reply.code) {
            Some(true) => {}
            Some(false) => return Some(by_status.unwrap_or(FailureKind::EXPECTATION)),
            None if by_status.is_some() => return by_status,
            None => {}
        }
        let found = self.expect.contains.as_ref().is_none_or(|needle| heard.matched == needle.len());
        let as_expected = found && self.expect.allows_size(reply.body_bytes);
        (!as_expected).then_some(FailureKind::EXPECTATION)
    }
}

impl Sink for Ear<'_> {
    fn ready(&mut self) {
        self.is_ready = true;
    }

    fn room(&mut self, places: u32) {
        self.hearing.news.push(News::Room(places));
    }

    #[inline]
    fn first(&mut self, tag: Tag) {
        self.hearing.flights[flight_of(tag).slot as usize].first_byte = Some(self.now);
    }

    #[inline]
    fn body(&mut self, tag: Tag, piece: &[u8]) {
        if let Some(needle) = &self.expect.contains {
            let heard = &mut self.hearing.flights[flight_of(tag).slot as usize];
            heard.matched = needle.advance(heard.matched, piece);
        }
    }

    #[inline]
    fn done(&mut self, tag: Tag, reply: Reply) {
        let flight = flight_of(tag);
        let heard = &self.hearing.flights[flight.slot as usize];
        let answer = Answer {
            failure: self.judge(&reply, heard),
            status: reply.code,
            first_byte: heard.first_byte.unwrap_or(self.now),
            reusable: reply.reusable && !self.is_last,
        };
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
