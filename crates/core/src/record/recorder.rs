//! What happens to each arrival, written into a bank.

use super::absence::Absences;
use super::by_address::ByAddress;
use super::failed::FirstFailed;
use super::places::Places;
use super::{
    Answer, Apart, Bank, ConnectionCounts, Counters, Flight, Outcomes, PAUSE_FROM, SampleBlocks, Series,
};
use crate::arrival::Arrival;
use crate::code::Code;
use crate::failure::FailureKind;
use crate::heat::{CENSORED_ROW, FAILED_ROW};
use crate::origins::Origins;
use crate::outcome::Outcome;
use crate::time::{Instant, Nanos};

/// An arrival that timed out is the generator's own when that took one part in so many of its time: what is less is
/// found in any run, and a target that hangs is not excused by it.
const OWN_PART_MIN: u64 = 10;

/// A user who begins by so much later than measuring does is no later than an ordinary machine makes it.
pub const BEGUN_GRACE: Nanos = Nanos::from_millis(10);

/// Writes one worker's bank.
#[derive(Debug)]
pub struct Recorder {
    pub(super) bank: Box<Bank<u32>>,
    pub(super) start: Instant,
    pub(super) measured_from: Instant,
    pub(super) load_end: Instant,
    pub(super) timeout: Nanos,
    last_ok: Option<Instant>,
    /// There are several operations, loads or origins.
    keeps_apart: bool,
    pub(super) origins: Origins,
    /// Connections take several requests at once.
    shares_connections: bool,
    /// See [`Recorder::with_own_waits`].
    pub(super) has_own_waits: bool,
    /// By load.
    pub(super) blocks: Vec<SampleBlocks>,
    /// The same, for arrivals that end without having been sent: they lie elsewhere in time.
    pub(super) unsent_blocks: Vec<SampleBlocks>,
    pub(super) absences: Absences,
    pub(super) first_failed: Option<Box<FirstFailed>>,
    /// Where an origin has several addresses.
    pub(super) by_address: Option<Box<ByAddress>>,
    /// See [`Recorder::set_streams`].
    pub(super) streams: Vec<bool>,
}

impl Recorder {
    /// A recorder into `bank`; nothing is measured until [`Recorder::begin`].
    pub fn new(bank: Box<Bank<u32>>, timeout: Nanos) -> Recorder {
        let keeps_apart = Apart::ALL.into_iter().any(|by| !bank.apart(by).is_empty());
        Recorder {
            bank,
            keeps_apart,
            origins: Origins::default(),
            shares_connections: false,
            has_own_waits: false,
            start: Instant(u64::MAX),
            measured_from: Instant(u64::MAX),
            load_end: Instant(u64::MAX),
            timeout,
            last_ok: None,
            blocks: Vec::new(),
            unsent_blocks: Vec::new(),
            absences: Absences::default(),
            first_failed: None,
            by_address: None,
            streams: Vec::new(),
        }
    }

    /// Operations go to these origins; to one where this is not said.
    pub fn with_origins(mut self, origins: Origins) -> Recorder {
        debug_assert!(self.bank.origins.is_empty() || self.bank.origins.len() == origins.count());
        self.origins = origins;
        self
    }

    /// A connection takes so many requests at once; one where this is not said.
    pub fn with_room(mut self, places: u32) -> Recorder {
        self.shares_connections = places > 1;
        self
    }

    /// The schedule's zero is at `start`; arrivals intended less than `warmup` after it are warm-up, and the
    /// load lasts for `load_length`.
    pub fn begin(&mut self, start: Instant, warmup: Nanos, load_length: Nanos) {
        self.start = start;
        self.measured_from = start + warmup;
        self.load_end = start + load_length;
    }

    /// The load ends early.
    pub fn end_load(&mut self, at: Instant) {
        self.load_end = self.load_end.min(at);
    }

    /// When the last `ok` arrival of the measured part ended that was to start while the load lasted.
    pub fn last_ok(&self) -> Option<Instant> {
        self.last_ok
    }

    /// The bank being filled. What is counted once for all is in no series yet.
    pub fn bank(&self) -> &Bank<u32> {
        &self.bank
    }

    /// Counts about the loop and the connections, which belong to no arrival.
    #[inline]
    pub fn counters(&mut self) -> &mut Counters {
        &mut self.bank.counters
    }

    /// What happened to connections to `origin`.
    #[inline]
    pub fn connections(&mut self, origin: usize) -> &mut ConnectionCounts {
        &mut self.bank.counters.origins[origin]
    }

    /// An open connection to `origin` takes so many requests at once.
    pub fn allowed(&mut self, origin: usize, places: u32) {
        if self.shares_connections {
            self.connections(origin).allowed.note(places);
        }
    }

    /// Hands the bank over, which holds what happened before `until`, and goes on with `empty`.
    pub fn swap(&mut self, mut empty: Box<Bank<u32>>, until: Instant) -> Box<Bank<u32>> {
        let until = until.since(self.start);
        self.bank.timeline.hand_on(until, &mut empty.timeline);
        std::mem::replace(&mut self.bank, empty)
    }

    /// Ends recording at `now` and hands the last bank over.
    pub fn into_bank(mut self, now: Instant) -> Box<Bank<u32>> {
        self.bank.settle();
        self.bank.timeline.close(now.since(self.start));
        self.bank
    }

    #[inline]
    pub(super) fn is_measured(&self, arrival: &Arrival) -> bool {
        arrival.intended >= self.measured_from
    }

    /// Whether it is counted by its operation, its load and its origin, too: it is measured and there are several.
    #[inline]
    pub(super) fn is_apart(&self, arrival: &Arrival) -> bool {
        self.keeps_apart && self.is_measured(arrival)
    }

    /// Where that is.
    #[inline]
    pub(super) fn places(&self, arrival: &Arrival) -> Places {
        Places::of(arrival, &self.origins, &self.bank)
    }

    #[inline]
    fn outcomes(&mut self, arrival: &Arrival) -> &mut Outcomes {
        match self.is_measured(arrival) {
            true => &mut self.bank.counters.measured,
            false => &mut self.bank.counters.warmup,
        }
    }

    /// Counts what an arrival has come to wherever it belongs.
    #[inline]
    pub(super) fn count(&mut self, arrival: &Arrival, count: impl Fn(&mut Outcomes)) {
        count(self.outcomes(arrival));
        if self.is_apart(arrival) {
            self.count_apart(arrival, count);
        }
    }

    #[inline(never)] // many runs have nothing apart
    fn count_apart(&mut self, arrival: &Arrival, count: impl Fn(&mut Outcomes)) {
        self.places(arrival).each(&mut self.bank, |record| count(&mut record.outcomes));
    }

    /// Records a duration of all, and of the flight's operation, load and origin.
    pub(super) fn record(&mut self, flight: &Flight, series: Series, value: Nanos) {
        self.bank.track_mut(series).record(value);
        if self.is_apart(&flight.arrival) {
            self.places(&flight.arrival).record(&mut self.bank, series, value);
        }
    }

    /// An arrival fell due.
    #[inline(always)] // for each request
    pub fn due(&mut self, arrival: &Arrival) {
        self.count(arrival, |outcomes| outcomes.due += 1);
        if arrival.journey.is_some() {
            self.journey_due(arrival);
        }
        if self.absences.is_catching_up() {
            self.absences.due(arrival.intended);
        }
        self.bank.timeline.due(arrival.intended.since(self.start));
    }

    /// The first byte of `flight` goes to the kernel now, at `flight.sent`.
    pub fn sent(&mut self, flight: &Flight) {
        let in_load = flight.sent.is_some_and(|sent| sent < self.load_end);
        self.count(&flight.arrival, |outcomes| {
            outcomes.sent += 1;
            outcomes.sent_in_load += u64::from(in_load);
        });
        if flight.arrival.begins {
            self.user_begins(flight.sent);
        }
        if flight.arrival.journey.is_some() {
            self.journey_sent(&flight.arrival);
        }
        let Some(sent) = flight.sent else { return };
        self.bank.timeline.sent(sent.since(self.start));
        if !self.is_measured(&flight.arrival) {
            return;
        }
        let load = flight.arrival.key.load as usize;
        if let Some(blocks) = self.blocks.get_mut(load).filter(|_| !flight.arrival.follows()) {
            self.bank.samples[load].note(blocks, &flight.arrival, Some(sent), self.start);
        }
        let intended = flight.arrival.intended;
        let lag_total = sent.since(intended);
        let late = self.late(flight, sent);
        let wait = lag_total - late;
        self.bank.counters.lag.generator_ns += late.0;
        if wait == Nanos::ZERO {
            self.bank.shared.unwaited.record(lag_total);
            return;
        }
        self.sent_after_wait(flight, (lag_total, late, wait));
    }

    /// It has waited for a connection.
    #[inline(never)]
    fn sent_after_wait(&mut self, flight: &Flight, (lag_total, late, wait): (Nanos, Nanos, Nanos)) {
        self.bank.track_mut(Series::SendLag).record(lag_total);
        self.bank.track_mut(Series::GeneratorLate).record(late);
        self.bank.counters.lag.waited(flight, wait, self.shares_connections);
    }

    /// A user of a closed population has asked for the first time, or has failed to, at `at`.
    fn user_begins(&mut self, at: Option<Instant>) {
        let in_time = at.is_some_and(|at| at < self.measured_from + BEGUN_GRACE);
        self.bank.counters.users_begun += u64::from(in_time);
    }

    /// A whole answer was read at `now`: `ok`, failed, or too late.
    pub fn answered(&mut self, flight: &Flight, connection: u32, answer: &Answer, now: Instant) -> Outcome {
        let measured = self.is_measured(&flight.arrival);
        if let Some(code) = answer.code.filter(|_| measured) {
            self.bank.counters.codes[code.index()] += 1;
            self.bank.counters.body_bytes += answer.body_bytes;
        }
        let response = now.since(flight.arrival.intended);
        self.note_ended(flight, true);
        if response > self.timeout || answer.failure.is_some() {
            return self.answered_in_vain(flight, connection, answer, now);
        }
        let is_after_load = self.is_after_load(&flight.arrival);
        let outcomes = self.outcomes(&flight.arrival);
        outcomes.ok += 1;
        outcomes.ok_after_load += u64::from(is_after_load);
        self.ended(flight, Outcome::Ok, now);
        if !measured {
            return Outcome::Ok;
        }
        if !is_after_load {
            self.last_ok = Some(now);
        }
        self.note_whole(flight);
        let service = now.since(flight.attempt.unwrap_or(now));
        if self.keeps_apart {
            self.answered_apart(flight, answer, response, service);
        }
        self.bank.shared.response.record(response);
        if answer.first_byte == now {
            self.bank.shared.at_once.record(service);
        } else {
            self.answered_in_pieces(service, now.since(answer.first_byte));
        }
        // Sent so late, or away meanwhile.
        if response - service >= PAUSE_FROM || !self.absences.none_since(flight.arrival.intended) {
            self.answered_hindered(flight, response, now);
        }
        let row = self.bank.heat.bin_of(response);
        self.bank.heat.record(flight.arrival.intended.since(self.start), row);
        self.note_slow(flight, connection, answer.code, Outcome::Ok, now);
        Outcome::Ok
    }

    /// The arrival failed at `now`, without an answer.
    pub fn failed(
        &mut self,
        flight: &Flight,
        connection: u32,
        kind: FailureKind,
        code: Option<Code>,
        now: Instant,
    ) -> Outcome {
        self.note_ended(flight, false);
        self.note_failed(flight, connection, kind, code, now)
    }

    pub(super) fn note_failed(
        &mut self,
        flight: &Flight,
        connection: u32,
        kind: FailureKind,
        code: Option<Code>,
        now: Instant,
    ) -> Outcome {
        let failed = Outcome::Failed(kind);
        // A late request is answered like any other; a burst after a pause may not be.
        let away = self.absences.within(flight.arrival.intended, now);
        let is_own = kind.is_local() || away >= PAUSE_FROM;
        self.count(&flight.arrival, |outcomes| {
            outcomes.failed[kind.index()] += 1;
            outcomes.failed_hindered += u64::from(is_own);
        });
        if flight.arrival.begins && flight.sent.is_none() {
            self.user_begins(Some(now));
        }
        self.note_first_failed(flight, failed, now);
        self.ended(flight, failed, now);
        if !self.is_measured(&flight.arrival) {
            return failed;
        }
        self.bank.track_mut(Series::Failed).record(now.since(flight.arrival.intended));
        self.bank.heat.record(flight.arrival.intended.since(self.start), FAILED_ROW);
        self.note_slow(flight, connection, code, failed, now);
        failed
    }

    /// The arrival took longer than the timeout, sent or not, and has no answer; noticed at `now`.
    pub fn timed_out(&mut self, flight: &Flight, connection: u32, now: Instant) -> Outcome {
        // An answer that came later would have come too late.
        let deadline = flight.arrival.intended + self.timeout;
        self.note_ended(flight, false);
        self.censor_events(flight, deadline.min(now), false);
        self.too_late(flight, connection, None, now, deadline.min(now))
    }

    /// The same; what passed after `until` made no difference.
    pub(super) fn too_late(
        &mut self,
        flight: &Flight,
        connection: u32,
        code: Option<Code>,
        now: Instant,
        until: Instant,
    ) -> Outcome {
        let intended = flight.arrival.intended;
        // One that was sent at last with little of its time left was shed no less.
        let waited = flight.sent.unwrap_or(now).since(intended);
        let is_shed = flight.pool_full && waited.0 > self.timeout.0 / 2;
        let own = self.own_part(flight, until);
        let is_own = own.0 >= self.timeout.0 / OWN_PART_MIN;
        // What waited longer for somebody else was not kept from being sent by the generator.
        let is_mostly_own = own.0 > self.timeout.0 / 2;
        self.count(&flight.arrival, |outcomes| {
            outcomes.timed_out += 1;
            outcomes.timed_out_never_sent += u64::from(flight.sent.is_none());
            outcomes.timed_out_pool_full += u64::from(is_shed);
            outcomes.timed_out_never_sent_own += u64::from(flight.sent.is_none() && is_mostly_own);
            outcomes.timed_out_hindered += u64::from(is_own);
        });
        self.note_first_failed(flight, Outcome::TimedOut, now);
        self.ended(flight, Outcome::TimedOut, now);
        if !self.is_measured(&flight.arrival) {
            return Outcome::TimedOut;
        }
        self.note_hindered(own, until.since(intended), self.timeout);
        let deadline = intended + self.timeout;
        self.censor(flight, self.timeout, flight.attempt.map(|sent| deadline.since(sent)));
        self.note_slow(flight, connection, code, Outcome::TimedOut, now);
        Outcome::TimedOut
    }

    /// The run ended at `now` while `flight` was in flight, or waiting when it was never sent.
    pub fn cut_off(&mut self, flight: &Flight, connection: u32, now: Instant) -> Outcome {
        self.note_ended(flight, false);
        self.censor_events(flight, now, false);
        let outcome = if flight.sent.is_some() { Outcome::Unfinished } else { Outcome::Unsent };
        self.count(&flight.arrival, |outcomes| match flight.sent {
            Some(_) => outcomes.unfinished += 1,
            None => {
                outcomes.unsent += 1;
                outcomes.unsent_own += u64::from(!flight.is_kept());
            }
        });
        self.ended(flight, outcome, now);
        if self.is_measured(&flight.arrival) {
            let age = now.since(flight.arrival.intended);
            self.note_hindered(self.own_part(flight, now), age, age);
            self.censor(flight, age, flight.attempt.map(|sent| now.since(sent)));
            self.note_slow(flight, connection, None, outcome, now);
        }
        outcome
    }

    #[inline(always)] // how it ended is known where it is called
    fn ended(&mut self, flight: &Flight, outcome: Outcome, now: Instant) {
        if flight.repeats > 0 {
            self.note_retried(flight, outcome);
        }
        if flight.sent.is_none() {
            self.sample_unsent(flight);
        }
        if self.by_address.is_some() {
            self.note_at_address(flight, outcome, now);
        }
        self.bank.timeline.ended(now.since(self.start), flight.sent.is_some(), outcome);
    }

    /// A simulated tool adds a value for a request that it never sent, beside the answer of `flight` at `now`: as if
    /// that request had been intended so much later.
    pub fn invented(&mut self, flight: &Flight, response: Nanos, now: Instant) {
        if self.is_measured(&flight.arrival) {
            self.bank.track_mut(Series::Response).record(response);
            let row = self.bank.heat.bin_of(response);
            self.bank.heat.record((now - response).since(self.start), row);
        }
    }

    /// A connection to `origin` is usable.
    pub fn connected(&mut self, origin: usize, connect: Nanos, tls: Option<Nanos>) {
        self.connections(origin).opened += 1;
        self.bank.track_mut(Series::Connect).record(connect);
        if let Some(tls) = tls {
            self.bank.track_mut(Series::Tls).record(tls);
        }
    }

    fn censor(&mut self, flight: &Flight, response_age: Nanos, service_age: Option<Nanos>) {
        self.record(flight, Series::ResponseCensored, response_age);
        if let Some(age) = service_age {
            self.record(flight, Series::ServiceCensored, age);
        }
        self.bank.heat.record(flight.arrival.intended.since(self.start), CENSORED_ROW);
    }
}
