//! The attempts of each arrival, from actions and events alone: none may come that is not asked for, too early, too late or
//! beside another one.

use std::collections::HashMap;
use unblink_core::code::Code;
use unblink_core::dispatch::{Action, ConnId, Event, FlightId, Jitter, Retry, Room};
use unblink_core::failure::FailureKind;
use unblink_core::plan::PlanSpec;
use unblink_core::time::{Instant, Nanos};

/// How the latest send of an arrival ended.
#[derive(Clone, Copy, PartialEq, Debug)]
enum End {
    /// With a failure that is tried again, or not; it may have been sent a second time at once, or not.
    Failed {
        is_retried: bool,
        may_resend: bool,
    },
    /// Its connection was closed, or it was cancelled.
    GivenUp,
    Ok,
}

#[derive(Clone, Copy, Debug)]
struct Tries {
    sent: Instant,
    /// When its attempt was sent first: no later than that.
    attempt: Instant,
    flight: FlightId,
    conn: ConnId,
    ended: Option<(Instant, End)>,
    /// Attempts after the first.
    repeats: u32,
    resent: bool,
}

pub(crate) struct TryBooks {
    retry: Option<Retry>,
    idempotent: Vec<bool>,
    room: Room,
    by_arrival: HashMap<u64, Tries>,
    of_flight: HashMap<FlightId, u64>,
    /// Sends that the books take for a retry, and for a second send.
    pub(crate) retries: u64,
    pub(crate) second_sends: u64,
}

impl TryBooks {
    pub(super) fn new(spec: &PlanSpec, room: Room) -> TryBooks {
        TryBooks {
            retry: spec.retry.clone(),
            idempotent: spec.idempotent.clone(),
            room,
            by_arrival: HashMap::new(),
            of_flight: HashMap::new(),
            retries: 0,
            second_sends: 0,
        }
    }

    pub(super) fn hear(&mut self, now: Instant, event: &Event) {
        match *event {
            Event::Answered(id, answer) => {
                let is_retried = matches!(answer.code.map(Code::status), Some(500 | 503));
                let failed = End::Failed { is_retried, may_resend: false };
                self.end(id, now, if answer.failure.is_some() { failed } else { End::Ok });
            }
            Event::Lost(id, loss) => {
                self.end(id, now, End::Failed { is_retried: true, may_resend: loss.unprocessed });
            }
            Event::Closed(conn, closing) => {
                let is_reset = closing.kind == FailureKind::RESET && !closing.answered;
                // Of several nobody knows which were looked at.
                let may_resend = is_reset && self.room.places == 1;
                self.end_all(
                    conn,
                    now,
                    End::Failed { is_retried: closing.kind == FailureKind::RESET, may_resend },
                );
            }
            _ => {}
        }
    }

    fn end(&mut self, id: FlightId, now: Instant, end: End) {
        let Some(arrival) = self.of_flight.remove(&id) else { return };
        let tries = self.by_arrival.get_mut(&arrival).expect("it was sent");
        if tries.flight == id && tries.ended.is_none() {
            tries.ended = Some((now, end));
        }
    }

    fn end_all(&mut self, conn: ConnId, now: Instant, end: End) {
        let on = self.of_flight.iter().filter(|(id, arrival)| {
            let tries = &self.by_arrival[arrival];
            tries.flight == **id && tries.conn == conn
        });
        let on: Vec<FlightId> = on.map(|(id, _)| *id).collect();
        on.into_iter().for_each(|id| self.end(id, now, end));
    }

    pub(super) fn note(
        &mut self,
        now: Instant,
        action: &Action,
        timeout: Nanos,
        intended: impl Fn(u64) -> Option<Instant>,
    ) {
        match *action {
            Action::Send { conn, flight, operation, arrival } => {
                let is_in_time = |at: Instant| now.since(at) <= timeout;
                assert!(intended(arrival).is_none_or(is_in_time), "{arrival} is sent after its timeout");
                let first =
                    Tries { sent: now, attempt: now, flight, conn, ended: None, repeats: 0, resent: false };
                let tries = match self.by_arrival.get(&arrival).copied() {
                    None => first,
                    Some(before) => self.next(now, before, operation, first),
                };
                self.by_arrival.insert(arrival, tries);
                self.of_flight.insert(flight, arrival);
            }
            Action::Cancel { flight, .. } => self.end(flight, now, End::GivenUp),
            Action::Close(conn, _) => self.end_all(conn, now, End::GivenUp),
            Action::Open(_) => {}
        }
    }

    /// The arrival of `before` is sent once more.
    fn next(&mut self, now: Instant, before: Tries, operation: u32, first: Tries) -> Tries {
        let (ended, end) = before.ended.unwrap_or((before.sent, End::GivenUp));
        let resent = matches!(end, End::Failed { may_resend: true, .. }) && !before.resent;
        let Some(retry) = &self.retry else {
            assert!(resent, "{before:?} is sent again at {now:?}");
            self.second_sends += 1;
            return Tries { attempt: before.attempt, resent: true, ..first };
        };
        let whole = retry.wait.0 << before.repeats;
        let least = match retry.jitter {
            Jitter::None => whole,
            Jitter::Equal => whole / 2,
            Jitter::Full => 0,
        };
        let idempotent = self.idempotent[operation as usize];
        let is_early = now.since(ended).0 < least;
        if resent && (is_early || !(idempotent || retry.is_unsafe) || before.repeats + 1 == retry.attempts) {
            // Too early, or never, for another attempt.
            self.second_sends += 1;
            return Tries { attempt: before.attempt, repeats: before.repeats, resent: true, ..first };
        }
        // Where a request can't be cancelled, that it was given up is not seen until its answer comes.
        let limit = retry.try_timeout.filter(|_| !self.room.cancels);
        if let Some(limit) = limit.filter(|&limit| !resent && ended.since(before.attempt) > limit) {
            assert!(now.since(before.attempt).0 > limit.0 + least, "{before:?} at {now:?}");
            self.retries += 1;
            return Tries { repeats: before.repeats + 1, ..first };
        }
        if resent {
            // It may be either one: it is neither too early nor one too many.
            return Tries { attempt: before.attempt, repeats: before.repeats, resent: false, ..first };
        }
        assert!(idempotent || retry.is_unsafe, "{before:?}: must not be sent twice");
        match end {
            End::Ok => panic!("{before:?} was answered"),
            End::Failed { is_retried, .. } => assert!(is_retried && !is_early, "{before:?} at {now:?}"),
            End::GivenUp => {
                let limit = retry.try_timeout.expect("nothing else is given up and tried again");
                assert!(now.since(before.attempt).0 > limit.0 + least, "{before:?} at {now:?}");
                assert!(before.ended.is_some() || !self.room.cancels, "{before:?} was not cancelled");
            }
        }
        self.retries += 1;
        assert!(before.repeats + 1 < retry.attempts, "{before:?}: one attempt too many");
        Tries { repeats: before.repeats + 1, resent: false, ..first }
    }
}
