//! What answers say: the sink of a connection's protocol, and what a worker is told of it.

mod ear;
mod events;

pub(super) use ear::Ear;

use super::collecting::Collecting;
use super::echoes::{Echo, Echoes};
use super::heard::{Heard, tag_of};
use super::kinds::kind_of_missed;
use super::whole::WholeAnswers;
use crate::codes::CodeRules;
use std::num::NonZeroU16;
use unblink_core::arrival::Arrival;
use unblink_core::dispatch::{FlightId, Loss};
use unblink_core::failure::FailureKind;
use unblink_core::record::{Answer, Breach, ConnectionCounts, Events, FailedArrival, Then};
use unblink_wire::protocol::Reply;
use unblink_workload::Kept;
use unblink_workload::answer::{Expects, Missed, Undecoded};

/// What a worker is told of a connection that goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News {
    /// Events of the answer have come.
    Heard(FlightId, Events),
    /// The answer is whole.
    Answered(FlightId, Answer),
    /// There will be none.
    Lost(FlightId, Loss),
    /// It takes so many requests at once.
    Room(u32),
    /// It takes no more requests.
    Retired,
    /// The same, and it ends, because of what came on it.
    Broken(Breach),
}

/// What has been heard of a worker's flights, and the news that nobody has been told yet.
pub(crate) struct Hearing {
    /// By the flight's place.
    flights: Vec<Heard>,
    pub(crate) news: Vec<News>,
    /// What came beside answers, and nobody has counted yet.
    pub(crate) beside: ConnectionCounts,
    /// A copy of this worker's own.
    expects: Expects,
    codes: CodeRules,
    /// Some answer's head must be looked at; some answer's body.
    reads: (bool, bool),
    /// Nothing but its code says whether an answer is right, and nothing of it is kept.
    is_plain: bool,
    collecting: Collecting,
    /// What journeys have taken from answers.
    pub(crate) kept: Kept,
    /// The beginnings of answers, if those that fail are to be shown.
    echoes: Option<Echoes>,
    /// All of each answer, for whoever looks at it.
    whole: Option<WholeAnswers>,
    decoded: Vec<u8>,
    text: Vec<u8>,
    scratch: Vec<u8>,
}

impl Hearing {
    /// Of as many flights as that, and journeys under way, nothing is allocated for one.
    pub(crate) fn with_capacity(
        flights: usize,
        journeys: usize,
        expects: &Expects,
        codes: CodeRules,
    ) -> Hearing {
        Hearing {
            flights: Vec::with_capacity(flights),
            news: Vec::with_capacity(64),
            beside: ConnectionCounts::default(),
            expects: expects.clone(),
            codes,
            reads: (expects.read_heads(), expects.read_bodies()),
            is_plain: expects.are_nothing(),
            collecting: Collecting::default(),
            kept: Kept::new(journeys, expects.captured_count()),
            echoes: None,
            whole: expects.hear_all().then(WholeAnswers::default),
            decoded: Vec::new(),
            text: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Keeps the beginnings of answers until it is known whether they failed.
    pub(crate) fn keep_echoes(&mut self) {
        self.echoes = Some(Echoes::default());
        self.reads = (true, true);
        self.is_plain = false;
    }

    /// Something is kept by arrival.
    #[inline]
    pub(crate) fn follows_arrivals(&self) -> bool {
        !self.kept.is_nothing() || self.echoes.is_some()
    }

    /// No part of a body may be dropped unread.
    pub(super) fn reads_bodies(&self) -> bool {
        self.reads.1
    }

    /// What came of the answer to an arrival that failed.
    pub(crate) fn echo_of(&self, failed: &FailedArrival) -> Option<&Echo> {
        self.echoes.as_ref()?.of(failed)
    }

    /// A request for `operation` is sent.
    #[inline]
    pub(super) fn begin(&mut self, flight: FlightId, operation: u32) {
        match self.flights.get_mut(flight.slot as usize).filter(|_| self.is_plain) {
            Some(heard) => heard.first_byte = None,
            None => self.begin_anew(flight, operation),
        }
    }

    /// The same where the flight's place was never used, or more than codes is looked at.
    #[inline(never)]
    fn begin_anew(&mut self, flight: FlightId, operation: u32) {
        let slot = flight.slot as usize;
        if self.flights.len() <= slot {
            self.flights.resize(slot + 1, Heard::default());
        }
        if let Some(whole) = &mut self.whole {
            whole.begin(slot);
        }
        let heard = &mut self.flights[slot];
        // Of an answer that broke off, a part may have been kept.
        if heard.body.is_some() {
            self.collecting.forget(heard.body);
        }
        *heard = Heard { operation, ..Heard::default() };
    }

    /// A request of `arrival` is about to be sent.
    pub(crate) fn begin_for(&mut self, flight: FlightId, arrival: &Arrival) {
        self.kept.begin(arrival.slot, tag_of(flight).0, arrival.key);
        if let Some(echoes) = &mut self.echoes {
            echoes.begin(flight.slot as usize, arrival.index);
        }
    }

    /// What is taken from the answer to this flight is for the journey at `place`.
    pub(crate) fn keep_for(&mut self, flight: FlightId, place: Option<NonZeroU16>) {
        // One that could not be filled in was never sent.
        if let Some(heard) = self.flights.get_mut(flight.slot as usize) {
            heard.place = place;
        }
    }

    /// The request of the journey at `place` has been sent, and its answer may send it on: where it went is kept. `fill` writes
    /// what stands in the places of its path and query.
    pub(crate) fn note_target(
        &mut self,
        flight: FlightId,
        (operation, place): (u32, Option<NonZeroU16>),
        fill: impl FnMut(u32, &mut Vec<u8>),
    ) {
        let Some(redirects) = &self.expects.of(operation).redirects else { return };
        let Some(target) = &redirects.target else { return };
        self.kept.rewrite((place, tag_of(flight).0), redirects.kept, |went| {
            went.clear();
            target.write(fill, went);
        });
    }

    /// The end of an answer of which more than its code is looked at: the same as [`Hearing::judge`], and what was kept of it
    /// is let go.
    #[inline(never)] // off the way of answers of which nothing but the code is looked at
    fn judge_all(&mut self, flight: FlightId, reply: &Reply) -> (Option<FailureKind>, Then) {
        let slot = flight.slot as usize;
        self.hear(flight, None);
        let judged = self.judge(flight, reply);
        if let Some(echoes) = &mut self.echoes {
            echoes.done(slot, reply.code);
        }
        if let body @ Some(_) = self.flights[slot].body.take() {
            self.collecting.forget(body);
        }
        judged
    }

    /// Whether a whole answer counts as failed, and why; and what follows one that doesn't.
    fn judge(&mut self, flight: FlightId, reply: &Reply) -> (Option<FailureKind>, Then) {
        let slot = flight.slot as usize;
        match self.flights[slot].sent_on {
            None => {}
            Some(Ok(operation)) => return (None, Then::Redirected(operation)),
            Some(Err(kind)) => return (Some(kind), Then::Done),
        }
        let failure = self.judge_head(slot, reply);
        let expect = self.expects.of(self.flights[slot].operation);
        if failure.is_some() || !(expect.reads_body() || expect.takes()) {
            return (failure, Then::Done);
        }
        match self.judge_body(flight, reply) {
            Ok(true) => (None, Then::Done),
            Ok(false) => (None, Then::NotYet),
            Err(kind) => (Some(kind), Then::Done),
        }
    }

    /// Why an answer counts as failed, whatever its body holds.
    #[inline]
    fn judge_head(&self, slot: usize, reply: &Reply) -> Option<FailureKind> {
        let heard = &self.flights[slot];
        let expect = self.expects.of(heard.operation);
        let by_code = self.codes.failure(reply);
        match expect.allows_status(reply.code) {
            Some(true) => {}
            Some(false) => return Some(by_code.unwrap_or(FailureKind::UNEXPECTED_STATUS)),
            None if by_code.is_some() => return by_code,
            None => {}
        }
        if !heard.head_is_right && !expect.headers.is_empty() {
            return Some(FailureKind::UNEXPECTED_HEADER);
        }
        (!expect.allows_size(reply.body_bytes)).then_some(FailureKind::UNEXPECTED_BODY)
    }

    /// Takes what is to be taken from the answer, or says why it counts as failed. False if it is not yet what its step waits
    /// for; then nothing is taken.
    fn judge_body(&mut self, flight: FlightId, reply: &Reply) -> Result<bool, FailureKind> {
        let Hearing { flights, expects, collecting, kept, decoded, text, scratch, .. } = self;
        let heard = &flights[flight.slot as usize];
        let expect = expects.of(heard.operation);
        let expected = |is_right: bool| if is_right { Ok(()) } else { Err(FailureKind::UNEXPECTED_BODY) };
        if expect.events.is_some() {
            expected(heard.events.is_some_and(|events| events.is_any))?;
        }
        let until = expect.until.as_deref();
        let is_awaited = until.is_none_or(|until| {
            let by_status = until.allows_status(reply.code) != Some(false);
            // A head that no condition asks about is not looked at.
            let by_head = heard.head_is_awaited || !until.reads_head();
            by_status && by_head && until.allows_size(reply.body_bytes)
        });
        let missed = |why: Option<Missed>| why.map_or(Ok(true), |why| Err(kind_of_missed(why)));
        if !heard.is_collected(expect) {
            expected(expect.contains.as_ref().is_none_or(|needle| heard.matched == needle.len()))?;
            return if is_awaited { missed(heard.missed(expect)) } else { Ok(false) };
        }
        if heard.is_too_large {
            return Err(FailureKind::UNCHECKED);
        }
        let sent = collecting.body(heard.body);
        let body = expect.text_of(heard.coding, sent, decoded, text).map_err(|why| match why {
            Undecoded::TooLarge => FailureKind::UNCHECKED,
            Undecoded::Unknown | Undecoded::Broken | Undecoded::NoMessage => FailureKind::UNDECODABLE,
        })?;
        expected(expect.allows_body(body, scratch))?;
        if !is_awaited || until.is_some_and(|until| !until.allows_body(body, scratch)) {
            return Ok(false);
        }
        let of_body = expect.captures.iter().filter(|captured| captured.capture.reads_body());
        let mut takes =
            of_body.map(|captured| kept.take((heard.place, tag_of(flight).0), captured, &[], body).err());
        missed(heard.missed(expect).or_else(|| takes.find_map(|why| why)))
    }

    /// Head and body of the answer to a flight, where all of each is kept.
    pub(crate) fn whole(&self, flight: FlightId) -> Option<(&[u8], &[u8])> {
        self.whole.as_ref()?.of(flight.slot as usize)
    }

    /// Answers of a connection that ended in the same moment can't be followed by others on it. If it has ended of a `breach`, that
    /// is told before them.
    pub(super) fn forbid_reuse(&mut self, breach: Option<Breach>) {
        if let Some(breach) = breach {
            self.news.insert(0, News::Broken(breach));
        }
        for news in &mut self.news {
            if let News::Answered(_, answer) = news {
                answer.reusable = false;
            }
        }
    }
}
